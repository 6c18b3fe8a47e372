# safety: I7: the volume NAME of NAME was changed, and this is NAME
kind restless
seed 7001369
1008.0 fault loseMember demo-0
1079.0 fault Withdraw demo-4
1079.0 looks-back 1
1080.0 fault Recreate demo-1
1080.0 dies-after 2
