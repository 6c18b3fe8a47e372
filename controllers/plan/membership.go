package plan

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Who is a member: what holds every change of members back while that is not certain, what is written down of them, and
// to whom clients are led.

// membership stops every change of members while it is not certain who they are.
func membership(o pass) *proposal {
	for _, ask := range []func(pass) *proposal{membersDisagree, membershipUnknown, strangeMember} {
		if p := ask(o); p != nil {
			return p
		}
	}
	return nil
}

// strangeMember stops where the list is not what the operator made: a member with another URL, or data that answers, or
// is recorded, as somebody else; or, for as long as that takes to call off, one whose name the next incarnation has
// too.
func strangeMember(o pass) *proposal {
	if m := o.Namesake(); m != nil {
		return wait(facts.ReasonCallOff, "Member %s has a name that a restore in place took as well; nothing is "+
			"added or removed until that is called off.", m.ID)
	}
	if len(o.Membership.Strangers) > 0 {
		m := o.Membership.Strangers[0]
		return refuse(facts.ReasonStranger, "Member %s (%v) was not added by the operator. Remove it with etcdctl "+
			"member remove, or nothing is added or removed.",
			m.ID, m.PeerURLs).byHuman()
	}
	for _, r := range o.Members {
		if r.Member == nil {
			continue
		}
		if r.IsRecorded() && r.Record().MemberID != r.Member.ID {
			return refuse(facts.ReasonForeignData, "The data of %s is recorded as member %s, the list says %s. Put "+
				"its own volume back.", r.Name, r.Record().MemberID, r.Member.ID).byHuman()
		}
		if j := o.Judge(r); r.Answer != nil && j.Cause == facts.CauseIdentity && j.Cure == judge.Person {
			return refuse(facts.ReasonForeignData,
				"%s answers as member %s, the list says %s: its volume holds other data. Put its own volume back.",
				r.Name, r.Answer.ID, r.Member.ID).byHuman()
		}
	}
	return nil
}

// recordMembers writes down who lives where, once that very member has answered with its ID.
func recordMembers(o pass) *proposal {
	if records := newRecords(o); len(records) > 0 {
		return writeDown(records)
	}
	return nil
}

// newRecords are those that are not written down yet.
func newRecords(o pass) []changes.MemberRecord {
	var records []changes.MemberRecord
	for _, r := range o.Members {
		want, ok := recordOf(o, r)
		if !ok || want == r.Record() {
			continue
		}
		record := changes.MemberRecord{Name: r.Name, Record: want}
		if r.Volume != nil {
			record.VolumeUID = r.Volume.UID
		} else {
			record.PodUID = r.Pod.UID
		}
		records = append(records, record)
	}
	return records
}

func writeDown(records []changes.MemberRecord) *proposal {
	return act(changes.RecordMembers{Members: records},
		"etcd answered, and the operator writes that beside the data.")
}

// recordOf is what can be written about the replica's data in this very observation.
func recordOf(o pass, r facts.Replica) (record.Member, bool) {
	if !o.IsAnsweringFor(r) || !isDataOfThisIncarnation(o, r) {
		return record.Member{}, false
	}
	version := r.Answer.Version
	if version.IsZero() { // a build that is no release: what it was made from must do
		version = r.Settings().Version
	}
	mounted, backing := mountedBy(r)
	answered := r.Record().Answered(r.Answer.ClusterID, r.Answer.ID, version, mounted, backing)
	version = r.Answer.Versions.Cluster
	answered = answered.InCluster(version, r.Answer.Applied, o.VersionChangedAt(version))
	if o.Desired.Needs == etcdutil.NeedCover && o.MayMarkLog() {
		answered.LogMark = o.NextLogMark(r)
	}
	if answered != r.Record() { // no reason of its own to write
		answered.Began = o.Bootstrap.BeganAt()
	}
	return answered, !answered.Version.IsZero()
}

// mountedBy is the UID of the volume that the replica's Pod runs on; empty when that is not certain. A Pod runs on no
// volume that is younger: it may have the old volume of that name, which was deleted, and the new one is another disk.
func mountedBy(r facts.Replica) (uid, backing string) {
	if r.Pod == nil || r.Volume == nil || r.Volume.Created.After(r.Pod.Created) {
		return "", ""
	}
	return r.Volume.UID, r.Volume.Backing
}

