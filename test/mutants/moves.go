package main

import "strings"

// moveRow is the name of a test of one row of the table of members that no restart brings to the spec.
func moveRow(name string) string {
	return "TestAMemberThatNoRestartBringsToTheSpecIsSucceeded/" + strings.ReplaceAll(name, " ", "_")
}

// askedRow is the same of members that a person wants replaced.
func askedRow(name string) string {
	return "TestAMemberThatAPersonWantsReplacedIsFollowedByANewOne/" + strings.ReplaceAll(name, " ", "_")
}

const grownQuota = "TestTheQuotaGrowsOnlyWhereKeysFillItAndVolumesGrowFirstWhereTheyHaveNoRoom"

// growRow is the same of volumes that grow.
func growRow(name string) string {
	return "TestVolumesGrowToTheSizeOfTheSpecOneAtATime/" + strings.ReplaceAll(name, " ", "_")
}

// tiedRow is the same of members that no node takes as the spec is.
func tiedRow(name string) string {
	return "TestAMemberThatNoNodeTakesAsTheSpecIsServesOnAsItWasUntilItIsSucceeded/" + strings.ReplaceAll(name, " ", "_")
}

// mediaRow is the same of data that goes from Pods to volumes and back.
func mediaRow(name string) string {
	return "TestDataInPodsAndVolumesAreExchangedForOneAnother/" + strings.ReplaceAll(name, " ", "_")
}

