package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// The collector: what belongs to no wanted member and to no wanted incarnation is deleted, or put aside for a while.

// collect deletes one leftover at a time. What a member lived on is put aside first, where the judgement that removed
// it may be wrong.
func collect(o pass) *proposal {
	for _, step := range []func(pass) *proposal{collectMembers, collectFormer, collectKept, collectStrays,
		collectRequests, collectCertificates} {
		if p := step(o); p != nil {
			return p
		}
	}
	return nil
}

// collectMembers deletes what removed members leave: the certificates, because alone they would tell of a member while
// etcd does not say who is one, the Pod, then the volume. What was prepared for the member to be added stays.
func collectMembers(o pass) *proposal {
	for _, r := range o.Members {
		if r.Member != nil || r.Name == o.due.Promised {
			continue
		}
		if p := collectSecret(r); p != nil {
			return p
		}
		if r.Pod != nil && r.Pod.Terminating {
			continue
		}
		if r.Pod != nil {
			return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, noMember, r.Name)
		}
		if p := collectVolume(o, r); p != nil {
			return p
		}
	}
	return nil
}

const noMember = "%s is no member any more."

func collectSecret(r facts.Replica) *proposal {
	if r.Secret.State != facts.ObjectCurrent && r.Secret.State != facts.ObjectDrifted {
		return nil
	}
	return act(changes.DeleteSecret{Name: r.Name, UID: r.Secret.UID}, noMember, r.Name)
}

