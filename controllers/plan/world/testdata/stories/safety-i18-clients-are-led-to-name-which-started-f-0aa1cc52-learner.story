# safety: I18: clients are led to NAME, which started from another copy than N of N voters hold
kind corruption
seed 7000441
1152.0 fault changeSpec demo-2
1157.0 looks-back 3
1190.0 looks-back 4
1191.0 looks-back 2
1194.0 looks-back 1
1195.0 fault CorruptDisk demo-0
1195.0 looks-back 4
1211.0 looks-back 3
