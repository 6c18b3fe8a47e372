package plan

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// rule is one named question. The first rule that acts, or that must hold the others back, wins.
type rule struct {
	name string
	says string // one sentence, for docs/rules.md
	ask  func(Observation) *proposal
	// yields: when its change is refused by Kubernetes or etcd, later rules may act in the same pass
	yields bool
}

// proposal is what a rule says. One that yields is reported and lets later rules act.
type proposal struct {
	Decision
	yields bool
}

// rules in the order of their priority, which is the safety argument: see doc.go.
var rules = []rule{
	{"other-operator", "A cluster that another install looks after is left alone.", otherOperator, false},
	{"deletion-policy", "Volumes and authorities that must be kept are un-owned at once, even while paused.", deletionPolicy, true},
	{"deleting", "A cluster that is being deleted is left to the garbage collector.", deleting, false},
	{"paused", "A paused cluster is looked at and reported, and not touched.", paused, false},
	{"restore-fence", "What a restore in place moved on from is stopped, and kept, before the next members start.", beside(restoreFence), true},
	{"restore-call-off", "What was laid for an EtcdRestore that nobody wants any more is cleared away; the cluster goes on.", beside(restoreCallOff), true},
	{"restore-begin", "An approved EtcdRestore gets new members beside those that serve, once its backup was looked at.", beside(restoreBegin), true},
	{"restore-laying", "What the next life begins with is laid on its volumes, and written down there.", beside(restoreLaying), true},
	{"restore-move", "The cluster moves once all of it is laid, and only on the evidence that was approved.", beside(restoreMove), true},
	{"spec-refused", "A spec that is refused changes nothing; members that are there are kept alive.", specRefused, false},
	{"resume", "The data of an earlier cluster of this name is taken over, when all of it is of one.", resume, false},
	{"retained-data", "Over the volumes of an earlier cluster nothing is ever born.", retainedData, false},
	{"name-taken", "An object of somebody else is never adopted or changed.", nameTaken, false},
	{"restore-source", "The backup that a cluster is to begin with is looked at before its birth is written down.", restoreSource, false},
	{"birth-record", "The birth is written down before anything else is made.", birthRecord, false},
	{"void-birth", "A birth that cannot succeed, and at which nothing can be lost, is begun anew.", voidBirth, false},
	{"other-life", "What an earlier birth left under the first members' names is deleted.", otherLife, false},
	{"bootstrap", "Objects, volumes and then Pods of the first members are made, in parallel.", bootstrap, false},
	{"restored", "What begins with a backup starts once that lies on every first volume, completely and written down there.", restored, false},
	{"birth-choices", "A first Pod that never started, or never answers, is made anew when the choices changed.", birthChoices, false},
	{"first-quorum", "The cluster is alive once its members agree on one list.", firstQuorum, false},
	{"scaffold", "Services and Secrets that are missing or drifted are put right.", scaffold, true},
	{"raise-budget", "The disruption budget never allows less than the voters need.", raiseBudget, true},
	{"restore-leftover", "What looked at a backup, or laid it down, is deleted once the cluster lives.", restoreLeftover, true},
	{"seal", "A recorded member can no longer start from an empty directory.", seal, true},
	{"ended-pod", "A Pod that ended is deleted, to be started on its volume.", endedPod, true},
	{"other-choices", "A Pod that does not run, or never answers, and was made from other choices than its volume says is deleted.", otherChoices, true},
	{"adopt-choices", "A member whose Pod cannot start, or never answers, takes the choices of the spec, when the minor version stays.", adoptChoices, true},
	{"missing-pod", "The missing Pod of a recorded member is started on its own volume.", missingPod, true},
	{"members-disagree", "When members answer with different cluster IDs, nothing is done.", membersDisagree, false},
	{"quorum-lost", "When too many members have certainly lost their data, nothing is rebuilt without a person.", quorumLost, false},
	{"membership-unknown", "Without an answer from etcd no member is added or removed.", membershipUnknown, false},
	{"strange-member", "A member that the operator did not add stops every change of the membership.", strangeMember, false},
	{"record-members", "A member that answered is written down beside its data.", recordMembers, false},
	{"leftover-pod", "The Pod of a removed member is deleted.", leftoverPod, true},
	{"abandon-learner", "A learner that is not wanted, or cannot live, is removed.", abandonLearner, false},
	{"unstarted-pod", "The missing first Pod of a listed member is started.", unstartedPod, true},
	{"promote", "A sealed learner that has caught up becomes a voter.", promote, false},
	{"label-role", "The client Service selects sealed voters only.", labelRole, true},
	{"leftover", "Volume and Secret of a removed member are deleted, once it is certainly removed.", leftover, true},
	{"former-leftover", "What a restore moved on from is deleted once its EtcdRestore says so and what followed serves.", formerLeftover, true},
	{"alarms", "The alarm that space ran out is taken back once every member has room; all others ask for a person.", alarms, true},
	{"repair", "A member that certainly lost its data is removed.", repair, false},
	{"replace-dead", "A member that two witnesses called dead for repair.replaceAfter, while the others were a quorum, is removed.", replaceDead, false},
	{"shrink", "Unhealthy members first; the leader hands over before it goes.", shrink, false},
	{"grow", "One learner at a time, under a name that was never used.", grow, true},
	{"lower-budget", "The disruption budget follows the voters down.", lowerBudget, true},
	{"pod-metadata", "Labels and annotations of the spec follow on running Pods, in place.", podMetadata, true},
	{"change-not-supported", "A change that this release cannot make to running members is not begun.", changeNotSupported, false},
	{"roll", "One member at a time is restarted with the choices of the spec, the leader last.", roll, true},
	{"member-health", "The cluster is settled only when every member is healthy.", memberHealth, false},
}

