package world

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Changes of the membership, with etcd's own refusals: the same rules as in pkg/etcdutil/fake/rules.go, which a
// contract test holds to the real one.

// carryOutEtcd asks etcd for a change of its list, its leader or its alarms. It may refuse, or do it a moment later.
func (w *World) carryOutEtcd(c changes.Change) error {
	cl := w.clusters[w.objects.bootstrap.ClusterID]
	if cl == nil || !w.hasQuorum(cl) {
		return errors.New("no quorum")
	}
	if removal, ok := c.(changes.RemoveMember); ok {
		if w.objects.bootstrap.Promised == removal.Name {
			w.objects.bootstrap.Promised = ""
		}
		w.checkRemoval(cl, removal.ID)
	}
	switch {
	case w.sometimes(w.trouble.SlowEtcd, 6, "etcd refuses"):
		return errors.New("etcdserver: unhealthy cluster")
	case w.sometimes(w.trouble.SlowEtcd, 6, "etcd is late"):
		w.trouble.late = append(w.trouble.late, func() { _ = w.commit(cl, c) })
		return errLost
	}
	return w.commit(cl, c)
}

// commit is what the log's application does with a change that was proposed: it checks it again.
func (w *World) commit(cl *cluster, c changes.Change) error {
	if why := w.whyNot(cl, c); why != "" {
		return errors.New("etcdserver: " + why)
	}
	switch c := c.(type) {
	case changes.AddLearner:
		w.serial++
		cl.members = append(cl.members, etcdutil.Member{ID: hash(cl.id, c.Name, w.serial),
			PeerURLs: []string{w.url(c.Name, c.Transport.PeerScheme())}, Learner: true})
	case changes.SetPeerScheme:
		cl.members[cl.find(c.ID)].PeerURLs = []string{w.url(c.Name, c.Scheme)}
	case changes.Promote:
		cl.members[cl.find(c.ID)].Learner = false
	case changes.RemoveMember:
		i := cl.find(c.ID)
		cl.members = slices.Delete(cl.members, i, i+1)
		cl.removed[c.ID] = true
		w.editPod(facts.PodRef{Name: c.Name, UID: w.objects.pods[c.Name].UID}, func(p *pod) { p.Role = "" })
	case changes.MoveLeader:
		cl.leader = c.ToID
	case changes.Compact:
		w.compact(cl, c.Revision)
	case changes.DisarmAlarms:
		w.disarm(cl, c.Alarms)
	case changes.EnableDowngrade:
		cl.downgrade = c.Minor
	case changes.CancelDowngrade:
		cl.downgrade = etcdutil.Version{}
	case changes.MakeUsers, changes.EnableAuth, changes.DisableAuth:
		w.commitAuth(cl, c)
	case changes.AppendEntries:
		more := max(0, int(c.Until)-cl.writes-cl.entries)
		if c.Until == 0 {
			more = 1
		}
		cl.entries, cl.added = cl.entries+more, cl.added+more
	default:
		return fmt.Errorf("%T is not a change that the world knows", c)
	}
	return nil
}

// whyNot says why etcd refuses a change, or "".
func (w *World) whyNot(cl *cluster, c changes.Change) string {
	switch c := c.(type) {
	case changes.AddLearner:
		return w.whyNotAdd(cl, c)
	case changes.Promote:
		if i := cl.find(c.ID); i < 0 || !cl.members[i].Learner {
			return "can only promote a learner member"
		}
	case changes.RemoveMember:
		return w.whyNotRemove(cl, c)
	case changes.SetPeerScheme:
		if cl.find(c.ID) < 0 {
			return "member not found"
		}
	case changes.MoveLeader:
		if !w.serves(cl, c.ToID) {
			return "request timed out, leader transfer took too long"
		}
	case changes.EnableDowngrade:
		if !cl.downgrade.IsZero() || c.Minor.Minor+1 != cl.version.Minor {
			return "invalid downgrade target version"
		}
	default:
	}
	return ""
}

func (w *World) whyNotRemove(cl *cluster, c changes.RemoveMember) string {
	switch i := cl.find(c.ID); {
	case i < 0:
		return "member not found"
	case !cl.members[i].Learner && w.serves(cl, c.ID) && w.upVoters(cl)-1 < etcdutil.Quorum(len(cl.voters())-1):
		return "unhealthy cluster"
	}
	return ""
}

func (w *World) whyNotAdd(cl *cluster, c changes.AddLearner) string {
	voters := len(cl.voters())
	switch {
	case slices.ContainsFunc(cl.members, func(m etcdutil.Member) bool { return w.nameOfURL(m.PeerURLs[0]) == c.Name }):
		return "Peer URLs already exists"
	case len(cl.members) > voters:
		return "too many learner members in cluster"
	case voters > 1 && w.upVoters(cl) < etcdutil.Quorum(voters+1):
		return "unhealthy cluster"
	}
	return ""
}
