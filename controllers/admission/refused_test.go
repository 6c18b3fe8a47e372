package admission_test

import "strings"

const (
	someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	// alike marks a row of which the operator says what the schema says.
	alike = "="

	volumeFields = "spec.storage.ephemeral cannot be given together with size, storageClassName, volumeAttributesClassName, accessMode or wal: " +
		"those describe a volume, and an ephemeral member has none"
	operatorLabels = "spec.pod.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and " +
		"app.kubernetes.io/name, instance, managed-by and component"
	loosened = " must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and " +
		"container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value " +
		"runtime/default or localhost/<profile>"
	evenSize = "; it must be 1, 3, 5 or 7, or 0 to have the cluster sleep. An even number of members survives no more failures than one member less, and " +
		"needs more of them to agree"
	nameSentence = `; it must be at most 40 characters, lower-case letters, digits and "-", starting with a letter and not ` +
		`ending in "-". Host names of members are made from it`
	versionSentence = "; it must be a released version of etcd with three numbers, such as 3.6.16"
	imageSentence   = "; it must be an image name without tag and digest, such as registry.example.com/etcd: the tag is " +
		"v<version>, digests stand in spec.image.digests"
)

// refusal is one wrong value: what the schema says of it, and what the operator's code says.
type refusal struct {
	name, change, field string
	says                string // empty: the schema cannot see it
	inCode              string // empty: nothing, because the schema says it
}

// schemaField is where the schema puts the error: a rule of the whole object has no field, so its sentence names it.
func (r refusal) schemaField() string {
	if strings.HasPrefix(r.field, "metadata.") {
		return "<nil>"
	}
	return r.field
}

func (r refusal) codeSays() string {
	if r.inCode == alike {
		return r.says
	}
	return r.inCode
}

var refused = join(refusedNames, refusedStorage, refusedEtcd, refusedPods, refusedSidecars, refusedIDs, refusedTasks, refusedMetadata, refusedTLS, refusedServices, refusedPeers, refusedRepairs, refusedUpkeep, refusedRestores)

func join(tables ...[]refusal) []refusal {
	var all []refusal
	for _, table := range tables {
		all = append(all, table...)
	}
	return all
}

var refusedUpkeep = []refusal{
	{"a schedule of four fields", "spec: {maintenance: {defragment: {schedule: '0 3 * *'}}}", "spec.maintenance.defragment.schedule",
		`spec.maintenance.defragment.schedule is "0 3 * *"; it must have five fields`, ""},
	{"a time zone in the schedule", "spec: {maintenance: {defragment: {schedule: 'TZ=UTC 0 3 * * *'}}}", "spec.maintenance.defragment.schedule",
		`it must name no time zone: put it into timeZone beside it`, ""},
	{"a time zone that is an offset", "spec: {maintenance: {defragment: {timeZone: '+01:00'}}}", "spec.maintenance.defragment.timeZone",
		`spec.maintenance.defragment.timeZone is "+01:00"; it must be the name of a time zone`, ""},
	{"a window of four fields", "spec: {maintenance: {window: {schedule: '0 3 * *', duration: 1h}}}", "spec.maintenance.window.schedule",
		`spec.maintenance.window.schedule is "0 3 * *"; it must have five fields`, `which cannot be read: expected exactly 5 fields`},
	{"a window that is counted from no day", "spec: {maintenance: {window: {schedule: '@every 24h', duration: 1h}}}", "spec.maintenance.window.schedule",
		`spec.maintenance.window.schedule is "@every 24h"; it must have five fields`, `which names no time in some years`},
	{"a window that never opens", "spec: {maintenance: {window: {schedule: '0 2 30 2 *', duration: 1h}}}", "spec.maintenance.window.schedule", "",
		`spec.maintenance.window.schedule is "0 2 30 2 *", which names no time in some years`},
	{"a window in leap years alone", "spec: {maintenance: {window: {schedule: '0 2 29 2 *', duration: 1h}}}", "spec.maintenance.window.schedule", "",
		`changes of the spec would wait for years. Name a time of each year, such as "0 2 * * 0"`},
	{"a window of an hour that no clock has", "spec: {maintenance: {window: {schedule: '0 24 * * *', duration: 1h}}}", "spec.maintenance.window.schedule", "", `which cannot be read`},
	{"a window in a zone that is none", "spec: {maintenance: {window: {schedule: '@daily', duration: 1h, timeZone: Europe/Atlantis}}}", "spec.maintenance.window.timeZone", "",
		`spec.maintenance.window.timeZone is "Europe/Atlantis"; it must be the name of a time zone`},
	{"a window with its zone in the schedule", "spec: {maintenance: {window: {schedule: 'TZ=UTC 0 3 * * *', duration: 1h}}}", "spec.maintenance.window.schedule",
		`it must name no time zone: put it into timeZone beside it`, `put it into spec.maintenance.window.timeZone`},
	{"a window in an offset", "spec: {maintenance: {window: {schedule: '@daily', duration: 1h, timeZone: '+01:00'}}}", "spec.maintenance.window.timeZone",
		`spec.maintenance.window.timeZone is "+01:00"; it must be the name of a time zone`, alike},
	{"a window shorter than one member", "spec: {maintenance: {window: {schedule: '@daily', duration: 9m59s}}}", "spec.maintenance.window.duration",
		`spec.maintenance.window.duration is "9m59s"; it must be a time from 10m, so that one member can be restarted`, ""},
	{"a window longer than a week", "spec: {maintenance: {window: {schedule: '@daily', duration: 168h1s}}}", "spec.maintenance.window.duration", `to 168h, such as 2h`, ""},
	{"a window with no end", "spec: {maintenance: {window: {schedule: '@daily'}}}", "spec.maintenance.window.duration", "Required value", ""},
	{"a window with no beginning", "spec: {maintenance: {window: {duration: 1h}}}", "spec.maintenance.window.schedule", "Required value", "which cannot be read: empty spec string"},
	{"a quota that grows in Pods", "spec: {storage: {ephemeral: {}}, maintenance: {autoGrow: {limit: 8Gi}}}", "spec.maintenance",
		"spec.maintenance.autoGrow cannot be given together with spec.storage.ephemeral", ""},
	{"a limit below any quota", "spec: {maintenance: {autoGrow: {limit: 1Mi}}}", "spec.maintenance.autoGrow.limit",
		"spec.maintenance.autoGrow.limit is 1Mi; it must be from 16Mi to 32Gi", ""},
	{"a limit that is no size", "spec: {maintenance: {autoGrow: {limit: much}}}", "spec.maintenance.autoGrow.limit", "should match", ""},
	{"more history than an hour", "spec: {maintenance: {keepHistory: 61m}}", "spec.maintenance.keepHistory",
		`spec.maintenance.keepHistory is "61m"; it must be a time of at most 1h`, ""},
	{"history of a day in the past", "spec: {maintenance: {keepHistory: -5m}}", "spec.maintenance.keepHistory", `it must be a time of at most 1h`, ""},
	{"a share that is always reached", "spec: {maintenance: {defragment: {reclaimable: 9}}}", "spec.maintenance.defragment.reclaimable",
		"should be greater than or equal to 10", ""},
	{"a share that is never reached", "spec: {maintenance: {defragment: {reclaimable: 91}}}", "spec.maintenance.defragment.reclaimable",
		"should be less than or equal to 90", ""},
}

