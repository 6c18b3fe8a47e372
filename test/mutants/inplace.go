package main

// inPlace are bugs of restores in place, and of the way back from a lost quorum.
var inPlace = []mutant{
	{
		Name: "the cluster switches over on an approval of what was there before", Peer: "",
		From: "out[r.ID] = evidence.Accepts(r.Approval)",
		To:   `out[r.ID] = evidence.Accepts(r.Approval) || r.Approval != ""`,
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a second restore raises revisions by as much as the first", Peer: "",
		From: "l.Bump = max(l.Bump, o.BumpFor(l))",
		To:   "l.Bump = request.Bump",
		Test: "TestARestoreBeginsAboveEveryRevisionThatTheClusterServed",
	},
	{
		Name: "a switch-over forgets how far revisions had come", Peer: "",
		From: "Volumes: maps.Clone(volumes), Served: b.servedBy(next),",
		To:   "Volumes: maps.Clone(volumes),",
		Test: "TestARecordSaysHowFarRevisionsHaveComeOverEveryKindOfRestore",
	},
	{
		Name: "volumes do not say how far revisions had come", Peer: "",
		From: "answered.Began = o.Bootstrap.BeganAt()",
		To:   "answered.Began = 0",
		Test: "TestAVolumeSaysHowFarRevisionsHadComeWhenItsMemberWasRecorded",
	},
	{
		Name: "a bootstrap record that is written anew forgets how far revisions had come", Peer: "",
		From: "requestOf(recorded, incarnation), o.Recorded()",
		To:   "requestOf(recorded, incarnation), 0",
		Test: "TestWhereTheBootstrapRecordIsLostVolumesSayHowFarRevisionsHadCome",
	},
	{
		Name: "revisions go back with the volumes that a restore kept, unasked", Peer: "",
		From: "return v.counter() < last.counter() && v.GoesBackFrom != last.Incarnation",
		To:   "return false",
		Test: row("an incarnation whose successor served is not taken up again unknowingly"),
	},
	{
		Name: "the guard lets revisions go back with the volumes that a restore kept", Peer: "",
		From: `if later := o.GoesBackFrom(); later != "" {`,
		To:   `if later := o.GoesBackFrom(); later == "-" {`,
		Test: guardRow("data whose revisions clients have left behind"),
	},
	{
		Name: "an EtcdRestore that was carried out is carried out again", Peer: "",
		From: `if id == "" || i < 0 || !o.Approved[id] || o.CameOf(id) {`,
		To:   `if id == "" || i < 0 || !o.Approved[id] {`,
		Test: "TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "without a backup a cluster with a quorum is given up", Peer: "",
		From: "if !l.Origin.IsZero() || !o.IsQuorumGone() {",
		To:   "if !l.Origin.IsZero() {",
		Test: "TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "a survivor of another incarnation is proposed to be rebuilt from", Peer: "",
		From: "case r.Incarnation() != o.Bootstrap.Incarnation || record.ClusterID != o.Bootstrap.ClusterID:",
		To:   "case false:",
		Test: row("a member that was restored of another incarnation is no survivor"),
	},
	{
		Name: "the cluster switches over while a volume is still being restored", Peer: "",
		From: "case r.Pod != nil || r.Restoring != nil && !r.Restoring.Holds:",
		To:   "case r.Pod != nil:",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "members are stopped before it is known that nodes take the next ones", Peer: "",
		From: "case o.NeedsPlaces() && !r.HoldsPlace():",
		To:   "case false:",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a node that takes a member no more counts as its place", Peer: "",
		From: `p.Phase == PodRunning && !p.Terminating && p.Unwanted == "" &&`,
		To:   `p.Phase == PodRunning && !p.Terminating &&`,
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "three members wait for the one node that mounts their backup", Peer: "",
		From: "return min(size, 1)",
		To:   "return size",
		Test: row("one member alone reads a store that one node mounts"),
	},
	{
		Name: "what a Pod restored on a volume that is gone counts for the next one", Peer: "",
		From: "if !o.LacksVolume(r) {",
		To:   "if r.Volume == nil || !o.LacksVolume(r) {",
		Test: row("what was restored on a volume that is gone says nothing of the next one"),
	},
	{
		Name: "the next members start beside those of the previous incarnation", Peer: "",
		From: `if why := guardFence(o); why.Holds() && len(c.Pods) > 0 {`,
		To:   `if why := guardFence(o); why.Holds() && len(c.Pods) > 9 {`,
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "a majority on nodes that do not answer is left behind", Peer: "",
		From: "if n := remaining[past.Incarnation]; n > 0 && n >= etcdutil.Quorum(len(past.Voters)) {",
		To:   "if n := remaining[past.Incarnation]; n > 0 && n >= max(3, etcdutil.Quorum(len(past.Voters))) {",
		Test: row("a majority that does not go asks for a person"),
	},
	{
		Name: "members are stopped before their volumes say that the cluster switched over", Peer: "",
		From: "if !o.Bootstrap.Exists() || len(o.Unmarked()) > 0 {",
		To:   "if !o.Bootstrap.Exists() {",
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "old volumes are deleted without a word", Peer: "",
		From: "return request.DeletesOld && o.IsEndedBy(request.ID, r.Volume)",
		To:   "return o.IsEndedBy(request.ID, r.Volume)",
		Test: row("a cluster that was restored in place is settled"),
	},
	{
		Name: "old volumes go before what followed serves", Peer: "",
		From: "case o.Bootstrap.ClusterID == 0 || !o.Membership.Known ||\n\t\to.Membership.ClusterID != o.Bootstrap.ClusterID " +
			"|| o.Margin() < 0:",
		To:   "case o.Bootstrap.ClusterID == 0:",
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "an incarnation that was moved to is voided into an empty one", Peer: "",
		From: `if o.HasSwitchedOver() {
		if p := lostAfterMove(o); p != nil {
			return p
		}
		return otherIncarnation(o)
	}
	if !o.Bootstrap.Void {`,
		To:   "if !o.Bootstrap.Void {",
		Test: row("an incarnation that cannot serve any more is never begun again empty"),
	},
	{
		Name: "what is restored is taken back although it is wanted", Peer: "",
		From: "if r.ID == o.Bootstrap.Next.Restore && r.Approval != \"\" && !o.IsOvertaken() {\n\t\t\treturn incarnationAtRisk(\"the EtcdRestore %s asks",
		To:   "if r.ID == o.Bootstrap.Next.Restore && r.Approval == \"\" && !o.IsOvertaken() {\n\t\t\treturn incarnationAtRisk(\"the EtcdRestore %s asks",
		Test: "TestWhatIsRestoredTouchesNothingOfTheIncarnationThatServes",
	},
	{
		Name: "a lagging operator starts a member of a former incarnation", Peer: "",
		From: "func (StartPods) traits() Traits { return Traits{} }",
		To:   `func (StartPods) traits() Traits  { return Traits{Unconfirmed: "it starts what was there"} }`,
		Test: "TestEveryStartIsConfirmed",
	},
	{
		Name: "what a restore switched over from is taken up again by a new cluster", Peer: "",
		From: `known = append(known, facts.Filter(volumes, func(v facts.Retained) bool {
		return !v.Record.IsZero() &&
			v.Superseded == ""
	})...)`,
		To: "known = append(known, facts.Filter(volumes, func(v facts.Retained) bool { return " +
			"!v.Record.IsZero() })...)",
		Test: row("what a restore ended is not taken up again by itself"),
	},
	{
		Name: "a survivor that answers is restarted to be read", Peer: "",
		From: `return r.Answer == nil && r.HasLastingData() && !r.Pod.Terminating && r.Pod.NeverReady() &&
		r.Pod.Booted && o.Now.Sub(r.Pod.RunningSince) > FlushTime`,
		To: "return r.HasLastingData() && !r.Pod.Terminating && r.Pod.Booted && " +
			"o.Now.Sub(r.Pod.RunningSince) > FlushTime",
		Test: "TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped",
	},
	{
		Name: "what a survivor held before the quorum came back is moved to", Peer: "",
		From: "return o.IsFlushed(r) && r.Pod == nil || r.Answer != nil && r.Answer.Revision == " +
			"o.Bootstrap.Next.Origin.Revision",
		To:   "return o.IsFlushed(r) && r.Pod == nil || r.Answer != nil",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a survivor is started again while it is read", Peer: "",
		From: `func guardRead(o facts.Incarnation, r facts.Replica) Veto {
	if o.IsFlushed(r) {`,
		To: `func guardRead(o facts.Incarnation, r facts.Replica) Veto {
	if o.IsFlushed(r) && r.Pod != nil {`,
		Test: "TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped",
	},
	{
		Name: "a veto of a restore keeps the cluster from being looked after", Peer: "",
		From: "yields := p.yields || isVetoed && r.givesWay()",
		To:   "yields := p.yields || isVetoed && false",
		Test: row("what cannot be moved to keeps nobody from looking after the cluster"),
	},
	{
		Name: "a digest that changes with every write is never approved in time", Peer: "",
		From: `members = append(members, "member "+m.ID.String())`,
		To:   `members = append(members, fmt.Sprint("member ", m.ID, m.Revision))`,
		Test: "TestAnApprovalIsOfAnIncarnationAndItsMembersAndNotOfTheMoment",
	},
	{
		Name: "members of a former incarnation are asked for the list", Peer: "",
		From: "return !l.isOurs(pod.Name) })",
		To:   "return l.isNext(pod.Name) })",
		Test: "TestMembersOfAnIncarnationThatEndedAreSeenAndNotAsked",
	},
	{
		Name: "a superseded volume is a member's again once the record is lost", Peer: "",
		From: " ||\n\t\tobject.GetAnnotations()[v1alpha1.AnnotationSuperseded] != \"\"",
		To:   "",
		Test: "TestAVolumeThatWasSupersededIsFormerWithAnyRecord",
	},
	{
		Name: "a Pod of the previous incarnation that lost its labels runs on unseen", Peer: "",
		From: "for _, name := range incarnations.former() {",
		To:   "for _, name := range incarnations.former()[:0] {",
		Test: "TestAPodOfAnIncarnationThatHasJustEndedIsFoundWithoutItsLabels",
	},
	{
		Name: "the record moves to whatever incarnation is prepared by now", Peer: "",
		From: "next.IsZero() || next.Incarnation != to:",
		To:   "next.IsZero():",
		Test: "TestAnIncarnationIsNotTouchedByAnOperatorThatIsBehind",
	},
	{
		Name: "a counter is used twice after a restore was called off", Peer: "",
		From: " || next.Counter <= max(b.Counter, b.LastCounter):",
		To:   ":",
		Test: "TestAnIncarnationIsNotTouchedByAnOperatorThatIsBehind",
	},
	{
		Name: "a restore takes a name that was promised to a member meanwhile", Peer: "",
		From: "case ordinal < b.NextOrdinal+len(next.Names):",
		To:   "case false:",
		Test: "TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing",
	},
	{
		Name: "a move forgets the previous incarnation", Peer: "",
		From: "append(slices.Clone(b.Former), Former{Incarnation: from, Restore: b.Restore, Voters: voters}),",
		To:   "slices.Clone(b.Former),",
		Test: "TestTheRecordMovesToTheNextIncarnationInOneWriteAndKeepsWhatWas",
	},
	{
		Name: "two EtcdRestores of one backup are one wish", Peer: "",
		From: "found.Restore = string(r.UID)",
		To:   "found.Restore = \"\"",
		Test: "TestARestoreIsKnownByItselfAndByWhatItAsksFor",
	},
	{
		Name: "the status moves with every write of a client while an EtcdRestore waits", Peer: "",
		From: "status.Revision = cmp.Or(old.Revision, status.Revision)",
		To:   "status.Revision = cmp.Or(status.Revision, old.Revision)",
		Test: "TestEvidenceIsShownOnlyWhereAPersonMayHaveToReadIt",
	},
	{
		Name: "an approval that is weeks old moves the cluster", Peer: "",
		From: `lines := []string{fmt.Sprintf("day %d", day), "cluster " + e.ClusterUID, "etcd " + e.ClusterID.String(), "life " +
		e.Incarnation}`,
		To:   `lines := []string{fmt.Sprintf("day %d", day*0), "cluster " + e.ClusterUID, "etcd " + e.ClusterID.String(), "life " + e.Incarnation}`,
		Test: "TestAnApprovalIsGoodForADayOrTwo",
	},
	{
		Name: "a quorum is called lost while a kubelet says that somebody serves", Peer: "",
		From: "if o.IsServedUnseen() {",
		To:   "if false {",
		Test: "TestNothingIsLostWhileAKubeletSaysThatAMemberServes",
	},
	{
		Name: "a learner whose volume is left counts as a voter", Peer: "",
		From: "isLearner := r.Pod != nil && r.Pod.Role == RoleLearner",
		To:   `isLearner := r.Pod != nil && r.Pod.Role == "" && r.Pod.Role == RoleLearner`,
		Test: "TestAListOfThePastIsJoinedWithWhoCameSince",
	},
	{
		Name: "a survivor that still reads its log is stopped to be read", Peer: "",
		From: `return r.Answer == nil && r.HasLastingData() && !r.Pod.Terminating && r.Pod.NeverReady() &&
		r.Pod.Booted && o.Now.Sub(r.Pod.RunningSince) > FlushTime`,
		To: "return r.Answer == nil && r.HasLastingData() && !r.Pod.Terminating && r.Pod.NeverReady() && " +
			"o.Now.Sub(r.Pod.RunningSince) > FlushTime",
		Test: "TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped",
	},
	{
		Name: "another cluster's data on a member's volume is a quorum", Peer: "",
		From: "return o.Membership.Known && (o.Bootstrap.ClusterID == 0 || o.Membership.ClusterID == o.Bootstrap.ClusterID)",
		To:   "return o.Membership.Known",
		Test: "TestWhoHoldsTheDataOfAnotherClusterIsNoSurvivorAndNoQuorum",
	},
	{
		Name: "what a cluster switched over to is restored over", Peer: "",
		From: "case o.HasSwitchedOver() && len(c.Restores) > 0:",
		To:   "case false:",
		Test: row("what was restored is not restored over when somebody takes the word of it away"),
	},
	{
		Name: "a name that is taken keeps an incarnation that was moved to from starting", Peer: "",
		From: "if p != nil && (o.IsAlive() || needsNothing(o)) {",
		To:   "if p != nil && o.IsAlive() {",
		Test: row("nor does an object of somebody else"),
	},
	{
		Name: "who gave up a cluster that was silent gave up one that serves again", Peer: "",
		From: `lines = append(lines, "no quorum answers")`,
		To:   "lines = append(lines, lines[:0]...)",
		Test: "TestWhoGaveUpWhatServesGaveUpWhatIsSilentAndNotTheOtherWayRound",
	},
	{
		Name: "a new volume whose node is gone is moved to", Peer: "",
		From: "if incarnations.isFormer(replica.Name) && replica.Pod == nil {",
		To:   "if !incarnations.isOurs(replica.Name) && replica.Pod == nil {",
		Test: "TestAVolumeThatIsRestoredIsKnownToBeStrandedBeforeTheClusterMovesToIt",
	},
	{
		Name: "another backup is restored beside what lies on some of the volumes", Peer: "",
		From: "request.WantedBackup.Hash == o.Bootstrap.Next.Origin.Hash {",
		To:   `request.WantedBackup.Hash != "" {`,
		Test: row("so is one that is another backup by now, and the cluster is looked after"),
	},
	{
		Name: "members whose Pods were refused never follow the spec that is put right", Peer: "",
		From: "if !hasOnlyVolume || r.Volume.Settings == o.Desired.Settings {",
		To:   "if !hasOnlyVolume || !r.Volume.Settings.IsZero() {",
		Test: row("first members whose Pods Kubernetes did not admit take a corrected setting"),
	},
	{
		Name: "members that were added by hand serve on beside the next incarnation", Peer: "",
		From: "if len(strangers) < etcdutil.Quorum(voters) {",
		To:   "if len(strangers) <= etcdutil.Quorum(voters) {",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the cluster switches over to members that no quota has room for", Peer: "",
		From: "if !e.isCountedAlike() || !e.fits(refusal) {",
		To:   "if len(e.old) == 1 && (!e.isCountedAlike() || !e.fits(refusal)) {",
		Test: "TestAClusterMovesOnlyToMembersThatWouldBeAdmitted",
	},
	{
		Name: "each of the next members would fit alone, and not all of them", Peer: "",
		From: "return rejectedBy(exceeded, \"Kubernetes would refuse the next members\")",
		To:   "return rejectedBy(exceeded[:0], \"Kubernetes would refuse the next members\")",
		Test: "TestAClusterDoesNotMoveToMembersOfWhichOnlySomeWouldFit",
	},
	{
		Name: "a volume that was put back is started on to be read",
		From: "if !r.IsRecorded() || !r.IsOnOwnVolume() ||",
		To:   "if !r.IsRecorded() ||", Test: row("on volumes that were put back nothing starts"),
	},
	{
		Name: "an approval is good for another copy than its approver saw",
		From: "if m.State == MemberLost {\n\t\t\tvolume",
		To:   "if m.isLost() {\n\t\t\tvolume", Test: "TestAVolumeThatWasPutBackIsEvidenceOfItself",
	},
}
