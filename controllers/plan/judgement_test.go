package plan

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// judged is a world, and what is known there of the member demo-1.
type judged struct {
	name  string
	world Observation
	want  Judgement // its State, Cause, Cure and Certain
}

func (j judged) check(t *testing.T) {
	t.Helper()
	got := j.world.current().Judge(j.world.Current.Find("demo-1"))
	if got.State != j.want.State || got.Cause != j.want.Cause || got.Cure != j.want.Cure || got.Certain != j.want.Certain {
		t.Errorf("demo-1 is %s, cause %q, cure %q, certain %t: %s\nwant %s, cause %q, cure %q, certain %t",
			got.State, got.Cause, got.Cure, got.Certain, got.Says, j.want.State, j.want.Cause, j.want.Cure, j.want.Certain)
	}
	if got.Says == "" || len(got.Proof) == 0 && got.State != Absent {
		t.Errorf("nothing is said about demo-1, or no witness says it: %+v", got)
	}
}

// lostFor is the judgement of data that is certainly gone.
func lostFor(cause Cause) Judgement {
	return Judgement{State: Lost, Cause: cause, Cure: Replace, Certain: true}
}

// Edits of a member that stopped, or that is not the one that it should be.

// exited is a container that stopped for a reason, and is to be started again.
func exited(reason etcdutil.ExitReason) func(*Replica) {
	return func(r *Replica) {
		crashing(r)
		r.Pod.Exit = &Exit{Reason: reason, Code: 1, At: now.Add(-10 * time.Second), Message: string(reason)}
	}
}

// again is a container that was started once more a while ago.
func again(ago time.Duration) func(*Replica) {
	return func(r *Replica) { r.Pod.Running, r.Pod.RunningSince, r.Pod.Waiting = true, now.Add(-ago), "" }
}

func waitingFor(what string) func(*Replica) {
	return func(r *Replica) { unpullable(r); r.Pod.Waiting = what }
}

// displaced is a member at whose address another etcd answers.
func displaced(r *Replica) {
	r.Answer, r.Impostor = nil, &Answer{ID: 9, ClusterID: clusterID + 1, Leader: 9}
}

// copiedClaim is a claim of the old name with the old annotations.
func copiedClaim(r *Replica) {
	r.Volume.Record.VolumeUID, r.Volume.Record.Backing, r.Volume.Backing = "the old claim", "pv-1", "pv-2"
}
func boundAnew(r *Replica) { r.Volume.Backing = "pv-1" }

// joiner is a learner that has a volume and no record there.
func joiner(r *Replica) {
	*r = starting(r.Ordinal)
	r.Member.Learner = true
}

func unlisted(r *Replica)       { r.Member = nil }
func answersAgain(r *Replica)   { r.Answer = voter(r.Ordinal).Answer }
func onDeadNode(r *Replica)     { r.Pod.NodeUnheard = now.Add(-time.Hour) }
func misnamed(r *Replica)       { r.Answer.ID = 77 }
func ofOtherCluster(r *Replica) { r.Volume.Record.ClusterID = clusterID + 1 }

// calledCorrupt is a member that hears of the alarm of one.
func calledCorrupt(member etcdutil.ID) func(*Replica) {
	return func(r *Replica) { r.Answer.Alarms = []Alarm{{Name: AlarmCorrupt, Member: member}} }
}

