package plan

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// judged is a world, and what is known there of the member demo-1.
type judged struct {
	name  string
	world scene
	want  judge.Judgement // its State, Cause, Cure and Certain
}

func (j judged) check(t *testing.T) {
	t.Helper()
	got := current(j.world.Observation).Judge(j.world.Current.Find("demo-1"))
	if got.State != j.want.State || got.Cause != j.want.Cause || got.Cure != j.want.Cure ||
		got.Certain != j.want.Certain {
		t.Errorf("demo-1 is %s, cause %q, cure %q, certain %t: %s\nwant %s, cause %q, cure %q, certain %t",
			got.State, got.Cause, got.Cure, got.Certain, got.Says, j.want.State, j.want.Cause, j.want.Cure,
			j.want.Certain)
	}
	if got.Says == "" || len(got.Proof) == 0 && got.State != judge.Absent {
		t.Errorf("nothing is said about demo-1, or no witness says it: %+v", got)
	}
}

// lostFor is the judgement of data that is certainly gone.
func lostFor(cause facts.Cause) judge.Judgement {
	return judge.Judgement{State: judge.Lost, Cause: cause, Cure: judge.Replace, Certain: true}
}

// Edits of a member that stopped, or that is not the one that it should be.

// exited is a container that stopped for a reason, and is to be started again.
func exited(reason etcdutil.ExitReason) func(*facts.Replica) {
	return func(r *facts.Replica) {
		crashing(r)
		r.Pod.Started = true
		r.Pod.Exit = &facts.Exit{Reason: reason, Code: 1, At: now.Add(-10 * time.Second), Message: string(reason)}
	}
}

// again is a container that was started once more a while ago.
func again(ago time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.Running, r.Pod.RunningSince, r.Pod.Waiting = true, now.Add(-ago), "" }
}

func waitingFor(what string) func(*facts.Replica) {
	return func(r *facts.Replica) { unpullable(r); r.Pod.Waiting = what }
}

// unscheduled is a Pod that nothing has given a node yet.
func unscheduled(r *facts.Replica) {
	waitingFor("")(r)
	r.Pod.Scheduled = false
}

// gated is a Pod that a scheduling gate holds back.
func gated(r *facts.Replica) {
	unscheduled(r)
	r.Pod.Waiting, r.Pod.Message = "SchedulingGated", "scheduling gates hold it back: example.com/wait."
}

// displaced is a member at whose address another etcd answers.
func displaced(r *facts.Replica) {
	r.Answer, r.Impostor = nil, &facts.Answer{ID: 9, ClusterID: clusterID + 1, Leader: 9}
}

// copiedClaim is a claim of the old name with the old annotations.
func copiedClaim(r *facts.Replica) {
	r.Volume.Record.VolumeUID, r.Volume.Record.Backing, r.Volume.Backing = "the old claim", "pv-1", "pv-2"
}

func boundAnew(r *facts.Replica) { r.Volume.Backing = "pv-1" }

// joiner is a learner that has a volume and no record there.
func joiner(r *facts.Replica) {
	*r = starting(r.Ordinal)
	r.Member.Learner = true
}

func unlisted(r *facts.Replica) { r.Member = nil }

func answersAgain(r *facts.Replica) { r.Answer = voter(r.Ordinal).Answer }

func onDeadNode(r *facts.Replica) { r.Pod.NodeUnheard = now.Add(-time.Hour) }

func onUnreadyNode(r *facts.Replica) {
	r.Pod.Ready, r.Pod.Node, r.Pod.NodeNotReady = false, "n3", "since 2029-12-31T23:58:00Z (KubeletNotReady)"
}

func misnamed(r *facts.Replica) { r.Answer.ID = 77 }

func ofOtherCluster(r *facts.Replica) { r.Volume.Record.ClusterID = clusterID + 1 }

// calledCorrupt is a member that hears of the alarm of one.
func calledCorrupt(member etcdutil.ID) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Answer.Alarms = []facts.Alarm{{Name: facts.AlarmCorrupt, Member: member}} }
}

