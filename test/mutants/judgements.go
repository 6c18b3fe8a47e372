package main

import "strings"

// judgedRow is the name of a test of one row of what is known of a member.
func judgedRow(name string) string {
	return "TestEachMemberIsJudgedByWhatIsSeenOfIt/" + strings.ReplaceAll(name, " ", "_")
}

// keptRow is the name of a test of one row of what replaced members leave, and of copies that differ.
func keptRow(name string) string {
	return "TestWhatAReplacedMemberLeavesIsKeptForAsLongAsTheUserSays/" + strings.ReplaceAll(name, " ", "_")
}

// guardKeepsRow is the name of a test of one row of the guard's table of copies, alarms and volumes.
func guardKeepsRow(name string) string {
	return "TestTheGuardKeepsCopiesAlarmsAndVolumesForOneWrongFactAndNamesIt/" + strings.ReplaceAll(name, " ", "_")
}

// judgements are bugs of the table that each member is judged by, and of the rules that read it.
var judgements = []mutant{
	{
		Name: "rows of the table are swapped: a learner whose Pod is yet to come has lost its data", Peer: "",
		From: `seen("it has not started yet", isNewInMemory).
		means(Absent, facts.NoCause, Restart).told(facts.MemberNoPod),
	seen("the Pod that held its data is gone", hasLostPod).
		means(Lost, facts.CausePod, Replace).certainly().by(ByKubelet).toldBy(wordOfPod),
	seen("the node that held its data is gone", hasLostNode).`,
		To: `seen("the Pod that held its data is gone", hasLostPod).
		means(Lost, facts.CausePod, Replace).certainly().by(ByKubelet).toldBy(wordOfPod),
	seen("it has not started yet", isNewInMemory).
		means(Absent, facts.NoCause, Restart).told(facts.MemberNoPod),
	seen("the node that held its data is gone", hasLostNode).`,
		Test: judgedRow("a learner with its data in its Pod has no Pod yet"),
	},
	{
		Name: "rows of the table are swapped: a dead node's Pod is waited for as one that goes by itself", Peer: "",
		From: `seen("its Pod was asked to go, and nothing is heard of it", isLeavingUnheard).
		means(Leaving, facts.CauseNode, Replace).from(unheardSince).by(ByOperator,
		ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod is terminating", isTerminating).
		means(Leaving, facts.NoCause, Await).by(ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod ended", hasEnded).`,
		To: `seen("its Pod is terminating", isTerminating).
		means(Leaving, facts.NoCause, Await).by(ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod was asked to go, and nothing is heard of it", isLeavingUnheard).
		means(Leaving, facts.CauseNode, Replace).from(unheardSince).by(ByOperator, ByKubelet).told(facts.MemberPodTerminating),
	seen("its Pod ended", hasEnded).`,
		Test: judgedRow("its Pod was asked to go, and nothing is heard of it"),
	},
	{
		Name: "a row of the table is dropped: a Pod that a finalizer keeps is a dead node's", Peer: "kubernetes-sigs/kueue#7372",
		From: `seen("its Pod ended, and a finalizer keeps the object", isHeld).
		means(Leaving, facts.CauseOutside, Await).by(ByKubelet).told(facts.MemberPodHeld).saying(held),`,
		To:   `seen("", func(Judged, facts.Replica) bool { _, _ = isHeld, held; return false }),`,
		Test: "TestAMemberWhosePodAFinalizerKeepsStaysOne",
	},
	{
		Name: "a finalizer keeps a member on a node that died", Peer: "",
		From: `r.Pod.HeldBy != "" && r.Pod.NodeUnheard.IsZero()`,
		To:   `r.Pod.HeldBy != ""`,
		Test: "TestAMemberWhosePodAFinalizerKeepsStaysOne",
	},
	{
		Name: "a node that died a moment ago costs the member whose Pod a finalizer kept before", Peer: "",
		From: `(since.Before(r.Pod.GoneBy) || r.Pod.HeldBy != "")`,
		To:   `since.Before(r.Pod.GoneBy)`,
		Test: "TestAMemberWhosePodAFinalizerKeepsStaysOne",
	},
	{
		Name: "a Pod that others call failed is taken for one that its kubelet ended", Peer: "",
		From: "runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }",
		To:   "runs := func(corev1.ContainerStatus) bool { return false }",
		Test: "TestAFinalizerKeepsAPodOnlyOnceNothingRunsInItByItsKubeletsWord",
	},
	{
		Name: "what keeps a Pod of a restore is not named", Peer: "",
		From: `p.Message += heldBy("it", t.HeldBy)`,
		To:   `p.Message += ""`,
		Test: "TestAnObjectThatIsWaitedForSaysWhichFinalizerKeepsIt",
	},
	{
		Name: "a row of the table is dropped: a copy that differs is a crash like any other", Peer: "",
		From: `seen("it stopped because its copy of the data differs from another member's", stoppedWith(differs...)).
		means(Stopped, facts.CauseCorruption, Compare).by(ByMember).toldBy(wordOfEtcd),`,
		To:   "",
		Test: judgedRow("it stopped because copies differ"),
	},
	{
		Name: "a row of the table is dropped: no data is doomed while its member serves", Peer: "",
		From: `seen("any stop of its Pod loses its data", isDoomed).
		means(Doomed, facts.CauseVolume, Replace).by(ByVolume).toldBy(wordOfVolume),`,
		To:   "",
		Test: judgedRow("its volume is being deleted, and it serves"),
	},
	{
		Name: "a row of the table is dropped: a member whose Pod is held back is dead", Peer: "",
		From: `seen("its Pod is held back: etcd was never started in it", isHeldBack).
		means(Stopped, facts.CauseOutside, Await).by(ByKubelet).toldBy(wordOfStart).saying(heldBack),`,
		To:   "",
		Test: judgedRow("a scheduling gate holds its Pod back"),
	},
	{
		Name: "a kubelet that says nothing of a Pod is waited for", Peer: "",
		From: `return IsUnheard(r) && !r.Pod.Started && (!r.Pod.Scheduled || r.Pod.Waiting != "")`,
		To:   "return IsUnheard(r) && !r.Pod.Started",
		Test: judgedRow("the kubelet of its node has said nothing of its Pod"),
	},
	{
		Name: "a row of the table is dropped: a Pod that only its lost node could take waits for room", Peer: "",
		From: `seen("no node that can use its volume takes its Pod", isTiedToNode).
		means(Stopped, facts.CauseNode, Replace).from(podChangeOf).by(ByOperator, ByKubelet).toldBy(wordOfKubernetes),
	seen("its image cannot be pulled", waitsFor(facts.ReasonImagePull)).`,
		To:   `seen("its image cannot be pulled", waitsFor(facts.ReasonImagePull)).`,
		Test: judgedRow("no node that can use its volume takes its Pod"),
	},
	{
		Name: "a row has another word: a lost volume is told as one that goes", Peer: "",
		From: `return facts.MemberVolumeLost
	}`,
		To: `return facts.MemberVolumeTerminating
	}`,
		Test: "TestTheReasonOfAMemberSaysWhatIsWrongWithIt",
	},
	{
		Name: "a row has another cure: a full disk is cured by the next one that fills up", Peer: "",
		From: "means(Stopped, facts.CauseSpace, Correct).by(ByMember).toldBy(wordOfEtcd),",
		To:   "means(Stopped, facts.CauseSpace, Replace).from(podChangeOf).by(ByMember).toldBy(wordOfEtcd),",
		Test: judgedRow("its disk is full"),
	},
	{
		Name: "a row has another cure: an image that cannot be pulled costs the member its place", Peer: "",
		From: "means(Stopped, facts.CauseImage, Correct).by(ByKubelet).toldBy(wordOfKubernetes),",
		To:   "means(Stopped, facts.CauseImage, Replace).from(podChangeOf).by(ByKubelet).toldBy(wordOfKubernetes),",
		Test: "TestAJudgementThatAsksForAReplacementHasACauseThatTheNextMemberWouldNotMeet",
	},
	{
		Name: "a row has another cure: a member that says that copies differ is the corrupt one", Peer: "",
		From: "means(Stopped, facts.CauseCorruption, Compare).by(ByMember).toldBy(wordOfEtcd),",
		To:   "means(Lost, facts.CauseCorruption, Replace).certainly().by(ByMember).toldBy(wordOfEtcd),",
		Test: judgedRow("it stopped because copies differ"),
	},
	{
		Name: "a row is certain: a member that is started once more is replaced before it could answer", Peer: "",
		From: "means(Lost, facts.CauseDisk, Await).by(ByMember).toldBy(wordOfEtcd).saying(ownWord),",
		To:   "means(Lost, facts.CauseDisk, Replace).certainly().by(ByMember).toldBy(wordOfEtcd).saying(ownWord),",
		Test: judgedRow("its data cannot be read, and it was started once more"),
	},
	{
		Name: "a row is not certain: data that is gone is waited for", Peer: "",
		From: "means(Lost, facts.CauseDisk, Replace).certainly().by(ByMember).toldBy(wordOfEtcd).saying(ownWord),",
		To:   "means(Lost, facts.CauseDisk, Replace).by(ByMember).toldBy(wordOfEtcd).saying(ownWord),",
		Test: judgedRow("a sealed member says that its directory is empty"),
	},
	{
		Name: "the own word of an unsealed member is believed", Peer: "",
		From: "return r.IsSealed() || r.IsRestored() && r.Pod.Flags.NeedData()",
		To:   "return true",
		Test: judgedRow("an unsealed member is not believed that its directory is empty"),
	},
	{
		Name: "a member that others know is believed to be empty although it is sealed", Peer: "",
		From: `return r.Pod.Flags == FlagsBootstrap
	case etcdutil.ExitDataCorrupt, etcdutil.ExitRaftPanic:`,
		To: `return true
	case etcdutil.ExitDataCorrupt, etcdutil.ExitRaftPanic:`,
		Test: judgedRow("a sealed member is not believed the same"),
	},
	{
		Name: "the last word of a Pod that ended is believed", Peer: "",
		From: "return r.Pod != nil && !r.Pod.Running && !r.Pod.HasEnded() && r.SaidItsDataIsGone()",
		To:   "return r.Pod != nil && !r.Pod.Running && r.SaidItsDataIsGone()",
		Test: judgedRow("its Pod ended, and what it said may be of the time when it was joining"),
	},
	{
		Name: "a volume that a person bound anew is not the own one", Peer: "",
		From: "return r.Volume.Record.IsOn(r.Volume.UID, r.Volume.Backing)",
		To:   `return r.Volume.Record.IsOn(r.Volume.UID, "")`,
		Test: judgedRow("a person bound its PersistentVolume to a new claim"),
	},
	{
		Name: "a last word counts however long the member has run since", Peer: "",
		From: `return IsUnheard(r) && r.Pod.Running && r.SaidItsDataIsGone() &&
		o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline`,
		To:   "return IsUnheard(r) && r.Pod.Running && r.SaidItsDataIsGone()",
		Test: judgedRow("its data could not be read once, and it runs for longer than a start takes"),
	},
	{
		Name: "data is another cluster's on one word alone", Peer: "",
		From: "return o.Membership.Known && o.Membership.ClusterID == bootstrapped || r.Record().ClusterID == bootstrapped",
		To:   "return true",
		Test: judgedRow("where its volume says the same as it does, the bootstrap record may be " +
			"the one that is wrong"),
	},
	{
		Name: "an address without certificates costs the member its place at one look", Peer: "",
		From: "means(Unresponsive, facts.CauseIdentity, Person).by(ByOperator, " +
			"ByKubelet).told(facts.MemberNotAnswering),",
		To: "means(Unresponsive, facts.CauseIdentity, Replace).from(podChangeOf).by(ByOperator, " +
			"ByKubelet).told(facts.MemberNotAnswering),",
		Test: judgedRow("another etcd answers at the address of a process that serves"),
	},
	{
		Name: "a volume that has the place of the own one is started on", Peer: "",
		From: `return r.Volume != nil && r.Answer == nil && (r.Pod == nil || !r.Pod.Running) && r.IsRecorded() &&
		!r.IsOnOwnVolume()`,
		To:   "return r.Volume != nil && r.Answer == nil && (r.Pod == nil || !r.Pod.Running) && r.IsRecorded() && false",
		Test: judgedRow("a backup tool made its claim anew"),
	},
	{
		Name: "a member is lost because its claim was made anew, although it runs", Peer: "",
		From: `return r.Volume != nil && r.Answer == nil && (r.Pod == nil || !r.Pod.Running) && r.IsRecorded() &&
		!r.IsOnOwnVolume()`,
		To:   "return r.Volume != nil && r.Answer == nil && r.IsRecorded() && !r.IsOnOwnVolume()",
		Test: judgedRow("its claim was made anew, and it runs on the old one and is silent for a moment"),
	},
	{
		Name: "an address without certificates speaks for the member that had it", Peer: "",
		From: "return r.Impostor != nil && r.Pod != nil && r.Pod.Ready",
		To:   "return r.Impostor != nil",
		Test: judgedRow("another etcd answers where no process of the member serves: the " +
			"address was given to another Pod"),
	},
	{
		Name: "a node's silence is ignored", Peer: "",
		From: "return IsUnheard(r) && !r.Pod.NodeUnheard.IsZero()",
		To:   "return IsUnheard(r) && false",
		Test: judgedRow("its node does not answer"),
	},
	{
		Name: "a node's silence counts against a member that answers", Peer: "",
		From: "return IsUnheard(r) && !r.Pod.NodeUnheard.IsZero()",
		To:   "return r.Pod != nil && !r.Pod.NodeUnheard.IsZero()",
		Test: judgedRow("its node does not answer, and it does"),
	},
	{
		Name: "it is not told that a member is not ready for its node", Peer: "",
		From: `return !r.Pod.Ready && r.Pod.NodeNotReady != "" }`,
		To:   `return false }`,
		Test: judgedRow("it answers, and its node is not ready"),
	},
	{
		Name: "a node that is not ready is held against a member that answers", Peer: "",
		From: "group.Go(func() error { look.addReadiness(ctx, replica.Pod); return nil })",
		To:   "group.Go(func() error { return look.add(ctx, g, replica) })",
		Test: "TestOfAMemberThatIsNotReadyItIsSaidSinceWhenItsNodeIsNotAndWhy",
	},
	{
		Name: "settings that stop etcd are a fault of the disk", Peer: "",
		From: "return crashesWith(etcdutil.ExitFault)(o, r) && o.IsServedWith(r.Pod.Settings)",
		To:   "return crashesWith(etcdutil.ExitFault)(o, r)",
		Test: judgedRow("the runtime stops it, and no other has its settings"),
	},
	{
		Name: "a member that serves is lost because its volume is", Peer: "",
		From: "return r.Volume != nil && r.Volume.Phase == facts.VolumeLost && r.Answer == nil",
		To:   "return r.Volume != nil && r.Volume.Phase == facts.VolumeLost",
		Test: judgedRow("what is behind its claim is gone, and it serves"),
	},
	{
		Name: "a member on a volume that is going is replaced for an image that can still be put right", Peer: "",
		From: `return r.Volume != nil && r.Member != nil && !canStillStart(r) || r.CannotStart() &&
		r.Pod.Settings != o.Desired.Settings`,
		To:   "return r.Volume != nil && r.Member != nil && !canStillStart(r) || r.CannotStart()",
		Test: judgedRow("its volume is being deleted, and its Pod can start once its image is there"),
	},
	{
		Name: "a doomed member counts as lasting", Peer: "",
		From: "return state != judge.Doomed && state != judge.Lost",
		To:   "return state != judge.Lost",
		Test: row("a claim that is gone under a serving member dooms it: the successor comes first"),
	},
	{
		Name: "members are removed while the spec is refused, and none is added", Peer: "",
		From: `if o.Desired.Fault != "" {
		return replacementWaits(o, facts.ReasonSpecRefused, "the spec is put right")`,
		To: `if false {
		return replacementWaits(o, facts.ReasonSpecRefused, "the spec is put right")`,
		Test: keptRow("a member that lost its data is not removed while the spec is refused"),
	},
	{
		Name: "why etcd stopped is told by a frame of its stack", Peer: "",
		From: "cmp.Or(entryWords(line), graveWords(message), exitMeanings[s.reason])",
		To:   `cmp.Or(message[strings.LastIndex(strings.TrimSpace(message), "\n")+1:], line)`,
		Test: "TestTheWordsOfACrashAreThoseOfTheLineThatTellsItsReason",
	},
	{
		Name: "lost data is not told by a log for people", Peer: "",
		From: "last := inJSON(lastWords(message))",
		To:   "last := lastWords(message)",
		Test: "TestRecordedCrashesAreUnderstood",
	},
	{
		Name: "the line before a panic is a frame in a log for people", Peer: "",
		From: "lines[entryBefore(lines, i):]",
		To:   "lines[i-1:]",
		Test: "TestAMessageThatStillHasItsSentenceIsUnderstood",
	},
	{
		Name: "what cannot be decoded is not told where a build has the wide space", Peer: "",
		From: `{"\"error\":\"proto:", ExitDataCorrupt}`,
		To:   `{"\"error\":\"proto: ", ExitDataCorrupt}`,
		Test: "TestARecordOfTheWALThatCannotBeDecodedIsUnderstoodWithEitherSpace",
	},
	{
		Name: "a level in capitals hides the last words of a member", Peer: "",
		From: "slices.Contains(quietLevels, strings.ToLower(value))",
		To:   "slices.Contains(quietLevels, value)",
		Test: "TestExtraArgsAreRefusedWithAReasonAndARemedy",
	},
	{
		Name: "a member that was killed is told by what etcd logged before", Peer: "",
		From: "return ExitUnknown, signalWords(exitCode - signals)",
		To:   "return ExitUnknown, LastWords(message)",
		Test: "TestWhatASignalEndedIsToldByTheSignal",
	},
	{
		Name: "a line break that a peer sent stands in what etcd is said to have said", Peer: "",
		From: `return fields["level"], oneLine(words), isEntry`,
		To:   `return fields["level"], words, isEntry`,
		Test: "FuzzLastWordsAreOneShortLine",
	},
	{
		Name: "who only the operator does not reach is told without what may keep it away", Peer: "",
		From: "nodeNotReady(r), unseen(r), untilReplaced(o.Judged, r)",
		To:   `nodeNotReady(r), "", untilReplaced(o.Judged, r)`,
		Test: row("a member that only the operator does not reach says where to look"),
	},
	{
		Name: "a Pod that no node has room for says what the scheduler says and no more", Peer: "",
		From: `case strings.Contains(message, "nodes are available"):`,
		To:   `case message == "":`,
		Test: row("a Pod that no node has room for says what to change"),
	},
}
