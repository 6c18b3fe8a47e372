package main

// What belongs to the chosen cluster: series of the operator, and of its members.
const (
	ofCluster = `namespace="$namespace", name="$name"`
	ofMembers = `namespace="$namespace", etcd_cluster="$name"`
)

// day is in seconds.
const day = 86400

var cluster = board{
	title: "etcd-steward / cluster", uid: "etcd-steward-cluster",
	description: "One etcd cluster: whether it serves, what the operator does, and what runs out.",
	variables: []variable{
		{"namespace", `label_values(etcdsteward_cluster_info, namespace)`},
		{"name", `label_values(etcdsteward_cluster_info{namespace="$namespace"}, name)`},
	},
	rows: []row{clusterNow, clusterOperator, clusterMembers, clusterWrites, clusterSpace, clusterKept},
}

var clusterNow = row{"Now", []panel{
	{kind: number, title: "Members to spare", none: "unknown", limits: []limit{{-1, "red"}, {0, "orange"}, {1, "green"}},
		description: "Members that may fail before writes stop. 0: the next failure may stop them.",
		queries:     []query{{`min(etcdsteward_cluster_quorum_margin{` + ofCluster + `})`, ""}}},
	{kind: number, title: "Members that serve", none: "unknown",
		description: "Members that know a leader, of those that the spec asks for.",
		queries: []query{
			{`count(etcd_server_has_leader{` + ofMembers + `} == 1) or vector(0)`, "serve"},
			{`max(etcdsteward_cluster_members_desired{` + ofCluster + `})`, "wanted"},
		}},
	{kind: named, title: "Leader", none: "none",
		description: "The member that leads.",
		queries:     []query{{`max by (pod) (etcd_server_is_leader{` + ofMembers + `}) == 1`, "{{pod}}"}}},
	{kind: named, title: "Alarms", none: "none", limits: []limit{{0, "red"}},
		description: "NOSPACE: the database is full, and writes are refused. CORRUPT: members hold different data.",
		queries:     []query{{`max by (type) (etcdsteward_cluster_alarm{` + ofCluster + `}) == 1`, "{{type}}"}}},
	{kind: named, title: "Waiting for", none: "nothing",
		description: "The rule that has something to do or waits. kubectl describe says for what.",
		queries:     []query{{`max by (rule) (etcdsteward_next_step_wait_seconds{` + ofCluster + `})`, "{{rule}}"}}},
	{kind: number, title: "Newest proven backup", unit: "s", none: "none", limits: []limit{{0, "green"}, {2 * day, "orange"}},
		description: "How old it is: what was written since would be lost with the cluster.",
		queries:     []query{{`time() - max(etcdsteward_backup_last_verified_timestamp_seconds{` + ofCluster + `})`, ""}}},
}}

var clusterOperator = row{"What the operator does", []panel{
	{kind: timeline, title: "Conditions", none: "unknown",
		description: "docs/conditions.md says what each means.",
		queries: []query{{`max by (type) (etcdsteward_cluster_condition{` + ofCluster + `, status="true"}) or ` +
			`max by (type) (etcdsteward_cluster_condition{` + ofCluster + `, status="false"}) * 0`, "{{type}}"}}},
	{title: "Waiting for the same step", unit: "s", none: "nothing to do",
		description: "For how long, by rule. docs/rules.md says what each rule does.",
		queries:     []query{{`max by (rule) (etcdsteward_next_step_wait_seconds{` + ofCluster + `})`, "{{rule}}"}}},
}}

var clusterMembers = row{"Members", []panel{
	{title: "Members by state",
		description: "As etcd lists them. Unhealthy and unstarted members are voters or learners as well.",
		queries: []query{
			{`max by (state) (etcdsteward_cluster_members{` + ofCluster + `})`, "{{state}}"},
			{`min(etcdsteward_cluster_quorum_margin{` + ofCluster + `})`, "to spare"},
		}},
	{title: "Members that know a leader",
		description: "0: the member is cut off, or there is no leader. A member that does not answer has no line.",
		queries:     []query{{`max by (pod) (etcd_server_has_leader{` + ofMembers + `})`, "{{pod}}"}}},
	{title: "Changes of leader in an hour",
		description: "As each member saw them.",
		queries:     []query{{`max by (pod) (increase(etcd_server_leader_changes_seen_total{` + ofMembers + `}[1h]))`, "{{pod}}"}}},
	{title: "Restarts in an hour",
		description: "Of etcd in each Pod.",
		queries:     []query{{`max by (pod) (changes(process_start_time_seconds{` + ofMembers + `}[1h]))`, "{{pod}}"}}},
	{title: "Memory", unit: "bytes",
		description: "Of etcd. Compare spec.pod.resources.",
		queries:     []query{{`max by (pod) (process_resident_memory_bytes{` + ofMembers + `})`, "{{pod}}"}}},
	{title: "Round trip between members (p99)", unit: "s",
		description: "A message to another member and back. Above 0.15 s elections begin.",
		queries:     []query{{p99("etcd_network_peer_round_trip_time_seconds"), "{{pod}}"}}},
}}

