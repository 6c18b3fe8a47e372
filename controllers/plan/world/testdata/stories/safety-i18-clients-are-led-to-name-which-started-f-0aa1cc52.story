# safety: I18: clients are led to NAME, which started from another copy than N of N voters hold
kind corruption
seed 7000284
3.0 looks-back 2
15.0 looks-back 4
16.0 looks-back 3
21.0 looks-back 5
27.0 looks-back 2
28.0 fault DeletePod demo-1
37.0 fault CorruptDisk demo-1
49.0 looks-back 4
