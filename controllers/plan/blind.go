package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that are safe while etcd cannot be asked, because it may be silent exactly because this was not done.

// seal makes recorded members unable to start from an empty directory, and puts stripped seals back.
func seal(o Observation) *proposal {
	var seals []Seal
	for _, r := range o.Replicas {
		if o.Birth.ClusterID == 0 || !r.IsRecorded() || r.Pod == nil || r.Pod.Flags == FlagsSealed || r.Pod.Terminating || r.Pod.HasEnded() {
			continue
		}
		seals = append(seals, Seal{Pod: r.podRef(), Role: roleOf(o, r)})
	}
	if len(seals) == 0 {
		return nil
	}
	return act(SealPods{Pods: seals}, ReasonSeal, "%s can from now on only start from the data it has.", sealNames(seals))
}

// roleOf is the role label that a Pod should carry: what the list says, else what it carries already.
func roleOf(o Observation, r Replica) string {
	switch {
	case o.Membership.Known && r.IsVoter():
		return roleVoter
	case o.Membership.Known && r.IsLearner():
		return roleLearner
	case r.Pod != nil:
		return r.Pod.Role
	}
	return ""
}

// Values of the role label.
const (
	roleVoter   = "voter"
	roleLearner = "learner"
)

// endedPod deletes Pods that the kubelet will never start again, where the data outlives the Pod.
func endedPod(o Observation) *proposal {
	var pods []PodRef
	for _, r := range o.Replicas {
		if r.Pod.HasEnded() && !r.Pod.Terminating && r.Volume != nil && !r.Volume.Terminating {
			pods = append(pods, r.podRef())
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return act(DeletePods{Pods: pods}, ReasonPodEnded, "The Pod of %s ended and is made anew on its volume.", podNames(pods))
}

// otherChoices deletes a Pod that does not run, or never answers, and that was made from other choices than its volume says, or
// that lost the flags of its first start.
func otherChoices(o Observation) *proposal {
	for _, r := range o.Replicas {
		if r.isStripped() {
			return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonNewChoices, "The Pod of %s lost the flags of its first start and is made anew.", r.Name)
		}
		if r.Volume == nil || r.Volume.Terminating || r.Pod == nil || r.Pod.Choices == r.Choices() {
			continue
		}
		if p := o.restartBlind(r); p != nil {
			return p
		}
		if !r.isIdle() {
			continue
		}
		return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonNewChoices, "The Pod of %s does not run and is made anew with the settings written on its volume.", r.Name)
	}
	return nil
}

// restartBlind stops a silent member on whose volume the settings of the spec are written. What the kubelet calls ready is asked
// to go, within the disruption budgets that there are.
func (o Observation) restartBlind(r Replica) *proposal {
	if r.Choices() != o.Desired.Choices || !o.mayStopBlind(r) {
		return nil
	}
	const says = "%s runs and does not answer. It is started anew with the settings of the spec."
	if !r.Pod.Ready {
		return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonNewChoices, says, r.Name)
	}
	successor := Start{Name: r.Name, Flags: FlagsSealed, Choices: r.Choices(), Role: r.Pod.Role}
	return act(EvictPod{Pod: r.podRef(), Successor: successor}, ReasonNewChoices, says, r.Name)
}

// adoptChoices gives a member that cannot start, that stops again and again, that never answers, or whose Pod Kubernetes
// refuses, the settings of the spec, as long as the minor version stays what it is: putting a spec right must always recover. Settings that were
// stripped from a volume are written back.
func adoptChoices(o Observation) *proposal {
	for _, r := range o.Replicas {
		if r.Volume == nil || r.Volume.Terminating {
			continue
		}
		if p := o.adoption(r); p != nil {
			return p
		}
	}
	return nil
}

