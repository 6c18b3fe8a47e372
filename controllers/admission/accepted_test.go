package admission_test

// accepted are values that must pass: each field at its bounds and as users write it.
var accepted = []struct{ name, change string }{
	{"the smallest cluster", ""},
	{"one member", "spec: {size: 1}"},
	{"a cluster that sleeps", "spec: {size: 0}"},
	{"a cluster that begins with a backup", "spec: {bootstrap: {restore: {backupRef: {name: nightly}}}}"},
	{"one that begins with a snapshot", "spec: {bootstrap: {restore: {store: {volume: {claimName: backups}}, key: default/demo/u/t/snapshot.db}}}"},
	{"one that begins with a file of another tool", "spec: {bootstrap: {restore: {store: {volume: {claimName: backups}}, key: 'legacy/etcd-2026-01-01_12:00:00+01:00.db'}}}"},
	{"one that begins with a file at the top", "spec: {bootstrap: {restore: {store: {s3: {bucket: backups}}, key: snapshot.db}}}"},
	{"one whose file has dots in its name", "spec: {bootstrap: {restore: {store: {s3: {bucket: backups}}, key: ..a/b../c..d/...}}}"},
	{"one that begins with the newest of another", "spec: {bootstrap: {restore: {store: {s3: {bucket: backups}}, latest: true, latestOf: {namespace: prod, name: demo, uid: 0a-1}}}}"},
	{"seven members", "spec: {size: 7}"},
	{"a name of 40 characters", "metadata: {name: a123456789012345678901234567890123456789}"},
	{"a name of one letter", "metadata: {name: e}"},
	{"a version with a leading v", `spec: {version: "v3.5.35"}`},
	{"a version with known defects", `spec: {version: "3.6.4"}`},
	{"a patch that is newer than the operator", `spec: {version: "3.7.99"}`},
	{"a repository with a port", "spec: {image: {repository: 'localhost:5000/mirror/etcd'}}"},
	{"a repository behind an IPv6 address", "spec: {image: {repository: '[fd00::1]:5000/etcd'}}"},
	{"a repository of a short name", "spec: {image: {repository: etcd}}"},
	{"a digest and a pull secret", `spec: {image: {digests: {"3.6.16": "` + someDigest + `"}, pullPolicy: Always, pullSecrets: [{name: registry}]}}`},
	{"members that go before their successors join", "spec: {storage: {replace: InPlace}}"},
	{"a volume that is just large enough", "spec: {storage: {size: 5Gi, storageClassName: fast.ssd, accessMode: ReadWriteOncePod, deletionPolicy: Delete}}"},
	{"a volume for the write-ahead log", "spec: {storage: {wal: {size: 1Gi, storageClassName: fast.ssd}}}"},
	{"a volume for the write-ahead log in plain bytes and no class", `spec: {storage: {wal: {size: 2147483648, storageClassName: ""}}}`},
	{"a volume in plain bytes", "spec: {storage: {size: 5368709120}}"},
	{"a small quota on a small volume", "spec: {storage: {size: 1056Mi}, etcd: {quotaBackendBytes: 16Mi}}"},
	{"the largest quota that etcd advises", "spec: {storage: {size: 17Gi}, etcd: {quotaBackendBytes: 8Gi}}"},
	{"a quota above what etcd advises", "spec: {storage: {size: 21Gi}, etcd: {quotaBackendBytes: 10Gi}}"},
	{"the largest quota", "spec: {storage: {size: 65Gi}, etcd: {quotaBackendBytes: 32Gi}}"},
	{"no storage class at all", `spec: {storage: {storageClassName: ""}}`},
	{"ephemeral data", "spec: {storage: {ephemeral: {}, deletionPolicy: Delete}}"},
	{"ephemeral data with a large quota and no volume", "spec: {storage: {ephemeral: {medium: ''}}, etcd: {quotaBackendBytes: 8Gi}}"},
	{"data in memory within the limit", "spec: {storage: {ephemeral: {medium: Memory}}, pod: {resources: {limits: {memory: 5Gi}}}}"},
	{"data in memory without a limit", "spec: {storage: {ephemeral: {medium: Memory}}, pod: {resources: {requests: {memory: 1Gi}}}}"},
	{"compaction by age", "spec: {etcd: {autoCompaction: {retention: 1h30m}}}"},
	{"compaction by revision", `spec: {etcd: {autoCompaction: {mode: revision, retention: "10000"}}}`},
	{"no compaction", `spec: {etcd: {autoCompaction: {mode: periodic, retention: "0"}}}`},
	{"times for a slow network", "spec: {etcd: {heartbeatInterval: 1.5s, electionTimeout: 50s}}"},
	{"the shortest times", "spec: {etcd: {heartbeatInterval: 10ms, electionTimeout: 50ms}}"},
	{"a time as a Go client writes it", "spec: {etcd: {electionTimeout: 0m40.5s}}"},
	{"the rest of etcd's settings", `spec: {etcd: {snapshotCount: 10000, corruptionChecks: false, extraArgs: {max-txn-ops: "256", max-request-bytes: "", log-level: debug}}}`},
	{"a flag of an older version", `spec: {version: "3.5.35", etcd: {extraArgs: {experimental-watch-progress-notify-interval: 10s}}}`},
	{"labels and annotations of one's own", "spec: {pod: {labels: {team: storage, app.kubernetes.io/part-of: shop, empty: ''}, annotations: {example.com/note: 'any text, any length'}}}"},
	{"limits equal to requests", "spec: {pod: {resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1000m, memory: 1024Mi}}}}"},
	{"a limit alone", "spec: {pod: {resources: {limits: {memory: 1Gi}}}}"},
	{"a user alone", "spec: {pod: {securityContext: {runAsUser: 1}}}"},
	{"groups of root, which gives no right", "spec: {pod: {securityContext: {runAsGroup: 0, fsGroup: 0, supplementalGroups: [0, 2147483647]}}}"},
	{"all that may be said of users and groups", "spec: {pod: {securityContext: {runAsUser: 2147483647, runAsGroup: 2147483647, fsGroup: 2147483647, " +
		"fsGroupChangePolicy: Always, supplementalGroups: [], seLinuxOptions: {type: container_t, level: 's0:c123,c456'}}}}"},
	{"all that may be said of tasks", acceptedTasks},
	{"all that may be said of sidecars", acceptedSidecars},
	{"profiles of AppArmor", "spec: {pod: {annotations: {container.apparmor.security.beta.kubernetes.io/etcd: localhost/etcd, container.apparmor.security.beta.kubernetes.io/shipper: runtime/default}}}"},
	{"labels and annotations for everything", "spec: {inheritedMetadata: {labels: {team: a, cost-center: '1'}, annotations: {example.com/note: x}}}"},
	{"scheduling", `
spec:
  pod:
    nodeSelector: {pool: etcd}
    priorityClassName: system-cluster-critical
    schedulerName: packs
    dnsConfig: {nameservers: [203.0.113.53, '2001:db8::53'], searches: [example.com., _old.example.com, .], options: [{name: ndots, value: "2"}, {name: edns0}]}
    terminationGracePeriodSeconds: 30
    tolerations: [{operator: Exists}, {key: dedicated, value: etcd, effect: NoSchedule}, {key: slow, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3}]
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}, {key: old, operator: DoesNotExist}, {key: cores, operator: Gt, values: ["3"]}]}]
        preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: Exists}]}}]
      podAntiAffinity:
        requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app.kubernetes.io/name: etcd}}}]`},
	{"a load balancer", "spec: {service: {type: LoadBalancer, loadBalancerClass: example.com/internal, annotations: {example.com/internal: 'true'}}}"},
	{"a load balancer for known networks", "spec: {service: {type: LoadBalancer, externalTrafficPolicy: Local, loadBalancerSourceRanges: [203.0.113.0/24, '2001:db8::/64', 10.1.2.3/8, 0.0.0.0/0]}}"},
	{"no known network", "spec: {service: {loadBalancerSourceRanges: []}}"},
	{"a node port for members on the node", "spec: {service: {type: NodePort, externalTrafficPolicy: Local}}"},
	{"labels of the Service", "spec: {service: {labels: {team: storage, app.kubernetes.io/part-of: shop}}}"},
	{"one family of addresses", "spec: {service: {ipFamilies: [IPv6], ipFamilyPolicy: SingleStack}}"},
	{"two families of addresses", "spec: {service: {ipFamilies: [IPv6, IPv4], ipFamilyPolicy: RequireDualStack}}"},
	{"families of addresses by the default policy", "spec: {service: {ipFamilies: [IPv6, IPv4]}}"},
	{"no family of addresses by name", "spec: {service: {ipFamilies: []}}"},
	{"a network policy that lets no client in", "spec: {networkPolicy: {clients: [], metrics: []}}"},
	{"a network policy that lets all in", "spec: {networkPolicy: {clients: [{podSelector: {}}, {namespaceSelector: {}}, {ipBlock: {cidr: '::/0', except: ['2001:db8::/32']}}], metrics: [{namespaceSelector: {}}]}}"},
	{"a network policy that lets some in", "spec: {networkPolicy: {clients: [{podSelector: {matchLabels: {app: shop}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}," +
		" namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], metrics: [{namespaceSelector: {matchLabels: {team: ops}}}]}}"},
	{"a node port", "spec: {service: {type: NodePort}}"},
	{"no TLS", "spec: {tls: {mode: Disabled}}"},
	{"TLS for those who want it", "spec: {tls: {mode: Permissive, extraSANs: [etcd.example.com]}}"},
	{"no TLS behind a load balancer for known networks", "spec: {tls: {mode: Disabled}, service: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/24]}}"},
	{"no TLS and no names to put in certificates", "spec: {tls: {mode: Disabled, extraSANs: []}}"},
	{"authentication", "spec: {auth: {enabled: true}}"},
	{"access for other namespaces", "spec: {access: {namespaces: [{name: team}, {name: team-b, prefixes: [b/, shared/]}]}}"},
	{"no authentication and no TLS", "spec: {tls: {mode: Disabled}, auth: {enabled: false}}"},
	{"further names in certificates", "spec: {tls: {extraSANs: [etcd.example.com, '*.etcd.example.com', localhost, a-1.2.xn--p1ai, 203.0.113.7, '2001:db8::7', '::1']}}"},
	{"CAs of one's own", "spec: {tls: {clientCA: {secretRef: {name: corp-clients}}, peerCA: {secretRef: {name: corp.peers}}}}"},
	{"a CA of one's own for peers alone", "spec: {tls: {mode: Managed, peerCA: {secretRef: {name: p}}}}"},
	{"empty sections", "spec: {tls: {}, storage: {}, etcd: {}, pod: {}, service: {}, disruption: {}, image: {}, repair: {}}"},
	{"a window on Sundays", "spec: {maintenance: {window: {schedule: '0 2 * * 0', duration: 2h, timeZone: Europe/Berlin}}}"},
	{"the shortest window, every day", "spec: {maintenance: {window: {schedule: '@daily', duration: 10m}}}"},
	{"the longest window, once a year", "spec: {maintenance: {window: {schedule: '0 0 31 12 *', duration: 168h}}}"},
	{"a window in the hour that a clock skips", "spec: {maintenance: {window: {schedule: '30 2 28 3 *', duration: 1h, timeZone: Europe/Berlin}}}"},
	{"a defragmentation on Saturdays", "spec: {maintenance: {defragment: {schedule: '0 3 * * 6', timeZone: Europe/Berlin}}}"},
	{"a defragmentation by a share", "spec: {maintenance: {defragment: {reclaimable: 50}}}"},
	{"a quota that may grow", "spec: {maintenance: {autoGrow: {limit: 8Gi}}}"},
	{"no history to keep", "spec: {maintenance: {keepHistory: '0', compactOnNoSpace: true}}"},
	{"the most history to keep", "spec: {maintenance: {keepHistory: 1h, compactOnNoSpace: false}}"},
	{"a maintenance that says nothing", "spec: {maintenance: {defragment: {}}}"},
	{"no replacement of dead members", "spec: {repair: {replaceAfter: '0'}}"},
	{"no replacement, as a Go client writes it", "spec: {repair: {replaceAfter: 0s}}"},
	{"a cluster that needs no backups", "spec: {backups: {expected: false}}"},
	{"a backup of any age", "spec: {backups: {maxAge: '0'}}"},
	{"a backup of a day and two hours", "spec: {backups: {maxAge: 26h}}"},
	{"the shortest time until a replacement", "spec: {repair: {replaceAfter: 30s}}"},
	{"a replacement after hours", "spec: {repair: {replaceAfter: 1.5h}}"},
	{"a replacement after a time of several units", "spec: {repair: {replaceAfter: 1h30m0.5s}}"},
	{"no budget, paused, and a dry run", "spec: {disruption: {podDisruptionBudget: None}, paused: true, mode: DryRun}"},
}
