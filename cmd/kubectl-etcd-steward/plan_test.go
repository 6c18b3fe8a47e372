package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// manifestOf is the stored cluster as a file, with another text in the place of one.
func manifestOf(t *testing.T, old, other string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/settled.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	if !strings.Contains(first, old) {
		t.Fatalf("%q is not in\n%s", old, first)
	}
	file := filepath.Join(t.TempDir(), "larger-demo.yaml")
	beside := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo}\n---\n"
	if err := os.WriteFile(file, []byte(beside+strings.Replace(first, old, other, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlanOfASettledClusterHasNothingToDo(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "settled"), interceptor.Funcs{}), "plan", "demo")
	if got.code != 0 || !strings.Contains(got.out, "There is nothing to do: All 3 members are healthy") {
		t.Errorf("%+v", got)
	}
}

func TestPlanOfAManifestShowsEachStepAndStoresNothing(t *testing.T) {
	s := sessionOf(objects(t, "settled"), interceptor.Funcs{})
	got := plugin(t, s, "plan", "demo", "-f", manifestOf(t, "size: 3", "size: 5"))
	got.out = regexp.MustCompile(`with the spec of \S+larger-demo\.yaml`).ReplaceAllString(got.out, "with the spec of larger.yaml")
	if got.code != exitStepsAhead {
		t.Errorf("%+v", got)
	}
	golden(t, "plan.txt", got.out)
	shown := strings.Replace(got.out, "in namespace prod", "in namespace default", 1)
	if !strings.Contains(readPage(t), shown) {
		t.Errorf("docs/kubectl.md does not show what plan prints:\n%s", shown)
	}
	if again := plugin(t, s, "plan", "demo"); again.code != 0 {
		t.Errorf("the manifest was stored: %+v", again)
	}
}

func TestPlanAsDataHasAStepForEachChange(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "settled"), interceptor.Funcs{}), "plan", "demo", "-o", "json", "-f",
		manifestOf(t, "size: 3", "size: 5"))
	var told foretold
	if err := json.Unmarshal([]byte(got.out), &told); err != nil {
		t.Fatalf("%v\n%+v", err, got)
	}
	isPromotion := func(s toldStep) bool {
		return s.Change == "Promote" && s.Rule == "promote" && s.Member == "demo-4" && s.Why != ""
	}
	if got.code != exitStepsAhead || told.End.State != endsSettled || !slices.ContainsFunc(told.Steps, isPromotion) {
		t.Errorf("%+v", told)
	}
}