// adoption is what is to be written on the volume of a member that does not run, or never answers.
func (o Observation) adoption(r Replica) *proposal {
	c := SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: o.Desired.Choices}
	switch {
	case r.Pod == nil:
		if !o.isRefused(r) || !o.mayAdopt(r) {
			return nil
		}
		return act(c, ReasonNewChoices, "Kubernetes refuses a Pod of %s with the settings it has; it takes those of the spec.", r.Name)
	case r.Volume.Choices.IsZero() && !r.Pod.Choices.IsZero():
		c.Choices = r.Pod.Choices
		return act(c, ReasonNewChoices, "The volume of %s no longer says what its Pod is made from; it is written back.", r.Name)
	case r.isHopeless() && o.mayAdopt(r):
		return act(c, ReasonNewChoices, "%s cannot run with the settings it has (%s); it takes those of the spec.", r.Name, r.Pod.Waiting)
	case !o.Membership.Known:
		return o.adoptionBlind(r)
	}
	return nil
}

// isRefused reports whether Kubernetes refused to make the member's Pod in this pass.
func (o Observation) isRefused(r Replica) bool {
	return o.isRejected("missing-pod") && o.mayRestart(r) || o.isRejected("unstarted-pod") && r.Member != nil && !r.IsRecorded()
}

// adoptionBlind is the same for a member that runs, while nobody knows the list. One that does not say any more what it runs with
// is told first.
func (o Observation) adoptionBlind(r Replica) *proposal {
	if r.Pod.Choices.IsZero() && !r.Volume.Choices.IsZero() && r.IsSealed() && o.isSilent(r) {
		return act(RestoreInputs{Pod: r.podRef(), Choices: r.Volume.Choices}, ReasonNewChoices, "The Pod of %s no longer says what it was made from; it is written back.", r.Name)
	}
	if r.Choices() == o.Desired.Choices || !o.mayStopBlind(r) {
		return nil
	}
	return act(SetChoices{Volumes: []VolumeRef{r.volumeRef()}, Choices: o.Desired.Choices, Rehearse: true}, ReasonNewChoices,
		"%s runs and does not answer with the settings it has; it takes those of the spec.", r.Name)
}

// mayAdopt reports whether a member that does not run may take the settings of the spec: only within its minor version, and
// not where others serve with the ones it has while nobody does with those of the spec. What is not known to work is tried on
// one member at a time, and what works is not given up for it.
func (o Observation) mayAdopt(r Replica) bool {
	current := r.Choices()
	if o.Desired.Fault != "" || current == o.Desired.Choices || !current.Version.SameMinor(o.Desired.Choices.Version) {
		return false
	}
	isTried := slices.ContainsFunc(o.Replicas, func(other Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Choices() == o.Desired.Choices
	})
	return !isTried || o.isServedWith(o.Desired.Choices) || !o.isServedWith(current)
}

// isServedWith reports whether a Pod that was made from these choices is ready.
func (o Observation) isServedWith(c Choices) bool {
	return slices.ContainsFunc(o.Replicas, func(r Replica) bool { return r.Pod != nil && r.Pod.Choices == c && r.Pod.Running && r.Pod.Ready })
}

// isRejected reports whether Kubernetes refused the rule's change in this pass, and will do so again.
func (o Observation) isRejected(rule string) bool {
	return slices.ContainsFunc(o.Refused, func(n Note) bool { return n.Rule == rule })
}

// isHopeless reports a container that does not run because Kubernetes cannot start it, or because it stops again and again.
func (r Replica) isHopeless() bool {
	return r.isIdle() && (r.cannotStart() || r.Pod.Waiting == "CrashLoopBackOff")
}

// isIdle reports a Pod whose container does not run and that nothing is happening to.
func (r Replica) isIdle() bool {
	return r.Pod != nil && !r.Pod.Running && !r.Pod.Terminating && !r.Pod.HasEnded()
}

// isStripped reports a Pod that can never start because its annotations are gone, that no seal can be put back on, and whose
// volume outlives it.
func (r Replica) isStripped() bool {
	return r.isIdle() && r.Pod.Flags == FlagsNone && !r.IsRecorded() && !r.isDoomed()
}

// cannotStart reports that Kubernetes, not etcd, keeps the container from starting.
func (r Replica) cannotStart() bool { return startProblems[r.Pod.Waiting] != "" }

