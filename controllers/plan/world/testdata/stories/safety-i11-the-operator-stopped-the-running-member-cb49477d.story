# safety: I11: the operator stopped the running member NAME
kind older-release
seed 100013
open
1021.0 looks-back 2
