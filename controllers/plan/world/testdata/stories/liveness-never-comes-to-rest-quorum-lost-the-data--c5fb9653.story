# liveness: never comes to rest: quorum-lost: The data of N of N members is lost: NAME (etcd stopped with DataEmpty). The EtcdRestore NAME is carried out: NAMES are made beside the members that there are, which serve on meanwhile.
kind restores-in-place
seed 100073
1011.0 fault AskAsNeeded demo-1
1015.0 fault EndPod demo-1
1036.0 fault loseMember demo-0
1062.0 fault DeletePod demo-3
1116.0 fault WipeDisk demo-2
1123.0 fault AskAsNeeded demo-2
1136.0 fault restartSurvivors demo-2
