// Package judge says how each member is, once, from one table. Rules, evidence and status read that. The
// guard does not: it cannot import this package.
package judge

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// State says how a member stands, in one adjective. The set is closed.
type State string

// The states of a member.
const (
	Serving      State = "Serving"      // it answers, its kubelet calls it ready, and it has all that was committed
	Behind       State = "Behind"       // it answers, and cannot be relied on yet
	Starting     State = "Starting"     // its Pod or its process has not had its time yet
	Stopped      State = "Stopped"      // its container does not run
	Unresponsive State = "Unresponsive" // its process runs, had its time, and does not answer the operator
	Leaving      State = "Leaving"      // its Pod is terminating
	Absent       State = "Absent"       // it has no Pod
	Doomed       State = "Doomed"       // it may serve, and its data is gone as soon as its Pod stops
	Lost         State = "Lost"         // its data is gone, or is not its own
)

// Cure says what ends it. The set is closed.
type Cure string

// The cures.
const (
	NoCure  Cure = ""
	Await   Cure = "Wait"    // it ends by itself, or nothing is known to help
	Restart Cure = "Restart" // a Pod on the volume that it has
	Replace Cure = "Replace" // a new member in its place
	Correct Cure = "Correct" // the spec, or the platform, is put right by a person
	Compare Cure = "Compare" // the copies of the others show whose data is right
	Person  Cure = "Person"  // a person decides
)

// Witness is a source that a judgement rests on. Two of different kinds are worth more than one twice.
type Witness string

// The witnesses.
const (
	ByMember   Witness = "member"   // etcd of this very member, by its answer or its last words
	ByPeers    Witness = "peers"    // the hashes of the other members
	ByOperator Witness = "operator" // the operator could not reach the member
	ByKubelet  Witness = "kubelet"  // the kubelet of its node
	ByNode     Witness = "node"     // the Node object
	ByVolume   Witness = "volume"   // its claim and what is behind that
	ByRecord   Witness = "record"   // the bootstrap record, or what is written on the volume
)

// Judgement is what is known of one member, once, for every rule, for the evidence and for the status. The guard does
// not read it.
type Judgement struct {
	State State
	Cause facts.Cause
	Cure  Cure

	// Certain says of Replace that no time has to pass: whatever comes back, this data does not.
	Certain bool
	Since   time.Time // since when, by the API server's clock; zero when that is not known or does not matter
	Proof   []Witness
	Says    string // why, as a part of a sentence: "its volume is gone"
	Reason  string // the same in one word, for the status; empty where the member is well
}

// IsLost reports data that is certainly gone, or another's.
func (j Judgement) IsLost() bool { return j.State == Lost }

// IsOwnWord reports a member that stopped, and said of its own data that it is gone or cannot be read.
func (j Judgement) IsOwnWord() bool {
	return j.State == Lost && j.Cause == facts.CauseDisk && j.Cure == Replace
}

// MustGo reports a member that is to be replaced now: its data is certainly gone, and it does not run.
func (j Judgement) MustGo() bool { return j.Cure == Replace && j.Certain && j.State == Lost }

// Sign is a row of the table: what is seen of a member, and what that means.
type Sign struct {
	Judgement
	fits  func(Judged, facts.Replica) bool
	since func(facts.Replica) time.Time      // nil where it does not matter
	says  func(Judged, facts.Replica) string // nil: what is seen
	word  word                               // where Reason is no constant
}

// seen begins a row with a part of a sentence about the member.
func seen(what string, fits func(Judged, facts.Replica) bool) Sign {
	return Sign{Judgement: Judgement{Says: what}, fits: fits}
}

func (s Sign) means(state State, cause facts.Cause, cure Cure) Sign {
	s.State, s.Cause, s.Cure = state, cause, cure
	return s
}

func (s Sign) by(proof ...Witness) Sign { s.Proof = proof; return s }

func (s Sign) certainly() Sign { s.Certain = true; return s }

func (s Sign) from(since func(facts.Replica) time.Time) Sign { s.since = since; return s }

func (s Sign) saying(says func(Judged, facts.Replica) string) Sign { s.says = says; return s }

func (s Sign) told(reason string) Sign { s.Reason = reason; return s }

func (s Sign) toldBy(w word) Sign { s.word = w; return s }

