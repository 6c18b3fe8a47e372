package ahead

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// model is what is there: objects as they were observed and changed since, and the etcd behind them.
type model struct {
	o      facts.Observation // without what etcd says
	spec   Spec
	etcd   etcd
	serial int // of what was made
}

// etcd is what its members agreed on, and how each of them answers.
type etcd struct {
	id, leader etcdutil.ID
	members    []etcdutil.Member
	strangers  []etcdutil.Member
	says       facts.Answer            // what all that serve say alike
	answers    map[string]facts.Answer // of Pods that answer, by their UIDs
	unknown    facts.Membership        // what was said where no list was known from the start
	saved      uint64                  // snapshots of raft's state, at each member
}

// step is how long a change takes, with all that follows it by itself. It is no more than a hint: nothing foretold
// depends on it but which windows are still open.
const step = time.Second

// modelOf is what was observed.
func modelOf(seen facts.Observation, spec Spec) *model {
	w := &model{o: cloneOf(seen), spec: spec}
	in := w.o.Current
	w.etcd = etcd{id: in.Membership.ClusterID, leader: in.Membership.Leader, unknown: in.Membership,
		members: slices.Clone(in.Membership.Members), strangers: in.Membership.Strangers,
		answers: map[string]facts.Answer{}}
	for _, r := range in.Members {
		if r.Answer == nil || r.Pod == nil {
			continue
		}
		w.etcd.answers[r.Pod.UID] = *r.Answer
		if r.Answer.ID == in.Membership.Leader || w.etcd.says.ID == 0 {
			w.etcd.says = *r.Answer
		}
	}
	if !in.Membership.Known {
		w.recall()
	}
	return w
}

// recall takes the list of a cluster that does not answer from what is written down beside the data of its members.
func (w *model) recall() {
	in := w.o.Current
	w.etcd.id, w.etcd.members = in.Bootstrap.ClusterID, nil
	for _, r := range in.Members {
		if m := r.Record(); !m.IsZero() && r.Incarnation() == in.Bootstrap.Incarnation {
			w.etcd.id = cmp.Or(w.etcd.id, m.ClusterID)
			w.etcd.members = append(w.etcd.members, etcdutil.Member{ID: m.MemberID, Name: r.Name,
				PeerURLs: []string{w.url(r.Name, r.Settings().Transport)}})
			w.etcd.says.Versions.Cluster = in.ClusterVersion()
		}
	}
}

// look is what the operator sees.
func (w *model) look() facts.Observation {
	o := cloneOf(w.o)
	in := &o.Current
	in.Membership = w.membership()
	for i := range in.Members {
		r := &in.Members[i]
		r.Member = nil
		if m := w.memberOf(r.Name); m != nil && in.Membership.Known {
			r.Member = m
		}
		r.Answer = w.answerOf(*r)
		if r.Pod == nil {
			r.Storage = facts.StorageOf(*r, in.Bootstrap, w.o.Desired.Storage)
		}
	}
	o.Desired = w.spec.Of(o)
	if o.Desired.Needs.CountsSnapshots() {
		w.addSnapshots(*in)
		o.Desired = w.spec.Of(o)
	}
	w.o.Desired = o.Desired
	if plan.AsksForHashes(o) {
		addHashes(*in)
	}
	return o
}

// addSnapshots has all voters that answer say how many snapshots they wrote.
func (w *model) addSnapshots(in facts.Incarnation) {
	for _, r := range in.Voters() {
		if r.Answer != nil {
			r.Answer.Snapshots = new(w.etcd.saved)
		}
	}
}

// addHashes has all voters that answer hold the same.
func addHashes(in facts.Incarnation) {
	for _, r := range in.Voters() {
		if r.Answer != nil {
			r.Answer.Hash = &facts.Hash{Sum: 1, Revision: 1}
		}
	}
}

// membership is the list, while a quorum of it answers.
func (w *model) membership() facts.Membership {
	if len(w.etcd.members) == 0 || !w.hasQuorum() {
		unknown := w.etcd.unknown
		if unknown.Known {
			unknown = facts.Membership{Why: "no quorum answers"}
		}
		return unknown
	}
	return facts.Membership{Known: true, ClusterID: w.etcd.id, Leader: w.etcd.leader,
		Members: slices.Clone(w.etcd.members), Strangers: w.etcd.strangers}
}

func (w *model) hasQuorum() bool {
	voters, heard := 0, 0
	for _, m := range w.etcd.members {
		if m.Learner {
			continue
		}
		voters++
		if _, hears := w.serving(m); hears {
			heard++
		}
	}
	return voters > 0 && heard >= etcdutil.Quorum(voters)
}

