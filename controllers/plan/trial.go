package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// tryVersion has the nodes of members pull another version of etcd and start it with the members' own flags, before the
// first member is stopped for it. A sick member is not kept waiting: its restart is its cure, unless a trial has shown
// that it would not come back.
func tryVersion(o judge.View) *proposal {
	next := rollTarget(o)
	switch isSick := !next.IsHealthy(o.Membership); {
	case o.Desired.Ephemeral, next.Member == nil, isSick && !isFoundUnfit(o):
		return nil
	case isSick:
		return inTrial(o, o.Voters())
	}
	var missing []changes.Place
	var spent []facts.PodRef
	awaited := toTry(o)
	for _, r := range awaited {
		switch t, isThere := o.TrialOf(r.Name); {
		case !isThere:
			missing = append(missing, changes.Place{Member: r.Name, Node: r.Pod.Node})
		case !t.Terminating && isSpent(o, t, r):
			spent = append(spent, trialRef(t))
		}
	}
	switch {
	case len(spent) > 0:
		return act(changes.DeleteTrials{Pods: spent}, facts.ReasonTryVersion,
			"The trial Pods of %s are made anew: they failed, or were made from other settings.", podNames(spent))
	case len(missing) > 0:
		return act(changes.StartTrials{Choices: o.Desired.Choices, Beside: missing}, facts.ReasonTryVersion,
			"etcd %s is tried on the nodes of %s, with their flags, before a member is stopped for it.",
			o.Desired.Choices.Version, joinNames(missing, func(p changes.Place) string { return p.Member }))
	}
	return inTrial(o, awaited)
}

// toTry are the voters that the roll will restart with another version than they answer with.
func toTry(o judge.View) []facts.Replica {
	return facts.Filter(o.Voters(), func(r facts.Replica) bool {
		return isOutdated(o.Observation, r) && answersOther(r, o.Desired.Choices.Version)
	})
}

// isSpent reports a trial that says nothing of what the member is to run, or that failed and had its rest.
func isSpent(o judge.View, t facts.Trial, r facts.Replica) bool {
	return !t.IsOf(o.Desired, r) || t.ShowsFailure() && hasRested(t.Task, o.Now, r.Pod.Created)
}

func trialRef(t facts.Trial) facts.PodRef { return facts.PodRef{Name: t.Member, UID: t.UID} }

// inTrial waits for the trials that there are, and says first which of them failed. One that Kubernetes or the node
// refused says nothing of the version, and holds nothing up: the roll makes sure for itself that a member has room.
func inTrial(o judge.View, members []facts.Replica) *proposal {
	var trials []facts.Trial
	for _, r := range members {
		if t, isThere := o.TrialOf(r.Name); isThere && (t.Terminating || t.Choices == o.Desired.Choices) {
			trials = append(trials, t)
		}
	}
	fails := func(t facts.Trial) bool { return !t.Terminating && t.ShowsFailure() }
	if i := slices.IndexFunc(trials, fails); i >= 0 {
		t := trials[i]
		return taskRefused(t.Task, facts.ReasonVersionFails, "etcd %s does not start with the settings of %s: %s. No "+
			"further member is stopped for it. It is tried again within %.0f minutes, and at once when the spec "+
			"changes. Put spec.version, spec.image or spec.etcd right, or back.",
			o.Desired.Choices.Version, t.Member, taskWords(t.Task), longestRest.Minutes())
	}
	for _, t := range trials {
		if t.Terminating || !t.HasEnded() && !isNotTaken(o, t) {
			return trialUnderWay(o, t)
		}
	}
	return nil
}

func trialUnderWay(o judge.View, t facts.Trial) *proposal {
	if t.Terminating {
		return taskLeaving(t.Task, o, facts.ReasonTryVersion, "The trial Pod of %s is terminating; another follows.",
			t.Member)
	}
	p := taskTrouble(t.Task, o, facts.ReasonTryVersion, facts.StartDeadline, fmt.Sprintf(
		"The Pod %[1]s-trial tries etcd %[2]s on the node of %[1]s. No further member is stopped before that ends "+
			"well.", t.Member, o.Desired.Choices.Version))
	if facts.StartProblems[t.Waiting] == facts.ReasonImagePull {
		p.Message += ". Put spec.version or spec.image right, or back."
	}
	return p
}

// isNotTaken reports a trial for which its node has made no Pod for long, and says so.
func isNotTaken(o judge.View, t facts.Trial) bool {
	return !t.Started && taskProblems[t.Waiting] != "" && o.Now.Sub(t.Created) > facts.StartDeadline
}

// heldByTrials speaks in the place of try-version where its change was refused, or showed no effect yet.
func heldByTrials(o judge.View) *proposal {
	const rule = "try-version"
	isNoted := slices.ContainsFunc(o.Refused, func(n facts.Note) bool { return n.Rule == rule })
	switch {
	case isRejected(o.Observation, rule):
		return inTrial(o, toTry(o))
	case isNoted:
		return wait(facts.ReasonTryVersion, "etcd %s is tried beside members; their trial Pods are not seen yet.",
			o.Desired.Choices.Version)
	}
	return nil
}

// isFoundUnfit reports settings of the spec that a trial has shown not to start.
func isFoundUnfit(o judge.View) bool {
	return slices.ContainsFunc(o.Trials, func(t facts.Trial) bool {
		cannotStart := !t.HasEnded() && facts.StartProblems[t.Waiting] != ""
		return t.Choices == o.Desired.Choices && (t.ShowsFailure() || cannotStart)
	})
}

// trialLeftover deletes trials once no member waits for what they try, not for a moment only. One whose Pod goes on
// ends with its member's process: it must not take the place of that.
func trialLeftover(o judge.View) *proposal {
	awaited := toTry(o)
	isWanted := func(t facts.Trial) bool { return len(awaited) > 0 && t.Choices == o.Desired.Choices }
	var spent []facts.PodRef
	for _, t := range o.Trials {
		_, isAwaited := facts.Find(awaited, t.Member)
		isOfUse := (isWanted(t) || o.Desired.Held.Passes) && (!t.GoesOn || isAwaited)
		if !t.Terminating && !isOfUse {
			spent = append(spent, trialRef(t))
		}
	}
	if len(spent) == 0 {
		return nil
	}
	return act(changes.DeleteTrials{Pods: spent}, facts.ReasonLeftover,
		"No member waits for what the trial Pods of %s tried; they are deleted.", podNames(spent))
}

// otherVersion speaks of a member that runs the settings of the spec, at this stop or at the end of the way, and
// answers with another version. An image says its version only when it runs. No other member is restarted with it.
func otherVersion(o judge.View) *proposal {
	if sick := rollTarget(o); sick.Member != nil && !sick.IsHealthy(o.Membership) {
		return nil // its restart may be its cure
	}
	for _, r := range o.Voters() {
		if !r.IsRunning() || r.Pod.Choices.IsZero() {
			continue
		}
		isAsked := r.Pod.Choices == o.Desired.Choices || r.Pod.Choices == o.Desired.AtTarget
		if isAsked && answersOther(r, r.Pod.Choices.Version) {
			return refuse(facts.ReasonOtherVersion, "%s was made to run etcd %s and answers as etcd %s: its image is "+
				"not what spec.image says. No other member is restarted with it. Put spec.image or spec.version right.",
				r.Name, r.Pod.Choices.Version, r.Answer.Version).byHuman()
		}
	}
	return nil
}
