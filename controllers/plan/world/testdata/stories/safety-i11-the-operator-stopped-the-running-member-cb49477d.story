# safety: I11: the operator stopped the running member NAME
kind edited-metadata
seed 2001000920
3.0 fault ChangePolicy demo-0
4.0 looks-back 4
5.0 looks-back 2
6.0 looks-back 5
7.0 looks-back 4
8.0 fault Hide demo-0
166.0 fault EditIncarnation demo-0