// identities are rows of whose data a member has.
func identities() []judged {
	three := settledWorld(3)
	unknown := three.edit(1, foreign)
	unknown.Current.Birth.ClusterID = 0
	alone := three.edit(1, foreign).edit(1, ofOtherCluster).blind().edit(1, func(r *Replica) { r.Answer = &Answer{ID: 99, ClusterID: clusterID + 1} })
	forgotten := three.edit(1, unrecorded).edit(1, noPod)
	forgotten.Current.Birth.Origin = backupOf
	return []judged{
		{"it answers as another cluster than the list and the birth record say", three.edit(1, foreign), lostFor(CauseIdentity)},
		{"while no birth record says which cluster this is, no data is called another's", unknown, Judgement{State: Unresponsive, Cause: CauseIdentity, Cure: Person}},
		{"where its volume says the same as it does, the birth record may be the one that is wrong", alone, Judgement{State: Behind, Cause: CauseUnknown, Cure: Await}},
		{"another etcd answers at the address of a process that serves", three.edit(1, displaced), Judgement{State: Unresponsive, Cause: CauseIdentity, Cure: Person}},
		{"another etcd answers where no process of the member serves: the address was given to another Pod", three.edit(1, deadFor(time.Hour)).edit(1, displaced),
			Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Replace}},
		{"it answers as another member of this cluster", three.edit(1, misnamed), Judgement{State: Unresponsive, Cause: CauseIdentity, Cure: Person}},
		{"it was to start from a backup, and nothing says any more whether that is there", forgotten, lostFor(CauseIdentity)},
		{"a backup tool made its claim anew", three.edit(1, noPod).edit(1, copiedClaim), lostFor(CauseIdentity)},
		{"a person bound its PersistentVolume to a new claim", three.edit(1, noPod).edit(1, copiedClaim).edit(1, boundAnew), Judgement{State: Absent, Cure: Restart}},
		{"its claim was made anew, and it runs on the old one and is silent for a moment", three.edit(1, silent).edit(1, copiedClaim),
			Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Replace}},
		{"its volume is of another incarnation", three.edit(1, noPod).edit(1, func(r *Replica) { r.Volume.Incarnation = "old" }),
			Judgement{State: Absent, Cause: CauseIdentity, Cure: Person}},
	}
}

// differences are rows of copies that differ.
func differences() []judged {
	three, five := settledWorld(3), settledWorld(5)
	heard := three.edit(1, uncompared)
	serving := Judgement{State: Serving}
	return []judged{
		{"its copy stands alone against that of a majority", hashing(heard, 7, 6, 7), Judgement{State: Behind, Cause: CauseCorruption, Cure: Replace}},
		{"a member of the majority is not the corrupt one", hashing(heard, 6, 7, 7), serving},
		{"one of three copies that all differ is not", hashing(heard, 5, 6, 7), serving},
		{"one of two copies is not", hashing(settledWorld(2).edit(1, uncompared), 6, 7), serving},
		{"one of two equal copies is not, although three others are the same", hashing(five.edit(1, uncompared), 6, 6, 7, 7, 7), serving},
		{"one beside two pairs is not", hashing(five.edit(1, uncompared), 6, 5, 6, 7, 7), serving},
		{"a copy of another revision is not compared", hashing(heard, 7, 6, 7).edit(1, func(r *Replica) { r.Answer.Hash.Revision = 9 }), serving},
		{"a copy that was compacted elsewhere is not compared", hashing(heard, 7, 6, 7).edit(1, func(r *Replica) { r.Answer.Hash.Compacted = 2 }), serving},
		{"a learner's copy makes no majority", hashing(settledWorld(2).edit(1, uncompared).with(learner(2)), 7, 6, 7), serving},
		{"it stopped because copies differ", three.edit(1, differing), Judgement{State: Stopped, Cause: CauseCorruption, Cure: Compare}},
	}
}

// endings are rows of data that is gone.
func endings() []judged {
	three := settledWorld(3)
	memory := inMemory(three)
	lost := three.edit(1, silent)
	return []judged{
		{"a learner with its data in its Pod has no Pod yet", memory.edit(1, noPod).edit(1, func(r *Replica) { r.Member.Learner, r.Member.ClientURLs = true, nil }), Judgement{State: Absent, Cure: Restart}},
		{"the Pod that held its data is gone", memory.edit(1, noPod), lostFor(CausePod)},
		{"the Pod that held its data ended", memory.edit(1, ended), lostFor(CausePod)},
		{"the node of the Pod that held its data is gone", memory.edit(1, silent).edit(1, strandedPod), lostFor(CauseNode)},
		{"its claim is gone", three.edit(1, noData), lostFor(CauseVolume)},
		{"its claim is gone under a process that runs, and is silent for a moment", lost.edit(1, func(r *Replica) { r.Volume = nil }), Judgement{State: Doomed, Cause: CauseVolume, Cure: Replace}},
		{"what is behind its claim is gone", lost.edit(1, volumeLost), lostFor(CauseVolume)},
		{"what is behind its claim is gone, and it serves", three.edit(1, volumeLost), Judgement{State: Doomed, Cause: CauseVolume, Cure: Replace}},
		{"the only node of its volume is gone", three.edit(1, stranded), lostFor(CauseNode)},
		{"its volume is being deleted, and its Pod is gone", three.edit(1, noPod).edit(1, doomed), lostFor(CauseVolume)},
		{"its volume is being deleted, and its Pod cannot start", three.edit(1, mistaken).edit(1, doomed), lostFor(CauseVolume)},
		{"its volume is being deleted, and its Pod can start once its image is there", three.edit(1, unpullable).edit(1, doomed), Judgement{State: Doomed, Cause: CauseVolume, Cure: Replace}},
		{"its volume is being deleted, and it serves", three.edit(1, doomed), Judgement{State: Doomed, Cause: CauseVolume, Cure: Replace}},
	}
}