// identities are rows of whose data a member has.
func identities() []judged {
	three := settledWorld(3)
	unknown := three.edit(1, foreign)
	unknown.Current.Bootstrap.ClusterID = 0
	alone := three.edit(1, foreign).edit(1, ofOtherCluster).blind().edit(1,
		func(r *facts.Replica) { r.Answer = &facts.Answer{ID: 99, ClusterID: clusterID + 1} })
	forgotten := three.edit(1, unrecorded).edit(1, noPod)
	forgotten.Current.Bootstrap.Origin = backupOf
	return []judged{
		{"it answers as another cluster than the list and the bootstrap record say", three.edit(1, foreign),
			lostFor(facts.CauseIdentity)},
		{"while no bootstrap record says which cluster this is, no data is called another's", unknown,
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseIdentity, Cure: judge.Person}},
		{"where its volume says the same as it does, the bootstrap record may be the one that is wrong", alone,
			judge.Judgement{State: judge.Behind, Cause: facts.CauseUnknown, Cure: judge.Await}},
		{"another etcd answers at the address of a process that serves", three.edit(1, displaced),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseIdentity, Cure: judge.Person}},
		{"another etcd answers where no process of the member serves: the address was given to another Pod",
			three.edit(1, deadFor(time.Hour)).edit(1, displaced),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"it answers as another member of this cluster", three.edit(1, misnamed),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseIdentity, Cure: judge.Person}},
		{"it was to start from a backup, and nothing says any more whether that is there", forgotten,
			lostFor(facts.CauseIdentity)},
		{"a backup tool made its claim anew", three.edit(1, noPod).edit(1, copiedClaim), lostFor(facts.CauseIdentity)},
		{"a person bound its PersistentVolume to a new claim", three.edit(1, noPod).edit(1, copiedClaim).edit(1,
			boundAnew), judge.Judgement{State: judge.Absent, Cure: judge.Restart}},
		{"its claim was made anew, and it runs on the old one and is silent for a moment",
			three.edit(1, silent).edit(1, copiedClaim),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"its volume is of another incarnation",
			three.edit(1, noPod).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" }),
			judge.Judgement{State: judge.Absent, Cause: facts.CauseIdentity, Cure: judge.Person}},
	}
}

// differences are rows of copies that differ.
func differences() []judged {
	three, five := settledWorld(3), settledWorld(5)
	heard := three.edit(1, uncompared)
	awaited := judge.Judgement{State: judge.Behind, Cure: judge.Await}
	return []judged{
		{"its copy stands alone against that of a majority", hashing(heard, 7, 6, 7),
			judge.Judgement{State: judge.Behind, Cause: facts.CauseCorruption, Cure: judge.Replace}},
		{"a member of the majority is not the corrupt one", hashing(heard, 6, 7, 7), awaited},
		{"one of three copies that all differ is not", hashing(heard, 5, 6, 7), awaited},
		{"one of two copies is not", hashing(settledWorld(2).edit(1, uncompared), 6, 7), awaited},
		{"one of two equal copies is not, although three others are the same",
			hashing(five.edit(1, uncompared), 6, 6, 7, 7, 7), awaited},
		{"one beside two pairs is not", hashing(five.edit(1, uncompared), 6, 5, 6, 7, 7), awaited},
		{"a copy of another revision is not compared",
			hashing(heard, 7, 6, 7).edit(1, func(r *facts.Replica) { r.Answer.Hash.Revision = 9 }), awaited},
		{"a copy that was compacted elsewhere is not compared",
			hashing(heard, 7, 6, 7).edit(1, func(r *facts.Replica) { r.Answer.Hash.Compacted = 2 }), awaited},
		{"a learner's copy makes no majority", hashing(settledWorld(2).edit(1, uncompared).with(learner(2)), 7, 6, 7),
			awaited},
		{"it stopped because copies differ", three.edit(1, differing),
			judge.Judgement{State: judge.Stopped, Cause: facts.CauseCorruption, Cure: judge.Compare}},
	}
}

// endings are rows of data that is gone.
func endings() []judged {
	three := settledWorld(3)
	memory := inMemory(three)
	lost := three.edit(1, silent)
	return []judged{
		{"a learner with its data in its Pod has no Pod yet",
			memory.edit(1, noPod).edit(1, func(r *facts.Replica) { r.Member.Learner, r.Member.ClientURLs = true, nil }),
			judge.Judgement{State: judge.Absent, Cure: judge.Restart}},
		{"the Pod that held its data is gone", memory.edit(1, noPod), lostFor(facts.CausePod)},
		{"the Pod that held its data ended", memory.edit(1, ended), lostFor(facts.CausePod)},
		{"the node of the Pod that held its data is gone", memory.edit(1, silent).edit(1, strandedPod),
			lostFor(facts.CauseNode)},
		{"its claim is gone", three.edit(1, noData), lostFor(facts.CauseVolume)},
		{"its claim is gone under a process that runs, and is silent for a moment",
			lost.edit(1, func(r *facts.Replica) { r.Volume = nil }),
			judge.Judgement{State: judge.Doomed, Cause: facts.CauseVolume, Cure: judge.Replace}},
		{"what is behind its claim is gone", lost.edit(1, volumeLost), lostFor(facts.CauseVolume)},
		{"what is behind its claim is gone, and it serves", three.edit(1, volumeLost),
			judge.Judgement{State: judge.Doomed, Cause: facts.CauseVolume, Cure: judge.Replace}},
		{"the only node of its volume is gone", three.edit(1, stranded), lostFor(facts.CauseNode)},
		{"its volume is being deleted, and its Pod is gone", three.edit(1, noPod).edit(1, doomed),
			lostFor(facts.CauseVolume)},
		{"its volume is being deleted, and its Pod cannot start", three.edit(1, mistaken).edit(1, doomed),
			lostFor(facts.CauseVolume)},
		{"its volume is being deleted, and its Pod can start once its image is there",
			three.edit(1, unpullable).edit(1, doomed), judge.Judgement{State: judge.Doomed, Cause: facts.CauseVolume,
				Cure: judge.Replace}},
		{"its volume is being deleted, and it serves", three.edit(1, doomed),
			judge.Judgement{State: judge.Doomed, Cause: facts.CauseVolume, Cure: judge.Replace}},
	}
}