// serving is the replica of a member, and whether it answers.
func (w *model) serving(m etcdutil.Member) (facts.Replica, bool) {
	name, _ := etcdutil.MemberFromPeerURL(facts.FirstURL(m), w.o.Cluster.Name, w.o.Cluster.Namespace)
	r := w.o.Current.Find(name)
	if r.Pod == nil || r.Pod.Terminating {
		return r, false
	}
	_, answers := w.etcd.answers[r.Pod.UID]
	return r, answers
}

// answerOf is what a member says.
func (w *model) answerOf(r facts.Replica) *facts.Answer {
	if r.Pod == nil {
		return nil
	}
	answer, answers := w.etcd.answers[r.Pod.UID]
	m := w.memberOf(r.Name)
	if !answers || m == nil {
		return nil
	}
	if w.hasQuorum() {
		answer.Leader = w.etcd.leader
	}
	answer.ID, answer.ClusterID, answer.Learner = m.ID, w.etcd.id, m.Learner
	return &answer
}

// memberOf is the entry of a name; nil where it has none.
func (w *model) memberOf(name string) *etcdutil.Member {
	i := w.indexOf(name)
	if i < 0 {
		return nil
	}
	return new(w.etcd.members[i])
}

func (w *model) indexOf(name string) int {
	return slices.IndexFunc(w.etcd.members, func(m etcdutil.Member) bool {
		listed, isOurs := etcdutil.MemberFromPeerURL(facts.FirstURL(m), w.o.Cluster.Name, w.o.Cluster.Namespace)
		return isOurs && listed == name || m.Name == name && name != ""
	})
}

func (w *model) url(name string, transport etcdutil.Transport) string {
	return etcdutil.PeerURL(transport.PeerScheme(), name, w.o.Cluster.Name, w.o.Cluster.Namespace)
}

// uid is that of an object that is not there yet.
func (w *model) uid() string {
	w.serial++
	return fmt.Sprintf("foretold-%d", w.serial)
}

// idOf is an ID that etcd gives.
func (w *model) idOf(name string) etcdutil.ID {
	h := fnv.New64a()
	fmt.Fprint(h, name, w.o.Current.Bootstrap.Token)
	return etcdutil.ID(h.Sum64() | 1)
}

// edit changes a replica, which is there from then on.
func (w *model) edit(in *facts.Incarnation, name string, change func(*facts.Replica)) {
	i := slices.IndexFunc(in.Members, func(r facts.Replica) bool { return r.Name == name })
	if i < 0 {
		r := facts.Replica{Name: name, Ordinal: w.o.OrdinalOf(name)}
		at, _ := slices.BinarySearchFunc(in.Members, r,
			func(a, b facts.Replica) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
		i, in.Members = at, slices.Insert(in.Members, at, r)
	}
	change(&in.Members[i])
}

// eachIncarnation is where a replica may be.
func (w *model) eachIncarnation() []*facts.Incarnation {
	all := []*facts.Incarnation{&w.o.Current, &w.o.Next}
	for i := range w.o.Former {
		all = append(all, &w.o.Former[i])
	}
	return all
}

// eachReplica changes every replica that fits.
func (w *model) eachReplica(fits func(facts.Replica) bool, change func(*facts.Replica)) {
	for _, in := range w.eachIncarnation() {
		for i := range in.Members {
			if fits(in.Members[i]) {
				change(&in.Members[i])
			}
		}
	}
}

// cloneOf copies what changes reach.
func cloneOf(o facts.Observation) facts.Observation {
	o.Current, o.Next = cloneIncarnation(o.Current), cloneIncarnation(o.Next)
	o.Former = slices.Clone(o.Former)
	for i := range o.Former {
		o.Former[i] = cloneIncarnation(o.Former[i])
	}
	o.Objects, o.Astray, o.Kept = slices.Clone(o.Objects), slices.Clone(o.Astray), slices.Clone(o.Kept)
	o.Strays, o.Requests = slices.Clone(o.Strays), slices.Clone(o.Requests)
	return o
}

func cloneIncarnation(in facts.Incarnation) facts.Incarnation {
	in.Members = slices.Clone(in.Members)
	for i := range in.Members {
		r := &in.Members[i]
		r.Member, r.Answer, r.Pod, r.Volume = copyOf(r.Member), copyOf(r.Answer), copyOf(r.Pod), copyOf(r.Volume)
		r.Restoring, r.Defragmenting = copyOf(r.Restoring), copyOf(r.Defragmenting)
	}
	return in
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
