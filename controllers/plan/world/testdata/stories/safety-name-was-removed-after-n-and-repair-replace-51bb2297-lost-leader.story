# safety: NAME was removed after N, and repair.replaceAfter is N
kind corruption
seed 7001518
59.0 fault WipeDisk demo-1
95.0 fault CorruptDisk demo-2
130.0 fault LoseNode demo-0