// RuleSettled speaks when no other rule does; RuleGuard when a change was vetoed.
const (
	RuleSettled = "settled"
	RuleGuard   = "guard"
)

// RuleNames lists the rules in the order in which they are asked.
func RuleNames() []string {
	out := make([]string, 0, len(rules)+1)
	for _, r := range rules {
		out = append(out, r.name)
	}
	return append(out, RuleSettled)
}

// RuleSays is the sentence of a rule, or "".
func RuleSays(name string) string {
	for _, r := range rules {
		if r.name == name {
			return r.says
		}
	}
	return ""
}

// Next names the one safe change to make now, or says why there is none.
func Next(o Observation) Decision {
	var notes []Note
	for _, r := range rules {
		if note, refused := o.refusalOf(r); refused {
			notes = append(notes, note)
			continue
		}
		p := r.ask(o)
		if p == nil {
			continue
		}
		d := p.Decision
		d.Rule = r.name
		if p.yields {
			notes = append(notes, noteOf(d))
			continue
		}
		d = guarded(o, d)
		d.Yielded = notes
		return d
	}
	return settled(o, notes)
}

// refusalOf is what was answered to the rule's change in this pass, if the rule may give way to later ones.
func (o Observation) refusalOf(r rule) (Note, bool) {
	for _, note := range o.Refused {
		if note.Rule == r.name && r.yields {
			return note, true
		}
	}
	return Note{}, false
}

// MayYield reports whether later rules may act in the pass in which the rule's change was refused.
func MayYield(name string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.name == name && r.yields })
}

// guarded lets a decision pass, or turns it into a refusal when the guard vetoes its change.
func guarded(o Observation, d Decision) Decision {
	if d.Change == nil {
		return d
	}
	veto := Guard(o, d.Change)
	if veto == "" {
		return d
	}
	return Decision{
		Verdict: Refuse, Rule: d.Rule, Reason: ReasonGuard, Recheck: recheckSlow,
		Message: fmt.Sprintf("%s Held back: %s", d.Message, veto),
	}
}

