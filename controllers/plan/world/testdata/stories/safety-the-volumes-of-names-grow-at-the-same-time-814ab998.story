# safety: the volumes of NAMES grow at the same time
kind growth
seed 12
31.0 fault Hide demo-2
112.0 fault Grow demo-0