var refusedNames = []refusal{
	{"a name of 41 characters", "metadata: {name: a1234567890123456789012345678901234567890}", "metadata.name",
		`metadata.name is "a1234567890123456789012345678901234567890"` + nameSentence, alike},
	{"a name that starts with a digit", "metadata: {name: 3etcd}", "metadata.name", `metadata.name is "3etcd"` + nameSentence, alike},
	{"a name with a dot", "metadata: {name: etcd.prod}", "metadata.name", `metadata.name is "etcd.prod"` + nameSentence, alike},
	{"a size of 2", "spec: {size: 2}", "spec.size", "spec.size is 2" + evenSize, alike},
	{"a size of 0 with data in Pods", "spec: {size: 0, storage: {ephemeral: {}}}", "spec.size",
		"spec.size cannot be 0 with spec.storage.ephemeral: data in Pods goes with them. Take spec.storage.ephemeral out by the same edit: members move to volumes, and then the cluster sleeps", alike},
	{"a size of 8", "spec: {size: 8}", "spec.size", "spec.size is 8" + evenSize, alike},
	{"a size of 9", "spec: {size: 9}", "spec.size", "spec.size is 9; it must be 1, 3, 5 or 7", alike},
	{"a negative size", "spec: {size: -3}", "spec.size", "spec.size is -3; it must be 1, 3, 5 or 7", alike},
	{"a size that is no number", "spec: {size: three}", "spec.size", "must be of type integer", ""},
	{"no size", "spec: {size: null}", "spec.size", "Required value", ""},
	{"a version in words", "spec: {version: latest}", "spec.version", `spec.version is "latest"` + versionSentence, alike},
	{"a version of two numbers", `spec: {version: "3.6"}`, "spec.version", `spec.version is "3.6"` + versionSentence, alike},
	{"a version before its release", `spec: {version: "3.7.0-rc.1"}`, "spec.version", `spec.version is "3.7.0-rc.1"` + versionSentence, alike},
	{"another pre-release than the one that is known", `spec: {version: "3.8.0-alpha.1"}`, "spec.version",
		`spec.version is "3.8.0-alpha.1"` + versionSentence, alike},
	{"a release of a minor of which only a pre-release is known", `spec: {version: "3.8.0"}`, "spec.version", "",
		"etcd 3.8.0 is of a minor of which this operator knows only 3.8.0-alpha.0, which is for tests. Use 3.7.3"},
	{"a version with a leading zero", `spec: {version: "3.06.1"}`, "spec.version", `spec.version is "3.06.1"` + versionSentence, alike},
	{"an empty version", `spec: {version: ""}`, "spec.version", `spec.version is ""` + versionSentence, alike},
	{"a version that loses data", `spec: {version: "3.5.13"}`, "spec.version", "",
		"etcd 3.5.13 is not accepted: its revision can go back after a crash during compaction (fixed in 3.5.14). Use 3.5.35"},
	{"a version of a minor that nobody knows", `spec: {version: "3.9.0"}`, "spec.version", "",
		"etcd 3.9.0 is of a minor this operator does not know; it knows 3.5, 3.6, 3.7. Use 3.7.3"},
	{"an image with a tag", "spec: {image: {repository: 'registry.example.com:5000/etcd:v3.6.16'}}", "spec.image.repository",
		`spec.image.repository is "registry.example.com:5000/etcd:v3.6.16"` + imageSentence, ""},
	{"an image with a tag and no registry", "spec: {image: {repository: 'etcd:3'}}", "spec.image.repository",
		`spec.image.repository is "etcd:3"` + imageSentence, ""},
	{"an image with a digest", "spec: {image: {repository: 'registry.example.com/etcd@" + someDigest + "'}}", "spec.image.repository",
		`spec.image.repository is "registry.example.com/etcd@` + someDigest + `"` + imageSentence, ""},
	{"a digest that is too short", `spec: {image: {digests: {"3.6.16": "sha256:0123"}}}`, "spec.image.digests[3.6.16]",
		`a value of spec.image.digests is "sha256:0123"; it must be of the form sha256:<64 hex digits>`, ""},
	{"a digest of no version", `spec: {image: {digests: {latest: "` + someDigest + `"}}}`, "spec.image.digests",
		"spec.image.digests must have versions without a leading v as keys, such as 3.6.16", ""},
	{"a pull policy that does not exist", "spec: {image: {pullPolicy: Sometimes}}", "spec.image.pullPolicy",
		`supported values: "Always", "IfNotPresent", "Never"`, ""},
	{"a pull secret without a name", "spec: {image: {pullSecrets: [{}]}}", "spec.image.pullSecrets",
		"spec.image.pullSecrets must each name a Secret of this namespace; a name is empty", ""},
	{"a mode that does not exist", "spec: {mode: Later}", "spec.mode", `supported values: "Enforce", "DryRun"`,
		""},
	{"a budget policy that does not exist", "spec: {disruption: {podDisruptionBudget: Always}}", "spec.disruption.podDisruptionBudget",
		`supported values: "Auto", "None"`, ""},
	{"a TLS mode that does not exist", "spec: {tls: {mode: Optional}}", "spec.tls.mode", `supported values: "Managed", "Permissive", "Disabled"`,
		""},
}