func TestPlanSaysWhatStopsTheOperator(t *testing.T) {
	for _, row := range []struct{ name, old, new, says string }{
		{"a version that no step leads to", "version: 3.6.16", "version: 4.0.0", "The operator does nothing"},
		{"a cluster that is paused", "size: 3", "size: 5\n  paused: true", "spec.paused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := plugin(t, sessionOf(objects(t, "settled"), interceptor.Funcs{}), "plan", "demo", "-f",
				manifestOf(t, row.old, row.new))
			if got.code != exitNotSettled || !strings.Contains(got.out, row.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPlanOfAClusterThatIsNotThereYetIsItsBeginning(t *testing.T) {
	got := plugin(t, sessionOf(nil, interceptor.Funcs{}), "plan", "demo", "-f", manifestOf(t, "size: 3", "size: 1"))
	if got.code != exitStepsAhead || !strings.Contains(got.out, "Then it is settled: The one member is healthy") {
		t.Errorf("%+v", got)
	}
}

func TestPlanSaysFirstThatTheOperatorDoesNotRun(t *testing.T) {
	isLease := func(o client.Object) bool { return o.GetName() == leaseName }
	got := plugin(t, sessionOf(slices.DeleteFunc(objects(t, "settled"), isLease), interceptor.Funcs{}), "plan", "demo", "-f",
		manifestOf(t, "size: 3", "size: 5"))
	if got.code != exitStepsAhead || !strings.Contains(got.out, "Nothing of this happens before the operator runs again. ops/") {
		t.Errorf("%+v", got)
	}
}

func TestPlanSaysWhatCannotBeRead(t *testing.T) {
	for _, row := range []struct {
		name  string
		funcs interceptor.Funcs
		args  []string
		says  string
	}{
		{"Pods", refusing("list", schema.GroupResource{Resource: "pods"}), nil, "you may not list pods in namespace prod"},
		{"a manifest of another cluster", interceptor.Funcs{}, []string{"-f", manifestOf(t, "name: demo", "name: other")},
			"has no EtcdCluster demo of namespace prod"},
		{"a file that is not there", interceptor.Funcs{}, []string{"-f", "no-such-file.yaml"}, "no-such-file.yaml"},
		{"an output of another kind", interceptor.Funcs{}, []string{"-o", "table"}, "it must be text, json or yaml"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := plugin(t, sessionOf(objects(t, "settled"), row.funcs), slices.Concat([]string{"plan", "demo"}, row.args)...)
			if got.code != exitFailed || !strings.Contains(got.errOut, row.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// alarmed is the settled cluster with a full database, as its status says it.
func alarmed(t *testing.T) []client.Object {
	t.Helper()
	all := objects(t, "settled")
	c := all[0].(*v1alpha1.EtcdCluster)
	full := resource.MustParse("2Gi")
	for i := range c.Status.Members {
		c.Status.Members[i].DBSize, c.Status.Members[i].DBSizeInUse = &full, &full
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionFalse, Reason: "NOSPACE", Message: "Writes are refused."})
	c.Status.NextStep = &v1alpha1.NextStep{Verdict: "Stalled", Reason: "AlarmRaised", Rule: "alarms",
		Message: "etcd raised NOSPACE, as the operator says it."}
	return all
}

func TestPlanOfAClusterWithAnAlarmSaysWhatItsStatusSays(t *testing.T) {
	got := plugin(t, sessionOf(alarmed(t), interceptor.Funcs{}), "plan", "demo")
	if got.code != exitNotSettled ||
		!strings.Contains(got.out, "The operator does nothing (alarms): etcd raised NOSPACE, as the operator says it.") {
		t.Errorf("%+v", got)
	}
}

func TestPlanOfALargerQuotaEndsTheAlarm(t *testing.T) {
	got := plugin(t, sessionOf(alarmed(t), interceptor.Funcs{}), "plan", "demo", "-f",
		manifestOf(t, "size: 3", "size: 3\n  etcd: {quotaBackendBytes: 4Gi}"))
	if got.code != exitStepsAhead || !strings.Contains(got.out, "(alarms): every member has room again.") {
		t.Errorf("%+v", got)
	}
}

// onlyMember is the settled cluster with one member, on a node that is drained or not.
func onlyMember(t *testing.T, isDrained, isGuarded bool) []client.Object {
	t.Helper()
	all := slices.DeleteFunc(objects(t, "settled"), func(o client.Object) bool {
		return strings.HasSuffix(o.GetName(), "-1") || strings.HasSuffix(o.GetName(), "-2")
	})
	one := intstr.FromInt32(1)
	for _, object := range all {
		switch o := object.(type) {
		case *v1alpha1.EtcdCluster:
			o.Spec.Size, o.Status.Members = 1, o.Status.Members[:1]
		case *corev1.Pod:
			o.Spec.NodeName = "worker-0"
		case *policyv1.PodDisruptionBudget:
			o.Spec.MinAvailable = &one
		}
	}
	if !isGuarded {
		all = slices.DeleteFunc(all, func(o client.Object) bool { _, isBudget := o.(*policyv1.PodDisruptionBudget); return isBudget })
	}
	return append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}, Spec: corev1.NodeSpec{Unschedulable: isDrained}})
}

// A person of one namespace may not read nodes, and the operator may. What it reads there is not foretold as if it were so.
func TestPlanOfAnOnlyMemberWhoseNodeMayNotBeReadSaysSo(t *testing.T) {
	unread := refusing("get", schema.GroupResource{Resource: "nodes"})
	const note = "You may not get nodes, so what follows takes for granted that none is drained"
	for _, row := range []struct {
		name  string
		world []client.Object
		funcs interceptor.Funcs
		says  string
		isOut []string
	}{
		{"nodes are read, and none is drained", onlyMember(t, false, true), interceptor.Funcs{},
			"There is nothing to do", []string{"You may not"}},
		{"one is drained", onlyMember(t, true, true), interceptor.Funcs{}, "it will take the place of demo-0 (node worker-0 is cordoned)",
			[]string{"You may not", "Delete the disruption budget"}},
		{"nodes may not be read: a budget says that the operator may", onlyMember(t, true, true), unread, "There is nothing to do", nil},
		{"nor may the operator: it keeps no budget", onlyMember(t, false, false), unread, "There is nothing to do", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := plugin(t, sessionOf(row.world, row.funcs), "plan", "demo")
			isSaid := strings.Contains(got.out, note)
			if !strings.Contains(got.out, row.says) || isSaid != (row.isOut == nil) {
				t.Errorf("%+v", got)
			}
			for _, not := range row.isOut {
				if strings.Contains(got.out, not) {
					t.Errorf("it says %q: %s", not, got.out)
				}
			}
		})
	}
}

func TestPlanOfAMemberThatDoesNotAnswerSaysWhatMayNotBeReadOfIt(t *testing.T) {
	world := objects(t, "settled")
	for _, object := range world {
		switch o := object.(type) {
		case *v1alpha1.EtcdCluster:
			o.Status.Members[2].Healthy = false
		case *corev1.Pod:
			if o.Name == "demo-2" {
				o.Spec.NodeName, o.Status.Conditions = "worker-2", nil
			}
		case *corev1.PersistentVolumeClaim:
			o.Spec.VolumeName = "disk-of-" + o.Name
		}
	}
	got := plugin(t, sessionOf(world, refusing("get", schema.GroupResource{Resource: "nodes"},
		schema.GroupResource{Resource: "persistentvolumes"})), "plan", "demo")
	for _, says := range []string{"You may not get nodes", "You may not get persistentvolumes"} {
		if strings.Count(got.out, says) != 1 {
			t.Errorf("%q is not said once: %+v", says, got)
		}
	}
}

// A new Pod of an only member runs on a node as the one before did.
func TestPlanOfAnOnlyMemberThatIsRestartedKeepsItsBudget(t *testing.T) {
	got := plugin(t, sessionOf(onlyMember(t, false, true), interceptor.Funcs{}), "plan", "demo", "-f",
		manifestOf(t, "size: 3", "size: 1\n  etcd: {quotaBackendBytes: 4Gi}"))
	if got.code != exitStepsAhead || !strings.Contains(got.out, "demo-0") || strings.Contains(got.out, "disruption budget") {
		t.Errorf("%+v", got)
	}
}