// collectKept deletes what was kept of replaced members for as long as the user asks. Where nothing says since when,
// that time begins once more.
func collectKept(o pass) *proposal {
	var volumes []facts.VolumeRef
	for _, v := range o.Kept {
		if v.Since.IsZero() {
			return act(changes.KeepVolume{Volume: facts.VolumeRef{Name: v.Name, UID: v.UID}, For: v.For},
				"the time when it was put aside cannot be read. It is kept as if that were now.")
		}
		if isExpired(o.Observation, v) {
			volumes = append(volumes, facts.VolumeRef{Name: v.Name, UID: v.UID})
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(changes.DeleteVolumes{Volumes: volumes},
		"kept for %s since the member was replaced (spec.repair.keepVolumes).", o.Desired.KeepVolumes)
}

// collectStrays deletes claims of write-ahead logs whose member is gone, with its data.
func collectStrays(o pass) *proposal {
	var volumes []facts.VolumeRef
	for _, stray := range o.Strays {
		if o.IsOfNobody(stray.Member) {
			volumes = append(volumes, stray.VolumeRef)
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(changes.DeleteVolumes{Volumes: volumes}, "it held a write-ahead log, and the data of that is gone.")
}

// isExpired reports a kept volume whose time is over. A copy that differs has none: a person deletes it.
func isExpired(o facts.Observation, v facts.KeptVolume) bool {
	return v.For != facts.CauseCorruption && o.IsPast(v.Since.Add(o.Desired.KeepVolumes))
}

func collectVolume(o pass, r facts.Replica) *proposal {
	if r.Volume == nil || r.Volume.Terminating {
		return nil
	}
	record := r.Volume.Record
	if !record.IsZero() && r.Volume.Incarnation != o.Bootstrap.Incarnation {
		return nil // another incarnation's data is kept
	}
	if !record.IsZero() && record.ClusterID != o.Membership.ClusterID {
		return refuse(facts.ReasonForeignData,
			"The volume %s holds data of the etcd cluster %s; this is %s. The operator never deletes it. If its data "+
				"is not needed, delete it: kubectl delete pvc %[1]s -n %[4]s.",
			r.Name, record.ClusterID, o.Membership.ClusterID, o.Cluster.Namespace).byHuman().yielding()
	}
	if cause := r.Volume.RemovedFor; cause != facts.NoCause && isVolumeKept(o.Observation, cause) {
		return act(changes.KeepVolume{Volume: r.VolumeRef(), For: cause}, "the member was replaced (%s).", cause)
	}
	return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}}, noMember, r.Name)
}

// collectFormer deletes the volumes of an incarnation that a restore ended, once its EtcdRestore says so and what took
// its place serves.
func collectFormer(o pass) *proposal {
	var volumes []facts.VolumeRef
	for _, r := range o.FormerMembers() {
		if r.Volume != nil && !r.Volume.Terminating && o.WhyKeepFormer(r) == "" {
			volumes = append(volumes, r.VolumeRef())
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	return act(changes.DeleteVolumes{Volumes: volumes},
		"the EtcdRestore does not keep the previous volumes.")
}

// restoreLeftover deletes what restored a cluster that lives now.
func restoreLeftover(o pass) *proposal {
	if p := o.Preflight; p != nil && !p.Terminating && !isAskedAgain(o, p) {
		return act(changes.DeletePreflight{UID: p.UID}, "the cluster has begun.")
	}
	var pods []facts.PodRef
	for _, r := range o.Members {
		if r.Restoring != nil && !r.Restoring.Terminating {
			pods = append(pods, restoreRef(r))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return act(changes.DeleteRestores{Pods: pods}, "the cluster has begun.")
}

// isAskedAgain reports whether a restore in place needs what the Pod finds.
func isAskedAgain(o pass, p *facts.Preflight) bool {
	request, ok := chosenRequest(o)
	return ok && !o.IsPreparing() && request.Source == record.SourceBackup &&
		p.Asked == o.Asking(request).Inquiry()
}

// collectCertificates deletes what is shown no more, once TLS is off. The CAs stay: they are data, and TLS may come
// back. The operator's own go last: by them it is known that something is left, requests to an issuer too.
func collectCertificates(o pass) *proposal {
	if o.Desired.TLS || !o.HasQuorum() {
		return nil
	}
	isLeft := func(secret facts.Object) bool {
		return secret.State == facts.ObjectCurrent || secret.State == facts.ObjectDrifted
	}
	const noTLS = "spec.tls.mode is Disabled, and no member has certificates any more."
	for _, r := range o.Members {
		if isLeft(r.Secret) {
			return act(changes.DeleteSecret{Name: r.Name, UID: r.Secret.UID}, noTLS)
		}
	}
	for _, secret := range o.Objects {
		if holder, isIt := secret.HolderOf(); isIt && isLeft(secret) {
			return act(changes.DeleteSecret{Name: holder, UID: secret.UID}, noTLS)
		}
	}
	return nil
}

// scaffold puts Services, Secrets and the NetworkPolicy right. A CA that is gone is not made anew under members
// that trust the old one, and without it no certificate can be. From another one none is issued: etcd reads at its
// start whom it trusts, and would refuse whom that one signed.
func scaffold(o pass) *proposal {
	c := changes.ApplyObjects{Objects: needed(o.Objects), Secrets: neededSecrets(o)}
	lost := o.LostCAs()
	if len(lost) == 0 && o.Desired.TLS && !lacksSource(o) {
		return putRight(c)
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object facts.Object) bool { return object.Kind == kindSecret })
	c.Secrets = nil
	if p := putRight(c); p != nil || len(lost) == 0 {
		return p
	}
	return refuse(facts.ReasonLost(lost), "%s. The operator neither issues nor changes a certificate. Members and "+
		"clients go on with those that they have%s. Put the Secret back from a copy, as "+
		pages.Docs+"docs/disaster-recovery.md "+
		"says. The Secrets of members hold the certificate of the CA, and not its key.", facts.HowLost(lost),
		untilWhen(o)).byHuman().yielding()
}

// lacksSource reports a CA that is yet to come from a Secret of a person, which cannot be used: ca-source says so.
func lacksSource(o pass) bool {
	return slices.ContainsFunc(o.Objects, func(ca facts.Object) bool {
		return ca.CA && ca.State == facts.ObjectAbsent && ca.Source.Fault != ""
	})
}

// untilWhen says when the first of the certificates ends.
func untilWhen(o pass) string {
	end := o.FirstEnd()
	if end.IsZero() {
		return ""
	}
	return fmt.Sprintf(", the first of which ends on %s", end.UTC().Format(time.DateOnly))
}

const (
	kindSecret = "Secret"
	kindVolume = "PersistentVolumeClaim"
)

func putRight(c changes.ApplyObjects) *proposal {
	n := len(c.Objects) + len(c.Secrets)
	if n == 0 {
		return nil
	}
	return act(c, "missing, or not as the spec asks.")
}

// neededSecrets are the members whose certificates are missing or due: those in the list, and those with data.
func neededSecrets(o pass) []string {
	if !o.Desired.TLS {
		return nil
	}
	var out []string
	for _, r := range o.Members {
		if o.NeedsCertificates(r) && r.Secret.IsToWrite() {
			out = append(out, r.Name)
		}
	}
	return out
}

// budget lets the disruption budget follow the voters. It never allows a drain to take more than the voters can spare;
// while a learner is on its way it may already count that one.
func budget(o pass) *proposal {
	if o.Budget.State == facts.ObjectForeign || o.Budget.State == facts.ObjectTerminating {
		return nil
	}
	if drained := o.due.Drained; drained.Pod != nil {
		return budgetOfDrained(o, drained)
	}
	if !o.HasQuorum() {
		return nil
	}
	voters, has := len(o.Voters()), o.Budget.MinAvailable
	want := min(max(has, facts.BudgetFor(*o.View, voters)), facts.BudgetFor(*o.View, voters+len(o.Learners())))
	if want == has && (o.Budget.State != facts.ObjectDrifted || want == 0) {
		return nil
	}
	if voters == 1 && want == 0 && o.Desired.HasBudget {
		return act(changes.SetBudget{}, "nothing says whether the node of the only member is drained.")
	}
	return act(changes.SetBudget{MinAvailable: want}, "the number of voters is %d.",
		voters+len(o.Membership.VotingStrangers()))
}

// budgetOfDrained holds the drain of an only voter back until a new member has its vote. Where none can follow it, it
// lets go, so that no drain hangs for ever: the member starts again where its volume is.
func budgetOfDrained(o pass, r facts.Replica) *proposal {
	why := whyLetGo(o, r)
	switch has := o.Budget.MinAvailable; {
	case has > 0 && !o.Desired.HasBudget:
		return act(changes.SetBudget{}, "spec.disruption asks for none.")
	case has > 0 && why != "":
		return act(changes.SetBudget{}, "%s, and %s. A drain stops %s.", r.Pod.Drain.Why, why, r.Name)
	case why == "" && (has == 0 || o.Budget.State == facts.ObjectDrifted) && o.Desired.HasBudget && o.HasQuorum():
		return act(changes.SetBudget{MinAvailable: 1}, "%s, and a new member is to follow %s first.",
			r.Pod.Drain.Why, r.Name)
	}
	return nil
}

// whyLetGo says why no new member follows an only one whose node is drained, as a part of a sentence, or "". What ends
// by itself gets some time. Data that ends with the Pod or with the node is never let go.
func whyLetGo(o pass, r facts.Replica) string {
	isPast := func(wait time.Duration) bool { return o.IsPast(r.Pod.Drain.Since.Add(wait)) }
	isTimed := !r.Pod.Drain.Since.IsZero()
	switch {
	case r.IsDoomed() || r.Ephemeral || r.Pod.Drain.IsGoing:
	case o.due.Unplaced.Member != nil:
		return fmt.Sprintf("no node takes %s, which is to follow %s", o.due.Unplaced.Name, r.Name)
	case isSilentForLong(o.Observation, r):
		return fmt.Sprintf("%s does not serve, so no new member can follow it", r.Name)
	case isTimed && !isPast(facts.PlaceDeadline):
	case o.Desired.Fault != "":
		return "the spec is refused, so no new member can follow it"
	case len(o.Raised()) > 0:
		return "etcd has raised an alarm, so no new member can follow it"
	case isTimed && isPast(facts.PlaceDeadline+joinDeadline(o.Incarnation)):
		return "no new member has followed it since then"
	}
	return ""
}

// heldBy says which finalizers keep something that is waited for, and what ends that, as a sentence with a space in
// front, or "". Kubernetes does not say who added a finalizer.
func heldBy(what, finalizers string) string {
	if finalizers == "" {
		return ""
	}
	return fmt.Sprintf(" Finalizers keep %s: %s. The controller that added a finalizer removes it, or you do.", what,
		finalizers)
}

// heldMember says that of the Pod of a member, which stays one where nothing else keeps it from starting again.
func heldMember(o pass, r facts.Replica) string {
	kept := heldBy("its Pod", r.Pod.HeldBy)
	if kept != "" && o.Judge(r).Cause == facts.CauseOutside {
		kept += " " + r.Name + " stays a member."
	}
	return kept
}

// heldAmong says that of the first of these that finalizers keep anything of.
func heldAmong(members ...facts.Replica) string {
	for _, r := range members {
		switch {
		case r.Pod != nil && r.Pod.HeldBy != "":
			return heldBy("the Pod of "+r.Name, r.Pod.HeldBy)
		case r.Restoring != nil && r.Restoring.HeldBy != "":
			return heldBy("the restore Pod of "+r.Name, r.Restoring.HeldBy)
		case r.Volume != nil && r.Volume.HeldBy != "":
			return heldBy("the volume of "+r.Name, r.Volume.HeldBy)
		}
	}
	return ""
}
