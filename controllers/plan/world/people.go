package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What people do with EtcdRestores, and nodes that stop answering.

// Ask makes an EtcdRestore, approved on what there is now, or not.
func (w *World) Ask(source record.Source, survivor string, approved bool) {
	w.requested++
	r := facts.Request{Name: fmt.Sprintf("restore-%d", w.requested), ID: fmt.Sprintf("request-%d", w.requested),
		Created: w.Now, Source: source, Survivor: survivor, Bump: 1e9}
	if source == record.SourceBackup {
		r.WantedBackup.Hash = fmt.Sprintf("of %s", r.ID)
		w.storeOf(r.WantedBackup)
	}
	if approved {
		r.Approval = plan.EvidenceOf(w.Observe()).Digest
	}
	w.objects.requests = append(slices.Clone(w.objects.requests), r)
	w.logf("user: EtcdRestore %s from %s %s, approved %v", r.ID, source, survivor, approved)
}

// AskAsNeeded makes the EtcdRestore that a person would make of what there is.
func (w *World) AskAsNeeded() {
	mayGoBack := plan.WayBack(w.Observe()) != ""
	if mayGoBack && w.chance(3, "the way back", "") > 0 || w.chance(12, "the way back, come what may", "") == 0 {
		w.Ask(record.SourcePrevious, "", w.chance(4, "approved", "") > 0)
		return
	}
	e := plan.EvidenceOf(w.Observe())
	if e.Quorum != plan.QuorumLost || w.chance(3, "a backup instead", "") == 0 {
		w.Ask(record.SourceBackup, "", w.chance(4, "approved", "") > 0)
		return
	}
	for _, m := range e.Members {
		if m.State == plan.MemberAnswers || (m.State == plan.MemberSilent || m.State == plan.MemberPutBack) &&
			w.chance(3, "is the survivor", m.Name) > 0 {
			w.Ask(record.SourceSurvivor, m.Name, true)
			return
		}
	}
	w.Ask(record.SourceEmpty, "", true)
}

// anyRequest is one EtcdRestore, chosen by the seed, or -1.
func (w *World) anyRequest() int {
	var ids []string
	for _, r := range w.objects.requests {
		ids = append(ids, r.ID)
	}
	return slices.Index(ids, w.oneOf("EtcdRestore", ids))
}

// editRequest changes one EtcdRestore.
func (w *World) editRequest(edit func(*facts.Request)) {
	i := w.anyRequest()
	if i < 0 {
		return
	}
	requests := slices.Clone(w.objects.requests)
	r := &requests[i]
	edit(r)
	w.objects.requests = requests
	w.logf("user: EtcdRestore %s: approval %q, deletes old %v", r.ID, r.Approval, r.DeletesOld)
}

// Approve quotes the evidence there is.
func (w *World) Approve() {
	w.editRequest(func(r *facts.Request) { r.Approval = plan.EvidenceOf(w.Observe()).Digest })
}

// TakeBack takes an approval back.
func (w *World) TakeBack() { w.editRequest(func(r *facts.Request) { r.Approval = "" }) }

// GiveUpOld lets the volumes go that an EtcdRestore left behind.
func (w *World) GiveUpOld() { w.editRequest(func(r *facts.Request) { r.DeletesOld = true }) }

// Withdraw deletes an EtcdRestore.
func (w *World) Withdraw() {
	if i := w.anyRequest(); i >= 0 {
		w.logf("user: EtcdRestore %s deleted", w.objects.requests[i].ID)
		w.objects.requests = slices.Delete(slices.Clone(w.objects.requests), i, i+1)
	}
}

// CutOff is a node that stops answering with its member: that goes on, out of the operator's and the kubelet's reach,
// and not of its peers'.
func (w *World) CutOff(name string) {
	if p, ok := w.objects.pods[name]; ok && p.Running {
		p.cutOff, p.NodeUnheard, p.Ready, p.ReadySince = true, w.Now, false, w.Now
		w.objects.pods[name] = p
		w.Hide(name)
		w.logf("fault: the node of %s is cut off", name)
	}
}

