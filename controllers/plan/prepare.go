package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that lay the next incarnation on its volumes, and move to it.

// restorePrepare makes what is missing of the next incarnation: certificates, volumes, and what it begins with on each
// of them.
func restorePrepare(o pass) *proposal {
	request, isWanted := chosenRequest(o)
	if !isWanted || !o.IsPreparing() || o.Desired.Fault != "" || isNextReady(o.Observation) {
		return nil
	}
	if why := whyNotFurther(o.Incarnation, request); why != "" {
		return refuse(facts.ReasonRestoreHeld, "What the EtcdRestore %s asks for cannot be restored any further: %s.",
			request.Name, why).byHuman().unlessLater(request.WantedBackup).yielding()
	}
	for _, step := range []func(pass) *proposal{clearSpoilt, clearUnread, flushSurvivor, prepareMissing,
		restoreOn} {
		if p := step(o); p != nil {
			return p.unlessActing()
		}
	}
	return lacking(o.Observation).yielding()
}

// whyNotFurther says why nothing more can be restored for a request, or "". An EtcdBackup that was deleted and made
// again may name other data than what lies on some of the volumes already.
func whyNotFurther(o facts.Incarnation, request facts.Request) string {
	if request.WantedBackup.Fault != "" || request.Source != record.SourceBackup ||
		request.WantedBackup.Hash == o.Bootstrap.Next.Origin.Hash {
		return request.WantedBackup.Fault
	}
	return "the EtcdBackup that it names is another one than when that began. Delete the EtcdRestore, and make another"
}

// lacking says what the next incarnation waits for when nothing can be done about it.
func lacking(o facts.Observation) *proposal {
	ahead := passOf(o.OfNext())
	for _, r := range ahead.BootstrapReplicas() {
		if why := notFilled(ahead, r); why != "" {
			return refuse(facts.ReasonRestoreHeld,
				"The next member %s cannot be restored: %s. Something else stands in its place. Delete that, or the "+
					"EtcdRestore.", r.Name, why).byHuman()
		}
	}
	return wait(facts.ReasonInPlace, "What the next members need is being made.")
}

// clearSpoilt clears away a volume that can not be restored on, and the restore Pod beside one that is not there: what
// a Pod did on another volume says nothing of the next one.
func clearSpoilt(o pass) *proposal {
	for _, r := range o.Next.Members {
		if !o.LacksVolume(r) {
			continue
		}
		if p := clearOne(o, r); p != nil {
			return p
		}
	}
	return nil
}

func clearOne(o pass, r facts.Replica) *proposal {
	switch {
	case r.Restoring != nil && !r.Restoring.Terminating:
		return act(changes.DeleteRestores{Pods: []facts.PodRef{restoreRef(r)}},
			"the volume that it restored something on is gone, or made anew.")
	case r.Restoring != nil:
		return taskLeaving(r.Restoring.Task, o, facts.ReasonInPlace, "The restore Pod of %s is terminating.", r.Name)
	case r.Volume == nil:
		return nil
	case r.Volume.Terminating:
		return wait(facts.ReasonInPlace, "The new volume of %s is being deleted; another one follows.%s", r.Name,
			heldAmong(r))
	}
	return act(changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}},
		"it is lost, or of another StorageClass than the spec asks for. No member ever used it, and another follows.")
}

func prepareMissing(o pass) *proposal {
	ahead, missing := passOf(o.OfNext()), changes.Bootstrap{}
	for _, r := range ahead.BootstrapReplicas() {
		addMissing(ahead, &missing, r)
	}
	c := changes.PrepareNext{Incarnation: ahead.Bootstrap.Incarnation,
		Secrets: missing.Secrets, Volumes: missing.Volumes,
		Restores: missing.Restores}
	for i := range c.Restores {
		c.Restores[i] = readFrom(o.Incarnation, c.Restores[i])
	}
	if len(c.Secrets)+len(c.Volumes)+len(c.Restores) == 0 {
		return nil // signing says what else may be missing
	}
	if why := o.WhyNoCertificates(); why != "" && len(c.Secrets) > 0 {
		return refuse(facts.ReasonRestoreHeld, "The next members have no certificates: %s.", why).byHuman().yielding()
	}
	if p := cmp.Or(withoutRoom(ahead, c.Volumes), newSettings(ahead)); p != nil {
		return p
	}
	return act(c, "the next incarnation is to have %s, made beside the present members.",
		strings.Join(ahead.Bootstrap.Names, ", "))
}

