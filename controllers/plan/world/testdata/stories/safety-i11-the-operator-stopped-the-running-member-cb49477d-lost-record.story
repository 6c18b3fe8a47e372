# safety: I11: the operator stopped the running member NAME
kind edited-metadata
seed 1801899363
1008.0 looks-back 1
1010.0 looks-back 1
1013.0 dies-after 1
1014.0 looks-back 1
1043.0 looks-back 5
1049.0 fault TakeBack demo-2
1125.0 fault AskAsNeeded demo-1
1159.0 fault EditIncarnation demo-1
1204.0 fault DeletePeerService demo-0
