package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAParagraphThatStandsOnThePageIsNamedAndNotRepeated(t *testing.T) {
	const why, more = "The backup waits for a Secret.", "The operator looks again at least every 10 s."
	var told telling
	for _, row := range []struct{ text, where, want string }{
		{why, "Health", why},
		{why, "Ready", "See Health."},
		{why + " " + more, "the next step", "See Health. " + more},
		{more, "Ready", more},
		{"Waits.", "Ready", "Waits."},
		{"Waits.", "Stalled", "Waits."},
	} {
		if got := told.say(row.text, row.where); got != row.want {
			t.Errorf("%q at %s: %q, want %q", row.text, row.where, got, row.want)
		}
	}
}

// edited is the cluster of a page with something changed, and what stands beside it.
func edited(t *testing.T, page string, edit func(*v1alpha1.EtcdCluster)) *session {
	t.Helper()
	all := objects(t, page)
	edit(all[0].(*v1alpha1.EtcdCluster))
	return sessionOf(all, interceptor.Funcs{})
}

func TestThePageSaysHowManyCopiesOfTheDataAreKnown(t *testing.T) {
	for name, row := range map[string]struct {
		page string
		edit func(*v1alpha1.EtcdCluster)
		want string
	}{
		"all answer":    {"healthy", func(*v1alpha1.EtcdCluster) {}, "3 of 3 members answer, each with a copy on a volume of its own. The newest proven backup is 119m old.\n"},
		"one is missed": {"degraded", func(*v1alpha1.EtcdCluster) {}, "2 of 3 members answer, each with a copy on a volume of its own. No proven backup is known.\n"},
		"a voter lost its volume": {"healthy", func(c *v1alpha1.EtcdCluster) {
			c.Status.ReadyMembers, c.Status.Members[1].Healthy, c.Status.Members[1].Reason = 2, false, "VolumeMissing"
		}, "2 of 3 members answer, each with a copy on a volume of its own. Their volume is gone: demo-1. The newest"},
		"a learner has none yet": {"degraded", func(c *v1alpha1.EtcdCluster) { c.Status.Members[2].Reason = "VolumeMissing" },
			"2 of 3 members answer, each with a copy on a volume of its own. No proven"},
		"there is one member": {"healthy", func(c *v1alpha1.EtcdCluster) { c.Status.Size, c.Status.ReadyMembers = 1, 1 },
			"The only member has the only copy, on a volume of its own. The newest"},
		"data is kept in Pods": {"healthy", func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
		}, "3 of 3 members answer, each with a copy in its Pod, and lost with it."},
		"no quorum answers": {"quorum-lost", func(*v1alpha1.EtcdCluster) {},
			"No quorum answers, so it is not known how many copies are whole: delete no volume. Their volume is gone: demo-1, demo-2."},
		"no operator runs": {"operator-gone", func(*v1alpha1.EtcdCluster) {}, "When the operator looked last: 3 of 3 members answer"},
	} {
		if got := plugin(t, edited(t, row.page, row.edit), "status", "demo").out; !strings.Contains(got, "Data:         "+row.want) {
			t.Errorf("%s: want %q in\n%s", name, row.want, got)
		}
	}
	if got := plugin(t, edited(t, "creating", func(*v1alpha1.EtcdCluster) {}), "status", "demo").out; strings.Contains(got, "Data:") {
		t.Errorf("there is no data yet:\n%s", got)
	}
}

func TestThePageNamesTheVolumesThatAreKeptAndForHowLongNothingUsedThem(t *testing.T) {
	at := func(hour int) *metav1.Time {
		return new(metav1.NewTime(time.Date(2026, 5, 4, hour, 0, 0, 0, time.UTC)))
	}
	got := plugin(t, edited(t, "healthy", func(c *v1alpha1.EtcdCluster) {
		c.Status.KeptVolumes = []v1alpha1.KeptVolume{
			{Name: "demo-3", Reason: "Disk", Since: at(10), Until: at(22), UnusedSince: at(9)},
			{Name: "demo-4", Reason: "Corruption", Since: at(10), UnusedSince: at(9)},
			{Name: "demo-5", Reason: "Node", Since: at(10), Until: at(22)},
			{Name: "demo-6", Reason: "Node"},
		}
	}), "status", "demo").out
	for _, want := range []string{
		"Kept:         demo-3, whose member was replaced (Disk). No Pod has used it for 3h. " +
			"The operator deletes it at 2026-05-04 22:00:00 UTC.\n",
		"demo-4, whose member was replaced (Corruption). No Pod has used it for 3h. It stays until you delete it: " +
			"kubectl delete pvc demo-4 -n prod.\n",
		"demo-5, whose member was replaced (Node). A Pod uses it. The operator",
		"demo-6, whose member was replaced (Node). It is not known since when.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := plugin(t, edited(t, "healthy", func(*v1alpha1.EtcdCluster) {}), "status", "demo").out; strings.Contains(got, "Kept:") {
		t.Errorf("no volume is kept:\n%s", got)
	}
}

func TestAVersionThatIsRefusedIsNotShownAsAMove(t *testing.T) {
	refused := func(c *v1alpha1.EtcdCluster) { c.Spec.Version, c.Status.TargetVersion = "3.9.0", "3.9.0" }
	page := plugin(t, edited(t, "stalled", refused), "status", "demo").out
	if !strings.Contains(page, "The spec asks for 3.9.0, and no member moves to it: see the next step.") {
		t.Error(page)
	}
	line := plugin(t, edited(t, "stalled", refused), "status", "--all").out
	if !strings.Contains(line, "3.6.16, not 3.9.0") || strings.Contains(line, "to 3.9.0") {
		t.Error(line)
	}
}

// blockedBy is a cluster that grows, whose next step a quota refuses.
func blockedBy(c *v1alpha1.EtcdCluster) {
	c.Spec.Size = 5
	c.Status.NextStep = &v1alpha1.NextStep{Verdict: "Blocked", Rule: "grow", Reason: "QuotaExceeded", Message: "exceeded quota: team. Raise the ResourceQuota."}
}

func TestAStepThatKubernetesRefusesIsBlockedAndNotAChange(t *testing.T) {
	got := plugin(t, edited(t, "rolling", blockedBy), "status", "demo").out
	for _, want := range []string{"Health:       Blocked. The cluster serves.", "Next step:    Blocked: QuotaExceeded", "of 3 members run with the settings of the spec. The spec asks for 5."} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

func TestPlanSaysThatItsFirstStepIsRefusedNow(t *testing.T) {
	all := objects(t, "settled")
	c := all[0].(*v1alpha1.EtcdCluster)
	blockedBy(c)
	got := plugin(t, sessionOf(all, interceptor.Funcs{}), "plan", "demo").out
	if want := "The first step cannot be taken yet: exceeded quota: team. Raise the ResourceQuota."; !strings.Contains(got, want) {
		t.Error(got)
	}
	c.Generation++
	if got := plugin(t, sessionOf([]client.Object(all), interceptor.Funcs{}), "plan", "demo").out; strings.Contains(got, "cannot be taken yet") {
		t.Errorf("the operator has not looked at this spec:\n%s", got)
	}
}
