# liveness: livelock: DeleteRestores changed something N times, and nothing but time passed
kind older-release
seed 100131
open
1004.0 looks-back 3
1006.0 fault restartSurvivors demo-1
1029.0 fault loseMember demo-2
1162.0 fault changeWish 
1207.0 fault AskAsNeeded 
1207.0 looks-back 2
1209.0 looks-back 3
1220.0 looks-back 5
1221.0 looks-back 3