// lastWords are rows of what a member said of its own data when it stopped.
func lastWords() []judged {
	three := settledWorld(3)
	awaited := judge.Judgement{State: judge.Stopped, Cause: facts.CauseUnknown, Cure: judge.Await}
	return []judged{
		{"a sealed member says that its directory is empty", three.edit(1, wiped), lostFor(facts.CauseDisk)},
		{"a member that is still joining is not believed that its directory is empty",
			three.edit(1, joiner).edit(1, exited(etcdutil.ExitDataEmpty)), awaited},
		{"an unsealed member is not believed that its directory is empty",
			three.edit(1, unrecorded).edit(1, exited(etcdutil.ExitDataEmpty)), awaited},
		{"a first member says that others know it, and its directory is empty",
			three.edit(1, unrecorded).edit(1, exited(etcdutil.ExitAlreadyBootstrapped)), lostFor(facts.CauseDisk)},
		{"a sealed member is not believed the same", three.edit(1, exited(etcdutil.ExitAlreadyBootstrapped)), awaited},
		{"it says that its data cannot be read", three.edit(1, exited(etcdutil.ExitDataCorrupt)),
			lostFor(facts.CauseDisk)},
		{"it says that its log does not fit what the others hold", three.edit(1, exited(etcdutil.ExitRaftPanic)),
			lostFor(facts.CauseDisk)},
		{"its Pod ended, and what it said may be of the time when it was joining", three.edit(1, wiped).edit(1, ended),
			judge.Judgement{State: judge.Stopped, Cure: judge.Restart}},
		{"its data cannot be read, and it was started once more",
			three.edit(1, exited(etcdutil.ExitDataCorrupt)).edit(1, again(time.Second)),
			judge.Judgement{State: judge.Lost, Cause: facts.CauseDisk, Cure: judge.Await}},
		{"its data could not be read once, and it runs for longer than a start takes",
			three.edit(1, exited(etcdutil.ExitDataCorrupt)).edit(1, again(time.Hour)),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
	}
}

// stops are rows of what a Pod, its node and the last words of etcd say.
func stops() []judged {
	three := settledWorld(3)
	pending := judge.Judgement{State: judge.Absent, Cure: judge.Restart}
	fencedJudgement := judge.Judgement{State: judge.Absent, Cause: facts.CauseOutside, Cure: judge.Await}
	correct := func(cause facts.Cause) judge.Judgement {
		return judge.Judgement{State: judge.Stopped, Cause: cause, Cure: judge.Correct}
	}
	replace := func(cause facts.Cause) judge.Judgement {
		return judge.Judgement{State: judge.Stopped, Cause: cause, Cure: judge.Replace}
	}
	return []judged{
		{"its Pod was asked to go, and nothing is heard of it", three.edit(1, leaving),
			judge.Judgement{State: judge.Leaving, Cause: facts.CauseNode, Cure: judge.Replace}},
		{"its Pod ended, and a finalizer keeps the object", three.edit(1, heldPod),
			judge.Judgement{State: judge.Leaving, Cause: facts.CauseOutside, Cure: judge.Await}},
		{"its Pod ended, a finalizer keeps the object, and its node does not answer",
			three.edit(1, heldPod).edit(1, onDeadNode),
			judge.Judgement{State: judge.Leaving, Cause: facts.CauseNode, Cure: judge.Replace}},
		{"its Pod was asked to go, and serves until then",
			three.edit(1, func(r *facts.Replica) { r.Pod.Terminating = true }),
			judge.Judgement{State: judge.Leaving, Cure: judge.Await}},
		{"its Pod ended", three.edit(1, ended), judge.Judgement{State: judge.Stopped, Cure: judge.Restart}},
		{"its Pod is gone", three.edit(1, noPod), pending},
		{"a person fenced it, and the others serve", fencing(three), fencedJudgement},
		{"a person fenced it, and the others are no quorum", fencing(three).edit(2, silent).blind(), pending},
		{"a person fenced it, and its volume is gone", fencing(three).edit(1, noData), judge.Judgement{State: judge.Lost,
			Cause: facts.CauseVolume, Cure: judge.Replace, Certain: true}},
		{"its first Pod was not made yet", three.edit(1, unrecorded).edit(1, noPod), pending},
		{"its node does not answer", three.edit(1, silent).edit(1, onDeadNode),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseNode, Cure: judge.Replace}},
		{"its node does not answer, and it does", three.edit(1, onDeadNode), judge.Judgement{State: judge.Serving}},
		{"no node that can use its volume takes its Pod",
			three.edit(1, tied("1 node(s) had volume node affinity conflict")), replace(facts.CauseNode)},
		{"its image cannot be pulled", three.edit(1, unpullable), correct(facts.CauseImage)},
		{"its container cannot be made", three.edit(1, waitingFor("CreateContainerConfigError")),
			correct(facts.CauseSettings)},
		{"its volume cannot be made", three.edit(1, unmade), correct(facts.CauseSettings)},
		{"no node has room for its Pod", three.edit(1, tied("3 Insufficient memory")), correct(facts.CauseRoom)},
		{"its disk fails", three.edit(1, exited(etcdutil.ExitDiskFailing)), replace(facts.CauseDisk)},
		{"the runtime stops it, and others serve with its settings", three.edit(1, exited(etcdutil.ExitFault)),
			replace(facts.CauseDisk)},
		{"the runtime stops it, and no other has its settings",
			three.edit(1, rolled).edit(1, exited(etcdutil.ExitFault)),
			judge.Judgement{State: judge.Stopped, Cause: facts.CauseUnknown, Cure: judge.Await}},
		{"its disk is full", three.edit(1, exited(etcdutil.ExitDiskFull)), correct(facts.CauseSpace)},
		{"it does not start with its settings", three.edit(1, crashing), correct(facts.CauseSettings)},
		{"it stops and does not say why", three.edit(1, exited(etcdutil.ExitUnknown)),
			judge.Judgement{State: judge.Stopped, Cause: facts.CauseUnknown, Cure: judge.Await}},
	}
}

