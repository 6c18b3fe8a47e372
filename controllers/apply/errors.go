package apply

import (
	"errors"
	"fmt"
)

// ErrStale says that the world is no longer what the change was decided on. Nothing was done; look again.
var ErrStale = errors.New("the cluster changed since this was decided")

// Later says that Kubernetes or etcd cannot do it now, and may soon, with nothing changed but time.
type Later struct {
	Reason  string // one of the Later… constants
	Message string // a sentence for people
}

func (e Later) Error() string { return e.Message }

// Reasons of Later.
const (
	LaterConflict    = "Conflict"         // the object changed under us
	LaterBusy        = "Busy"             // the API server asks for patience
	LaterTerminating = "Terminating"      // the namespace, or an old object of that name, is being deleted
	LaterMissing     = "Missing"          // something that this builds on is not there yet
	LaterUnknown     = "OutcomeUnknown"   // etcd did not answer in time: it may have been done
	LaterNotReady    = "EtcdNotReady"     // etcd refuses until members are connected, started or caught up
	LaterNoLeader    = "NoLeader"         // no member answers that could decide
	LaterBudget      = "DisruptionBudget" // the disruption budget lets no Pod be evicted now
	LaterNotLeading  = "NotLeading"       // this process cannot prove that it still holds the Lease
)

// Rejected says that Kubernetes or etcd refuses, and that time alone does not change it.
type Rejected struct {
	Reason  string // one of the Rejected… constants
	Message string // the first sentence of who refused
}

func (e Rejected) Error() string { return e.Message }

// Reasons of Rejected.
const (
	RejectedQuota       = "QuotaExceeded"
	RejectedPodSecurity = "PodSecurity"
	RejectedWebhook     = "Webhook"
	RejectedForbidden   = "Forbidden"
	RejectedInvalid     = "Invalid"
	RejectedEtcd        = "EtcdRefused"
	// more than one disruption budget covers the Pod, and so it cannot be evicted
	RejectedBudgets    = "SeveralBudgets"
	RejectedUnreadable = "Unreadable"   // something of ours is there and cannot be read
	RejectedTooNew     = "RecordTooNew" // a newer release wrote it, in a form that this one would misread
)

// NameTaken says that an object of that name exists and is not ours. It is never adopted.
type NameTaken struct {
	Kind, Name string
	Owner      string // who it belongs to, as far as it says; empty when it has no owner
}

func (e NameTaken) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s %s exists and does not belong to this cluster", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %s exists and belongs to %s", e.Kind, e.Name, e.Owner)
}