// Word is how docs/reference/judgement.md tells the reason; empty where the member is well.
func (s Sign) Word() string {
	if s.Reason != "" {
		return "`" + s.Reason + "`"
	}
	return s.word.doc
}

// RowOf is the first row of the table that fits, from the top; -1 when none does.
func RowOf(o Judged, r facts.Replica) int {
	return slices.IndexFunc(Signs, func(s Sign) bool { return s.fits(o, r) })
}

// judge is what that row says.
func judge(o Judged, r facts.Replica) Judgement {
	i := RowOf(o, r)
	if i < 0 {
		return Judgement{}
	}
	s := Signs[i]
	j := s.Judgement
	if s.since != nil {
		j.Since = s.since(r)
	}
	if s.says != nil {
		j.Says = s.says(o, r)
	}
	if s.word.find != nil {
		j.Reason = s.word.find(r)
	}
	return j
}

// Signs is the table by which each member is judged, once, for every rule, the evidence and the status. It is read from
// the top: whose the data is and whether it is there come first, then what the Pod and its node say, then what etcd
// said when it stopped, then what it answers. What the rows ask is in seen.go. Each row has its row in
// judgement_test.go and in docs/reference/judgement.md.
var Signs = []Sign{
	// Whose data it is.
	seen("its directory holds the data of another cluster", answersAsAnotherCluster).
		means(Lost, facts.CauseIdentity, Replace).certainly().by(ByMember, ByRecord).told(facts.MemberOtherIdentity).
		saying(otherCluster),
	seen("another etcd answers at its address, and no certificate proves whose that is", isDisplaced).
		means(Unresponsive, facts.CauseIdentity, Person).by(ByOperator, ByKubelet).told(facts.MemberNotAnswering),
	seen("its directory holds the data of another member", answersAsAnotherMember).
		means(Unresponsive, facts.CauseIdentity, Person).by(ByMember).told(facts.MemberOtherIdentity),

	// Copies that differ: plan/copies.go decides.
	seen("its copy of the data differs from that of a majority", Judged.StandsAlone).
		means(Behind, facts.CauseCorruption, Replace).by(ByMember, ByPeers).told(facts.MemberCorrupt),
	seen("it stopped because its copy of the data differs from another member's", stoppedWith(differs...)).
		means(Stopped, facts.CauseCorruption, Compare).by(ByMember).toldBy(wordOfEtcd),

	// Data that is certainly gone.
	seen("it has not started yet", isNewInMemory).
		means(Absent, facts.NoCause, Restart).told(facts.MemberNoPod),
	seen("the Pod that held its data is gone", hasLostPod).
		means(Lost, facts.CausePod, Replace).certainly().by(ByKubelet).toldBy(wordOfPod),
	seen("the node that held its data is gone", hasLostNode).
		means(Lost, facts.CauseNode, Replace).certainly().by(ByNode,
		ByOperator).told(facts.MemberNodeGone).saying(lostNode),
	seen("its volume is gone", hasLostClaim).
		means(Lost, facts.CauseVolume, Replace).certainly().by(ByVolume).told(facts.MemberNoVolume),
	seen("the volume behind its claim is gone", hasLostBacking).
		means(Lost, facts.CauseVolume, Replace).certainly().by(ByVolume, ByOperator).told(facts.MemberVolumeLost).
		saying(lostBacking),
	seen("the only node that can use its volume is gone", isStranded).
		means(Lost, facts.CauseNode, Replace).certainly().by(ByNode,
		ByVolume).told(facts.MemberNodeGone).saying(lostNode),
	seen("another volume has the place of its own", hasCopiedVolume).
		means(Lost, facts.CauseIdentity, Replace).certainly().by(ByVolume, ByRecord).told(facts.MemberOtherIdentity),
	seen("its volume is being deleted, and no Pod can start on it again", hasGoingVolume).
		means(Lost, facts.CauseVolume, Replace).certainly().by(ByVolume).told(facts.MemberVolumeTerminating),
	seen("its volume is being deleted, and it cannot start on it", cannotReturn).
		means(Lost, facts.CauseVolume, Replace).certainly().by(ByVolume, ByKubelet).told(facts.MemberVolumeTerminating),
	seen("it was never recorded, and how it was to start is no longer known", isForgotten).
		means(Lost, facts.CauseIdentity, Replace).certainly().by(ByRecord).told(facts.MemberNoPod),
	seen("its data is gone or cannot be read, by etcd's last words", endedByOwnWord).
		means(Lost, facts.CauseDisk, Replace).certainly().by(ByMember).toldBy(wordOfEtcd).saying(ownWord),
	seen("its data is gone or cannot be read, and it is started once more", returnsAfterOwnWord).
		means(Lost, facts.CauseDisk, Await).by(ByMember).toldBy(wordOfEtcd).saying(ownWord),
	seen("any stop of its Pod loses its data, and nothing is heard of it", isDoomedUnheard).
		means(Doomed, facts.CauseVolume, Replace).from(podChangeOf).by(ByVolume, ByOperator, ByKubelet).
		toldBy(wordOfVolume),
	seen("any stop of its Pod loses its data", isDoomed).
		means(Doomed, facts.CauseVolume, Replace).by(ByVolume).toldBy(wordOfVolume),

	// What its Pod and its node say.
	seen("its Pod ended, and a finalizer keeps the object", isHeld).
		means(Leaving, facts.CauseOutside, Await).by(ByKubelet).told(facts.MemberPodHeld).saying(held),
	seen("its Pod was asked to go, and nothing is heard of it", isLeavingUnheard).
		means(Leaving, facts.CauseNode, Replace).from(unheardSince).by(ByOperator,
		ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod is terminating", isTerminating).
		means(Leaving, facts.NoCause, Await).by(ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod ended", hasEnded).
		means(Stopped, facts.NoCause, Restart).by(ByKubelet).toldBy(wordOfEndedPod),
	seen("a person fenced it: it is stopped, and its volume is kept", isKeptDown).
		means(Absent, facts.CauseOutside, Await).told(facts.MemberFenced),
	seen("its Pod is gone", isToStartAgain).
		means(Absent, facts.NoCause, Restart).by(ByVolume).told(facts.MemberNoPod),
	seen("its first Pod was not made yet", isToStartFirst).
		means(Absent, facts.NoCause, Restart).told(facts.MemberNoPod),
	seen("it has no Pod, and no volume that is recorded as its own", hasNoPod).
		means(Absent, facts.CauseIdentity, Person).by(ByRecord).told(facts.MemberNoPod).saying(WhyNoPod),
	seen("its node does not answer", hasUnheardNode).
		means(Unresponsive, facts.CauseNode, Replace).from(nodeUnheardSince).by(ByOperator,
		ByNode).told(facts.MemberNotAnswering),
	seen("etcd was not started: a container that starts before it cannot", isBehindOther).
		means(Stopped, facts.CauseSettings, Correct).by(ByKubelet).toldBy(wordOfKubernetes).saying(behindOther),
	seen("no node that can use its volume takes its Pod", isTiedToNode).
		means(Stopped, facts.CauseNode, Replace).from(podChangeOf).by(ByOperator, ByKubelet).toldBy(wordOfKubernetes),
	seen("its image cannot be pulled", waitsFor(facts.ReasonImagePull)).
		means(Stopped, facts.CauseImage, Correct).by(ByKubelet).toldBy(wordOfKubernetes),
	seen("its container cannot be made", waitsFor(facts.ReasonContainer)).
		means(Stopped, facts.CauseSettings, Correct).by(ByKubelet).toldBy(wordOfKubernetes),
	seen("its volume cannot be made", isUnmade).
		means(Stopped, facts.CauseSettings, Correct).by(ByVolume).told(facts.MemberProvisioning).saying(whyUnmade),
	seen("no node has room for its Pod", waitsFor(facts.ReasonUnschedulable)).
		means(Stopped, facts.CauseRoom, Correct).by(ByKubelet).toldBy(wordOfKubernetes),
	seen("its Pod is held back: etcd was never started in it", isHeldBack).
		means(Stopped, facts.CauseOutside, Await).by(ByKubelet).toldBy(wordOfStart).saying(heldBack),

	seen("it is defragmented, and answers once that is done", isDefragmented).
		means(Unresponsive, facts.NoCause, Await).by(ByKubelet).told(facts.MemberDefragmenting),

	// Why etcd stopped, by its last words.
	seen("its disk fails", crashesWith(failing...)).
		means(Stopped, facts.CauseDisk, Replace).from(podChangeOf).by(ByMember, ByKubelet).toldBy(wordOfEtcd),
	seen("the runtime stopped etcd, and others serve with its settings", faultsAlone).
		means(Stopped, facts.CauseDisk, Replace).from(podChangeOf).by(ByKubelet, ByPeers).toldBy(wordOfEtcd),
	seen("its disk is full", crashesWith(full...)).
		means(Stopped, facts.CauseSpace, Correct).by(ByMember).toldBy(wordOfEtcd),
	seen("etcd does not start with its settings", crashesWith(misset...)).
		means(Stopped, facts.CauseSettings, Correct).by(ByMember).toldBy(wordOfEtcd),
	seen("etcd stops, and does not say why", isCrashing).
		means(Stopped, facts.CauseUnknown, Await).by(ByKubelet).toldBy(wordOfEtcd),

	// Processes that do not answer.
	seen("it never served with the settings of the spec, and no other member does", neverServedWithSpec).
		means(Unresponsive, facts.CauseSettings, Correct).by(ByOperator, ByKubelet).told(facts.MemberNotAnswering),
	seen("its kubelet calls it ready, but the operator cannot reach it", isReadyUnseen).
		means(Unresponsive, facts.CauseUnknown, Await).by(ByOperator).told(facts.MemberNotAnswering),
	seen("it is starting", isStartingUp).
		means(Starting, facts.CauseUnknown, Replace).from(lastStartOf).by(ByOperator, ByKubelet).toldBy(wordOfProcess),
	seen("it does not answer, and its kubelet does not call it ready", isUnanswered).
		means(Unresponsive, facts.CauseUnknown, Replace).from(lastStartOf).by(ByOperator,
		ByKubelet).toldBy(wordOfProcess),

	// What it answers.
	seen("it answers, and etcd's list does not have it", isUnlisted).
		means(Behind, facts.CauseUnknown, Await).by(ByMember).told(facts.MemberNotListed),
	seen("it answers as of another cluster than etcd's list is", isOfOtherList).
		means(Behind, facts.CauseUnknown, Await).by(ByMember).told(facts.MemberOtherIdentity),
	seen("it answers, and knows no leader", hasNoLeader).
		means(Behind, facts.CauseUnknown, Await).by(ByMember).told(facts.MemberNoLeader),
	seen("it answers, and etcd's list could not be read", hasNoList).
		means(Behind, facts.CauseUnknown, Await).by(ByMember).told(facts.MemberListUnknown),
	seen("etcd raised the alarm CORRUPT, which may mean this member", isCalledCorrupt).
		means(Behind, facts.NoCause, Compare).by(ByMember).told(facts.MemberCorrupt),
	seen("it answers, and who it is could not be written down", isUnsealed).
		means(Behind, facts.NoCause, Await).by(ByMember, ByRecord),
	seen("it answers, and its copy of the data is not compared with the others' yet", isUncompared).
		means(Behind, facts.NoCause, Await).by(ByMember),
	seen("it answers, and its node is not ready", isOnUnreadyNode).
		means(Behind, facts.CauseNode, Await).by(ByMember, ByNode).told(facts.MemberNodeNotReady),
	seen("it answers, and is not ready or has not caught up", isNotServing).
		means(Behind, facts.NoCause, Await).by(ByMember),
	seen("it serves", isServingNow).
		means(Serving, facts.NoCause, NoCure).by(ByMember, ByKubelet),
}

// Judged is the facts of one incarnation, which are large and handed on at every question, and how each of its members
// is.
type Judged struct {
	*facts.View
	judged map[string]Judgement // by name: each member is judged once
}

// Of is the view in which members are judged.
func Of(v facts.View) Judged { return Judged{View: &v, judged: map[string]Judgement{}} }

// Judge is how a member is, by the table.
func (v Judged) Judge(r facts.Replica) Judgement {
	j, isJudged := v.judged[r.Name]
	if !isJudged {
		j = judge(v, r)
		v.judged[r.Name] = j
	}
	return j
}

// IsLost reports data that is certainly gone, or another's.
func (v Judged) IsLost(r facts.Replica) bool { return v.Judge(r).IsLost() }

// Members is how the members of the current incarnation are, by name.
func Members(o facts.Observation) map[string]Judgement {
	v := Of(o.On(o.Current))
	for _, r := range v.Members {
		v.Judge(r)
	}
	return v.judged
}
