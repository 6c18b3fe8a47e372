package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Faults are what people and machines do to a cluster. Each names what it hit.

// DeletePod is somebody's kubectl delete pod.
func (w *World) DeletePod(name string) {
	if p, ok := w.objects.pods[name]; ok {
		p.Terminating = true
		w.objects.pods[name] = p
		w.logf("fault: Pod %s deleted", name)
	}
}

// DeleteVolume is somebody's kubectl delete pvc; the claim goes when no Pod uses it any more.
func (w *World) DeleteVolume(name string) {
	if v, ok := w.objects.volumes[name]; ok {
		v.Terminating, v.isHalfGoing = true, false
		w.objects.volumes[name] = v
		w.logf("fault: volume %s deleted", name)
	}
}

// KillContainer is a process killed inside its Pod: the kubelet starts it again.
func (w *World) KillContainer(name string) {
	p, ok := w.objects.pods[name]
	if !ok || !p.Running {
		return
	}
	w.stop(p)
	const sigkill = 137
	reason, words := etcdutil.Explain(sigkill, "")
	p.Running, p.RunningSince = false, time.Time{}
	p.Exit = &facts.Exit{Reason: reason, Code: sigkill, Message: words, At: w.Now}
	w.objects.pods[name] = p
	w.logf("fault: container of %s killed", name)
}

// WipeDisk empties a directory under its process, which dies of it.
func (w *World) WipeDisk(name string) {
	p := w.objects.pods[name]
	d := w.disks[p.disk]
	if d == nil || d.isEmpty() {
		return
	}
	w.KillContainer(name)
	if !w.sealed[d.member] {
		w.unsealedLoss = true
	}
	w.empty(p.disk)
	w.logf("fault: directory of %s wiped", name)
}

// empty takes all that a directory holds, and remembers what that was.
func (w *World) empty(uid string) {
	if d := w.disks[uid]; d != nil && !d.isEmpty() {
		w.disks[uid] = &disk{emptied: emptied{cluster: d.cluster, member: d.member, look: w.ledger.looks}}
	}
}

// Freeze is a disk that hangs or a node that stops answering.
func (w *World) Freeze(name string) { w.afflict(name, frozen) }

// Isolate cuts a member off from its peers, and not from the operator.
func (w *World) Isolate(name string) { w.afflict(name, isolated) }

// Hide cuts a member off from the operator, and not from its peers.
func (w *World) Hide(name string) { w.afflict(name, hidden) }

func (w *World) afflict(name string, with illness) {
	if proc := w.procs[w.objects.pods[name].UID]; proc != nil {
		proc.ill = with
		w.logf("fault: etcd of %s %s", name, with)
	}
}

// Cure makes every process well.
func (w *World) Cure() {
	for _, proc := range w.procs {
		proc.ill, proc.instead = "", ""
	}
}

// LoseNode is a node that is deleted while it is down: its Pods go, and the volumes on it can be used nowhere else.
func (w *World) LoseNode(name string) {
	p, ok := w.objects.pods[name]
	if !ok {
		return
	}
	w.stop(p)
	delete(w.objects.pods, name)
	if v, ok := w.objects.volumes[name]; ok && p.disk == v.UID {
		v.Stranded = "node-1 was deleted"
		w.objects.volumes[name] = v
	}
	delete(w.disks, p.UID)
	w.logf("fault: the node of %s deleted", name)
}

// ReturnNodes brings the nodes back, with the volumes on them.
func (w *World) ReturnNodes() {
	for name, v := range w.objects.volumes {
		v.Stranded = ""
		w.objects.volumes[name] = v
	}
}

// ToggleQuota is a quota or a Pod Security level that refuses every new Pod, or does not any more.
func (w *World) ToggleQuota(refuses bool) {
	w.refusing = refuses
	w.logf("fault: new Pods are refused: %v", refuses)
}

// WithdrawClass is an administrator who deletes the StorageClass that the spec asks for: volumes that are there stay.
func (w *World) WithdrawClass() {
	w.Withdrawn[w.Spec.StorageClass] = true
	w.logf("fault: the StorageClass %q is withdrawn", w.Spec.StorageClass)
}

