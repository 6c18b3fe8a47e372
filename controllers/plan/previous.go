package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The way back from a restored incarnation that never came to serve.

// restoreGoBack makes the previous incarnation the current one again, once a person approved that, as long as the
// restored one never served. What starts its members then are the rules of a cluster that lives.
func restoreGoBack(o judge.View) *proposal {
	request, ok := chosenRequest(o)
	if !ok || request.Source != record.SourcePrevious {
		return nil
	}
	if why := whyNotGoBack(o); why != "" {
		return refuse(facts.ReasonRestoreHeld, cannotCarryOut, request.Name, why+". Delete it, and restore a backup "+
			"with another EtcdRestore; or, where the previous volumes are kept, go back to them by hand as "+
			pages.Docs+"docs/restore.md says").byHuman().yielding()
	}
	birth := birthOfPrevious(o)
	return act(changes.GoBack{From: o.Birth.Incarnation, Restore: request.ID, BeginBirth: birth}, facts.ReasonInPlace,
		"The EtcdRestore %s is carried out: the cluster goes back to %s, with all that these members held. What was "+
			"restored never served, and its volumes are kept.", request.Name, strings.Join(birth.Names, ", "))
}

// birthOfPrevious is the record of the previous incarnation, by what its volumes say.
func birthOfPrevious(o judge.View) changes.BeginBirth {
	last, _ := o.Previous()
	members := ableToReturn(o)
	return changes.BeginBirth{Incarnation: last.Incarnation, Token: token(o.Cluster.UID, last.Incarnation),
		Names: facts.Names(members), ClusterID: members[0].Record().ClusterID}
}

// ableToReturn are the members of the previous incarnation whose own volumes are there.
func ableToReturn(o judge.View) []facts.Replica {
	_, members := o.Previous()
	return facts.Filter(members, func(r facts.Replica) bool { return r.MayReturn(o.Birth.Incarnation) })
}

// whyNotGoBack says why the cluster cannot go back to the previous incarnation, or "".
func whyNotGoBack(o judge.View) string {
	switch last, _ := o.Previous(); {
	case o.IsAlive() || last.Incarnation == "":
		return "the cluster serves, or did, with what it holds now, and what was written since would be lost"
	case o.Membership.Known || o.IsAnyReady():
		return "a quorum of the restored members answers, and the cluster is about to serve with them"
	case o.IsPreparing():
		return "another restore is being prepared"
	}
	return cmp.Or(unfenced(o), o.WhyNoCertificates(), whyNoQuorumBack(o))
}

// whyNoQuorumBack says why the volumes of the previous incarnation are not enough to go back to, or "". Where it
// is not known who had a vote in it, each of its members may be all there was.
func whyNoQuorumBack(o judge.View) string {
	last, _ := o.Previous()
	members := ableToReturn(o)
	voters := facts.Filter(members, func(r facts.Replica) bool {
		return last.Voters == nil || slices.Contains(last.Voters, r.Name)
	})
	if len(voters) < etcdutil.Quorum(len(last.Voters)) {
		return fmt.Sprintf("of the previous incarnation %s too few volumes are there on which its members lived: "+
			"%d of %d", last.Incarnation, len(voters), len(last.Voters))
	}
	for _, r := range members {
		if r.Record().ClusterID != members[0].Record().ClusterID {
			return fmt.Sprintf("the volumes of %s and %s say that they are of different clusters", members[0].Name,
				r.Name)
		}
	}
	return ""
}

// WayBack says how to go back to the previous incarnation, in one command, where that is possible; or "".
func WayBack(o facts.Observation) string { return wayBack(current(o)) }

func wayBack(o judge.View) string {
	if whyNotGoBack(o) != "" {
		return ""
	}
	digest := evidenceNow(o).Digest
	says := fmt.Sprintf("No client was served what was restored. To go back to %s, with all that these members held: ",
		strings.Join(facts.Names(ableToReturn(o)), ", "))
	for _, r := range o.Requests {
		if r.Source == record.SourcePrevious && !o.CameOf(r.ID) {
			return says + fmt.Sprintf(`kubectl patch etcdrestore %s -n %s --type merge -p `+
				`'{"spec":{"approval":"%s"}}' (see docs/restore.md).`, r.Name, o.Cluster.Namespace, digest)
		}
	}
	return says + fmt.Sprintf(`echo '{"apiVersion":"etcdsteward.dev/v1alpha1","kind":"EtcdRestore","metadata":`+
		`{"generateName":"%s-back-"},"spec":{"clusterRef":{"name":"%s"},"source":{"previous":{}},"approval":"%s"}}' | `+
		"kubectl create -n %s -f - (it approves an EtcdRestore with source.previous: see "+
		pages.Docs+"docs/restore.md).",
		o.Cluster.Name, o.Cluster.Name, digest, o.Cluster.Namespace)
}

// withWayBack adds that to what only a person, or time without end, can end while restored members do not come to
// serve.
func withWayBack(o judge.View, d Decision) Decision {
	if d.NeedsHuman || d.Overdue {
		if way := wayBack(o); way != "" {
			d.Message += " " + way
		}
	}
	return d
}