// missingPod starts the Pods of recorded members on their own volumes, sealed. A member known to be removed is no member.
// First members that were interrupted before enough of them were recorded start as they were born.
func missingPod(o Observation) *proposal {
	var starts []Start
	for _, r := range o.Replicas {
		switch {
		case r.Pod != nil || o.isFlushed(r) || o.isWithoutCertificates(r):
		case o.mayRestart(r):
			if c := o.startChoices(r); c.Version.SameMinor(r.Record().Version) { // else nobody knows what wrote its data
				starts = append(starts, Start{Name: r.Name, Flags: FlagsSealed, Choices: c, Role: roleOf(o, r)})
			}
		case o.mayRebirth(r):
			starts = append(starts, birthStart(o, r))
		}
	}
	if len(starts) == 0 {
		return nil
	}
	return act(StartPods{Pods: starts}, ReasonPodMissing, "The Pod of %s is gone and is started again on its volume.", startNames(starts))
}

// mayRestart reports whether the replica's volume holds a member of this incarnation that is not known to be removed.
func (o Observation) mayRestart(r Replica) bool {
	if r.Volume == nil || !r.IsRecorded() || r.Volume.Terminating || r.Volume.Phase == VolumeLost || r.Volume.Stranded != "" {
		return false
	}
	if r.Volume.Incarnation != o.Birth.Incarnation || o.Birth.ClusterID != 0 && r.Volume.Record.ClusterID != o.Birth.ClusterID {
		return false
	}
	return !o.Membership.Known || r.Member != nil && r.Member.ID == r.Volume.Record.MemberID
}

// mayRebirth reports whether the replica is a first member that was interrupted, with the volume it was born on, before a
// quorum of first members was recorded. Until then none was sealed, and no client was ever led to one.
func (o Observation) mayRebirth(r Replica) bool {
	if o.Membership.Known || o.Birth.ClusterID != 0 || r.IsRecorded() || !slices.Contains(o.Birth.Names, r.Name) || !o.isFilled(r) {
		return false
	}
	return r.Ephemeral || r.Volume != nil && !o.hasLostVolume(r)
}

func membersDisagree(o Observation) *proposal {
	if p := o.leadAway(); p != nil {
		return p
	}
	if o.Membership.Known && o.Birth.ClusterID != 0 && o.Membership.ClusterID != o.Birth.ClusterID {
		return refuse(ReasonMembersDisagree, "The members answer as cluster %s; this cluster was born as %s. Nothing is changed.",
			o.Membership.ClusterID, o.Birth.ClusterID).byHuman()
	}
	if o.Membership.Conflict == "" {
		return nil
	}
	return refuse(ReasonMembersDisagree, "Members of this cluster answer with different cluster IDs (%s). Nothing is changed until they agree.",
		o.Membership.Conflict).byHuman()
}

// leadAway keeps clients from writing to what serves another cluster's data while no quorum of this one answers. Where one does,
// that follows from the roles.
func (o Observation) leadAway() *proposal {
	for _, r := range o.Replicas {
		why := o.answersAsAnother(r)
		if why == "" || o.hasQuorum() || !r.isUp() || r.Pod.Role == "" {
			continue
		}
		return act(LabelRole{Pod: r.podRef()}, ReasonLabelRole, "%s answers, and %s; clients are led away from it.", r.Name, why)
	}
	return nil
}

// quorumLost speaks when, by what was written down, so many members have certainly lost their data that the rest is no quorum.
func quorumLost(o Observation) *proposal {
	if o.Membership.Known || o.isServedUnseen() {
		return nil
	}
	voters := o.lastKnownVoters()
	var lost []string
	for _, r := range voters {
		if why := r.lostData(); why != "" {
			lost = append(lost, r.Name+" ("+why+")")
		}
	}
	if len(lost) == 0 || len(voters)-len(lost) >= etcdutil.Quorum(len(voters)) {
		return nil
	}
	if p := o.rebuilding(); p != nil {
		says := fmt.Sprintf("The data of %d of %d members is lost: %s. %s", len(lost), len(voters), strings.Join(lost, "; "), p.Message)
		p.Message, p.Reason = says, ReasonQuorumLost
		return p
	}
	return refuse(ReasonQuorumLost, "The data of %d of %d members is lost: %s. What is left is no quorum, so etcd serves nothing, and nothing is "+
		"rebuilt by itself. What is left is not touched; if the lost data comes back where it was, the cluster goes on.",
		len(lost), len(voters), strings.Join(lost, "; ")).byHuman()
}

