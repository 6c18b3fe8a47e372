package report

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// RestoreStates are all that RestoreState says.
var RestoreStates = []string{"waiting", "running", "complete", "failed"}

// RestoreState is what an EtcdRestore is in one word, for metrics: failed is one that does not go on without a person.
func RestoreState(status v1alpha1.EtcdRestoreStatus) string {
	switch {
	case status.Stage == stageFailed, meta.IsStatusConditionTrue(status.Conditions, v1alpha1.RestoreFailed):
		return "failed"
	case status.Stage == stageComplete:
		return "complete"
	case status.Stage == stageWaiting, status.Stage == "":
		return "waiting"
	}
	return "running"
}
