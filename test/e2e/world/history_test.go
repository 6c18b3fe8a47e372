package world

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestARestartIsCountedOnceForEachTimeItsPodWasStartedAgain(t *testing.T) {
	restart := func(member string) Step {
		return Step{NextStep: v1alpha1.NextStep{Rule: "roll", Reason: "EvictPod", Message: "The operator evicts the Pod of " + member + ": it is to run etcd 3.7.3."}}
	}
	leaving := Step{NextStep: v1alpha1.NextStep{Rule: "member-health", Reason: facts.ReasonPodLeaving}}
	started := Step{NextStep: v1alpha1.NextStep{Rule: "pods", Reason: "StartPods"}}

	NewWithT(t).Expect(restarted([]Step{
		restart("a-1"), leaving, restart("a-1"), started,
		restart("a-0"), leaving, started,
		restart("a-0"), leaving, started,
	})).To(Equal([]string{"a-1", "a-0", "a-0"}))
	away := Step{NextStep: v1alpha1.NextStep{Rule: "membership", Reason: facts.ReasonMembershipUnknown}}
	NewWithT(t).Expect(restarted([]Step{restart("a-0"), leaving, away, restart("a-0"), leaving, away})).To(HaveLen(2))
	compared := Step{NextStep: v1alpha1.NextStep{Rule: "compare", Reason: "SealPods",
		Message: "The operator records on the Pod of a-0: etcd started from the same data as a majority of the members."}}
	NewWithT(t).Expect(restarted([]Step{restart("a-0"), leaving, compared, restart("a-0")})).To(HaveLen(2))
}
