# safety: NAME is recorded on a disk that is gone
kind restless
seed 1807899254
4.1 looks-back 1
15.0 looks-back 5
16.0 looks-back 2
23.0 looks-back 5
23.0 fault EndPod demo-4