// processes are rows of members whose process runs.
func processes() []judged {
	three := settledWorld(3)
	outside := judge.Judgement{State: judge.Behind, Cause: facts.CauseUnknown, Cure: judge.Await}
	unnamed := three.edit(1, func(r *facts.Replica) { r.Answer.ClusterID++ })
	unnamed.Current.Bootstrap.ClusterID = 0
	return []judged{
		{"it never served with the settings of the spec, and no other member does",
			wanting(three.edit(1, failsWithOther), other), judge.Judgement{State: judge.Unresponsive,
				Cause: facts.CauseSettings, Cure: judge.Correct}},
		{"it never served with settings that others serve with", three.edit(1, neverHeard),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"its kubelet calls it ready, but the operator cannot reach it", three.edit(1, unanswered),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Await}},
		{"it started a moment ago", three.edit(1, deadFor(time.Hour)).edit(1, justStarted),
			judge.Judgement{State: judge.Starting, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"it does not answer", three.edit(1, deadFor(time.Hour)), judge.Judgement{State: judge.Unresponsive,
			Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"it answers, and etcd's list does not have it", three.edit(1, unlisted), outside},
		{"it answers as of another cluster, and no bootstrap record says which this is", unnamed, outside},
		{"it answers without a leader", three.edit(1, leaderless), outside},
		{"it answers, and the list is not known", three.blind().edit(1, answersAgain), outside},
		{"etcd calls it corrupt", three.edit(1, calledCorrupt(2)),
			judge.Judgement{State: judge.Behind, Cure: judge.Compare}},
		{"etcd calls another member corrupt", three.edit(1, calledCorrupt(3)), judge.Judgement{State: judge.Serving}},
		{"it answers, and is not written down", three.edit(1, unrecorded),
			judge.Judgement{State: judge.Behind, Cure: judge.Await}},
		{"it answers, and its copy is not compared yet", three.edit(1, startedAnew),
			judge.Judgement{State: judge.Behind, Cure: judge.Await}},
		{"a learner's copy is not compared", settledWorld(1).with(learner(1)).edit(1, startedAnew),
			judge.Judgement{State: judge.Serving}},
		{"it answers, and has not caught up", three.edit(1, behind),
			judge.Judgement{State: judge.Behind, Cure: judge.Await}},
		{"it answers, and its node is not ready", three.edit(1, onUnreadyNode),
			judge.Judgement{State: judge.Behind, Cause: facts.CauseNode, Cure: judge.Await}},
		{"it does not answer, and its node is not ready", three.edit(1, silent).edit(1, onUnreadyNode),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"it is defragmented", three.edit(1, busy), judge.Judgement{State: judge.Unresponsive, Cure: judge.Await}},
		{"it serves", three, judge.Judgement{State: judge.Serving}},
	}
}

// heldBack are rows of Pods in which etcd was never started, and of those that only look like it.
func heldBack() []judged {
	three := settledWorld(3)
	outside := judge.Judgement{State: judge.Stopped, Cause: facts.CauseOutside, Cure: judge.Await}
	return []judged{
		{"a sidecar cannot start, and etcd is waiting for it", three.edit(1, startsAfter("ImagePullBackOff")),
			judge.Judgement{State: judge.Stopped, Cause: facts.CauseSettings, Cure: judge.Correct}},
		{"a scheduling gate holds its Pod back", three.edit(1, gated), outside},
		{"nothing schedules its Pod, or says why not", three.edit(1, unscheduled), outside},
		{"what its Pod needs on its node is not there", three.edit(1, waitingFor("ContainerCreating")), outside},
		{"a volume of its Pod is not attached", three.edit(1, waitingFor("FailedAttachVolume")), outside},
		{"a Secret that its Pod mounts is missing", three.edit(1, waitingFor("FailedMount")), outside},
		{"its Pod gets no address", three.edit(1, waitingFor("FailedCreatePodSandBox")), outside},
		{"pulls of its image are throttled", three.edit(1, waitingFor("ErrImagePull")),
			judge.Judgement{State: judge.Stopped, Cause: facts.CauseImage, Cure: judge.Correct}},
		{"it is held back on a node that does not answer",
			three.edit(1, waitingFor("ContainerCreating")).edit(1, onDeadNode),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseNode, Cure: judge.Replace}},
		{"the kubelet of its node has said nothing of its Pod", three.edit(1, waitingFor("")),
			judge.Judgement{State: judge.Unresponsive, Cause: facts.CauseUnknown, Cure: judge.Replace}},
		{"a gate holds its Pod back, and its volume is being deleted", three.edit(1, gated).edit(1, doomed),
			judge.Judgement{State: judge.Doomed, Cause: facts.CauseVolume, Cure: judge.Replace}},
		{"a gate holds its Pod back, and the only node of its volume is gone",
			three.edit(1, gated).edit(1, func(r *facts.Replica) { r.Volume.Stranded = "node-2 was deleted" }),
			lostFor(facts.CauseNode)},
	}
}