// lastWords are rows of what a member said of its own data when it stopped.
func lastWords() []judged {
	three := settledWorld(3)
	awaited := Judgement{State: Stopped, Cause: CauseUnknown, Cure: Await}
	return []judged{
		{"a sealed member says that its directory is empty", three.edit(1, wiped), lostFor(CauseDisk)},
		{"a member that is still joining is not believed that its directory is empty", three.edit(1, joiner).edit(1, exited(etcdutil.ExitDataEmpty)), awaited},
		{"an unsealed member is not believed that its directory is empty", three.edit(1, unrecorded).edit(1, exited(etcdutil.ExitDataEmpty)), awaited},
		{"a first member says that others know it, and its directory is empty", three.edit(1, unrecorded).edit(1, exited(etcdutil.ExitAlreadyBootstrapped)), lostFor(CauseDisk)},
		{"a sealed member is not believed the same", three.edit(1, exited(etcdutil.ExitAlreadyBootstrapped)), awaited},
		{"it says that its data cannot be read", three.edit(1, exited(etcdutil.ExitDataCorrupt)), lostFor(CauseDisk)},
		{"it says that its log does not fit what the others hold", three.edit(1, exited(etcdutil.ExitRaftPanic)), lostFor(CauseDisk)},
		{"its Pod ended, and what it said may be of the time when it was joining", three.edit(1, wiped).edit(1, ended), Judgement{State: Stopped, Cure: Restart}},
		{"its data cannot be read, and it was started once more", three.edit(1, exited(etcdutil.ExitDataCorrupt)).edit(1, again(time.Second)), Judgement{State: Lost, Cause: CauseDisk, Cure: Await}},
		{"its data could not be read once, and it runs for longer than a start takes", three.edit(1, exited(etcdutil.ExitDataCorrupt)).edit(1, again(time.Hour)),
			Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Replace}},
	}
}

// stops are rows of what a Pod, its node and the last words of etcd say.
func stops() []judged {
	three := settledWorld(3)
	pending := Judgement{State: Absent, Cure: Restart}
	correct := func(cause Cause) Judgement { return Judgement{State: Stopped, Cause: cause, Cure: Correct} }
	replace := func(cause Cause) Judgement { return Judgement{State: Stopped, Cause: cause, Cure: Replace} }
	return []judged{
		{"its Pod was asked to go, and nothing is heard of it", three.edit(1, leaving), Judgement{State: Leaving, Cause: CauseNode, Cure: Replace}},
		{"its Pod was asked to go, and serves until then", three.edit(1, func(r *Replica) { r.Pod.Terminating = true }), Judgement{State: Leaving, Cure: Await}},
		{"its Pod ended", three.edit(1, ended), Judgement{State: Stopped, Cure: Restart}},
		{"its Pod is gone", three.edit(1, noPod), pending},
		{"its first Pod was not made yet", three.edit(1, unrecorded).edit(1, noPod), pending},
		{"its node does not answer", three.edit(1, silent).edit(1, onDeadNode), Judgement{State: Unresponsive, Cause: CauseNode, Cure: Replace}},
		{"its node does not answer, and it does", three.edit(1, onDeadNode), Judgement{State: Serving}},
		{"no node that can use its volume takes its Pod", three.edit(1, tied("1 node(s) had volume node affinity conflict")), replace(CauseNode)},
		{"its image cannot be pulled", three.edit(1, unpullable), correct(CauseImage)},
		{"its container cannot be made", three.edit(1, waitingFor("CreateContainerConfigError")), correct(CauseSettings)},
		{"no node has room for its Pod", three.edit(1, tied("3 Insufficient memory")), correct(CauseRoom)},
		{"its disk fails", three.edit(1, exited(etcdutil.ExitDiskFailing)), replace(CauseDisk)},
		{"the runtime stops it, and others serve with its settings", three.edit(1, exited(etcdutil.ExitFault)), replace(CauseDisk)},
		{"the runtime stops it, and no other has its settings", three.edit(1, rolled).edit(1, exited(etcdutil.ExitFault)), Judgement{State: Stopped, Cause: CauseUnknown, Cure: Await}},
		{"its disk is full", three.edit(1, exited(etcdutil.ExitDiskFull)), correct(CauseSpace)},
		{"it does not start with its settings", three.edit(1, crashing), correct(CauseSettings)},
		{"it stops and does not say why", three.edit(1, exited(etcdutil.ExitUnknown)), Judgement{State: Stopped, Cause: CauseUnknown, Cure: Await}},
	}
}

