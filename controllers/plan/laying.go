package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that lay the next incarnation on its volumes, and move to it.

// restorePrepare makes what is missing of the next incarnation: certificates, volumes, and what it begins with on each
// of them.
func restorePrepare(o view) *proposal {
	request, isWanted := o.chosen()
	if !isWanted || !o.isPreparing() || o.Desired.Fault != "" || o.isNextReady() {
		return nil
	}
	if why := o.whyNotFurther(request); why != "" {
		return refuse(ReasonRestoreHeld, "What the EtcdRestore %s asks for cannot be restored any further: %s.",
			request.Name, why).byHuman().unlessLater(request.WantedBackup).yielding()
	}
	for _, step := range []func(view) *proposal{clearSpoilt, clearUnread, flushSurvivor, prepareMissing, restoreOn} {
		if p := step(o); p != nil {
			return p.unlessActing()
		}
	}
	return o.lacking().yielding()
}

// whyNotFurther says why nothing more can be restored for a request, or "". An EtcdBackup that was deleted and made
// again may name other data than what lies on some of the volumes already.
func (o Incarnation) whyNotFurther(request Request) string {
	if request.WantedBackup.Fault != "" || request.Source != record.SourceBackup ||
		request.WantedBackup.Hash == o.Birth.Next.Origin.Hash {
		return request.WantedBackup.Fault
	}
	return "the EtcdBackup that it names is another one than when that began. Delete the EtcdRestore, and make another"
}

// lacking says what the next incarnation waits for when nothing can be done about it.
func (o Observation) lacking() *proposal {
	ahead := o.ofNext()
	for _, r := range ahead.birthReplicas() {
		if why := ahead.lacks(r); why != "" {
			return refuse(ReasonRestoreHeld,
				"The next member %s cannot be restored: %s. Something else stands in its place.", r.Name, why).byHuman()
		}
	}
	return wait(ReasonInPlace, "What the next members need is being made.")
}

// clearSpoilt clears away a volume that can not be restored on, and the restore Pod beside one that is not there: what
// a Pod did on another volume says nothing of the next one.
func clearSpoilt(o view) *proposal {
	for _, r := range o.Next.Members {
		isGoing := r.Volume == nil || r.Volume.Terminating || r.Volume.isSpoilt()
		if !isGoing {
			continue
		}
		if p := o.clearOne(r); p != nil {
			return p
		}
	}
	return nil
}

func (o view) clearOne(r Replica) *proposal {
	switch {
	case r.Restoring != nil && !r.Restoring.Terminating:
		return act(DeleteRestores{Pods: []PodRef{r.restoreRef()}}, ReasonInPlace,
			"The volume of %s is gone; the Pod that restored something on it is deleted.", r.Name)
	case r.Restoring != nil:
		return r.Restoring.leaving(o, ReasonInPlace, "The restore Pod of %s is terminating.", r.Name)
	case r.Volume == nil:
		return nil
	case r.Volume.Terminating:
		return wait(ReasonInPlace, "The new volume of %s is being deleted; another one follows.", r.Name)
	}
	return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonInPlace,
		"The new volume of %s is lost, and no member ever used it; another one follows.", r.Name)
}

// isSpoilt reports a volume that nobody can start on again.
func (v *Volume) isSpoilt() bool { return v.Phase == VolumeLost || v.Stranded != "" }

func prepareMissing(o view) *proposal {
	ahead, missing := o.ofNext(), Bootstrap{}
	for _, r := range ahead.birthReplicas() {
		ahead.addMissing(&missing, r)
	}
	c := PrepareNext{Incarnation: ahead.Birth.Incarnation, Secrets: missing.Secrets, Volumes: missing.Volumes,
		Restores: missing.Restores}
	for i := range c.Restores {
		c.Restores[i] = o.readFrom(c.Restores[i])
	}
	if len(c.Secrets)+len(c.Volumes)+len(c.Restores) == 0 {
		return nil
	}
	if p := ahead.newChoices(); p != nil {
		return p
	}
	return act(c, ReasonInPlace, "The next %d members are restored beside those that serve.", len(ahead.Birth.Names))
}

// restoreOn follows the restore Pods, as a birth does.
func restoreOn(o view) *proposal {
	if o.Birth.Next.Origin.IsZero() {
		return nil
	}
	return restored(o.ofNext())
}

// isNextReady reports whether nothing is missing any more of the next incarnation.
func (o Observation) isNextReady() bool {
	ahead := o.ofNext()
	return !slices.ContainsFunc(ahead.birthReplicas(), func(r Replica) bool { return ahead.lacks(r) != "" })
}

// lacks says what a member of the next incarnation still needs, or "".
func (o view) lacks(r Replica) string {
	switch {
	case r.Restoring != nil:
		return "its restore Pod is there"
	case o.Desired.TLS && r.Secret.State != ObjectCurrent:
		return "it has no certificates"
	case o.Desired.Ephemeral && o.Birth.Origin.IsZero():
		return ""
	case r.Volume == nil || r.Volume.Terminating || r.Volume.isSpoilt() || r.Volume.Incarnation != o.Birth.Incarnation:
		return "it has no volume of its own"
	case !o.isFilled(r):
		return "nothing says that its volume was restored completely"
	}
	return ""
}

