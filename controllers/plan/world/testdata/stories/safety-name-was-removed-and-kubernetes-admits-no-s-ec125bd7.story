# safety: NAME was removed, and Kubernetes admits no successor
kind edited-metadata
seed 1801899232
11.0 looks-back 3
13.0 fault changeSpec demo-1
18.0 looks-back 4
19.0 looks-back 5
22.0 looks-back 2
23.0 looks-back 5
25.0 looks-back 5
26.0 looks-back 4
46.0 looks-back 4
47.0 looks-back 3
51.0 looks-back 2
52.0 fault KillContainer demo-0
52.0 looks-back 3
53.0 looks-back 5
58.0 looks-back 1
60.0 fault DeletePod demo-1
63.0 looks-back 1
64.0 looks-back 5
65.0 fault ToggleQuota demo-2