// Reconnect brings nodes back that were cut off.
func (w *World) Reconnect() {
	for name, p := range w.objects.pods {
		if proc := w.procs[p.UID]; p.cutOff && proc != nil && proc.ill == hidden {
			proc.ill = ""
		}
		p.cutOff, p.NodeUnheard, p.GoneBy = false, time.Time{}, time.Time{}
		w.objects.pods[name] = p
	}
}

// inPlaceFaults are what people and machines do around a restore in place.
func (w *World) inPlaceFaults() []fault {
	return []fault{
		{"AskAsNeeded", 2, by(w.AskAsNeeded)}, {"Approve", 2, by(w.Approve)}, {"TakeBack", 1, by(w.TakeBack)},
		{"Withdraw", 1, by(w.Withdraw)}, {"GiveUpOld", 1, by(w.GiveUpOld)},
		{"CutOff", 1, w.CutOff}, {"Reconnect", 2, by(w.Reconnect)},
		{"loseMajority", 1, by(w.loseMajority)}, {"restartSurvivors", 1, by(w.restartSurvivors)},
		{"DeleteComing", 2, func(string) { w.anyComing(w.DeleteVolume) }},
		{"StrandComing", 1, func(string) { w.anyComing(w.strand) }}, {"loseRestored", 1, by(w.loseRestored)},
		{"Recreate", 1, by(w.Recreate)}, {"DeletePeerService", 1, by(w.DeletePeerService)},
		{"DeleteRestore", 1, func(string) { w.anyRestore(w.DeleteRestore) }},
		{"KillRestore", 1, func(string) { w.anyRestore(w.KillRestore) }},
		{"SpoilBackups", 1, func(string) { w.SpoilBackups(true) }},
		{"RepairBackups", 1, func(string) { w.SpoilBackups(false) }},
		{"FillNodes", 1, func(string) { w.FillNodes(true) }}, {"FreeNodes", 2, func(string) { w.FillNodes(false) }},
	}
}

// loseMajority loses the nodes of so many members that the rest is no quorum.
func (w *World) loseMajority() {
	voters := w.Observe().Current.Voters()
	for _, r := range voters[:min(len(voters), len(voters)/2+1)] {
		w.LoseNode(r.Name)
	}
}

// restartSurvivors is the same, and who is left is started without the others. Somebody looks at what is left.
func (w *World) restartSurvivors() {
	w.loseMajority()
	for _, name := range sortedKeys(w.objects.pods) {
		w.KillContainer(name)
	}
	if left := sortedKeys(w.objects.pods); len(left) > 0 {
		w.Ask(record.SourceSurvivor, left[0], true)
	}
}

// anyComing does something to a volume that is restored, or was moved to.
func (w *World) anyComing(fault func(string)) {
	names := append(slices.Clone(w.objects.bootstrap.Next.Names), w.objects.bootstrap.Names...)
	if name := w.oneOf("volume that comes", names); name != "" {
		fault(name)
	}
}

// loseRestored deletes the volumes of so many restored members that have yet to serve that the rest is no quorum.
func (w *World) loseRestored() {
	if bootstrap := w.objects.bootstrap; bootstrap.ClusterID == 0 && len(bootstrap.Former) > 0 {
		for _, name := range bootstrap.Names[:etcdutil.Quorum(len(bootstrap.Names))] {
			w.DeleteVolume(name)
		}
	}
}

// strand loses the node that a volume is on, while nobody is on it.
func (w *World) strand(name string) {
	if v, ok := w.objects.volumes[name]; ok {
		if _, isUsed := w.objects.pods[name]; !isUsed {
			v.Stranded = "node-1 was deleted"
			w.objects.volumes[name] = v
			w.logf("fault: the node of the volume of %s deleted", name)
		}
	}
}

// inPlaceFaultOrOther is one fault, of a restore in place more often than not.
func (w *World) inPlaceFaultOrOther() {
	if w.chance(3, "another fault", "") == 0 {
		w.Fault()
		return
	}
	w.strike(w.inPlaceFaults())
}
