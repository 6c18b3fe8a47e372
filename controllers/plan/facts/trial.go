package facts

import "slices"

// Trial is a Pod beside a member, on its node, that starts another etcd with the member's flags and --version. So the
// image is there and takes the flags, before the member is stopped for it. It holds no data and joins nothing.
type Trial struct {
	Task
	Member  string
	Node    string
	Choices Choices // what it was made from
	GoesOn  bool    // its Pod takes a place on the node, be it for a container that was injected
}

// TrialOf is the trial Pod beside a member; false when there is none.
func (o Observation) TrialOf(member string) (Trial, bool) {
	i := slices.IndexFunc(o.Trials, func(t Trial) bool { return t.Member == member })
	if i < 0 {
		return Trial{}, false
	}
	return o.Trials[i], true
}

// IsOf reports a trial of what the spec asks for now, where the member runs now.
func (t Trial) IsOf(d Desired, r Replica) bool {
	return t.Choices == d.Choices && r.Pod != nil && t.Node == r.Pod.Node
}

// HasEnded reports a trial that runs no more.
func (t Trial) HasEnded() bool { return t.HasSucceeded() || t.HasFailed() }

// ShowsFailure reports a trial whose process ran and failed. One that its node did not take says nothing of what it was
// to try.
func (t Trial) ShowsFailure() bool { return t.HasFailed() && t.Started }
