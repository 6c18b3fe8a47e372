package main

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// fleetObjects are the healthy cluster, what stands beside it, and other clusters.
func fleetObjects(t *testing.T) []client.Object {
	t.Helper()
	return append(objects(t, "healthy"), objects(t, "fleet")...)
}

func fleet(t *testing.T) *session {
	t.Helper()
	return sessionOf(fleetObjects(t), interceptor.Funcs{})
}

func TestEachClusterTakesOneLine(t *testing.T) {
	got := plugin(t, fleet(t), "status", "--all")
	golden(t, "all.txt", got.out)
	if got.code != 0 || strings.Contains(got.out, "night") {
		t.Errorf("exit code %d, or a cluster of another namespace:\n%s", got.code, got.out)
	}
	everywhere := plugin(t, fleet(t), "status", "-A")
	golden(t, "everywhere.txt", everywhere.out)
	if everywhere.code != 0 {
		t.Errorf("a cluster that sleeps as it is asked to ends the command with %d", everywhere.code)
	}
}

func TestALineOfAClusterSaysWhatIsNotAsItShouldBe(t *testing.T) {
	for name, want := range map[string]struct {
		says string
		code int
	}{
		"degraded":    {"demo  Degraded  0       3.6.16   2/3    Wait: CatchingUp  60m, not verified  272d", 0},
		"rolling":     {"demo  Changing  1       3.5.35 to 3.7.3  3/3    Act: RollOut  <none>       275d", 0},
		"stalled":     {"Stalled: SpecRefused  <none>       expired", 0},
		"quorum-lost": {"demo  NotAvailable  Lost    3.6.16   0/3", exitNotAvailable},
		"new":         {"demo  Unknown  Unknown  <none>   0/3    <none>     <none>       <none>", exitNotAvailable},
		"operator-gone": {"etcd-steward-system/etcd-steward does not run: its Lease was last renewed",
			exitNotAvailable},
	} {
		got := plugin(t, sessionOf(objects(t, name), interceptor.Funcs{}), "status", "--all")
		if got.code != want.code || !strings.Contains(got.out, want.says) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", name, got.code, want.code, want.says, got.out)
		}
	}
}

func TestANamespaceWithoutClustersIsNoError(t *testing.T) {
	s := fleet(t)
	s.namespace = "empty"
	got := plugin(t, s, "status", "--all")
	if got.code != 0 || got.out != "There is no EtcdCluster in namespace empty.\n" {
		t.Errorf("got %+v", got)
	}
	if data := plugin(t, s, "status", "--all", "-o", "json"); strings.TrimSpace(data.out) != "[]" {
		t.Errorf("got %+v", data)
	}
}

func TestABackupIsOfTheClusterOfItsNamespace(t *testing.T) {
	all := fleetObjects(t)
	for _, o := range all {
		if c, isCluster := o.(*v1alpha1.EtcdCluster); isCluster && c.Name == "night" {
			c.Name = "demo"
		}
	}
	got := plugin(t, sessionOf(all, interceptor.Funcs{}), "status", "-A", "-o", "json")
	var found []summary
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || len(found) != 3 {
		t.Fatalf("%d clusters: %v", len(found), err)
	}
	for _, s := range found {
		if hasBackup := s.Backup.Last != nil; hasBackup != (s.Namespace+"/"+s.Name == "prod/demo") {
			t.Errorf("%s/%s: %+v", s.Namespace, s.Name, s.Backup)
		}
	}
}

func TestWhatALineCannotTellStandsBelowOnce(t *testing.T) {
	backups := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdbackups"}
	got := plugin(t, sessionOf(fleetObjects(t), refusing("list", backups)), "status", "-A")
	const want = "EtcdBackups cannot be read: you may not list etcdbackups.etcdsteward.dev in all namespaces."
	if got.code != 0 || strings.Count(got.out, want) != 1 || !strings.Contains(got.out, "  Unknown      ") {
		t.Errorf("exit code %d, want %q once:\n%s", got.code, want, got.out)
	}
}

func TestWhatDoesNotGoTogetherIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"status", "demo", "--all"}, "--all and --all-namespaces show all clusters, and demo is one of them"},
		{[]string{"status", "-A", "--watch"}, "--watch shows one cluster"},
		{[]string{"logs", "demo", "--raw", "-o", "json"}, `--raw prints lines as they are, and --output is "json"`},
		{[]string{"logs", "demo", "--tail", "-2"}, "--tail is -2"},
		{[]string{"logs", "demo", "--since", "-1m"}, "--since is -1m0s"},
	} {
		got := plugin(t, fleet(t), c.args...)
		if got.code != exitFailed || !strings.Contains(got.errOut, c.want) {
			t.Errorf("%v: got %+v, want %q", c.args, got, c.want)
		}
	}
}

func TestEachCommandThatShowsSomethingPrintsItAsData(t *testing.T) {
	for name, c := range commands(t) {
		if c.Flags().Lookup("output") == nil {
			continue
		}
		there, args := fleet, append(strings.Fields(name), "demo", "--output")
		switch name {
		case "connect":
			there = func(t *testing.T) *session { return serving(t, asItIs) }
		case "fio":
			there = func(t *testing.T) *session { return withKubelet(t, ended(0, fastDisk)) }
			args = []string{"fio", "--image", "agent:v1", "--output"}
		case "lint":
			args[1] = "../../config/samples/etcdcluster-production.yaml"
		}
		asJSON, asYAML := plugin(t, there(t), append(args, "json")...), plugin(t, there(t), append(args, "yaml")...)
		var fromJSON, fromYAML any
		first, _, _ := strings.Cut(asYAML.out, "---\n")
		if err := json.NewDecoder(strings.NewReader(asJSON.out)).Decode(&fromJSON); err != nil || fromJSON == nil {
			t.Errorf("%s: no JSON: %v\n%s", name, err, asJSON.out)
		}
		if err := yaml.Unmarshal([]byte(first), &fromYAML); err != nil || fromYAML == nil {
			t.Errorf("%s: no YAML: %v\n%s", name, err, asYAML.out)
		}
		refused := plugin(t, there(t), append(args, "wide")...)
		if refused.code != exitFailed || !strings.Contains(refused.errOut, "it must be text, json or yaml") {
			t.Errorf("%s: got %+v", name, refused)
		}
	}
	for _, name := range []string{"status", "members", "events", "logs", "plan", "backup ls", "restore", "connect", "lint", "fio"} {
		if commands(t)[name].Flags().Lookup("output") == nil {
			t.Errorf("%s shows something, and has no --output", name)
		}
	}
}

