package main

// What belongs to the operator of all that has such metrics: its controllers, and the processes that stand for its Lease.
const (
	controllers = `controller=~"etcdcluster|etcdbackup|etcdbackupschedule|etcdclient"`
	replicas    = `leader_election_master_status{name="manager.etcdsteward.dev"}`
)

var operator = board{
	title: "etcd-steward / operator", uid: "etcd-steward-operator",
	description: "The operator, and which clusters need a look.",
	rows:        []row{operatorNow, operatorWork, operatorPasses, operatorProcesses},
}

var operatorNow = row{"Now", []panel{
	{kind: number, title: "Replicas in charge", limits: []limit{{0, "red"}, {1, "green"}}, none: "unknown",
		description: "1 for each install. With 0 nothing heals the clusters.",
		queries:     []query{{`sum(` + replicas + `)`, ""}}},
	{kind: number, title: "Clusters",
		description: "EtcdClusters that the operator looks after.",
		queries:     []query{{`count(max by (namespace, name) (etcdsteward_cluster_info)) or vector(0)`, ""}}},
	{kind: number, title: "Not ready", limits: []limit{{0, "green"}, {1, "orange"}},
		description: "Clusters that are not all that their spec asks for.",
		queries:     []query{{`count(max by (namespace, name) (etcdsteward_cluster_ready) == 0) or vector(0)`, ""}}},
	{kind: number, title: "Stalled", limits: []limit{{0, "green"}, {1, "red"}},
		description: "Clusters that only a person can get on.",
		queries: []query{{`count(max by (namespace, name) (etcdsteward_cluster_condition{type="Stalled", status="true"})) ` +
			`or vector(0)`, ""}}},
	{kind: number, title: "No member to spare", limits: []limit{{0, "green"}, {1, "red"}},
		description: "Clusters of more than one member that the next failure stops, or that have stopped.",
		queries: []query{{`count(min by (namespace, name) (etcdsteward_cluster_quorum_margin) <= 0 and on (namespace, name) ` +
			`max by (namespace, name) (etcdsteward_cluster_members_desired) > 1) or vector(0)`, ""}}},
	{kind: number, title: "Not backed up", limits: []limit{{0, "green"}, {1, "orange"}},
		description: "Clusters whose newest proven backup is too old, or that have none.",
		queries: []query{{`count(max by (namespace, name) (etcdsteward_cluster_condition{type="BackedUp", status="false"})) ` +
			`or vector(0)`, ""}}},
}}

var operatorWork = row{"What the operator does", []panel{
	{title: "Waiting for the same step", unit: "s", none: "nothing to do",
		description: "How long each cluster has been at its next step, by rule. docs/rules.md says what each rule does.",
		queries:     []query{{`max by (namespace, name, rule) (etcdsteward_next_step_wait_seconds)`, "{{namespace}}/{{name}} {{rule}}"}}},
	{title: "Changes in 5 minutes", none: "none",
		description: "What the operator tried, by kind and by what came of it.",
		queries:     []query{{`sum by (kind, result) (increase(etcdsteward_changes_total[5m])) > 0`, "{{kind}} {{result}}"}}},
}}

var operatorPasses = row{"Passes", []panel{
	{title: "Passes", unit: "ops",
		description: "Looks at objects per second, by kind of object and by result.",
		queries: []query{{`sum by (controller, result) (rate(controller_runtime_reconcile_total{` + controllers +
			`}[$__rate_interval]))`, "{{controller}} {{result}}"}}},
	{title: "Errors", unit: "ops",
		description: "Passes per second that ended in an error, which are made again, and in a panic, which is a bug.",
		queries: []query{
			{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{` + controllers + `}[$__rate_interval]))`,
				"{{controller}}"},
			{`sum by (controller) (rate(controller_runtime_reconcile_panics_total{` + controllers + `}[$__rate_interval])) > 0`,
				"{{controller}} panics"},
		}},
	{title: "Duration of a pass (p99)", unit: "s",
		description: "99 of 100 passes are faster.",
		queries: []query{{`histogram_quantile(0.99, sum by (controller, le) (` +
			`rate(controller_runtime_reconcile_time_seconds_bucket{` + controllers + `}[$__rate_interval])))`, "{{controller}}"}}},
	{title: "Objects that wait for a pass",
		description: "A queue that grows means that the operator does not keep up.",
		queries:     []query{{`sum by (controller) (workqueue_depth{` + controllers + `})`, "{{controller}}"}}},
}}

var operatorProcesses = row{"Replicas", []panel{
	{title: "Requests to the API server", unit: "reqps",
		description: "By code. 429 means that the API server holds the operator back, 5xx that it is not well.",
		queries: []query{{`sum by (code) (rate(rest_client_requests_total[$__rate_interval]) and on (job, instance) ` +
			replicas + `)`, "{{code}}"}}},
	{title: "Memory", unit: "bytes",
		description: "Of each replica.",
		queries:     []query{{`process_resident_memory_bytes and on (job, instance) ` + replicas, "{{pod}}"}}},
	{title: "Restarts in an hour",
		description: "Of each replica, as long as its Pod is the same.",
		queries:     []query{{`changes(process_start_time_seconds[1h]) and on (job, instance) ` + replicas, "{{pod}}"}}},
	{title: "In charge",
		description: "Which replica holds the Lease.",
		queries:     []query{{`max by (pod) (` + replicas + `)`, "{{pod}}"}}},
}}