// moves are bugs of how members come to other volumes and nodes.
var moves = []mutant{
	{
		Name: "a member is restarted for a node that cannot use its volume", Peer: "FoundationDB/fdb-kubernetes-operator#460",
		From: "case r.Volume != nil && r.Volume.Misplaced != \"\":",
		To:   "case false:",
		Test: moveRow("so do nodes that would not take a member where its volume is"),
	},
	{
		Name: "a default class that changes moves every member", Peer: "",
		From: "case d.StorageClass != \"\" && v.MadeFor != d.StorageClass:",
		To:   "case v.MadeFor != d.StorageClass:",
		Test: moveRow("one that names no class moves no member"),
	},
	{
		Name: "a member that a person gave up for dead goes while it may still come back", Peer: "",
		From: "return r.IsUnwanted && r.Pod != nil && isSilentForLong(o.Observation, r)",
		To:   "return r.IsUnwanted",
		Test: askedRow("one that stopped just now gets time to come back"),
	},
	{
		Name: "who follows a member that a person gave up tries the settings of the spec", Peer: "",
		From: "if d.Succeeded.Member != nil && !isAskedToGo(o, d.Succeeded) && (len(",
		To:   "if d.Succeeded.Member != nil && (len(",
		Test: "TestWhoFollowsAMemberThatAPersonWantsReplacedIsMadeFromTheSettingsOfTheOthers",
	},
	{
		Name: "a request for a new member waits for a window", Peer: "",
		From: "isAskedNow := isAskedToGo(o, r) || o.Desired.Sleep && r.Ephemeral",
		To:   "isAskedNow := o.Desired.Sleep && r.Ephemeral",
		Test: askedRow("at any time, since it is asked for now"),
	},
	{
		Name: "a member that a person wants replaced is restarted outside of a window, since none can join", Peer: "",
		From: "return isGoingDown(o) && !r.IsDrained() || o.IsFenced(r)",
		To:   "return o.IsFenced(r)",
		Test: "TestAMemberThatAPersonWantsReplacedChangesNothingWhileADowngradeIsEnabled",
	},
	{
		Name: "an only member is restarted for a downgrade on a node that is drained", Peer: "",
		From: "return isGoingDown(o) && !r.IsDrained() || o.IsFenced(r)",
		To:   "return isGoingDown(o) || o.IsFenced(r)",
		Test: "TestAnOnlyMemberMovesFirstAlsoWhileADowngradeIsEnabled",
	},
	{
		Name: "a member that a person gave up for dead goes at once beside a sidecar that cannot run", Peer: "",
		From: "return r.IsUnwanted && r.Pod != nil && isSilentForLong(o.Observation, r)",
		To:   "return r.IsUnwanted && r.Pod != nil && isFailing(o.Observation, r)",
		Test: askedRow("also beside a sidecar that cannot run"),
	},
	{
		Name: "the removal of a member that serves is announced, and never comes", Peer: "",
		From: "if !r.IsUnwanted || r.Answer != nil || r.Pod == nil || r.Pod.Ready {",
		To:   "if !r.IsUnwanted || r.Pod == nil {",
		Test: "TestNoRemovalIsAnnouncedOfAMemberThatIsNotSilent",
	},
	{
		Name: "a second member moves before the first serves", Peer: "",
		From: "return whyNotInPlace(o, r) != \"\" && hasOneMore(o)",
		To:   "return whyNotInPlace(o, r) != \"\"",
		Test: moveRow("and not before"),
	},
	{
		Name: "a new member on a volume that the spec no longer asks for gets its vote", Peer: "",
		From: "case o.Desired.Fault == \"\" && isToMoveAtOnce(o.Judged, r):\n\t\treturn whyMoved(o.Judged, r)",
		To:   "case false:\n\t\treturn whyMoved(o.Judged, r)",
		Test: moveRow("a third class gives the new member up"),
	},
	{
		Name: "a voter that is to go leaves the budget before it has no vote", Peer: "",
		From: "act(changes.LabelRole{Pod: r.PodRef(), Role: facts.RoleLeaving},",
		To:   "act(changes.LabelRole{Pod: r.PodRef()},",
		Test: "TestAVoterThatIsToGoStaysInTheBudgetUntilItHasNoVote",
	},
	{
		Name: "a drain waits for ever for a member that no node takes", Peer: "",
		From: `case o.due.Unplaced.Member != nil:
		return fmt.Sprintf("no node takes`,
		To: `case false:
		return fmt.Sprintf("no node takes`,
		Test: "TestAnOnlyMemberIsFollowedByANewOneBeforeItsNodeIsDrained",
	},
	{
		Name: "an only member has a budget also where no drain would be seen", Peer: "",
		From: `voters[0].Pod.Drain.IsKnown && voters[0].Pod.Drain.Why == ""`,
		To:   `voters[0].Pod.Drain.Why == ""`,
		Test: "TestAnOnlyMemberIsFollowedByANewOneBeforeItsNodeIsDrained",
	},
	{
		Name: "a drain may take a voter that the quorum needs, since no budget counts it", Peer: "",
		From: "case ready < o.Budget.MinAvailable && !isOther && !r.IsCounted() && isThere:",
		To:   "case false && isThere:",
		Test: "TestNoDrainTakesAVoterThatTheQuorumNeeds",
	},
	{
		Name: "a budget that counts one that is not compared lets a drain take another one", Peer: "",
		From: "case isSpared && r.Pod.Role == facts.RoleCounted:",
		To:   "case false && isSpared:",
		Test: "TestNoDrainTakesAVoterThatTheQuorumNeeds",
	},
	{
		Name: "an only member that starts is in no budget", Peer: "",
		From: "case countedBeside(o, r) < o.Budget.MinAvailable:\n\t\treturn",
		To:   "case false:\n\t\treturn",
		Test: "TestNoDrainTakesAVoterThatTheQuorumNeeds",
	},
	{
		Name: "the new member of another pool is made from the settings of the old one", Peer: "",
		From: "if d.Succeeded.Member != nil && !isAskedToGo(o, d.Succeeded) && (len(",
		To:   "if d.Succeeded.Member != nil && o.Desired.Ephemeral && (len(",
		Test: "TestASuccessorIsMadeFromTheSettingsOfTheSpec",
	},
	{
		Name: "a successor is given up when the old member stops meanwhile", Peer: "",
		From: "case isBegun(o, r):\n\t\treturn true",
		To:   "case false:\n\t\treturn true",
		Test: moveRow("and may stop meanwhile"),
	},
	{
		Name: "a member that no node takes as the spec is waits for ever", Peer: "cloudnative-pg/cloudnative-pg#3671",
		From: "if former.IsZero() || r.Settings() != o.Desired.Settings || !isTiedForGood(o, r) {",
		To:   "if true {",
		Test: tiedRow("then it gets the settings of the others"),
	},
	{
		Name: "a member that went back takes the settings of the spec again and again", Peer: "",
		From: "if current == o.Desired.Settings || isMisplaced(o, r) || !mayTakeSpec(o, r) {",
		To:   "if current == o.Desired.Settings || !mayTakeSpec(o, r) {",
		Test: tiedRow("and a Pod with them"),
	},
	{
		Name: "a member that could stay is succeeded for what was true of a former spec", Peer: "",
		From: "if r.Volume.RemovedFor == facts.CausePlace && r.IsRunning() &&",
		To:   "if false && r.IsRunning() &&",
		Test: tiedRow("the mark goes when the spec is put back"),
	},
	{
		Name: "a member on a cordoned node is given up in a roll", Peer: "",
		From: "case c.Version == o.Desired.Settings.Version && asksOtherNodes(o.Desired.Settings, c):",
		To:   "case c != o.Desired.Settings:",
		Test: tiedRow("nor where nodes are asked the same: a cordon ends"),
	},
	{
		Name: "a volume that a person made larger is moved off", Peer: "VictoriaMetrics/operator#1747",
		From: "return v.AskedBytes > d.StorageBytes && !v.IsGrowing()",
		To:   "return v.Bytes > d.StorageBytes && !v.IsGrowing()",
		Test: moveRow("but not volumes that a person made larger"),
	},
	{
		Name: "members move to volumes that have no room for their quota", Peer: "",
		From: "!v.IsGrowing() && d.HasRoomForQuota()",
		To:   "!v.IsGrowing()",
		Test: "TestANewMemberGetsAVolumeAsLargeAsTheOthersWhereAQuotaHasNoRoomInThatOfTheSpec",
	},
	{
		Name: "a successor gets a volume as large as those that are to be smaller", Peer: "",
		From: "!r.Volume.IsUnbound() && !isToShrink {",
		To:   "!r.Volume.IsUnbound() || isToShrink {",
		Test: "TestANewMemberGetsASmallerVolumeThanThoseThatTheSpecWantsSmaller",
	},
	{
		Name: "a class that cannot expand volumes keeps members on small ones", Peer: "",
		From: "if !d.ExpandsByMove || !isShort {",
		To:   "if d.ExpandsByMove || !isShort {",
		Test: moveRow("a larger one too, where the spec asks for moves"),
	},
	{
		Name: "volumes larger than the spec are made smaller", Peer: "VictoriaMetrics/operator#1747",
		From: "case v.Bytes < asked:\n\t\treturn asked",
		To:   "case v.Bytes != asked:\n\t\treturn asked",
		Test: growRow("one that a person made larger stays"),
	},
	{
		Name: "what was not reached is never taken back", Peer: "",
		From: "case v.IsGrowing() && v.AskedBytes > asked:",
		To:   "case false:",
		Test: growRow("a size that is put back takes back what cannot be had"),
	},
	{
		Name: "a second volume grows beside the first", Peer: "",
		From: "return isFirst && servesWithout(o, r)",
		To:   "return servesWithout(o, r)",
		Test: growRow("the next one waits for the first"),
	},
	{
		Name: "a volume grows while another member is away", Peer: "",
		From: "return isFirst && servesWithout(o, r)\n",
		To:   "return isFirst\n",
		Test: growRow("none grows while another member is not well"),
	},
	{
		Name: "full disks that took the quorum never grow", Peer: "",
		From: "{isFollowingBlind, fullDisks},",
		To:   "",
		Test: growRow("where full disks took the quorum they grow first"),
	},
	{
		Name: "while no list is known volumes grow that are not full", Peer: "",
		From: "(o.Membership.Known || isFull(o, r))",
		To:   "(true || isFull(o, r))",
		Test: growRow("what stopped for another reason does not grow"),
	},
	{
		Name: "a full disk waits for a member that waits for it", Peer: "",
		From: "return isFirst || busy.Volume.IsInfeasible()",
		To:   "return isFirst && servesWithout(o, r)",
		Test: growRow("two full disks beside a quorum grow as well"),
	},
	{
		Name: "a volume that cannot grow keeps a full disk full", Peer: "",
		From: "return isFirst || busy.Volume.IsInfeasible()",
		To:   "return isFirst",
		Test: growRow("the next is tried where the first cannot"),
	},
	{
		Name: "members get a quota that their volumes have no room for yet", Peer: "",
		From: "len(o.Crowded(o.Desired.Settings)) > 0 || awaitsRoom(o)\n",
		To:   "len(o.Crowded(o.Desired.Settings)) > 0\n",
		Test: growRow("a quota that needs the room waits for it"),
	},
	{
		Name: "a quota grows beyond what volumes have room for", Peer: "",
		From: "quota = min(quota, (r.Volume.Room()-besideQuota)/2)",
		To:   "quota = max(quota, 0)",
		Test: grownQuota,
	},
	{
		Name: "volumes stay too small for a quota that may grow", Peer: "",
		From: "holds = max(quota, needed)",
		To:   "holds = max(quota, 0)",
		Test: grownQuota,
	},
	{
		Name: "the guard lets a claim ask for less than its volume has", Peer: "",
		From: "case c.Bytes < r.Volume.Bytes && (!r.Volume.IsGrowing() || c.Bytes <= r.Volume.Capacity):",
		To:   "case false:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/no_volume_shrinks",
	},
	{
		Name: "the guard lets two volumes grow at a time", Peer: "",
		From: "if other.Name != r.Name && other.Volume.IsGrowing() &&",
		To:   "if other.Name != r.Name && false &&",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/one_volume_grows_at_a_time",
	},
	{
		Name: "the guard takes another claim of the name for the member's", Peer: "",
		From: "if r.VolumeRef() == claim {",
		To:   "if r.VolumeRef().Name == claim.Name {",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/only_the_member's_own_volume_grows",
	},
	{
		Name: "a member goes before its successor joins although the spec does not ask for that", Peer: "",
		From: "if !o.Desired.LeavesFirst || d.Succeeded.Member == nil || isJoining",
		To:   "if d.Succeeded.Member == nil || isJoining",
		Test: moveRow("a spec that names another class gets a new member first"),
	},
	{
		Name: "a member goes first that the others cannot do without", Peer: "",
		From: "isJoining || len(o.Voters()) < o.Desired.Size ||\n\t\t!canSpare(o, d.Succeeded) {",
		To:   "isJoining || len(o.Voters()) < o.Desired.Size {",
		Test: moveRow("nor one of two"),
	},
	{
		Name: "a cordon of the only node of a volume is not seen before its member is stopped", Peer: "",
		From: "case why != \"\":\n\t\treturn fmt.Sprintf(\"only node",
		To:   "case false:\n\t\treturn fmt.Sprintf(\"only node",
		Test: "TestAMemberSaysWhyTheOnlyNodeOfItsVolumeWouldNotTakeItAgain",
	},
	{
		Name: "a settled cluster has its volumes and nodes read in every look", Peer: "",
		From: "r.Volume.Phase != facts.VolumeBound || !p.isAskedAnew(r) {",
		To:   "r.Volume.Phase != facts.VolumeBound {",
		Test: "TestAMemberSaysWhyTheOnlyNodeOfItsVolumeWouldNotTakeItAgain",
	},
	{
		Name: "what a webhook made of an access mode moves every member for ever", Peer: "",
		From: "if isSaid || len(claim.Spec.AccessModes) == 0 {",
		To:   "if isSaid && len(claim.Spec.AccessModes) == 0 {",
		Test: "TestAVolumeSaysForWhichAccessModeItWasMade",
	},
	{
		Name: "a spec that exchanges volumes for data in Pods moves no member", Peer: "",
		From: "case elsewhere != \"\":",
		To:   "case elsewhere == \"?\":",
		Test: mediaRow("a spec that asks for data in Pods gets a new member first"),
	},
	{
		Name: "a member is not moved from one medium to another", Peer: "",
		From: "case r.Storage == d.Storage:",
		To:   "case r.Ephemeral == d.Ephemeral:",
		Test: mediaRow("so does one for memory"),
	},
	{
		Name: "the spec says where running members have their data", Peer: "",
		From: "if !isSeen {\n\t\t\tstorage = facts.StorageOf(",
		To:   "if isSeen = false; !isSeen {\n\t\t\tstorage = facts.StorageOf(",
		Test: "TestWhereDataIsIsReadFromPodsAndVolumesAndNotFromTheSpec",
	},
	{
		Name: "a spec that asks for data in Pods hides the volume that a member stopped on", Peer: "",
		From: "case r.Volume != nil, isRestored, isFirst && b.Volumes[r.Name] != \"\":",
		To:   "case isRestored, isFirst && b.Volumes[r.Name] != \"\":",
		Test: "TestWhatIsThereSaysWhereAMemberHasItsDataAndElseTheRecordOfFirstMembers",
	},
	{
		Name: "what a spec for data in Pods finds half restored gets no volume to restore to", Peer: "",
		From: "!b.Next.Origin.IsZero() && slices.Contains(b.Next.Names, r.Name)",
		To:   "false",
		Test: "TestWhatIsThereSaysWhereAMemberHasItsDataAndElseTheRecordOfFirstMembers",
	},
	{
		Name: "a first member that was never on a volume is said to have lost it", Peer: "",
		From: "case isFirst && !asked.Ephemeral:\n\t\treturn Storage{Ephemeral: true}",
		To:   "case isFirst && !asked.Ephemeral:\n\t\treturn asked",
		Test: "TestWhatIsThereSaysWhereAMemberHasItsDataAndElseTheRecordOfFirstMembers",
	},
	{
		Name: "a member on a volume starts empty in its Pod once the spec asks for that", Peer: "",
		From: "inputs.Ephemeral = s.emptyDirOf(start.Name)\n",
		To:   "inputs.Ephemeral = resources.Inputs(s.cluster).Ephemeral\n",
		Test: "TestAPodHasItsDataWhereItsMemberHasItAndANewOneWhereTheSpecAsksForIt",
	},
	{
		Name: "where data is counts as a setting, and restarts all members", Peer: "",
		From: "\tin.Ephemeral = nil\n",
		To:   "",
		Test: "TestWhereDataIsIsNoSetting",
	},
	{
		Name: "a minor is left while members leave their Pods", Peer: "",
		From: "return r.Ephemeral && r.Storage == d.Storage }",
		To:   "return r.Ephemeral }",
		Test: "TestAMinorIsLeftOnceDataIsWhereTheSpecAsksForIt",
	},
	{
		Name: "the guard lets a cluster be rebuilt from data in a Pod, which nothing can read", Peer: "",
		From: "return dataAtRisk(\"%s has its data in its Pod, where nothing can be read.\", r.Name)",
		To:   "return Veto{}",
		Test: "TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "volumes grow that members leave for their Pods", Peer: "",
		From: "|| v.Terminating || d.Ephemeral ||",
		To:   "|| v.Terminating ||",
		Test: "TestNoVolumeGrowsThatMembersLeaveForTheirPods",
	},
}
