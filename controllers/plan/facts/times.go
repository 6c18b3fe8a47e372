package facts

import (
	"cmp"
	"time"
)

// How long a wait may last before it is called overdue. A wait is counted from a time on an object, and goes on after
// it. That of a container which stopped, or cannot start, is counted from the creation of its Pod: see startTrouble.
const (
	StartDeadline   = 2 * time.Minute  // a Pod to serve, from its creation or its last change
	ListDeadline    = 2 * time.Minute  // a member list, from the last change of any Pod
	JoinDeadline    = 10 * time.Minute // a learner to start and catch up, from the creation of its Pod
	PlaceDeadline   = 5 * time.Minute  // a node to take a Pod, since the scheduler said that none does
	LeavingDeadline = 30 * time.Second // a Pod to be gone, after its grace period ended
)

// StartProblems maps what Kubernetes says of a container or Pod that cannot start to a reason.
var StartProblems = map[string]string{
	"ErrImagePull":               ReasonImagePull,
	"ImagePullBackOff":           ReasonImagePull,
	"InvalidImageName":           ReasonImagePull,
	"ErrImageNeverPull":          ReasonImagePull,
	"RegistryUnavailable":        ReasonImagePull,
	"ImageInspectError":          ReasonImagePull,
	"SignatureValidationFailed":  ReasonImagePull,
	"CreateContainerConfigError": ReasonContainer,
	"CreateContainerError":       ReasonContainer,
	"RunContainerError":          ReasonContainer,
	"CreatePodSandboxError":      ReasonContainer,
	"Unschedulable":              ReasonUnschedulable,
	"SchedulingGated":            ReasonGated,
}

// WaitingForCrash is how Kubernetes calls the wait of a container that stopped again and again.
const WaitingForCrash = "CrashLoopBackOff"

// StartWarnings maps the events that say why the kubelet starts no container, which a Pod's status does not say. Events
// come late and get lost, so they are told, and nothing is decided by them.
var StartWarnings = map[string]string{
	"FailedMount":            ReasonNotMounted,
	"FailedAttachVolume":     ReasonNotMounted,
	"FailedMapVolume":        ReasonNotMounted,
	"FailedCreatePodSandBox": ReasonContainer,
	"NetworkNotReady":        ReasonContainer,
	ReasonProvisioning:       ReasonProvisioning,
}

// StartReason is the reason why a container or Pod does not start, by what Kubernetes says; empty where it says none.
func StartReason(waiting string) string {
	return cmp.Or(StartProblems[waiting], StartWarnings[waiting])
}

// AwaitsImage reports a Pod that starts nothing because an image cannot be had, by what Kubernetes says.
func AwaitsImage(waiting string) bool { return StartReason(waiting) == ReasonImagePull }

// HasNoPlace reports a Pod that no node took for as long as it takes to make room for one.
func (o Observation) HasNoPlace(p *Pod) bool {
	if p == nil || p.Terminating || StartProblems[p.Waiting] != ReasonUnschedulable {
		return false
	}
	since := p.Created
	if p.UnplacedFrom.After(since) {
		since = p.UnplacedFrom
	}
	return o.IsPast(since.Add(PlaceDeadline))
}

// PodChange is the last time that the Pod came, or its readiness changed. How often its container stops does not count:
// a crash loop must not put a deadline off for ever.
func PodChange(p *Pod) time.Time {
	if p == nil {
		return time.Time{}
	}
	last := p.Created
	if ready := p.byServer(p.ReadySince); ready.After(last) {
		last = ready
	}
	return last
}

// LastPodChange is the last time that something is known to have happened to any Pod, or that a volume was made.
func (o Incarnation) LastPodChange() time.Time {
	var last time.Time
	for _, r := range o.Members {
		if at := PodChange(r.Pod); at.After(last) {
			last = at
		}
		if r.Volume != nil && r.Volume.Created.After(last) {
			last = r.Volume.Created
		}
	}
	return last
}

// LastStart is the last time that the Pod came, its readiness changed or its process began.
func LastStart(p *Pod) time.Time {
	last := PodChange(p)
	if p == nil {
		return last
	}
	if running := p.byServer(p.RunningSince); running.After(last) {
		last = running
	}
	return last
}
