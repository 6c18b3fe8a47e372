# safety: NAME was removed after N, and repair.replaceAfter is N
kind corruption
seed 7000038
16.0 fault LoseNode demo-1
16.0 looks-back 0
17.0 looks-back 4
23.0 looks-back 2
25.0 looks-back 3
26.0 looks-back 4
30.0 looks-back 3
37.0 fault CorruptDisk demo-0
