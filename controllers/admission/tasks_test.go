package admission_test

import "testing"

const (
	taskLabels = "spec.tasks.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and " +
		"app.kubernetes.io/name, instance, managed-by and component"
	taskEnvName = `; it must be letters, digits and "_", not starting with a digit, and not TMPDIR`
)

// acceptedTasks is all that may be said of tasks. It is said alike of a cluster, of a backup and of a schedule.
const acceptedTasks = `spec: {tasks: {
  labels: {team: storage, azure.workload.identity/use: "true", sidecar.istio.io/inject: "true"},
  annotations: {linkerd.io/inject: enabled}, serviceAccountName: etcd-backup, priorityClassName: low,
  resources: {requests: {cpu: 50m}, limits: {cpu: "1", memory: 1Gi}},
  env: [{name: HTTPS_PROXY, value: "http://proxy.example.com:3128"}, {name: NO_PROXY}],
  nodeSelector: {pool: backup}, tolerations: [{key: dedicated, operator: Exists}]}}`

var refusedTasks = []refusal{
	{"a label of the operator on tasks", "spec: {tasks: {labels: {etcdsteward.dev/cluster: other}}}", "spec.tasks.labels", taskLabels, ""},
	{"a label of members on tasks", "spec: {tasks: {labels: {app.kubernetes.io/instance: demo}}}", "spec.tasks.labels", taskLabels, ""},
	{"a label of tasks with a value that is too long", "spec: {tasks: {labels: {team: a123456789012345678901234567890123456789012345678901234567890123}}}",
		"spec.tasks.labels", "spec.tasks.labels must have values of at most 63 characters", ""},
	{"an annotation of the operator on tasks", "spec: {tasks: {annotations: {etcdsteward.dev/record: x}}}", "spec.tasks.annotations",
		"spec.tasks.annotations must not contain the prefix etcdsteward.dev/: the operator sets those", ""},
	{"AppArmor of tasks that is off", "spec: {tasks: {annotations: {container.apparmor.security.beta.kubernetes.io/snapshot: unconfined}}}",
		"spec.tasks.annotations", "spec.tasks.annotations" + loosened, alike},
	{"more asked for than may be used", "spec: {tasks: {resources: {requests: {cpu: 2}, limits: {cpu: 1}}}}", "spec.tasks.resources.requests[cpu]", "",
		"spec.tasks.resources.requests.cpu is 2; it must be at most the limit, which is 1"},
	{"a variable whose name is none", "spec: {tasks: {env: [{name: 1-proxy, value: x}]}}", "spec.tasks.env[0].name", `spec.tasks.env.name is "1-proxy"` + taskEnvName, ""},
	{"another place to write to", "spec: {tasks: {env: [{name: TMPDIR, value: /tmp}]}}", "spec.tasks.env[0].name", `spec.tasks.env.name is "TMPDIR"` + taskEnvName, ""},
	{"an account that is a path", "spec: {tasks: {serviceAccountName: ../admin}}", "spec.tasks.serviceAccountName",
		`spec.tasks.serviceAccountName is "../admin"; it must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`, ""},
	{"a priority of tasks with capitals", "spec: {tasks: {priorityClassName: High}}", "spec.tasks.priorityClassName",
		`spec.tasks.priorityClassName is "High"; it must be the name of a PriorityClass: lower-case letters, digits, "-" and "."`, ""},
	{"nodes for tasks by a value that is too long", "spec: {tasks: {nodeSelector: {pool: a123456789012345678901234567890123456789012345678901234567890123}}}",
		"spec.tasks.nodeSelector", "spec.tasks.nodeSelector must have values of at most 63 characters", ""},
	{"a toleration of tasks without a key", "spec: {tasks: {tolerations: [{operator: Equal}]}}", "spec.tasks.tolerations[0].operator", "",
		`spec.tasks.tolerations[0].operator is "Equal"; it must be Exists when there is no key: all taints are then tolerated`},
}

// refusedMetadata is what may not be put on everything that is made for a cluster.
var refusedMetadata = []refusal{
	{"a label of the operator on everything", "spec: {inheritedMetadata: {labels: {etcdsteward.dev/role: voter}}}", "spec.inheritedMetadata.labels",
		"spec.inheritedMetadata.labels must not contain labels that the operator sets", ""},
	{"a standard label on everything", "spec: {inheritedMetadata: {labels: {app.kubernetes.io/managed-by: helm}}}", "spec.inheritedMetadata.labels",
		"spec.inheritedMetadata.labels must not contain labels that the operator sets", ""},
	{"a label on everything with a value that is too long",
		"spec: {inheritedMetadata: {labels: {team: a123456789012345678901234567890123456789012345678901234567890123}}}", "spec.inheritedMetadata.labels",
		"spec.inheritedMetadata.labels must have values of at most 63 characters", ""},
	{"a label on everything with a space", "spec: {inheritedMetadata: {labels: {team: 'storage team'}}}", "spec.inheritedMetadata.labels[team]", "",
		`spec.inheritedMetadata.labels[team] has the value "storage team": a valid label must be`},
	{"an annotation of the operator on everything", "spec: {inheritedMetadata: {annotations: {etcdsteward.dev/birth: x}}}", "spec.inheritedMetadata.annotations",
		"spec.inheritedMetadata.annotations must not contain the prefix etcdsteward.dev/: the operator sets those", ""},
	{"seccomp that is off on everything", "spec: {inheritedMetadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}}",
		"spec.inheritedMetadata.annotations", "spec.inheritedMetadata.annotations" + loosened, alike},
}

func TestSettingsOfTasksAreTheSameInABackupAndInASchedule(t *testing.T) {
	backups, schedules := newBackupGate(t), newScheduleGate(t)
	if errs := backups.create(t, backup(t, acceptedTasks)); len(errs) > 0 {
		t.Errorf("a backup: %v", errs.ToAggregate())
	}
	if errs := schedules.create(t, schedule(t, acceptedTasks)); len(errs) > 0 {
		t.Errorf("a schedule: %v", errs.ToAggregate())
	}
	for _, row := range refusedTasks {
		if row.says != "" {
			saysOnce(t, "a backup", backups.create(t, backup(t, row.change)), row.field, row.says)
			saysOnce(t, "a schedule", schedules.create(t, schedule(t, row.change)), row.field, row.says)
		}
	}
}