func allJudged() []judged {
	return slices.Concat(identities(), differences(), endings(), lastWords(), stops(), heldBack(), processes())
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
		got := judge.Members(row.world.Observation)["demo-1"]
		if got.Reason == "" && r.IsHealthy(row.world.Current.Membership) {
			continue
		}
		if !oneWord.MatchString(got.Reason) || got.State == judge.Serving {
			t.Errorf("%s: it is %s, and the reason is %q", row.name, got.State, got.Reason)
		}
	}
}

func TestEverySignIsTheFirstToFitInSomeRow(t *testing.T) {
	first := map[int]bool{}
	for _, row := range allJudged() {
		first[judge.RowOf(current(row.world.Observation).Judged, row.world.Current.Find("demo-1"))] = true
	}
	for i, s := range judge.Signs {
		if !first[i] {
			t.Errorf("in no row is this the first sign that fits: %s", s.Says)
		}
	}
	if first[-1] {
		t.Error("there is a row that no sign fits")
	}
}

func TestAJudgementThatAsksForAReplacementHasACauseThatTheNextMemberWouldNotMeet(t *testing.T) {
	for _, s := range judge.Signs {
		if s.Cure == judge.Replace && s.Cause.Kind() == facts.RecursKind {
			t.Errorf("%s: the next member would meet that as well", s.Says)
		}
		if s.Certain && (s.Cure != judge.Replace || s.State != judge.Lost) {
			t.Errorf("%s: only lost data is certainly to be replaced", s.Says)
		}
	}
	if facts.CauseDisk.Kind() != facts.OwnKind || facts.CauseSettings.Kind() != facts.RecursKind ||
		facts.CauseCorruption.Kind() != facts.DoubtKind {
		t.Error("the causes are of other kinds than this test speaks of")
	}
}
