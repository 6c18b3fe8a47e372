# safety: I11: the operator stopped the running member NAME
kind corruption
seed 7000187
1016.0 looks-back 2
1022.0 looks-back 1
1024.0 looks-back 4
1025.0 looks-back 5
1027.0 dies-after 1
1030.0 looks-back 4
1033.0 looks-back 3
1035.0 looks-back 1
1036.0 looks-back 4
1038.0 looks-back 1
1039.0 looks-back 3
1044.0 looks-back 5
1046.0 looks-back 5
1047.0 looks-back 2
1049.0 looks-back 3
1050.0 looks-back 2
1052.0 looks-back 4
1053.0 looks-back 5
1057.0 looks-back 4
1063.0 looks-back 2
1065.0 looks-back 5
1072.0 fault loseMajority demo-3
1084.0 fault AskAsNeeded demo-5
1085.0 looks-back 1
1086.0 looks-back 2
1089.0 looks-back 3
1090.0 looks-back 5
1091.0 looks-back 4
1092.0 dies-after 1
1093.0 looks-back 1
1094.0 looks-back 4
1096.0 looks-back 4
1097.0 looks-back 2
1098.0 looks-back 3
1100.0 looks-back 1
1101.0 fault DeletePeerService demo-5