// restoreOn follows the restore Pods, as a bootstrap does.
func restoreOn(o pass) *proposal {
	if o.Bootstrap.Next.Origin.IsZero() {
		return nil
	}
	return followRestores(passOf(o.OfNext()))
}

// isNextReady reports whether nothing is missing any more of the next incarnation.
func isNextReady(o facts.Observation) bool {
	ahead := passOf(o.OfNext())
	return !slices.ContainsFunc(ahead.BootstrapReplicas(), func(r facts.Replica) bool {
		return notFilled(ahead, r) != ""
	})
}

// notFilled says what a member of the next incarnation still needs, or "".
func notFilled(o pass, r facts.Replica) string {
	switch {
	case r.Restoring != nil && !r.Restoring.Holds:
		return "its restore Pod is there"
	case o.Desired.TLS && r.Secret.State != facts.ObjectCurrent:
		return "it has no certificates"
	case r.Ephemeral && o.Bootstrap.Origin.IsZero():
		return ""
	case o.LacksVolume(r) || r.Volume.Incarnation != o.Bootstrap.Incarnation:
		return "it has no volume of its own"
	case !o.IsFilled(r):
		return "nothing says that its volume was restored completely"
	}
	return ""
}

// restoreSwitchOver makes the incarnation that was restored the one that is, once nothing of it is missing and the
// approval still speaks of what is given up.
func restoreSwitchOver(o pass) *proposal {
	request, isWanted := chosenRequest(o)
	if !isWanted || !o.IsPreparing() || o.Desired.Fault != "" || !isNextReady(o.Observation) {
		return nil
	}
	if why := whyNotMove(o, request); why != "" {
		return cmp.Or(letPlacesGo(o, why), refuse(facts.ReasonRestoreHeld,
			"All that the EtcdRestore %s asks for is restored, and the members that there are serve on: %s.",
			request.Name, why).byHuman().yielding())
	}
	if p := newSettings(passOf(o.OfNext())); p != nil {
		return p
	}
	if p := holdPlaces(o, request); p != nil {
		return p.unlessActing()
	}
	return act(switchOver(o),
		"all that the EtcdRestore %s asks for is restored. From here on it cannot be called off.", request.Name)
}

func switchOver(o pass) changes.SwitchOver {
	c := changes.SwitchOver{From: o.Bootstrap.Incarnation, To: o.Bootstrap.Next.Incarnation, Voters: o.KnownVoters(),
		Successors: bootstrapStarts(passOf(o.OfNext()))}
	for _, r := range o.Next.Members {
		if r.Volume != nil {
			if c.Volumes == nil {
				c.Volumes = map[string]string{}
			}
			c.Volumes[r.Name] = r.Volume.UID
		}
	}
	return c
}

// isWithoutCertificates reports a member that cannot start, and gets no certificates before a person put the CA
// back.
func isWithoutCertificates(o facts.Observation, r facts.Replica) bool {
	return r.Secret.State == facts.ObjectAbsent && o.WhyNoCertificates() != ""
}

// whyNotMove says why the incarnation that is ready may not take the place of this one, or "".
func whyNotMove(o pass, request facts.Request) string {
	incarnation := o.Bootstrap.Next
	if why := cmp.Or(whyTaken(o), whyNotEnd(o), whyOvertaken(o)); why != "" {
		return why
	}
	if evidence := evidenceNow(o); !evidence.Accepts(request.Approval) {
		return "its approval quotes the evidence " + request.Approval + ", and by now it is " + evidence.Digest +
			". Look at status.evidence and approve that, or delete the EtcdRestore"
	}
	if incarnation.Source != record.SourceBackup && o.HasQuorum() {
		return "the quorum came back, and without a backup more would be lost than was. Delete the EtcdRestore"
	}
	if incarnation.Source != record.SourceBackup && quorumState(o) != QuorumLost {
		return "it is not certain any more that the quorum is lost: members may serve that the operator cannot " +
			"reach. Without a backup more could be lost than was. Let it reach them, or delete the EtcdRestore"
	}
	if incarnation.Source == record.SourceSurvivor && !o.IsAsRestored() {
		return incarnation.Survivor +
			" does not answer, so nothing says that it still holds just what was restored. Let " +
			"the operator reach it; or take the approval away and " +
			"approve again: then it is read on its volume"
	}
	if o.Desired.Ephemeral && !incarnation.Origin.IsZero() {
		return "what was restored is on volumes, and the spec asks for data in Pods. Take spec.storage.ephemeral out " +
			"until the restore is complete, or delete the EtcdRestore"
	}
	why := etcdutil.WhyNotBegin(incarnation.Origin.Version, o.Desired.Newest())
	if incarnation.Source == record.SourceBackup && why != "" {
		return "what was restored cannot serve as the spec asks: " + why + ". Put spec.version back, or delete the " +
			"EtcdRestore"
	}
	return ""
}

