package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestWhatHoldsARequestUpIsToldBesideWhatIsGraver(t *testing.T) {
	w := demo(3, begin).settled()
	w.silent("demo-1").find("demo-1").Pod.Role = ""
	w.o.Desired.Lead = facts.LeadNow("demo-1", w.o.Now, w.o.Now)
	w = w.later(9 * time.Minute)
	got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionReady)
	for _, says := range []string{"Member demo-1 on node node-b is not well", "The annotation etcdsteward.dev/move-leader names demo-1, which does not serve."} {
		if !strings.Contains(got.Message, says) {
			t.Errorf("%q is not told: %s: %s", says, got.Reason, got.Message)
		}
	}
}