// settled ends a walk in which no rule acted: with the gravest note, or with nothing left to do.
func settled(o Observation, notes []Note) Decision {
	if len(notes) == 0 {
		return Decision{Verdict: Settled, Rule: RuleSettled, Reason: ReasonSettled, Recheck: recheckSettled,
			Message: allHealthy(len(o.Voters()))}
	}
	worst := 0
	for i, n := range notes {
		if n.gravity() > notes[worst].gravity() {
			worst = i
		}
	}
	n := notes[worst]
	d := Decision{Verdict: Wait, Rule: n.Rule, Reason: n.Reason, Message: n.Message,
		NeedsHuman: n.NeedsHuman, Overdue: n.Overdue, Recheck: recheckWait, Yielded: notes}
	if n.NeedsHuman || n.Overdue {
		d.Verdict, d.Recheck = Refuse, recheckSlow
	}
	return d
}

func allHealthy(voters int) string {
	if voters == 1 {
		return "The one member is healthy and as the spec asks."
	}
	return fmt.Sprintf("All %d members are healthy and as the spec asks.", voters)
}

func (n Note) gravity() int {
	switch {
	case n.NeedsHuman:
		return 2
	case n.Overdue:
		return 1
	}
	return 0
}

func noteOf(d Decision) Note {
	return Note{Rule: d.Rule, Reason: d.Reason, Message: d.Message, NeedsHuman: d.NeedsHuman, Overdue: d.Overdue}
}

// Confirm repeats the decision on what was just read live, and reports whether it still asks for this very change.
func Confirm(live Observation, c Change) bool {
	return reflect.DeepEqual(Next(live).Change, c)
}

// MustConfirm reports whether a change is carried out only after Confirm: everything that stops a process, deletes data,
// changes the membership, lowers a bound, or starts etcd: from an empty directory, or in a life that may have ended meanwhile.
func MustConfirm(c Change) bool {
	switch c.(type) {
	case RecordMembers, SealPods, LabelRole, DressPods, RestoreInputs, ApplyObjects, PrepareMember, FollowPolicy:
		return false
	default:
		return true
	}
}

// How long until the next look when nothing is heard.
const (
	recheckWait    = 1 * time.Second
	recheckSlow    = 10 * time.Second
	recheckSettled = 20 * time.Second
)

// How long a wait may last before it is called overdue. A wait is counted from a time on an object, and goes on after it.
const (
	startDeadline   = 2 * time.Minute  // a Pod to serve, from its creation or its last change
	listDeadline    = 2 * time.Minute  // a member list, from the last change of any Pod
	joinDeadline    = 10 * time.Minute // a learner to start and catch up, from the creation of its Pod
	leavingDeadline = 30 * time.Second // a Pod to be gone, after its grace period ended
)

func act(c Change, reason, format string, args ...any) *proposal {
	return &proposal{Decision: Decision{Verdict: Act, Change: c, Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

func wait(reason, format string, args ...any) *proposal {
	return &proposal{Decision: Decision{Verdict: Wait, Reason: reason, Recheck: recheckWait, Message: fmt.Sprintf(format, args...)}}
}

func refuse(reason, format string, args ...any) *proposal {
	return &proposal{Decision: Decision{Verdict: Refuse, Reason: reason, Recheck: recheckSlow, Message: fmt.Sprintf(format, args...)}}
}

// byHuman marks a refusal that nothing but a person can end.
func (p *proposal) byHuman() *proposal { p.NeedsHuman = true; return p }

// yielding lets later rules act.
func (p *proposal) yielding() *proposal { p.yields = true; return p }

// due turns a wait into a refusal once it lasts longer than its deadline.
func (p *proposal) due(o Observation, since time.Time, deadline time.Duration) *proposal {
	if !since.IsZero() && o.Now.Sub(since) > deadline {
		p.Verdict, p.Overdue, p.Recheck = Refuse, true, recheckSlow
	}
	return p
}