// lastKnownVoters are the members that the cluster had as far as anything left says: a survivor's own list, with who joined since
// by what is written on volumes; else these alone, with the certificates; else the birth record.
func (o Observation) lastKnownVoters() []Replica {
	var out []Replica
	listed := map[string]bool{}
	for _, m := range o.Membership.LastKnown {
		name, ok := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		listed[name] = true
		if ok && !m.Learner {
			out = append(out, o.Find(name))
		}
	}
	if len(out) > 0 {
		return append(out, filter(o.Replicas, func(r Replica) bool { return !listed[r.Name] && o.isVoterByRecord(r) && r.lostData() == "" })...)
	}
	out = filter(o.Replicas, func(r Replica) bool { return o.isVoterByRecord(r) || o.isBereft(r) })
	if len(out) == 0 {
		out = o.birthReplicas()
	}
	return out
}

// isVoterByRecord reports a member of this life that has answered once, and that nothing calls a learner.
func (o Observation) isVoterByRecord(r Replica) bool {
	isLearner := r.Pod != nil && r.Pod.Role == roleLearner
	return r.IsRecorded() && r.incarnation() == o.Birth.Incarnation && !isLearner
}

// isBereft reports a member of which nothing is left but its certificates. Those of a member that was removed go before its volume
// does, and before the next name is promised, so this one was not. Who was promised last may never have had a vote.
func (o Observation) isBereft(r Replica) bool {
	hasSecret := r.Secret.State == ObjectCurrent || r.Secret.State == ObjectDrifted
	ordinal, isFirst := o.ordinalOf(r.Name), slices.Contains(o.Birth.Names, r.Name)
	wasGiven := isFirst || r.Name != o.Birth.Promised && ordinal >= o.Birth.First(o.Cluster.Name) && ordinal < o.Birth.Next
	return hasSecret && !r.Ephemeral && r.Volume == nil && o.Birth.ClusterID != 0 && wasGiven
}

func firstURL(m etcdutil.Member) string {
	if len(m.PeerURLs) == 0 {
		return ""
	}
	return m.PeerURLs[0]
}

// membershipUnknown waits for an answer, naming what keeps members from giving one.
func membershipUnknown(o Observation) *proposal {
	if o.Membership.Known {
		return nil
	}
	for _, r := range o.Replicas {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	if o.Membership.Denied {
		return o.denied()
	}
	p := wait(ReasonMembershipUnknown, "No member could be asked for the member list (%s). Nothing is added or removed meanwhile.%s", o.Membership.Why, o.helpFor())
	return p.due(o, lastPodChange(o), listDeadline)
}

// denied says what the operator lacks to look after a cluster whose authentication was turned on.
func (o Observation) denied() *proposal {
	help := "Its certificate is that of the user root: see that this user exists and has the role root"
	if !o.Desired.TLS {
		help = "Without certificates (spec.tls.mode is Disabled) it has no user: turn authentication off (etcdctl auth disable), take a backup, and create a cluster with spec.tls.mode Managed from it"
	}
	return refuse(ReasonAuth, "etcd's authentication is on and does not let the operator in (%s). Members that stop are started again, and nothing else is done. %s.", o.Membership.Why, help).byHuman()
}

// helpFor says what a person can do for members that run with the settings of the spec and never answered.
func (o Observation) helpFor() string {
	mute := filter(o.Replicas, func(r Replica) bool { return o.isMute(r) && r.Pod.Choices == o.Desired.Choices })
	if len(mute) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s runs and has never answered. Put the spec right if its settings are why; it is then started anew with them.", strings.Join(names(mute), ", "))
}
