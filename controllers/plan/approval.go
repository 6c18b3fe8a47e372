package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// QuorumState says whether etcd can commit anything.
type QuorumState string

// The states of a quorum.
const (
	QuorumHolds   QuorumState = "Holds"
	QuorumLost    QuorumState = "Lost"    // too many members have certainly lost their data
	QuorumUnknown QuorumState = "Unknown" // nobody answers for it, and nothing says that it is lost
)

// MemberState is what is known of a member's data.
type MemberState string

// The states of a member in the evidence.
const (
	MemberAnswers MemberState = "Answers" // its process said so in this very observation
	MemberSilent  MemberState = "Silent"  // its data is there as far as anything says, and nobody answers for it
	MemberLost    MemberState = "Lost"    // its data is certainly lost
	MemberPutBack MemberState = "PutBack" // its own is lost, and a backup tool put a copy in its place
)

// MemberEvidence is what is left of one member.
type MemberEvidence struct {
	Name      string
	ID        etcdutil.ID // zero when nothing says it
	VolumeUID string      // empty when there is none
	State     MemberState
	Why       string    // of a lost one
	Revision  int64     // zero unless it answers
	Applied   uint64    // the same; to be shown, and never to be decided by
	Since     time.Time // when its Pod's readiness last changed; zero without a Pod
}

// isLost reports that the member lost what it promised its peers.
func (m MemberEvidence) isLost() bool { return m.State == MemberLost || m.State == MemberPutBack }

// Evidence is what a person who gives up data must have seen.
type Evidence struct {
	ClusterUID  string
	ClusterID   etcdutil.ID // zero when the identity was never written down
	Incarnation string
	Quorum      QuorumState
	Members     []MemberEvidence // by ordinal
	Vanished    []string         // first members of which nothing is left, and which nothing says were lost or removed
	Digest      string           // what an approval quotes; another one every day
	wentBack    []string         // incarnations: an approval from before that is of this one as it was then
	accepted    []string         // digests that say as much: yesterday's, and those of more than is given up by now
}

// Furthest is the member that answers and holds most. What was applied was agreed on, so it holds what the others hold.
func (e Evidence) Furthest() MemberEvidence {
	var best MemberEvidence
	for _, m := range e.Members {
		if m.State == MemberAnswers && (m.Applied > best.Applied || best.Name == "") {
			best = m
		}
	}
	return best
}

// EvidenceOf is what is left of the cluster. Its digest changes when the incarnation of the cluster does, or it goes
// back to one, or its members, or whether a quorum answers; and, while the quorum is lost, when it changes whose data
// is lost. It does not change with revisions.
func EvidenceOf(o facts.Observation) Evidence { return evidenceNow(current(o)) }

// evidenceNow is what is left of the cluster.
func evidenceNow(o pass) Evidence {
	e := Evidence{ClusterUID: o.Cluster.UID, ClusterID: o.Bootstrap.ClusterID, Incarnation: o.Bootstrap.Incarnation,
		Quorum: quorumState(o), wentBack: o.WentBackFrom()}
	for _, r := range witnesses(o) {
		e.Members = append(e.Members, evidenceOf(o, r))
	}
	if e.Quorum == QuorumUnknown {
		e.Vanished = facts.Names(facts.Filter(o.BootstrapReplicas(),
			func(r facts.Replica) bool { return isVanished(o, r) }))
	}
	today := o.Latest().Unix() / int64(approvalLife/time.Second)
	e.Digest, e.accepted = e.digest(today), []string{e.digest(today - 1)}
	if e.Quorum == QuorumUnknown { // who gave up what serves gives up no less while nobody answers
		serving := e
		serving.Quorum = QuorumHolds
		e.accepted = append(e.accepted, serving.digest(today), serving.digest(today-1))
	}
	return e
}

// approvalLife is for how long an approval is good at least; twice as long at most. Clients write on, so one that is
// held up for longer would give up more than its approver saw.
const approvalLife = 24 * time.Hour

// Accepts reports an approval of this evidence that is not too old.
func (e Evidence) Accepts(approval string) bool {
	return approval != "" && (approval == e.Digest || slices.Contains(e.accepted, approval))
}

// isVanished reports a first member without a volume of which nobody can say whether it had been removed before. With
// TLS its certificates would.
func isVanished(o pass, r facts.Replica) bool {
	_, isWitness := facts.Find(witnesses(o), r.Name)
	return !r.Ephemeral && r.Volume == nil && r.Pod == nil && !isWitness
}

// digest is over canonical text: the first half of its SHA-256.
func (e Evidence) digest(day int64) string {
	lines := []string{fmt.Sprintf("day %d", day), "cluster " + e.ClusterUID, "etcd " + e.ClusterID.String(), "life " +
		e.Incarnation}
	if e.Quorum == QuorumUnknown {
		lines = append(lines, "no quorum answers")
	}
	for _, incarnation := range e.wentBack {
		lines = append(lines, "back from "+incarnation)
	}
	var members []string
	for _, m := range e.Members {
		if e.Quorum != QuorumLost {
			members = append(members, "member "+m.ID.String())
			continue
		}
		volume := m.VolumeUID
		if m.State == MemberLost {
			volume = ""
		}
		members = append(members, fmt.Sprintf("member %s lost %t volume %s", m.Name, m.isLost(), volume))
	}
	slices.Sort(members)
	sum := sha256.Sum256([]byte(strings.Join(append(lines, members...), "\n")))
	return hex.EncodeToString(sum[:])[:16]
}

