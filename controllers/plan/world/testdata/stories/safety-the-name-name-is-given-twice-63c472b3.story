# safety: the name NAME is given twice
kind restless
seed 7001343
1007.0 fault DeleteComing demo-1
1007.0 looks-back 2
1008.0 looks-back 3
1009.1 looks-back 2