// processes are rows of members whose process runs.
func processes() []judged {
	three := settledWorld(3)
	outside := Judgement{State: Behind, Cause: CauseUnknown, Cure: Await}
	unnamed := three.edit(1, func(r *Replica) { r.Answer.ClusterID++ })
	unnamed.Current.Birth.ClusterID = 0
	return []judged{
		{"it never served with the settings of the spec, and no other member does", wanting(three.edit(1, failsWithOther), other), Judgement{State: Unresponsive, Cause: CauseSettings, Cure: Correct}},
		{"it never served with settings that others serve with", three.edit(1, neverHeard), Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Replace}},
		{"its kubelet calls it ready, and the operator cannot reach it", three.edit(1, unanswered), Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Await}},
		{"it started a moment ago", three.edit(1, deadFor(time.Hour)).edit(1, justStarted), Judgement{State: Starting, Cause: CauseUnknown, Cure: Replace}},
		{"it does not answer", three.edit(1, deadFor(time.Hour)), Judgement{State: Unresponsive, Cause: CauseUnknown, Cure: Replace}},
		{"it answers, and etcd's list does not have it", three.edit(1, unlisted), outside},
		{"it answers as of another cluster, and no birth record says which this is", unnamed, outside},
		{"it answers without a leader", three.edit(1, leaderless), outside},
		{"it answers, and the list is not known", three.blind().edit(1, answersAgain), outside},
		{"etcd calls it corrupt", three.edit(1, calledCorrupt(2)), Judgement{State: Behind, Cure: Compare}},
		{"etcd calls another member corrupt", three.edit(1, calledCorrupt(3)), Judgement{State: Serving}},
		{"it answers, and is not written down", three.edit(1, unrecorded), Judgement{State: Behind, Cure: Await}},
		{"it answers, and has not caught up", three.edit(1, behind), Judgement{State: Behind, Cure: Await}},
		{"it serves", three, Judgement{State: Serving}},
	}
}

func allJudged() []judged {
	return slices.Concat(identities(), differences(), endings(), lastWords(), stops(), processes())
}

func TestEachMemberIsJudgedByWhatIsSeenOfIt(t *testing.T) {
	for _, row := range allJudged() {
		t.Run(row.name, row.check)
	}
}

func TestAMemberHasAReasonInOneWordAsLongAsItIsNotHealthy(t *testing.T) {
	oneWord := regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	for _, row := range allJudged() {
		r := row.world.Current.Find("demo-1")
		got := row.world.Judgements()["demo-1"]
		if got.Reason == "" && r.IsHealthy(row.world.Current.Membership) {
			continue
		}
		if !oneWord.MatchString(got.Reason) || got.State == Serving {
			t.Errorf("%s: it is %s, and the reason is %q", row.name, got.State, got.Reason)
		}
	}
}

func TestEverySignIsTheFirstToFitInSomeRow(t *testing.T) {
	first := map[int]bool{}
	for _, row := range allJudged() {
		first[rowOf(row.world.current(), row.world.Current.Find("demo-1"))] = true
	}
	for i, s := range signs {
		if !first[i] {
			t.Errorf("in no row is this the first sign that fits: %s", s.Says)
		}
	}
	if first[-1] {
		t.Error("there is a row that no sign fits")
	}
}

func TestAJudgementThatAsksForAReplacementHasACauseThatTheNextMemberWouldNotMeet(t *testing.T) {
	for _, s := range signs {
		if s.Cure == Replace && s.Cause.Kind() == RecursKind {
			t.Errorf("%s: the next member would meet that as well", s.Says)
		}
		if s.Certain && (s.Cure != Replace || s.State != Lost) {
			t.Errorf("%s: only lost data is certainly to be replaced", s.Says)
		}
	}
	if CauseDisk.Kind() != OwnKind || CauseSettings.Kind() != RecursKind || CauseCorruption.Kind() != DoubtKind {
		t.Error("the causes are of other kinds than this test speaks of")
	}
}