var clusterWrites = row{"Writes and disks", []panel{
	{title: "Proposals", unit: "wps",
		description: "Writes per second that a majority agreed on.",
		queries: []query{
			{`max(rate(etcd_server_proposals_committed_total{` + ofMembers + `}[$__rate_interval]))`, "committed"},
			{`max by (pod) (rate(etcd_server_proposals_applied_total{` + ofMembers + `}[$__rate_interval]))`, "applied {{pod}}"},
		}},
	{title: "Proposals that wait or failed",
		description: "Writes that wait for a majority now, and writes per second that failed.",
		queries: []query{
			{`max by (pod) (etcd_server_proposals_pending{` + ofMembers + `})`, "waiting {{pod}}"},
			{`max by (pod) (rate(etcd_server_proposals_failed_total{` + ofMembers + `}[$__rate_interval]))`, "failed {{pod}}"},
		}},
	{title: "Sync of the log (p99)", unit: "s", limits: []limit{{0, "green"}, {0.5, "red"}},
		description: "A healthy disk stays below 0.01 s. Every write waits for this on a majority of members.",
		queries:     []query{{p99("etcd_disk_wal_fsync_duration_seconds"), "{{pod}}"}}},
	{title: "Commit of the database (p99)", unit: "s", limits: []limit{{0, "green"}, {0.25, "red"}},
		description: "A healthy disk stays below 0.025 s.",
		queries:     []query{{p99("etcd_disk_backend_commit_duration_seconds"), "{{pod}}"}}},
}}

var clusterSpace = row{"Space", []panel{
	{title: "Database", unit: "bytes",
		description: "At the quota etcd refuses writes. Compaction shrinks what is in use, defragmentation the rest.",
		queries: []query{
			{`max by (pod) (etcd_mvcc_db_total_size_in_bytes{` + ofMembers + `})`, "{{pod}}"},
			{`max by (pod) (etcd_mvcc_db_total_size_in_use_in_bytes{` + ofMembers + `})`, "{{pod}} in use"},
			{`min(etcd_server_quota_backend_bytes{` + ofMembers + `})`, "quota"},
		}},
	{title: "Database of its quota", unit: "percentunit", limits: []limit{{0, "green"}, {0.8, "orange"}, {0.95, "red"}},
		description: "At 100 % etcd raises the alarm NOSPACE.",
		queries: []query{{`max by (pod) (etcd_mvcc_db_total_size_in_bytes{` + ofMembers + `} / ` +
			`etcd_server_quota_backend_bytes{` + ofMembers + `})`, "{{pod}}"}}},
	{title: "Volumes", unit: "percentunit", limits: []limit{{0, "green"}, {0.85, "red"}}, none: "the kubelet says nothing of these volumes",
		description: "How full the members' volumes are.",
		queries: []query{{`max by (persistentvolumeclaim) ((1 - kubelet_volume_stats_available_bytes{namespace="$namespace"} / ` +
			`kubelet_volume_stats_capacity_bytes{namespace="$namespace"}) * on (namespace, persistentvolumeclaim) group_left () ` +
			`group by (namespace, persistentvolumeclaim) (label_replace(up{` + ofMembers + `}, ` +
			`"persistentvolumeclaim", "$1", "pod", "(.*)")))`, "{{persistentvolumeclaim}}"}}},
	{title: "Volumes of replaced members", none: "none",
		description: "Kept by the operator, by why the member was replaced.",
		queries:     []query{{`max by (reason) (etcdsteward_kept_volumes{` + ofCluster + `})`, "{{reason}}"}}},
}}

var clusterKept = row{"Backups and certificates", []panel{
	{kind: number, title: "Newest backup", unit: "s", none: "none",
		description: "Age of the newest complete backup.",
		queries:     []query{{`time() - max(etcdsteward_backup_last_complete_timestamp_seconds{` + ofCluster + `})`, ""}}},
	{kind: number, title: "Last proof", unit: "s", none: "none",
		description: "How long ago a backup of a schedule was last restored and compared.",
		queries:     []query{{`time() - max(etcdsteward_backup_proven_timestamp_seconds{` + ofCluster + `})`, ""}}},
	{kind: number, title: "Next backup due in", unit: "s", none: "no schedule", limits: []limit{{-1, "red"}, {0, "green"}},
		description: "Negative: the schedule asked for one that is not there.",
		queries:     []query{{`min(etcdsteward_backup_expected_by_timestamp_seconds{` + ofCluster + `}) - time()`, ""}}},
	{kind: number, title: "Size of the newest backup", unit: "bytes", none: "none",
		description: "As it is in the store.",
		queries:     []query{{`max(etcdsteward_backup_last_size_bytes{` + ofCluster + `})`, ""}}},
	{kind: number, title: "Certificates end in", unit: "s", none: "no certificates", limits: []limit{{0, "red"}, {30 * day, "green"}},
		description: "The first that ends. The operator renews it when a third of its year is left.",
		queries:     []query{{`min(etcdsteward_certificate_expiry_timestamp_seconds{` + ofCluster + `}) - time()`, ""}}},
	{kind: number, title: "Last replacement", unit: "s", none: "none",
		description: "How long ago the operator replaced a member that was lost.",
		queries:     []query{{`time() - max(etcdsteward_member_replaced_timestamp_seconds{` + ofCluster + `})`, ""}}},
}}

// p99 is what 99 of 100 observations of a histogram of etcd are below, for each member.
func p99(histogram string) string {
	return `histogram_quantile(0.99, sum by (pod, le) (rate(` + histogram + `_bucket{` + ofMembers + `}[$__rate_interval])))`
}