func TestTheMembersHaveWhatPodsAndClaimsSay(t *testing.T) {
	got := plugin(t, fleet(t), "members", "demo")
	golden(t, "members.txt", got.out)
	if strings.Contains(got.out, "demo-1-former") {
		t.Errorf("a claim that is kept is of no member:\n%s", got.out)
	}
}

func TestAClaimThatIsNotBoundIsTold(t *testing.T) {
	all := fleetObjects(t)
	for _, o := range all {
		if claim, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim && claim.Name == "demo-2" {
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimLost}
		}
	}
	if got := plugin(t, sessionOf(all, interceptor.Funcs{}), "members", "demo"); !strings.Contains(got.out, "demo-2 fast Lost") {
		t.Errorf("got %s", got.out)
	}
}

func TestTheMembersAreShownWithoutPodsAndClaims(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	got := plugin(t, sessionOf(fleetObjects(t), refusing("list", pods, claims)), "members", "demo")
	for _, want := range []string{"node-c  <none>    <none>", "you may not list pods in namespace prod",
		"you may not list persistentvolumeclaims in namespace prod"} {
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("exit code %d, want %q:\n%s", got.code, want, got.out)
		}
	}
}

func TestBelowTheMembersStandsWhyWritesAreRefusedAndThatTheOperatorIsGone(t *testing.T) {
	all := changed(t, func(c *v1alpha1.EtcdCluster) {
		for i := range c.Status.Conditions {
			if c.Status.Conditions[i].Type == v1alpha1.ConditionAvailable {
				c.Status.Conditions[i].Reason, c.Status.Conditions[i].Message = "NOSPACE", "Writes are refused."
			}
		}
	})
	if got := plugin(t, sessionOf(all, interceptor.Funcs{}), "members", "demo"); !strings.Contains(got.out, "\nAlarm: NOSPACE. Writes are refused.\n") {
		t.Errorf("got %s", got.out)
	}
	gone := plugin(t, sessionOf(objects(t, "operator-gone"), interceptor.Funcs{}), "members", "demo")
	if !strings.Contains(gone.out, "Start it again. This is what it saw last.") {
		t.Errorf("got %s", gone.out)
	}
}

func TestEventsOfAClusterAreFoldedAndSorted(t *testing.T) {
	golden(t, "events.txt", plugin(t, fleet(t), "events", "demo").out)
}

func TestEventsNameWhatTellsWhoseTheyAreAndCannotBeRead(t *testing.T) {
	backups := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdbackups"}
	got := plugin(t, sessionOf(fleetObjects(t), refusing("list", backups)), "events", "demo")
	const want = "you may not list etcdbackups.etcdsteward.dev in namespace prod"
	if got.code != 0 || !strings.Contains(got.out, want) || !strings.Contains(got.out, "Pod/demo-1") {
		t.Errorf("exit code %d, want %q:\n%s", got.code, want, got.out)
	}
}

func TestTheBackupsOfAClusterAreListedTheNewestFirst(t *testing.T) {
	golden(t, "backups.txt", plugin(t, fleet(t), "backup", "ls", "demo").out)
}

func TestABackupThatDoesNotGetOnIsListedWithWhatItWaitsFor(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "stalled"), interceptor.Funcs{}), "backup", "ls", "demo")
	for _, want := range []string{"Starting: MountFailed", "EtcdBackup nightly waits: Secret s3-credentials is missing."} {
		if !strings.Contains(got.out, want) {
			t.Errorf("want %q in\n%s", want, got.out)
		}
	}
}

func TestTheBackupsOfAClusterThatIsGoneAreListed(t *testing.T) {
	got := plugin(t, fleet(t), "backup", "ls", "other")
	if got.code != 0 || !strings.Contains(got.out, "Of a cluster of this name that is gone: other.") {
		t.Errorf("got %+v", got)
	}
	got = plugin(t, fleet(t), "backup", "ls", "dmeo")
	if got.code != exitFailed || !strings.Contains(got.errOut, "The namespace has: demo, demo-big") {
		t.Errorf("got %+v", got)
	}
}

func TestAClusterThatIsCalledLsIsBackedUp(t *testing.T) {
	all := objects(t, "healthy")
	all[0].SetName("ls")
	s := sessionOf(all, interceptor.Funcs{})
	if got := plugin(t, s, "backup", "--store", demoStore, "--", "ls"); got.code != 0 ||
		!strings.Contains(got.out, "EtcdBackup ls-manual-20260504-120000 is created.") {
		t.Errorf("got %+v", got)
	}
	if got := plugin(t, s, "backup", "ls"); got.code != exitFailed || !strings.Contains(got.errOut, "backup -- ls") {
		t.Errorf("got %+v", got)
	}
	if got := plugin(t, s, "backup", "ls", "ls"); got.code != 0 || !strings.Contains(got.out, "ls-manual-20260504-120000") {
		t.Errorf("got %+v", got)
	}
}