// ChangeClass withdraws the StorageClass, or is a user who asks for another one; it may be one that is gone.
func (w *World) ChangeClass() {
	if w.chance(2, "the StorageClass is withdrawn", "") == 0 {
		w.WithdrawClass()
		return
	}
	w.Spec.StorageClass = []string{"", "a", "b"}[w.chance(3, "StorageClass", "")]
	w.logf("spec: StorageClass %q", w.Spec.StorageClass)
}

// putClassRight is a user who asks for a StorageClass that exists, where the one asked for does not.
func (w *World) putClassRight() {
	if w.Withdrawn[w.Spec.StorageClass] {
		w.Spec.StorageClass = "another"
	}
}

// Undress is somebody removing the user's labels from a Pod, or asking for others.
func (w *World) Undress(name string) {
	if p, ok := w.objects.pods[name]; ok {
		p.Undressed = true
		w.objects.pods[name] = p
	}
}

// StripInputs is somebody removing what a Pod says it was made from.
func (w *World) StripInputs(name string) {
	if p, ok := w.objects.pods[name]; ok {
		p.Settings = facts.Settings{}
		w.objects.pods[name] = p
		w.logf("fault: %s does not say any more what it was made from", name)
	}
}

// isMistold reports a Pod that runs with other settings than it says.
func (w *World) isMistold() bool {
	return slices.ContainsFunc(sortedKeys(w.objects.pods), func(name string) bool {
		p := w.objects.pods[name]
		return !p.Settings.IsZero() && p.Settings != p.made
	})
}

// EndPod is a node shutdown or an eviction by the kubelet: the Pod ends and is never started again.
func (w *World) EndPod(name string) {
	p, ok := w.objects.pods[name]
	if !ok || p.Terminating {
		return
	}
	w.stop(p)
	p.Running, p.RunningSince, p.Ready, p.Phase = false, time.Time{}, false, facts.PodFailed
	w.empty(p.UID)
	w.objects.pods[name] = p
	w.logf("fault: Pod %s ended", name)
}

// StripSeal is somebody removing the operator's annotations from a Pod.
func (w *World) StripSeal(name string) {
	if p, ok := w.objects.pods[name]; ok && !p.Terminating {
		p.Flags = facts.FlagsNone
		w.objects.pods[name] = p
		w.logf("fault: annotations of %s stripped", name)
	}
}

// DeletePeerService takes the bootstrap record with it.
func (w *World) DeletePeerService() {
	w.objects.bootstrap, w.objects.claim, w.recordLost = record.Bootstrap{}, "", true
	w.logf("fault: peer Service deleted")
}

// Recreate is somebody deleting the cluster and creating it again: the garbage collector takes all but the volumes and
// the CA, and the new object has another UID.
func (w *World) Recreate() {
	if w.Spec.Ephemeral || w.objects.bootstrap.ClusterID == 0 && len(w.objects.bootstrap.Former) == 0 {
		return
	}
	w.recreated++
	w.Cluster.UID = fmt.Sprintf("uid-%d", 1+w.recreated)
	for name, p := range w.objects.pods {
		w.stop(p)
		delete(w.objects.pods, name)
	}
	w.objects.bootstrap, w.objects.claim, w.objects.budget = record.Bootstrap{}, "", 0
	w.objects.preflight, w.objects.restores = nil, map[string]restoreTask{}
	w.objects.defrags = map[string]facts.DefragPod{}
	w.objects.secrets = map[string]string{}
	w.objects.made = map[string]bool{"demo-ca": w.objects.made["demo-ca"]}
	w.past, w.specs, w.revision = nil, nil, 0
	w.logf("fault: cluster deleted and created again as %s", w.Cluster.UID)
}

// LoseObject is somebody deleting a Service.
func (w *World) LoseObject(name string) {
	delete(w.objects.made, name)
	w.logf("fault: %s deleted", name)
}
