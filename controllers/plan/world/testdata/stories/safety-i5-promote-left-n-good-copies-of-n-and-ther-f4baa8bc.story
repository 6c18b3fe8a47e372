# safety: I5: Promote left N good copies of N, and there were N of N beside a corrupt one
kind corruption
seed 100018
38.0 fault EndPod demo-2
44.0 looks-back 4
45.0 looks-back 3
50.0 fault CorruptDisk demo-0
106.0 fault changeSpec demo-1
120.0 fault CorruptDisk demo-1
