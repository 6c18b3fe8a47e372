package plan

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

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
			says, r.Name, taskWords(r.Restoring.Task))
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