// isDataOfThisIncarnation reports whether the replica's data is of this incarnation and will stay. Before the cluster's
// identity is written down one that will not stay counts too: a bootstrap that could be given up was by now, so it
// holds what would be lost, and once it is written down a successor joins it.
func isDataOfThisIncarnation(o pass, r facts.Replica) bool {
	if r.Pod == nil || r.Pod.Terminating || r.Incarnation() != o.Bootstrap.Incarnation {
		return false
	}
	return o.Desired.Ephemeral || r.Volume != nil && (!r.Volume.Terminating || o.Bootstrap.ClusterID == 0)
}

// labelRole lets the client Service follow the roles. It comes before what may wait for a person, so that a member that
// serves again is not kept from its clients meanwhile. While copies are in doubt, no client is led to another one.
func labelRole(o pass) *proposal {
	if inDoubt(o.Incarnation) {
		return nil
	}
	for _, r := range o.Members {
		isKnown := r.Member != nil && r.IsSealed() && r.Record().MemberID == r.Member.ID
		if !isKnown || r.Pod.Terminating || isUncompared(r) || servesNothing(r) || isToLoseClients(o, r) {
			continue
		}
		if want := roleOf(o, r); want != r.Pod.Role {
			return act(changes.LabelRole{Pod: r.PodRef(), Role: want},
				"it is a %s now, and the client Service leads to voters.", want)
		}
	}
	return nil
}

// isToLoseClients reports a member that clients are led away from although it serves: it has other data than its own,
// or is the one that shrink takes the label from before it is removed.
func isToLoseClients(o pass, r facts.Replica) bool {
	return o.Judge(r).Cause == facts.CauseIdentity || followsSpec(o) && o.due.Leave.Name == r.Name
}

// countsLate is the first version of etcd that counts what it got as a snapshot only once another entry follows. Above
// 5,000 entries it refuses all requests until then, its own to publish itself among them
// (etcd-io/etcd:server/etcdserver/server.go applySnapshot, v3_server.go processInternalRaftRequestOnce).
var countsLate = etcdutil.Version{Major: 3, Minor: 7}

// wakeFor is for how long entries are added each time that a member may be waiting for one.
const wakeFor = 2 * time.Second

// wakeMember adds one entry to raft's log for a member that may be waiting for it. Where clients write that happens by
// itself.
func wakeMember(o pass) *proposal {
	leader := o.Leader()
	if leader.Answer == nil {
		return nil
	}
	for _, r := range o.Members {
		if r.Member == nil || !r.IsUp() || r.Pod.Settings.Version.Compare(countsLate) < 0 {
			continue
		}
		what := ""
		switch {
		case mayAwaitEntry(o, r):
			what = "runs and does not answer yet"
		case isStuckBehind(o, r, leader):
			behind := leader.Answer.Applied - r.Answer.Applied
			what = fmt.Sprintf("answers, and is %d entries behind %s", behind, leader.Name)
		default:
			continue
		}
		return act(changes.AppendEntries{},
			"%s %s. Without such an entry etcd %s may not serve on data that it copied.", r.Name, what,
			countsLate.MinorString())
	}
	return nil
}

// mayAwaitEntry reports a member whose process began 2, 4, 8, … seconds ago and does not answer, for as long as a new
// one may take to join. Copying the data may take long, so an entry is added again, each time after twice as long.
func mayAwaitEntry(o pass, r facts.Replica) bool {
	if r.Answer != nil || !r.Pod.Running || r.Pod.RunningSince.IsZero() {
		return false
	}
	began := 2 * time.Second
	ran := o.Now.Sub(r.Pod.RunningSince)
	for 2*began <= ran {
		began *= 2
	}
	return ran >= began && ran < began+wakeFor && ran <= joinDeadline(o.Incarnation)
}

// isStuckBehind reports a member that goes on after a pause in which the others wrote. It holds what they hold, reads
// of it are answered, and the index that it reports stays behind until something is written (tried on 3.7.3: 516 of
// 25,009). An entry per pass does no harm to one that is still copying.
func isStuckBehind(o pass, r, leader facts.Replica) bool {
	return r.IsHealthy(o.Membership) && r.Answer.Leader == leader.Member.ID && !o.IsCaughtUp(r)
}
