# liveness: never comes to rest: corruption: Members hold different data. NAME starts, to be asked for the hash of its copy; nothing is restarted or removed meanwhile.
kind corruption
seed 100004
4.0 fault changeSpec 
232.0 fault CorruptDisk demo-0