// restoreSwitchOver makes the incarnation that was restored the one that is, once nothing of it is missing and the
// approval still speaks of what is given up.
func restoreSwitchOver(o view) *proposal {
	request, isWanted := o.chosen()
	if !isWanted || !o.isPreparing() || o.Desired.Fault != "" || !o.isNextReady() {
		return nil
	}
	if why := o.whyNotMove(request); why != "" {
		return refuse(ReasonRestoreHeld,
			"All that the EtcdRestore %s asks for is restored, and the members that there are serve on: %s.",
			request.Name, why).byHuman().yielding()
	}
	if p := o.ofNext().newChoices(); p != nil {
		return p
	}
	c := SwitchOver{From: o.Birth.Incarnation, To: o.Birth.Next.Incarnation, Voters: o.knownVoters(),
		Successors: o.ofNext().birthStarts()}
	for _, r := range o.Next.Members {
		if r.Volume != nil && !o.Desired.Ephemeral {
			if c.Volumes == nil {
				c.Volumes = map[string]string{}
			}
			c.Volumes[r.Name] = r.Volume.UID
		}
	}
	return act(c, ReasonInPlace,
		"All that the EtcdRestore %s asks for is restored; the cluster switches over to it. From here on it cannot "+
			"be called off.", request.Name)
}

// whyNotEnd says why this incarnation cannot be ended for another one, or "". Members that somebody added by hand are
// not stopped with it, and might be a quorum of their own; and members that follow are nothing without the authority
// that clients trust.
func (o view) whyNotEnd() string {
	return cmp.Or(o.whyServedOn(o.isLost), o.whyNoCertificates())
}

// whyServedOn says who would serve on when all members of this incarnation are stopped, or "". Where a quorum answers
// it is anybody whom the operator did not add, who can be removed first. Where none does nobody can be removed, and it
// is those who are a quorum by themselves, by what members of this incarnation remember; where none of them answers,
// nobody knows.
func (o view) whyServedOn(gone func(Replica) bool) string {
	const others = "was not added by the operator, and would serve on beside what was restored. "
	isOurs := func(r Replica) bool { return r.Answer != nil && !gone(r) }
	switch strangers := o.majority(); {
	case o.hasQuorum() && len(o.Membership.Strangers) > 0:
		return fmt.Sprintf("member %s "+others+"Remove it with etcdctl member remove, or delete the EtcdRestore",
			o.Membership.Strangers[0].ID)
	case o.hasQuorum() || !slices.ContainsFunc(o.Members, isOurs):
		return ""
	case len(o.Membership.LastKnown) == 0:
		return "members answer, and did not say just now who else is one"
	case len(strangers) > 0:
		return fmt.Sprintf("member %s, with others like it, "+others+
			"Remove it with etcdctl member remove; or, where that cannot be done, "+
			"delete the EtcdRestore, and begin a new EtcdCluster with the backup", strangers[0].ID)
	}
	return ""
}

// majority are the members that somebody added by hand, where they are a quorum by themselves.
func (o view) majority() []etcdutil.Member {
	voters, strangers := 0, []etcdutil.Member(nil)
	for _, m := range o.Membership.LastKnown {
		if m.Learner {
			continue
		}
		voters++
		if _, isOurs := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace); !isOurs {
			strangers = append(strangers, m)
		}
	}
	if len(strangers) < etcdutil.Quorum(voters) {
		return nil
	}
	return strangers
}

// whyNoCertificates says why new members get no certificates, or "".
func (o Observation) whyNoCertificates() string {
	name := o.lostAuthority()
	if !o.Desired.TLS || name == "" {
		return ""
	}
	return fmt.Sprintf("the Secret %s, which holds the authority for the certificates of new members, is gone; put "+
		"it back from a copy", name)
}

// isWithoutCertificates reports a member that cannot start, and gets no certificates before a person put the authority
// back.
func (o Observation) isWithoutCertificates(r Replica) bool {
	return r.Secret.State == ObjectAbsent && o.whyNoCertificates() != ""
}

// knownVoters are the members with a vote, where etcd says so just now.
func (o Incarnation) knownVoters() []string {
	if !o.hasQuorum() {
		return nil
	}
	return names(o.Voters())
}

// whyNotMove says why the incarnation that is ready may not take the place of this one, or "".
func (o view) whyNotMove(request Request) string {
	life := o.Birth.Next
	if why := cmp.Or(o.whyTaken(), o.whyNotEnd()); why != "" {
		return why
	}
	if evidence := o.Evidence(); !evidence.Accepts(request.Approval) {
		return "its approval quotes the evidence " + request.Approval + ", and by now it is " + evidence.Digest +
			". Look at status.evidence and approve that, or delete the EtcdRestore"
	}
	if life.Source != record.SourceBackup && o.hasQuorum() {
		return "the quorum came back, and without a backup more would be given up than what was lost. Delete " +
			"the EtcdRestore"
	}
	if life.Source != record.SourceBackup && o.quorumState() != QuorumLost {
		return "it is not certain any more that the quorum is lost, and without a backup more could be given up than " +
			"what was: members may serve that the operator cannot reach. " +
			"Let it reach them, or delete the EtcdRestore"
	}
	if life.Source == record.SourceSurvivor && !o.isAsRestored() {
		return life.Survivor + " does not answer, so nothing says that it still holds just what was restored. Let " +
			"the operator reach it; or take the approval away and " +
			"approve again: then it is read on its volume"
	}
	if !life.Origin.IsZero() && !life.Origin.Version.SameMinor(o.Desired.Choices.Version) {
		return "what was restored is of etcd " + life.Origin.Version.String() + ", and the spec asks for " +
			o.Desired.Choices.Version.String() + ". Put spec.version back, or delete the EtcdRestore"
	}
	return ""
}