var refusedStorage = []refusal{
	{"a volume too small for the default quota", "spec: {storage: {size: 4Gi}}", "spec.storage.size", "spec.storage.size is 4Gi; it must " +
		"be at least twice spec.etcd.quotaBackendBytes, which is 2Gi (the default), and 1Gi more, so that defragmentation and snapshots have room", ""},
	{"a quota too large for the default volume", "spec: {etcd: {quotaBackendBytes: 4Gi}}", "spec.storage.size", "spec.storage.size is 8Gi " +
		"(the default); it must be at least twice spec.etcd.quotaBackendBytes, which is 4Gi, and 1Gi more, so that defragmentation and snapshots have room", ""},
	{"a quota too large for the volume by a byte", "spec: {storage: {size: 3Gi}, etcd: {quotaBackendBytes: 1073741825}}", "spec.storage.size",
		"spec.storage.size is 3Gi; it must be at least twice spec.etcd.quotaBackendBytes, which is 1073741825, and 1Gi more", ""},
	{"a quota above what etcd advises on a volume too small for it", "spec: {storage: {size: 20Gi}, etcd: {quotaBackendBytes: 10Gi}}",
		"spec.storage.size", "spec.storage.size is 20Gi; it must be at least twice spec.etcd.quotaBackendBytes, which is 10Gi, and 1Gi more", ""},
	{"a negative volume", "spec: {storage: {size: -8Gi}}", "spec.storage.size", "spec.storage.size is -8Gi; it must be at least twice", ""},
	{"a volume whose size is no quantity", "spec: {storage: {size: large}}", "spec.storage.size", "should match", ""},
	{"a storage class that cannot be a name", "spec: {storage: {storageClassName: Fast_SSD}}", "spec.storage.storageClassName",
		`spec.storage.storageClassName is "Fast_SSD"; it must be the name of a StorageClass: lower-case letters, digits, "-" and "."`, ""},
	{"a write-ahead log on a volume that is too small", "spec: {storage: {wal: {size: 512Mi}}}", "spec.storage.wal.size",
		"spec.storage.wal.size is 512Mi; it must be at least 1Gi", ""},
	{"a write-ahead log on a volume of no size", "spec: {storage: {wal: {}}}", "spec.storage.wal.size", "Required value", ""},
	{"a write-ahead log on a volume whose size is no quantity", "spec: {storage: {wal: {size: large}}}", "spec.storage.wal.size",
		"should match", ""},
	{"a write-ahead log in a storage class that cannot be a name", "spec: {storage: {wal: {size: 1Gi, storageClassName: Fast_SSD}}}",
		"spec.storage.wal.storageClassName", `spec.storage.wal.storageClassName is "Fast_SSD"; it must be the name of a StorageClass`, ""},
	{"ephemeral data with a volume for its log", "spec: {storage: {ephemeral: {}, wal: {size: 1Gi}}}", "spec.storage.ephemeral",
		volumeFields, ""},
	{"an access mode for many nodes", "spec: {storage: {accessMode: ReadWriteMany}}", "spec.storage.accessMode",
		`supported values: "ReadWriteOnce", "ReadWriteOncePod"`,
		""},
	{"a way to follow members that does not exist", "spec: {storage: {replace: Recreate}}", "spec.storage.replace",
		`supported values: "Surge", "InPlace"`, ""},
	{"a deletion policy that does not exist", "spec: {storage: {deletionPolicy: Recycle}}", "spec.storage.deletionPolicy",
		`supported values: "Retain", "Delete"`, ""},
	{"ephemeral data with the size of a volume", "spec: {storage: {ephemeral: {}, size: 8Gi}}", "spec.storage.ephemeral", volumeFields, ""},
	{"a class of attributes that cannot be a name", "spec: {storage: {volumeAttributesClassName: Fast_SSD}}",
		"spec.storage.volumeAttributesClassName", `spec.storage.volumeAttributesClassName is "Fast_SSD"; it must be the name of a VolumeAttributesClass`, ""},
	{"a class of attributes of the log that cannot be a name", "spec: {storage: {wal: {size: 1Gi, volumeAttributesClassName: Fast_SSD}}}",
		"spec.storage.wal.volumeAttributesClassName", `spec.storage.wal.volumeAttributesClassName is "Fast_SSD"; it must be the name of a VolumeAttributesClass`, ""},
	{"ephemeral data with a class of attributes", "spec: {storage: {ephemeral: {}, volumeAttributesClassName: fast}}", "spec.storage.ephemeral", volumeFields, ""},
	{"ephemeral data with a storage class", "spec: {storage: {ephemeral: {}, storageClassName: fast}}", "spec.storage.ephemeral", volumeFields, ""},
	{"ephemeral data with an access mode", "spec: {storage: {ephemeral: {}, accessMode: ReadWriteOnce}}", "spec.storage.ephemeral", volumeFields, ""},
	{"a medium that does not exist", "spec: {storage: {ephemeral: {medium: HugePages}}}", "spec.storage.ephemeral.medium",
		`supported values: "", "Memory"`, ""},
	{"data in memory over the limit", "spec: {storage: {ephemeral: {medium: Memory}}, pod: {resources: {limits: {memory: 4Gi}}}}", "spec.pod.resources",
		"spec.pod.resources.limits.memory is 4Gi; with spec.storage.ephemeral.medium Memory it must be at least twice " +
			"spec.etcd.quotaBackendBytes, which is 2Gi (the default), and 1Gi more, because the data counts against it", ""},
}