// quorumState is what is known of the quorum.
func quorumState(o pass) QuorumState {
	switch {
	case o.HasQuorum():
		return QuorumHolds
	case isQuorumLost(o):
		return QuorumLost
	}
	return QuorumUnknown
}

// isQuorumLost reports that what is left is no quorum, by what members said last: one that is started again and again
// on an empty directory has lost its data while it is being started, too.
func isQuorumLost(o pass) bool {
	if o.IsServedUnseen() {
		return false
	}
	voters := o.LastKnownVoters(o.IsLost)
	left := facts.Filter(voters, func(r facts.Replica) bool { return !o.IsLost(r) })
	return len(left) < len(voters) && len(left) < etcdutil.Quorum(len(voters))
}

// witnesses are the members with a vote that the cluster had, as far as anything says, by ordinal.
func witnesses(o pass) []facts.Replica {
	voters := o.LastKnownVoters(o.IsLost)
	if o.HasQuorum() {
		voters = o.Voters()
	}
	voters = slices.Clone(voters)
	slices.SortFunc(voters, func(a, b facts.Replica) int { return o.OrdinalOf(a.Name) - o.OrdinalOf(b.Name) })
	return voters
}

// evidenceOf takes from the judgement whether data is lost, and why. What the member answered is shown as it is.
func evidenceOf(o pass, r facts.Replica) MemberEvidence {
	m := MemberEvidence{Name: r.Name, ID: r.Record().MemberID, State: MemberSilent, Since: facts.PodChange(r.Pod)}
	if r.Member != nil && o.HasQuorum() {
		m.ID = r.Member.ID
	}
	if r.Volume != nil {
		m.VolumeUID = r.Volume.UID
	}
	switch j := o.Judge(r); {
	case r.IsPutBack():
		m.State, m.Why = MemberPutBack, j.Says
	case j.IsLost():
		m.State, m.Why = MemberLost, j.Says
	case r.Answer != nil:
		m.State, m.Revision, m.Applied = MemberAnswers, r.Answer.Revision, r.Answer.Applied
	}
	return m
}

// Standing is how an EtcdRestore stands, read from the bootstrap record and the evidence alone.
type Standing string

// The standings of a request.
const (
	StandingNotBootstrapped Standing = "Unborn"          // there is no incarnation yet that could be restored over
	StandingMissing         Standing = "ApprovalMissing" // it quotes no evidence
	StandingStale           Standing = "ApprovalStale"   // it quotes other evidence than there is now
	StandingAnother         Standing = "AnotherRestore"  // another one is carried out first
	StandingApproved        Standing = "Approved"        // it is the one to carry out; nothing of it is recorded yet
	StandingRestoring       Standing = "Restoring"       // its incarnation is prepared beside the one that serves
	// its incarnation is the one that the bootstrap record is of, and has no quorum yet
	StandingMoved    Standing = "Moved"
	StandingComplete Standing = "Complete" // its incarnation serves, or did
)

// StandingOf says how a request stands.
func StandingOf(o facts.Observation, r facts.Request) Standing { return standing(current(o), r) }

func standing(o pass, r facts.Request) Standing {
	switch {
	case o.Bootstrap.Restore == r.ID && o.Bootstrap.ClusterID == 0:
		return StandingMoved
	case isOnTheWayBack(o, r.ID):
		return StandingMoved
	case o.CameOf(r.ID):
		return StandingComplete
	case o.Bootstrap.Next.Restore == r.ID:
		return StandingRestoring
	case !o.CanBeFollowed():
		return StandingNotBootstrapped
	case r.Approval == "":
		return StandingMissing
	case !o.Approved[r.ID]:
		return StandingStale
	}
	if chosenBefore(o, r) != "" {
		return StandingAnother
	}
	return StandingApproved
}

// ChosenBefore is the name of the EtcdRestore that is carried out before this one, or "".
func ChosenBefore(o facts.Observation, r facts.Request) string { return chosenBefore(current(o), r) }

func chosenBefore(o pass, r facts.Request) string {
	if chosen, ok := chosenRequest(o); ok && chosen.ID != r.ID {
		return chosen.Name
	}
	return ""
}

// approvals are the requests, by ID, that quote the evidence of this observation.
func approvals(o pass) map[string]bool {
	if len(o.Requests) == 0 {
		return nil
	}
	evidence, out := evidenceNow(o), map[string]bool{}
	for _, r := range o.Requests {
		out[r.ID] = evidence.Accepts(r.Approval)
	}
	return out
}

// isOnTheWayBack reports the request for which the cluster went back to this incarnation, before that answers. When it
// first did nothing in the world says.
func isOnTheWayBack(o pass, id string) bool {
	n := len(o.Bootstrap.Former)
	return n > 0 && o.Bootstrap.Former[n-1].Back == id && id != "" && !o.HasQuorum()
}

// chosenRequest is the request that is carried out: the one that is being restored, or else the oldest one that is
// approved on the evidence there is, and that nothing came of yet.
func chosenRequest(o pass) (facts.Request, bool) {
	for _, r := range o.Requests {
		if r.ID == o.Bootstrap.Next.Restore && r.Approval != "" && !o.IsOvertaken() {
			return r, true
		}
	}
	if len(o.Requests) == 0 || !o.Bootstrap.Next.IsZero() || !o.CanBeFollowed() {
		return facts.Request{}, false
	}
	for _, r := range o.Requests {
		if o.Approved[r.ID] && !o.CameOf(r.ID) {
			return r, true
		}
	}
	return facts.Request{}, false
}
