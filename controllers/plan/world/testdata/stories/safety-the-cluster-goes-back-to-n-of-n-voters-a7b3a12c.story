# safety: the cluster goes back to N of N voters
kind corruption
seed 1799899235
1010.0 looks-back 1
1011.0 looks-back 3
1012.0 looks-back 4
1013.0 looks-back 4
1045.0 looks-back 5
1046.0 looks-back 2
1047.0 looks-back 4
1051.0 looks-back 5
1052.0 looks-back 3
1053.0 looks-back 2
1058.0 looks-back 3
1074.0 looks-back 0
1076.0 looks-back 2
1077.0 looks-back 5
1079.0 looks-back 3
1081.0 looks-back 3
1084.0 looks-back 1
1086.0 fault WipeDisk demo-0
1088.0 looks-back 3
1089.0 dies-after 0
1092.0 looks-back 2
1094.0 looks-back 3