var refusedEtcd = []refusal{
	{"a quota over 32Gi", "spec: {storage: {size: 100Gi}, etcd: {quotaBackendBytes: 33Gi}}", "spec.etcd.quotaBackendBytes",
		"spec.etcd.quotaBackendBytes is 33Gi; it must be from 16Mi to 32Gi", ""},
	{"a quota of nothing", "spec: {etcd: {quotaBackendBytes: 0}}", "spec.etcd.quotaBackendBytes",
		"spec.etcd.quotaBackendBytes is 0; it must be from 16Mi to 32Gi", ""},
	{"a negative quota", "spec: {etcd: {quotaBackendBytes: -1Gi}}", "spec.etcd.quotaBackendBytes",
		"spec.etcd.quotaBackendBytes is -1Gi; it must be from 16Mi to 32Gi", ""},
	{"a quota that is no quantity", "spec: {etcd: {quotaBackendBytes: much}}", "spec.etcd.quotaBackendBytes", "should match", ""},
	{"a compaction mode that does not exist", "spec: {etcd: {autoCompaction: {mode: never}}}", "spec.etcd.autoCompaction.mode",
		`supported values: "periodic", "revision"`, ""},
	{"an age where revisions are counted", "spec: {etcd: {autoCompaction: {mode: revision, retention: 1h}}}", "spec.etcd.autoCompaction.retention",
		"spec.etcd.autoCompaction.retention is 1h; it must be a number of revisions when mode is revision, such as 10000", ""},
	{"no number where revisions are counted", "spec: {etcd: {autoCompaction: {mode: revision}}}", "spec.etcd.autoCompaction.retention",
		"spec.etcd.autoCompaction.retention is absent; it must be a number of revisions when mode is revision, such as 10000", ""},
	{"a bare number as an age, which etcd takes for hours", `spec: {etcd: {autoCompaction: {retention: "1000"}}}`, "spec.etcd.autoCompaction.retention",
		"spec.etcd.autoCompaction.retention is 1000; it must be an age when mode is periodic, such as 1h or 30m, or 0 for no compaction", ""},
	{"an age in days", `spec: {etcd: {autoCompaction: {mode: periodic, retention: "1d"}}}`, "spec.etcd.autoCompaction.retention",
		"spec.etcd.autoCompaction.retention is 1d; it must be an age when mode is periodic, such as 1h or 30m, or 0 for no compaction", ""},
	{"a snapshot count of 0", "spec: {etcd: {snapshotCount: 0}}", "spec.etcd.snapshotCount", "should be greater than or equal to 1",
		""},
	{"a heartbeat that is no time", "spec: {etcd: {heartbeatInterval: often}}", "spec.etcd.heartbeatInterval",
		`spec.etcd.heartbeatInterval is "often"; it must be a time in whole milliseconds from 10ms to 5s, such as 100ms`, ""},
	{"a heartbeat that is too short", "spec: {etcd: {heartbeatInterval: 5ms}}", "spec.etcd.heartbeatInterval",
		`spec.etcd.heartbeatInterval is "5ms"; it must be a time in whole milliseconds from 10ms to 5s, such as 100ms`, ""},
	{"a heartbeat of half a millisecond more", "spec: {etcd: {heartbeatInterval: 100.5ms}}", "spec.etcd.heartbeatInterval",
		`spec.etcd.heartbeatInterval is "100.5ms"; it must be a time in whole milliseconds from 10ms to 5s, such as 100ms`, ""},
	{"an election timeout over etcd's 50s", "spec: {etcd: {electionTimeout: 51s}}", "spec.etcd.electionTimeout",
		`spec.etcd.electionTimeout is "51s"; it must be a time in whole milliseconds from 50ms to 50s, such as 1s`, ""},
	{"an election timeout of less than five heartbeats", "spec: {etcd: {heartbeatInterval: 300ms, electionTimeout: 1s}}", "spec.etcd.electionTimeout",
		"spec.etcd.electionTimeout is 1s; it must be at least five times spec.etcd.heartbeatInterval, which is 300ms", ""},
	{"a heartbeat too long for the default election timeout", "spec: {etcd: {heartbeatInterval: 300ms}}", "spec.etcd.electionTimeout",
		"spec.etcd.electionTimeout is 1s (the default); it must be at least five times spec.etcd.heartbeatInterval, which is 300ms", ""},
	{"an election timeout too short for the default heartbeat", "spec: {etcd: {electionTimeout: 400ms}}", "spec.etcd.electionTimeout",
		"spec.etcd.electionTimeout is 400ms; it must be at least five times spec.etcd.heartbeatInterval, which is 100ms (the default)", ""},
	{"an extra flag with dashes", `spec: {etcd: {extraArgs: {"--max-txn-ops": "256"}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must have names of etcd flags without the leading dashes as keys, such as max-txn-ops", ""},
	{"an extra flag that the operator sets", `spec: {etcd: {extraArgs: {data-dir: /tmp}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain data-dir: the operator sets it, or never lets it be set", ""},
	{"an extra flag of a family that the operator sets", `spec: {etcd: {extraArgs: {initial-cluster-token: x}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain initial-cluster-token: the operator sets it, or never lets it be set", ""},
	{"an extra flag that has a field", `spec: {etcd: {extraArgs: {snapshot-count: "5"}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain snapshot-count", ""},
	{"an extra flag of TLS", `spec: {etcd: {extraArgs: {auto-tls: "true"}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain auto-tls", ""},
	{"an extra flag of the corruption checks", `spec: {etcd: {extraArgs: {experimental-initial-corrupt-check: "false"}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain experimental-initial-corrupt-check", ""},
	{"an extra flag that makes a new cluster", `spec: {etcd: {extraArgs: {force-new-cluster: "true"}}}`, "spec.etcd.extraArgs",
		"spec.etcd.extraArgs must not contain force-new-cluster", ""},
	{"an extra flag of two lines", `spec: {etcd: {extraArgs: {max-txn-ops: "1\n2"}}}`, "spec.etcd.extraArgs[max-txn-ops]",
		"spec.etcd.extraArgs must have values of one line", `spec.etcd.extraArgs: extra flag "max-txn-ops": its value must be one line`},
	{"an extra flag that the version does not know", `spec: {etcd: {extraArgs: {max-txn-opps: "256"}}}`, "spec.etcd.extraArgs[max-txn-opps]", "",
		`spec.etcd.extraArgs: extra flag "max-txn-opps": etcd 3.6 does not know it and would not start; remove it`},
	{"an extra flag that the next minor drops", `spec: {version: "3.8.0-alpha.0", etcd: {extraArgs: {max-snapshots: "9"}}}`,
		"spec.etcd.extraArgs[max-snapshots]", "", `spec.etcd.extraArgs: extra flag "max-snapshots": etcd 3.8 does not know it ` +
			"and would not start; remove it"},
	{"an extra flag of an older version", `spec: {version: "3.7.3", etcd: {extraArgs: {experimental-watch-progress-notify-interval: 10s}}}`,
		"spec.etcd.extraArgs[experimental-watch-progress-notify-interval]", "",
		`spec.etcd.extraArgs: extra flag "experimental-watch-progress-notify-interval": etcd 3.7 does not know it and would not start; remove it`},
}

const (
	noRoot        = "; it must be from 1 to 2147483647: no process runs as root"
	noSuchGroup   = "; it must be from 0 to 2147483647"
	security      = "spec.pod.securityContext"
	noSELinuxUser = security + ".seLinuxOptions must not set user and role: Pod Security restricted refuses them"
)

var refusedIDs = []refusal{
	{"root", "spec: {pod: {securityContext: {runAsUser: 0}}}", security + ".runAsUser", security + ".runAsUser is 0" + noRoot, ""},
	{"a negative user", "spec: {pod: {securityContext: {runAsUser: -1}}}", security + ".runAsUser", security + ".runAsUser is -1" + noRoot, ""},
	{"a user that Linux does not have", "spec: {pod: {securityContext: {runAsUser: 2147483648}}}", security + ".runAsUser",
		security + ".runAsUser is 2147483648" + noRoot, ""},
	{"a user by name", "spec: {pod: {securityContext: {runAsUser: etcd}}}", security + ".runAsUser", "must be of type integer", ""},
	{"a negative group", "spec: {pod: {securityContext: {runAsGroup: -1}}}", security + ".runAsGroup", security + ".runAsGroup is -1" + noSuchGroup, ""},
	{"a group that Linux does not have", "spec: {pod: {securityContext: {fsGroup: 2147483648}}}", security + ".fsGroup",
		security + ".fsGroup is 2147483648" + noSuchGroup, ""},
	{"a further group that Linux does not have", "spec: {pod: {securityContext: {supplementalGroups: [5, -5]}}}", security + ".supplementalGroups",
		security + ".supplementalGroups must be from 0 to 2147483647", ""},
	{"a policy of groups that does not exist", "spec: {pod: {securityContext: {fsGroupChangePolicy: Never}}}", security + ".fsGroupChangePolicy",
		`supported values: "OnRootMismatch", "Always"`, ""},
	{"a user of SELinux", "spec: {pod: {securityContext: {seLinuxOptions: {user: system_u}}}}", security + ".seLinuxOptions", noSELinuxUser, ""},
	{"a role of SELinux", "spec: {pod: {securityContext: {seLinuxOptions: {role: system_r}}}}", security + ".seLinuxOptions", noSELinuxUser, ""},
	{"a type of SELinux that is not confined", "spec: {pod: {securityContext: {seLinuxOptions: {type: spc_t}}}}", security + ".seLinuxOptions.type",
		security + ".seLinuxOptions.type must be one of container_t, container_init_t, container_kvm_t, container_engine_t: " +
			"Pod Security restricted refuses others", ""},
	{"a level of SELinux that has no end", "spec: {pod: {securityContext: {seLinuxOptions: {level: '" + strings.Repeat("s0:c1,", 43) + "'}}}}",
		security + ".seLinuxOptions.level", security + ".seLinuxOptions.level must be at most 256 characters, such as s0:c123,c456", ""},
}

var refusedPods = []refusal{
	{"a label of the operator", "spec: {pod: {labels: {etcdsteward.dev/role: voter}}}", "spec.pod.labels", operatorLabels, ""},
	{"a label of a subdomain of the operator's", "spec: {pod: {labels: {x.etcdsteward.dev/role: voter}}}", "spec.pod.labels", operatorLabels, ""},
	{"a standard label that the operator sets", "spec: {pod: {labels: {app.kubernetes.io/instance: other}}}", "spec.pod.labels", operatorLabels, ""},
	{"a label value that is too long", "spec: {pod: {labels: {team: a123456789012345678901234567890123456789012345678901234567890123}}}", "spec.pod.labels",
		"spec.pod.labels must have values of at most 63 characters", ""},
	{"a label value with a space", "spec: {pod: {labels: {team: 'storage team'}}}", "spec.pod.labels[team]", "",
		`spec.pod.labels[team] has the value "storage team": a valid label must be`},
	{"a label key with a space", "spec: {pod: {labels: {'my team': storage}}}", "spec.pod.labels", "",
		`spec.pod.labels has the key "my team": name part must consist of`},
	{"an annotation of the operator", "spec: {pod: {annotations: {etcdsteward.dev/record: '{}'}}}", "spec.pod.annotations",
		"spec.pod.annotations must not contain the prefix etcdsteward.dev/: the operator sets those", ""},
	{"AppArmor that is off", "spec: {pod: {annotations: {container.apparmor.security.beta.kubernetes.io/etcd: unconfined}}}", "spec.pod.annotations",
		"spec.pod.annotations" + loosened, alike},
	{"seccomp that is off", "spec: {pod: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}}", "spec.pod.annotations",
		"spec.pod.annotations" + loosened, alike},
	{"seccomp of a container that is off", "spec: {pod: {annotations: {container.seccomp.security.alpha.kubernetes.io/etcd: unconfined}}}",
		"spec.pod.annotations", "spec.pod.annotations" + loosened, alike},
	{"a node selector value that is too long", "spec: {pod: {nodeSelector: {pool: a123456789012345678901234567890123456789012345678901234567890123}}}",
		"spec.pod.nodeSelector", "spec.pod.nodeSelector must have values of at most 63 characters", ""},
	{"a volume whose size takes minutes to read", "spec: {storage: {size: '1e-2000000000'}}", "spec.storage.size", "should match", ""},
	{"a quota that takes minutes to read", "spec: {etcd: {quotaBackendBytes: '1e2000000000'}}", "spec.etcd.quotaBackendBytes", "should match", ""},
	{"a request that takes minutes to read", "spec: {pod: {resources: {requests: {cpu: '1e-2000000000'}}}}", "spec.pod.resources.requests.cpu", "should match", ""},
	{"a limit that takes minutes to read", "spec: {storage: {ephemeral: {medium: Memory}}, pod: {resources: {limits: {memory: '1e2000000000m'}}}}",
		"spec.pod.resources.limits.memory", "should match", ""},
	{"a request above its limit", "spec: {pod: {resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}}}", "spec.pod.resources.requests[memory]", "",
		"spec.pod.resources.requests.memory is 2Gi; it must be at most the limit, which is 1Gi"},
	{"a negative request", "spec: {pod: {resources: {requests: {cpu: -1}}}}", "spec.pod.resources.requests[cpu]", "",
		`spec.pod.resources.requests[cpu] is "-1"; it must not be negative`},
	{"a priority class that cannot be a name", "spec: {pod: {priorityClassName: Very High}}", "spec.pod.priorityClassName",
		`spec.pod.priorityClassName is "Very High"; it must be the name of a PriorityClass: lower-case letters, digits, "-" and "."`, ""},
	{"a scheduler that cannot be a name", "spec: {pod: {schedulerName: My Scheduler}}", "spec.pod.schedulerName",
		`spec.pod.schedulerName is "My Scheduler"; it must be the name of a scheduler: lower-case letters, digits, "-" and "."`, ""},
	{"a name server by name", "spec: {pod: {dnsConfig: {nameservers: [dns.example.com]}}}", "spec.pod.dnsConfig.nameservers[0]", "",
		`spec.pod.dnsConfig.nameservers[0] is "dns.example.com"; it must be an IP address`},
	{"more name servers than Kubernetes takes", "spec: {pod: {dnsConfig: {nameservers: [203.0.113.1, 203.0.113.2, 203.0.113.3, 203.0.113.4]}}}",
		"spec.pod.dnsConfig.nameservers", "", "must have at most 3 items"},
	{"a search domain that is none", "spec: {pod: {dnsConfig: {searches: ['*.example.com']}}}", "spec.pod.dnsConfig.searches[0]", "",
		`spec.pod.dnsConfig.searches[0] is "*.example.com"; it must be a DNS domain`},
	{"an option of resolv.conf without a name", "spec: {pod: {dnsConfig: {options: [{value: '2'}]}}}", "spec.pod.dnsConfig.options[0].name", "",
		`spec.pod.dnsConfig.options[0].name is ""; it must name an option`},
	{"a grace period of no time", "spec: {pod: {terminationGracePeriodSeconds: 0}}", "spec.pod.terminationGracePeriodSeconds",
		"should be greater than or equal to 30", ""},
	{"a toleration of all taints that does not say so", "spec: {pod: {tolerations: [{effect: NoSchedule}]}}", "spec.pod.tolerations[0].operator", "",
		"it must be Exists when there is no key"},
	{"a toleration with a value for any value", "spec: {pod: {tolerations: [{key: a, operator: Exists, value: b}]}}", "spec.pod.tolerations[0].value", "",
		`spec.pod.tolerations[0].value is "b"; there must be none when operator is Exists`},
	{"a toleration of an effect that does not exist", "spec: {pod: {tolerations: [{key: a, operator: Exists, effect: Evict}]}}", "spec.pod.tolerations[0].effect", "",
		`spec.pod.tolerations[0].effect is "Evict"; it must be one of NoSchedule, PreferNoSchedule, NoExecute`},
	{"a toleration for a time of an effect without time", "spec: {pod: {tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]}}",
		"spec.pod.tolerations[0].tolerationSeconds", "", "spec.pod.tolerations[0].tolerationSeconds is 5; it needs effect NoExecute"},
	{"a node affinity with an unknown operator", "spec: {pod: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Is, values: [a]}]}]}}}}}",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator", "",
		`supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`},
	{"a node affinity that lists no value", "spec: {pod: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In}]}]}}}}}",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values", "",
		"values set can't be empty"},
	{"a node affinity with values for mere existence", "spec: {pod: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists, values: [a]}]}]}}}}}",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values", "",
		"values set must be empty for exists and does not exist"},
	{"a node affinity that compares with two numbers", "spec: {pod: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Gt, values: ['1', '2']}]}]}}}}}",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values", "",
		"exactly one value is required"},
	{"a node affinity that prefers more than no number", "spec: {pod: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: " +
		"[{weight: 1, preference: {matchExpressions: [{key: cores, operator: Gt, values: [many]}]}}]}}}}",
		"spec.pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].values[0]", "", "must be an integer"},
	{"a node affinity that requires nothing", "spec: {pod: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
		"{nodeSelectorTerms: []}}}}}",
		"spec.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "",
		"must have at least one term"},
	{"an affinity to Pods over no topology", "spec: {pod: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ''}]}}}}",
		"spec.pod.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", "", "it must be the key of a label"},
	{"a spread that wants domains and does not insist", "spec: {pod: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, " +
		"whenUnsatisfiable: ScheduleAnyway, minDomains: 3}]}}", "spec.pod.topologySpreadConstraints[0].minDomains", "",
		"spec.pod.topologySpreadConstraints[0].minDomains is 3; it must be at least 1, and needs whenUnsatisfiable DoNotSchedule"},
	{"an annotation key with a space", "spec: {pod: {annotations: {'my note': x}}}", "spec.pod.annotations", "",
		`spec.pod.annotations has the key "my note": name part must consist of`},
	{"a preference with no weight", "spec: {pod: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: " +
		"[{weight: 0, podAffinityTerm: {topologyKey: zone}}]}}}}",
		"spec.pod.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", "", "is 0; it must be from 1 to 100"},
	{"an anti-affinity over no topology", "spec: {pod: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ''}]}}}}",
		"spec.pod.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", "", "it must be the key of a label"},
	{"a spread with a skew of 0", "spec: {pod: {topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}",
		"spec.pod.topologySpreadConstraints[0].maxSkew", "", "spec.pod.topologySpreadConstraints[0].maxSkew is 0; it must be at least 1"},
	{"a spread that does something unknown", "spec: {pod: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Panic}]}}",
		"spec.pod.topologySpreadConstraints[0].whenUnsatisfiable", "", `is "Panic"; it must be one of DoNotSchedule, ScheduleAnyway`},
	{"a spread with a selector that cannot be read", "spec: {pod: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, " +
		"whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Is}]}}]}}",
		"spec.pod.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator", "", "not a valid selector operator"},
}

const replaceSentence = "; it must be a time of at least 30s, such as 5m, or 0 for never"

const ageSentence = "; it must be a time of at least 1m, such as 26h, or 0 for any age"

const keepSentence = "; it must be a time such as 24h, or 0 to keep none"

var refusedRepairs = []refusal{
	{"an age that no schedule keeps to", "spec: {backups: {maxAge: 59s}}", "spec.backups.maxAge", `spec.backups.maxAge is "59s"` + ageSentence, ""},
	{"an age that is no time", "spec: {backups: {maxAge: daily}}", "spec.backups.maxAge", `spec.backups.maxAge is "daily"` + ageSentence, ""},
	{"a replacement too soon", "spec: {repair: {replaceAfter: 29.999s}}", "spec.repair.replaceAfter", `spec.repair.replaceAfter is "29.999s"` + replaceSentence, ""},
	{"a replacement in the past", "spec: {repair: {replaceAfter: -5m}}", "spec.repair.replaceAfter", `spec.repair.replaceAfter is "-5m"` + replaceSentence,
		""},
	{"a time until the replacement without a unit", "spec: {repair: {replaceAfter: '300'}}", "spec.repair.replaceAfter",
		`spec.repair.replaceAfter is "300"` + replaceSentence, ""},
	{"a time until the replacement in days", "spec: {repair: {replaceAfter: 1d}}", "spec.repair.replaceAfter", `spec.repair.replaceAfter is "1d"` + replaceSentence, ""},
	{"a time until the replacement in words", "spec: {repair: {replaceAfter: never}}", "spec.repair.replaceAfter",
		`spec.repair.replaceAfter is "never"` + replaceSentence, ""},
	{"volumes that are kept for less than no time", "spec: {repair: {keepVolumes: -1h}}", "spec.repair.keepVolumes",
		`spec.repair.keepVolumes is "-1h"` + keepSentence, ""},
	{"an empty time until the replacement", "spec: {repair: {replaceAfter: ''}}", "spec.repair.replaceAfter", `spec.repair.replaceAfter is ""` + replaceSentence, ""},
	{"a replacement of which the time is a number", "spec: {repair: {replaceAfter: 300}}", "spec.repair.replaceAfter", "must be of type string", ""},
}

// exposed is what is said of a Service that lets all use etcd.
func exposed(kind string) string {
	return "spec.service.type is " + kind + " while spec.tls.mode is Disabled: all who reach it could read and change all data. Set type LoadBalancer " +
		"with spec.service.loadBalancerSourceRanges, or type ClusterIP. With spec.tls.mode Managed any type is allowed"
}

// sanSentence is what is said of a name that no certificate can have.
func sanSentence(name string) string {
	return `spec.tls.extraSANs names "` + name + `"; each must be an IP address, or a DNS name in lower case, such as etcd.example.com or *.etcd.example.com`
}

var refusedTLS = []refusal{
	{"a URL in a certificate", "spec: {tls: {extraSANs: ['https://etcd.example.com']}}", "spec.tls.extraSANs[0]", sanSentence("https://etcd.example.com"), ""},
	{"a port in a certificate", "spec: {tls: {extraSANs: [localhost, '203.0.113.7:2379']}}", "spec.tls.extraSANs[1]", sanSentence("203.0.113.7:2379"), ""},
	{"a mistyped IP address in a certificate", "spec: {tls: {extraSANs: [203.0.113.256]}}", "spec.tls.extraSANs[0]", sanSentence("203.0.113.256"), ""},
	{"an IPv4 address as an IPv6 one in a certificate", "spec: {tls: {extraSANs: ['::ffff:203.0.113.7']}}", "spec.tls.extraSANs[0]", sanSentence("::ffff:203.0.113.7"), ""},
	{"a network interface in a certificate", "spec: {tls: {extraSANs: ['fe80::1%eth0']}}", "spec.tls.extraSANs[0]", sanSentence("fe80::1%eth0"), ""},
	{"a star within a name", "spec: {tls: {extraSANs: [etcd.*.example.com]}}", "spec.tls.extraSANs[0]", sanSentence("etcd.*.example.com"), ""},
	{"a name in capital letters", "spec: {tls: {extraSANs: [Etcd.example.com]}}", "spec.tls.extraSANs[0]", sanSentence("Etcd.example.com"), ""},
	{"an empty name", "spec: {tls: {extraSANs: ['']}}", "spec.tls.extraSANs[0]", sanSentence(""), ""},
	{"no TLS on every node", "spec: {tls: {mode: Disabled}, service: {type: NodePort}}", "spec.service", exposed("NodePort"), alike},
	{"no TLS behind a load balancer for all", "spec: {tls: {mode: Disabled}, service: {type: LoadBalancer, loadBalancerSourceRanges: []}}", "spec.service",
		exposed("LoadBalancer"), alike},
	{"a CA of a Secret that cannot be", "spec: {tls: {clientCA: {secretRef: {name: ../corp}}}}", "spec.tls.clientCA.secretRef.name",
		`secretRef.name is "../corp"; it must be the name of a Secret of this namespace`, ""},
	{"a CA for peers of a Secret that cannot be", "spec: {tls: {peerCA: {secretRef: {name: Corp}}}}", "spec.tls.peerCA.secretRef.name",
		`secretRef.name is "Corp"; it must be the name of a Secret of this namespace`, ""},
	{"a CA from nowhere", "spec: {tls: {clientCA: {}}}", "spec.tls.clientCA", "a CA comes from a Secret or from an issuer: set secretRef or issuerRef, and not both", ""},
	{"a CA from both", "spec: {tls: {clientCA: {secretRef: {name: corp}, issuerRef: {name: corp}}}}", "spec.tls.clientCA",
		"a CA comes from a Secret or from an issuer: set secretRef or issuerRef, and not both", ""},
	{"an issuer that cannot be", "spec: {tls: {clientCA: {issuerRef: {name: ../corp}}}}", "spec.tls.clientCA.issuerRef.name",
		"issuerRef.name is \"../corp\"; it must be the name of an issuer", ""},
	{"a kind of issuer that cannot be", "spec: {tls: {clientCA: {issuerRef: {name: corp, kind: issuer}}}}", "spec.tls.clientCA.issuerRef.kind",
		"issuerRef.kind is \"issuer\"; it must be a kind such as Issuer or ClusterIssuer", ""},
	{"a group that cannot be", "spec: {tls: {clientCA: {issuerRef: {name: corp, group: A/b}}}}", "spec.tls.clientCA.issuerRef.group",
		"issuerRef.group is \"A/b\"; it must be a group of the API such as cert-manager.io", ""},
	{"a CA for peers from nowhere", "spec: {tls: {peerCA: {}}}", "spec.tls.peerCA", "a CA comes from a Secret or from an issuer: set secretRef or issuerRef, and not both", ""},
	{"an issuer for peers that cannot be", "spec: {tls: {peerCA: {issuerRef: {name: ../corp}}}}", "spec.tls.peerCA.issuerRef.name",
		"issuerRef.name is \"../corp\"; it must be the name of an issuer", ""},
	{"a kind of issuer for peers that cannot be", "spec: {tls: {peerCA: {issuerRef: {name: corp, kind: issuer}}}}", "spec.tls.peerCA.issuerRef.kind",
		"issuerRef.kind is \"issuer\"; it must be a kind such as Issuer or ClusterIssuer", ""},
	{"a group for peers that cannot be", "spec: {tls: {peerCA: {issuerRef: {name: corp, group: A/b}}}}", "spec.tls.peerCA.issuerRef.group",
		"issuerRef.group is \"A/b\"; it must be a group of the API such as cert-manager.io", ""},
	{"one Secret for both CAs", "spec: {tls: {clientCA: {secretRef: {name: corp}}, peerCA: {secretRef: {name: corp}}}}", "spec.tls.peerCA",
		"spec.tls.clientCA and spec.tls.peerCA must name two Secrets: with one CA for both, anyone who has the certificate of a client could connect as a member", ""},
	{"a CA without TLS", "spec: {tls: {mode: Disabled, peerCA: {secretRef: {name: corp}}}}", "spec.tls",
		"spec.tls.clientCA and spec.tls.peerCA need spec.tls.mode Managed or Permissive: without TLS there is nothing to sign", ""},
	{"names for certificates without TLS", "spec: {tls: {mode: Disabled, extraSANs: [etcd.example.com]}}", "spec.tls.extraSANs",
		"spec.tls.extraSANs needs spec.tls.mode Managed or Permissive: without TLS there is no certificate to put them in", ""},
	{"authentication without TLS", "spec: {tls: {mode: Disabled}, auth: {enabled: true}}", "spec.auth",
		"spec.auth.enabled needs spec.tls.mode Managed: without certificates neither the operator nor clients could log in. Take spec.auth out, or set " +
			"it to false, or set spec.tls.mode to Managed", ""},
	{"authentication that is neither on nor off", "spec: {auth: {}}", "spec.auth.enabled", "Required value", ""},
	{"access for all namespaces", "spec: {access: {namespaces: [{name: '*'}]}}", "spec.access.namespaces[0].name",
		`spec.access.namespaces names "*"; it must be the name of a namespace. There is none for all namespaces: name each`, ""},
	{"access for a namespace twice", "spec: {access: {namespaces: [{name: team}, {name: team}]}}", "spec.access.namespaces[1]", "Duplicate value", ""},
	{"access to no prefix", "spec: {access: {namespaces: [{name: team, prefixes: []}]}}", "spec.access.namespaces[0].prefixes", "at least 1", ""},
	{"access to a prefix that came out empty", "spec: {access: {namespaces: [{name: team, prefixes: ['']}]}}", "spec.access.namespaces[0].prefixes[0]", "at least 1", ""},
}

const (
	missingPeers = " must be given: a list of podSelector, namespaceSelector or ipBlock, or [] to let none in"
	wrongPeers   = " must have in each item either ipBlock, or podSelector and namespaceSelector, or one of these two"
	notABlock    = "; it must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/64"
)

var refusedPeers = []refusal{
	{"a network policy that says nothing of clients", "spec: {networkPolicy: {metrics: []}}", "spec.networkPolicy.clients",
		"Required value", ""},
	{"a network policy that says nothing of metrics", "spec: {networkPolicy: {clients: []}}", "spec.networkPolicy.metrics",
		"Required value", ""},
	{"a client that is named by nothing", "spec: {networkPolicy: {clients: [{}], metrics: []}}", "spec.networkPolicy.clients",
		"spec.networkPolicy.clients" + wrongPeers, ""},
	{"a client by its Pod and its address", "spec: {networkPolicy: {clients: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}], metrics: []}}",
		"spec.networkPolicy.clients", "spec.networkPolicy.clients" + wrongPeers, ""},
	{"a reader of metrics by its namespace and its address", "spec: {networkPolicy: {clients: [], metrics: [{namespaceSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}}",
		"spec.networkPolicy.metrics", "spec.networkPolicy.metrics" + wrongPeers, ""},
	{"more clients than a list holds", "spec: {networkPolicy: {clients: [" + strings.Repeat("{podSelector: {}},", 65) + "], metrics: []}}", "spec.networkPolicy.clients",
		"must have at most 64 items", ""},
	{"more readers of metrics than a list holds", "spec: {networkPolicy: {metrics: [" + strings.Repeat("{podSelector: {}},", 65) + "], clients: []}}", "spec.networkPolicy.metrics",
		"must have at most 64 items", ""},
	{"a client by an address alone", "spec: {networkPolicy: {clients: [{ipBlock: {cidr: 10.0.0.1}}], metrics: []}}", "spec.networkPolicy.clients[0].ipBlock.cidr",
		"", `spec.networkPolicy.clients[0].ipBlock.cidr is "10.0.0.1"` + notABlock},
	{"an exception that is no block", "spec: {networkPolicy: {clients: [{ipBlock: {cidr: 10.0.0.0/8, except: [x]}}], metrics: []}}",
		"spec.networkPolicy.clients[0].ipBlock.except[0]", "", `spec.networkPolicy.clients[0].ipBlock.except[0] is "x"` + notABlock},
	{"an exception from what is not let in", "spec: {networkPolicy: {clients: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.1.0.0/16]}}], metrics: []}}",
		"spec.networkPolicy.clients[0].ipBlock.except[0]", "", `spec.networkPolicy.clients[0].ipBlock.except[0] is "11.1.0.0/16"; it must be a smaller part of 10.0.0.0/8`},
	{"an exception of all that is let in", "spec: {networkPolicy: {metrics: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}], clients: []}}",
		"spec.networkPolicy.metrics[0].ipBlock.except[0]", "", `spec.networkPolicy.metrics[0].ipBlock.except[0] is "10.0.0.0/8"; it must be a smaller part of 10.0.0.0/8`},
	{"a selector that cannot be read", "spec: {networkPolicy: {clients: [{podSelector: {matchExpressions: [{key: app, operator: In}]}}], metrics: []}}",
		"spec.networkPolicy.clients[0].podSelector.matchExpressions[0].values", "", "must be specified when"},
}

var refusedServices = []refusal{
	{"a type of Service that has no members", "spec: {service: {type: ExternalName}}", "spec.service.type",
		`supported values: "ClusterIP", "NodePort", "LoadBalancer"`, ""},
	{"a load balancer's class without a load balancer", "spec: {service: {loadBalancerClass: example.com/internal}}", "spec.service.loadBalancerClass",
		`spec.service.loadBalancerClass is "example.com/internal" while spec.service.type is ClusterIP; it needs type LoadBalancer`, ""},
	{"a load balancer's class that cannot be a name", "spec: {service: {type: LoadBalancer, loadBalancerClass: 'a b'}}", "spec.service.loadBalancerClass",
		`spec.service.loadBalancerClass is "a b"; it must be a name with an optional domain before it, such as example.com/internal`, ""},
	{"an annotation of the operator on the Service", "spec: {service: {annotations: {etcdsteward.dev/birth: '{}'}}}", "spec.service.annotations",
		"spec.service.annotations must not contain the prefix etcdsteward.dev/: the operator sets those", ""},
	{"a label of the operator on the Service", "spec: {service: {labels: {app.kubernetes.io/name: other}}}", "spec.service.labels",
		"spec.service.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component", ""},
	{"a label of the Service that is too long", "spec: {service: {labels: {team: '" + strings.Repeat("a", 64) + "'}}}", "spec.service.labels",
		"spec.service.labels must have values of at most 63 characters", ""},
	{"an address instead of a network", "spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8, 203.0.113.7]}}", "spec.service.loadBalancerSourceRanges[1]",
		`spec.service.loadBalancerSourceRanges has "203.0.113.7"; each must be a network, such as 203.0.113.0/24 or 2001:db8::/64`, ""},
	{"a network that is too small", "spec: {service: {type: LoadBalancer, loadBalancerSourceRanges: [203.0.113.0/33]}}", "spec.service.loadBalancerSourceRanges[0]",
		`spec.service.loadBalancerSourceRanges has "203.0.113.0/33"; each must be a network`, ""},
	{"networks for a node port", "spec: {service: {type: NodePort, loadBalancerSourceRanges: [203.0.113.0/24]}}", "spec.service.loadBalancerSourceRanges",
		"spec.service.loadBalancerSourceRanges needs spec.service.type LoadBalancer; take it out for another type, which does not look at who connects", ""},
	{"a policy for traffic from outside that there is not", "spec: {service: {type: NodePort, externalTrafficPolicy: Nearest}}", "spec.service.externalTrafficPolicy",
		`supported values: "Cluster", "Local"`, ""},
	{"a policy for traffic from outside that cannot come", "spec: {service: {externalTrafficPolicy: Local}}", "spec.service.externalTrafficPolicy",
		"spec.service.externalTrafficPolicy needs spec.service.type NodePort or LoadBalancer; take it out for type ClusterIP, which has no traffic from outside", ""},
	{"a family of addresses that there is not", "spec: {service: {ipFamilies: [IPv5]}}", "spec.service.ipFamilies[0]",
		`supported values: "IPv4", "IPv6"`, ""},
	{"a family of addresses twice", "spec: {service: {ipFamilies: [IPv6, IPv6]}}", "spec.service.ipFamilies",
		"spec.service.ipFamilies names the same family twice; name each once, such as [IPv6, IPv4]", ""},
	{"more families of addresses than there are", "spec: {service: {ipFamilies: [IPv6, IPv4, IPv6]}}", "spec.service.ipFamilies",
		"must have at most 2 items", ""},
	{"two families of addresses for one", "spec: {service: {ipFamilies: [IPv6, IPv4], ipFamilyPolicy: SingleStack}}", "spec.service.ipFamilies",
		"spec.service.ipFamilies names two families while spec.service.ipFamilyPolicy is SingleStack; name one, or set PreferDualStack or RequireDualStack", ""},
	{"a policy of families that there is not", "spec: {service: {ipFamilyPolicy: DualStack}}", "spec.service.ipFamilyPolicy",
		`supported values: "SingleStack", "PreferDualStack", "RequireDualStack"`,
		""},
}
