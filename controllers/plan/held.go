package plan

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

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
func heldMember(o judge.View, r facts.Replica) string {
	kept := heldBy("it", r.Pod.HeldBy)
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