// holdPlaces has the places of the next members held, and waits until all are: see facts.NeedsPlaces. It returns nil
// then. The Pods that hold them are made at the last moment, so that what they say is new.
func holdPlaces(o pass, request facts.Request) *proposal {
	if !o.NeedsPlaces() {
		return nil
	}
	var missing []changes.Restoring
	var spent []facts.PodRef
	next := o.OfNext().BootstrapReplicas()
	for _, r := range next {
		switch pod := r.Restoring; {
		case pod == nil:
			missing = append(missing, changes.Restoring{Name: r.Name, Settings: r.Volume.Settings, Holds: true})
		case pod.Terminating:
			return taskLeaving(pod.Task, o, facts.ReasonInPlace, "The Pod that held the place of %s is terminating.",
				r.Name)
		case isPlaceLost(o, r):
			spent = append(spent, restoreRef(r))
		}
	}
	switch {
	case len(spent) > 0:
		return act(changes.DeleteRestores{Pods: spent},
			"no place is held any more, because %s. Places are looked for anew.", whyPlaceLost(next))
	case len(missing) > 0:
		return act(changes.PrepareNext{Incarnation: o.Bootstrap.Next.Incarnation, Restores: missing},
			"all is restored. Before a member is stopped, Kubernetes shows that nodes take %s where their volumes are.",
			joinNames(missing, func(l changes.Restoring) string { return l.Name }))
	}
	return placesWait(o, request, next)
}

// isPlaceLost reports a Pod that holds a place no more, or the place of a member with other settings. One that failed
// is made anew after a rest.
func isPlaceLost(o pass, r facts.Replica) bool {
	pod := r.Restoring
	hasEnded := pod.HasFailed() || pod.HasSucceeded()
	return pod.Settings != r.Volume.Settings || pod.OtherImage || pod.Unwanted != "" && pod.Phase == facts.PodRunning ||
		hasEnded && hasRested(pod.Task, o.Now, r.Volume.Created)
}

func whyPlaceLost(next []facts.Replica) string {
	for _, r := range next {
		if r.Restoring != nil && r.Restoring.Unwanted != "" {
			return r.Restoring.Unwanted
		}
	}
	return "their settings changed, or the Pods that held them ended"
}

// placesWait says which of the next members has no place yet, and why; nil when all have.
func placesWait(o pass, request facts.Request, next []facts.Replica) *proposal {
	without := facts.Filter(next, func(r facts.Replica) bool { return !r.HoldsPlace() })
	if len(without) == 0 {
		return nil
	}
	r := without[0]
	for _, other := range without {
		if other.Restoring.Waiting != "" {
			r = other
			break
		}
	}
	says := "All that the EtcdRestore " + request.Name + " asks for is restored. The members that there are serve on " +
		"until nodes take the next ones where their volumes are. No node has taken " +
		strings.Join(facts.Names(without), ", ") + " yet. Make room there, or delete the EtcdRestore to call it off."
	if r.Restoring.HasFailed() {
		return taskRefused(r.Restoring.Task, facts.ReasonInPlace, "%s The Pod %s-restore failed: %s. It is made anew.",
			says, r.Name, r.Restoring.WhyFailed())
	}
	return taskTrouble(r.Restoring.Task, o, facts.ReasonInPlace, facts.StartDeadline, says)
}

// letPlacesGo gives the places back while the cluster does not switch over for another reason.
func letPlacesGo(o pass, why string) *proposal {
	places := heldPlaces(o.OfNext().BootstrapReplicas())
	if len(places) == 0 {
		return nil
	}
	return act(changes.DeleteRestores{Pods: places},
		"places are held, and the cluster does not switch over: %s.", why)
}

// heldPlaces are the Pods that hold places of these members.
func heldPlaces(members []facts.Replica) []facts.PodRef {
	var places []facts.PodRef
	for _, r := range members {
		if r.Restoring != nil && r.Restoring.Holds && !r.Restoring.Terminating {
			places = append(places, restoreRef(r))
		}
	}
	return places
}
