package main

// rolls are bugs of whoever restarts members that run.
var rolls = []mutant{
	{
		Name: "a roll goes on although the member before did not come back", Peer: "coreos/etcd-operator#1211",
		From: `if other.Name != r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o, r) &&
			!d.mayChangeBeside(o, r, other) {`,
		To: "if other.Name == r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o, r) && " +
			"!d.mayChangeBeside(o, r, other) {",
		Test: row("nobody is restarted while another one is not well"),
	},
	{
		Name: "a roll believes etcd's answer and not the kubelet", Peer: "",
		From: "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && !isUncompared && o.IsCaughtUp(r)",
		To:   "return r.IsSealed() && !r.Pod.Terminating && !isUncompared && o.IsCaughtUp(r)",
		Test: row("nobody is restarted while the kubelet does not call the last one ready"),
	},
	{
		Name: "a roll is blind to what the member before still lacks", Peer: "gardener/etcd-druid#588",
		From: "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && !isUncompared && o.IsCaughtUp(r)",
		To:   "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && !isUncompared && r.IsHealthy(o.Membership)",
		Test: "TestNoMemberIsRestartedWhileAnotherOneIsReadyButFarBehind",
	},
	{
		Name: "a sick member is restarted last", Peer: "gardener/etcd-druid#879",
		From: `case !r.IsHealthy(o.Membership):
		return 0`,
		To: `case !r.IsHealthy(o.Membership):
		return 4`,
		Test: row("a sick member is restarted before healthy ones"),
	},
	{
		Name: "the leader is not restarted last", Peer: "etcd-io/etcd-operator#403",
		From: `return 5
	case isBehindVolume(r):`,
		To: `return 0
	case isBehindVolume(r):`,
		Test: row("new settings are written on a follower's volume first"),
	},
	{
		Name: "the leader is restarted without handing over", Peer: "",
		From: "if r.Member.ID == o.Membership.Leader && len(o.Voters()) > 1 {",
		To:   "if r.Member.ID == 0 && len(o.Voters()) > 1 {",
		Test: row("the leader hands over to a member that is done before it is restarted"),
	},
	{
		Name: "members are restarted without asking what quorum is left", Peer: "gardener/etcd-druid#588",
		From: `return guardVotes(o, r)
}`,
		To: `return Veto{}
}`,
		Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a member with its data in its Pod is evicted", Peer: "cozystack/etcd-operator#98",
		From: "case r.Ephemeral || r.IsDoomed():",
		To:   "case r.IsDoomed():",
		Test: "TestAMemberIsEvictedOnlyOnDataThatOutlivesItsPod",
	},
	{
		Name: "a member whose volume is going is evicted", Peer: "",
		From: "case r.Ephemeral || r.IsDoomed():",
		To:   "case r.Ephemeral:",
		Test: "TestAMemberIsEvictedOnlyOnDataThatOutlivesItsPod",
	},
	{
		Name: "new settings never reach ephemeral members", Peer: "etcd-io/etcd-operator#327",
		From: "case r.Ephemeral && r.WhyMoved(d) == \"\":\n\t\treturn \"its data",
		To:   "case false:\n\t\treturn \"its data",
		Test: row("an ephemeral member is never restarted: a successor joins first"),
	},
	{
		Name: "a member is restarted because an annotation of its Pod is gone", Peer: "etcd-io/etcd-operator#403",
		From: "return answersOther(r, o.Desired.Settings.Version)",
		To:   "return !answersOther(r, o.Desired.Settings.Version)",
		Test: row("and is not restarted for that, even while it cannot be told"),
	},
	{
		Name: "a member whose Pod lost an annotation is forgotten by every roll", Peer: "",
		From: "if !r.Pod.Settings.IsZero() || !r.IsSealed() ||",
		To:   "if !r.Pod.Settings.IsZero() || r.IsSealed() ||",
		Test: row("before a roll would forget it"),
	},
	{
		Name: "a Pod is told settings of a version that it does not run", Peer: "",
		From: "if !c.IsZero() && !answersOther(r, c.Version) {",
		To:   "if !c.IsZero() {",
		Test: row("nor is it told settings of another version than it answers with: it is restarted for that"),
	},
	{
		Name: "a quota below what is stored is rolled out", Peer: "",
		From: "isHeld := d.HeldBy != \"\" || len(o.Crowded(o.Desired.Settings)) > 0 || awaitsRoom(o)",
		To:   "isHeld := d.HeldBy != \"\"",
		Test: row("a quota below what is stored is refused before the first member"),
	},
	{
		Name: "the guard lets a volume ask for a quota below what is stored", Peer: "",
		From: "if crowded := o.Crowded(c); len(crowded) > 0 {", To: "if crowded := o.Crowded(c); len(crowded) < 0 {",
		Test: "TestAMemberIsGivenNoSettingsThatItsDataHasNoRoomWith",
	},
	{
		Name: "a member that crashes takes a quota below what is stored", Peer: "",
		From: "isCrowded := len(o.Crowded(o.Desired.Settings)) > 0", To: "isCrowded := len(o.Crowded(o.Desired.Settings)) < 0",
		Test: row("a member that crashes keeps its settings"),
	},
	{
		Name: "a roll goes on through a cluster that takes no writes", Peer: "",
		From: "return len(o.Raised()) > 0 && r.IsHealthy", To: "return len(o.Raised()) < 0 && r.IsHealthy",
		Test: row("while space ran out no member gets other settings"),
	},
	{
		Name: "an alarm of space is taken back for a quota that no member has", Peer: "",
		From: "(r.Answer == nil || r.IsFull())", To: "(r.Answer == nil || r.fills(o.Desired.Settings.QuotaBytes))",
		Test: row("nor by a quota that no member runs with yet: they are restarted with it"),
	},
	{
		Name: "a roll writes what Kubernetes may refuse", Peer: "",
		From: `return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: o.Desired.Settings,
			Rehearse: true},
			"the member is to run`,
		To: "return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: " +
			"o.Desired.Settings},\n\t\t\t\"the member is to run",
		Test: "TestARollAsksWhetherItsPodWouldBeAdmittedBeforeItWritesAnything",
	},
	{
		Name: "a member is stopped without asking whether its successor would be admitted", Peer: "",
		From: "\t\treturn s.rehearseStart(ctx, c.Successor)",
		To:   "\t\treturn nil",
		Test: "TestNothingIsStoppedForAPodThatWouldNotBeAdmitted",
	},
	{
		Name: "a roll deletes Pods past the disruption budget", Peer: "",
		From: `return act(changes.EvictPod{Pod: r.PodRef(), Successor: restartOf(r), PastBudget: isHeldByBudget(o, r)},
		"it is to run`,
		To:   `return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, "it is to run`,
		Test: row("then its Pod is evicted"),
	},
	{
		Name: "an eviction is carried out as a delete", Peer: "",
		From: "err = s.Client.SubResource(\"eviction\").Create(limited, live, eviction)",
		To:   "_ = eviction\n\terr = s.Client.Delete(limited, live)",
		Test: "TestWhatAnEvictionIsAnsweredIsToldApart",
	},
	{
		Name: "an eviction hits another Pod of the same name", Peer: "",
		From: "case live.GetUID() != types.UID(c.Pod.UID):",
		To:   "case types.UID(c.Pod.UID) == \"\":",
		Test: "TestNoOtherPodThanTheOneThatWasMeantIsEvicted",
	},
	{
		Name: "an eviction that cannot succeed holds its slot of the budget", Peer: "",
		From: "Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{\n\t\tUID: new(live.GetUID()),",
		To:   "Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{\n\t\tUID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion()),",
		Test: "TestAPodOfWhichItsKubeletSpeaksMeanwhileIsEvictedAllTheSame",
	},
	{
		Name: "a roll takes members to a version to which no step leads", Peer: "",
		From: `if len(running) > 0 && o.Desired.NoWay != "" {`,
		To:   "if false {",
		Test: row("a step that this release does not take is not begun"),
	},
	{
		Name: "a member that cannot start takes a version to which no step leads", Peer: "",
		From: "&& !isCrowded && mayTakeVersion(o, r, o.Desired.Settings.Version)",
		To:   "&& !isCrowded",
		Test: row("but no version to which this release takes no step"),
	},
	{
		Name: "a member that cannot start tries a higher minor beside one that is away", Peer: "",
		From: "other.Name != r.Name && !other.IsHealthy(o.Membership)",
		To:   "other.Name != r.Name && false",
		Test: row("and not while one does not"),
	},
	{
		Name: "another minor is written beside data while others are away", Peer: "",
		From: "if !o.Membership.Known || len(others) < len(wanted) {",
		To:   "if !o.Membership.Known && len(others) < len(wanted) {",
		Test: guardRow("the first one goes down while all others serve"),
	},
	{
		Name: "a new member joins with a higher minor than the cluster's", Peer: "",
		From: "known = ofLowestMinor(known)",
		To:   "_ = ofLowestMinor(known)",
		Test: "TestANewMemberJoinsWithTheLowestMinorThatThereIs",
	},
	{
		Name: "a member is removed for its size while minors differ", Peer: "",
		From: "|| !haveMixedMinors(o) {",
		To:   "|| !haveMixedMinors(o) || true {",
		Test: row("a size that is lowered waits until all run one minor"),
	},
	{
		Name: "a silent member goes back below the version of its cluster, since its own record is of before", Peer: "",
		From: "return etcdutil.WhyNotOn(version, r.Record().Version, o.ClusterVersion())",
		To:   "return etcdutil.WhyNotOn(version, r.Record().Version, r.Record().ClusterVersion)",
		Test: "TestASilentMemberGoesToNoMinorBelowWhatOthersSayTheClusterIsOf",
	},
	{
		Name: "a member that lost its quorum midway never takes corrected settings", Peer: "",
		From: "case ran(r), version.SameMinor(r.Settings().Version),",
		To:   "case ran(r),",
		Test: "TestAMinorThatWasBegunIsGoneOnWithBlind",
	},
	{
		Name: "a learner waits for ever with settings that cannot run, for members of another minor", Peer: "",
		From: "isStuck := o.IsAlive() &&",
		To:   "isStuck := !o.IsAlive() &&",
		Test: "TestALearnerThatCannotRunTakesTheSettingsOfTheMembersWhileThoseOfTheSpecAreOf" +
			"AnotherMinor",
	},
	{
		Name: "a member that was not heard since its restart is taken for one of the lower minor", Peer: "",
		From: "case r.Answer == nil && !asked.IsZero() && asked.Version != wrote &&",
		To:   "case r.Answer != nil && !asked.IsZero() && asked.Version != wrote &&",
		Test: "TestASilentMemberMayRunWhatItsVolumeAsksFor",
	},
	{
		Name: "an only member that is slow at its waypoint is sent back", Peer: "",
		From: "!asked.IsZero() && asked.Version != wrote &&",
		To:   "!asked.IsZero() && !asked.Version.SameMinor(wrote) &&",
		Test: "TestAnOnlyMemberThatIsNotHeardGoesOnFromWhereItIs",
	},
	{
		Name: "an only member that ran the next minor unheard finds no way", Peer: "",
		From: ", r.IsOutrun() && version.SameMinor(r.NextMinor()):",
		To:   ", false:",
		Test: "TestAnOnlyMemberWhoseEtcdIsTooOldForItsDataGoesToTheMinorThatRanOnIt",
	},
	{
		Name: "members that a wrong image took two minors apart are stuck", Peer: "",
		From: "if high.Minor-low.Minor > 2 || !mayLeave(low) {",
		To:   "if high.Minor-low.Minor > 1 || !mayLeave(low) {",
		Test: "TestTheNextStopOnTheWayToAVersion",
	},
	{
		Name: "first members that started skip a minor, since nothing is written down of them", Peer: "",
		From: "case wrote.IsZero() && o.Membership.Known:",
		To:   "case wrote.IsZero() && !o.Membership.Known:",
		Test: "TestAFirstMemberThatStartedCountsBeforeAnythingIsWrittenDown",
	},
	{
		Name: "a cluster at a stop is called settled", Peer: "",
		From: "case isOnItsWay:",
		To:   "case isOnItsWay && false:",
		Test: row("nor where the choices of all are those of the stop, and one runs another version"),
	},
	{
		Name: "two members of different minors wait for each other for ever", Peer: "",
		From: "if len(o.Voters()) == 2 {",
		To:   "if len(o.Voters()) == 0 {",
		Test: "TestOneOfTwoMembersLeavesAlsoWhileTheirMinorsDiffer",
	},
	{
		Name: "a higher minor starts on data that nothing asks it for", Peer: "",
		From: "if !c.Version.SameMinor(wrote) && c != r.Settings() {",
		To:   "if c.Version.Compare(wrote) < 0 && !c.Version.SameMinor(wrote) && c != r.Settings() {",
		Test: "TestAMemberStartsOnlyFromItsOwnData",
	},
	{
		Name: "settings with which one member cannot run are given to the next one that stops",
		Peer: "",
		From: "return !isGiven || o.IsServedWith(o.Desired.Settings) || !o.IsServedWith(current)",
		To:   "return isGiven || !isGiven",
		Test: row("a setting with which another member cannot run is not spread"),
	},
	{
		Name: "two members that cannot start wait for each other to try corrected settings", Peer: "",
		From: "return !isGiven || o.IsServedWith(o.Desired.Settings) || !o.IsServedWith(current)",
		To:   "return !isGiven || o.IsServedWith(o.Desired.Settings)",
		Test: row("where nobody serves with what it has, a member need not wait for another to try"),
	},
	{
		Name: "another minor version starts on a member's data", Peer: "",
		From: "why := o.WhyNotStart(r, s.Settings)",
		To:   `why := ""`, Test: "TestAMemberStartsOnlyFromItsOwnData",
	},
	{
		Name: "a member that asks too much is replaced by one that asks the same, for ever", Peer: "",
		From: "{ return IsTied(r) && o.IsServedWith(r.Pod.Settings) }",
		To:   "{ return IsTied(r) }",
		Test: row("one whose new settings no node has room for is not"),
	},
	{
		Name: "a Pod that cannot start is never given the corrected settings", Peer: "coreos/etcd-operator#1301",
		From: `case r.CannotRun():
		return mayAdopt(o, r)`,
		To: `case !r.CannotRun():
		return mayAdopt(o, r)`,
		Test: row("a Pod that cannot start takes a corrected setting"),
	},
	{
		Name: "a new member is made from settings with which nobody serves", Peer: "coreos/etcd-operator#1211",
		From: "return r.IsHealthy(o.Membership) && len(o.Crowded(r.RunsWith())) == 0",
		To:   "return len(o.Crowded(r.RunsWith())) == 0",
		Test: "TestANewMemberIsMadeLikeThoseThatServe",
	},
	{
		Name: "labels and annotations that others put on a Pod are removed", Peer: "",
		From: "\tfor _, key := range before {",
		To:   "\tfor key := range have {",
		Test: "TestDressing/keys_that_left_the_spec_go,_and_only_those",
	},
	{
		Name: "labels and annotations of the operator are removed", Peer: "",
		From: "if isThere && !isWanted && !isOurs(key) {",
		To:   "if isThere && !isWanted {",
		Test: "TestDressing/a_record_that_names_keys_of_ours_takes_none_of_them_away",
	},
	{
		Name: "a new operator writes on every Pod of the release before", Peer: "",
		From: "case !isWritten && isPod && d.IsZero(), isWritten && ",
		To:   "case !isWritten && !isPod && d.IsZero(), isWritten && ",
		Test: "TestDressing/a_Pod_that_was_made_before_keys_were_written_down_needs_nothing",
	},
	{
		Name: "a member that runs and never answers is not given the corrected settings",
		Peer: "coreos/etcd-operator#1301",
		From: "return !isMisplaced(o, r) && mayStopBlind(o, r)",
		To:   "return false",
		Test: row("the only member, which runs and never answers, takes a corrected setting"),
	},
	{
		Name: "an operator that is cut off stops members that serve", Peer: "coreos/etcd-operator#1968",
		From: "return hasNeverServed(o.Observation, r) && !o.IsAnyReady() && areToBlame(o, r.RunsWith())",
		To:   "return hasNeverServed(o.Observation, r) && areToBlame(o, r.RunsWith())",
		Test: row("not while another one is ready: the operator is the one that is cut off"),
	},
	{
		Name: "a member that waits for the others is given settings that nobody served with", Peer: "",
		From: "return having < quorum || failing >= quorum",
		To:   "return having < quorum || failing < quorum",
		Test: row("what others will serve with when they are back is not given up"),
	},
	{
		Name: "a member with a large database is restarted before it has read it", Peer: "coreos/etcd-operator#2109",
		From: "return o.Now.Sub(pod.RunningSince) > facts.StartDeadline",
		To:   "return o.Now.Sub(pod.RunningSince) > 0",
		Test: row("not while it may still be starting"),
	},
	{
		Name: "new settings are tried on all members at once", Peer: "coreos/etcd-operator#1211",
		From: `if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) || isAnotherTrying(o, r) {`,
		To: `if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) {`,
		Test: row("one member at a time"),
	},
	{
		Name: "members are replaced one after the other for settings that keep them silent",
		Peer: "coreos/etcd-operator#1211",
		From: `return IsUnheard(r) && r.HasLastingData() && r.Pod.NeverReady() && r.Pod.Settings == o.Desired.Settings &&
		!o.IsServedWith(r.Pod.Settings)`,
		To: "return false && r.HasLastingData() && r.Pod.NeverReady() && r.Pod.Settings == o.Desired.Settings && " +
			"!o.IsServedWith(r.Pod.Settings)",
		Test: row("a member that never was ready with new settings is not replaced: the next " +
			"one would take them too"),
	},
	{
		Name: "another user has the group of the one before, who wrote for itself alone", Peer: "",
		From: "out.FSGroup = cmp.Or(out.FSGroup, new(*out.RunAsUser))",
		To:   "out.FSGroup = cmp.Or(out.FSGroup, new(ownUser))",
		Test: "TestMembersAndTasksRunAsTheSpecAsks",
	},
	{
		Name: "a volume is restored by another user than its member runs as", Peer: "",
		From: "pod.Spec.SecurityContext = podSecurity(securityOf(s.Inputs.Pod), s.PlatformIDs)",
		To:   "_ = podSecurity(securityOf(s.Inputs.Pod), s.PlatformIDs)",
		Test: "TestAVolumeIsRestoredByTheUserThatItsMemberRunsAs",
	},
	{
		Name: "a Pod names an ID where the platform hands them out", Peer: "",
		From: "if !platformIDs {",
		To:   "if !platformIDs || asked.RunAsUser != nil {",
		Test: "TestWhatTheSpecDoesNotNameIsLeftToAPlatformThatHandsOutIDs",
	},
	{
		Name: "a member names an ID where the platform hands them out", Peer: "",
		From: "known.PlatformIDs, err = p.AskIDs(ctx)",
		To:   "_, err = p.AskIDs(ctx)",
		Test: "TestUsersAndGroupsOfEachPodAreLeftToAPlatformThatChoosesThem",
	},
	{
		Name: "a server that does not answer is taken for a platform that hands out no IDs", Peer: "",
		From: "return false, fmt.Errorf(\"asking which APIs there are",
		To:   "isKnown = true\n\t\t\treturn false, fmt.Errorf(\"asking which APIs there are",
		Test: "TestAServerThatDoesNotSayWhichAPIsItHasIsAskedAgain",
	},
	{
		Name: "members are restarted again when the annotation that had them restarted is taken away", Peer: "",
		From: `if cluster.RestartedAt() == "" {`,
		To:   `if cluster.RestartedAt() == "never" {`,
		Test: "TestARestartOnDemandIsASettingWhileItIsAskedForAndNoneWhenItIsNot",
	},
	{
		Name: "no member is restarted for the annotation that asks for it", Peer: "",
		From: "RestartedAt: c.RestartedAt(),",
		To:   `RestartedAt: "",`,
		Test: "TestARestartOnDemandIsASettingWhileItIsAskedForAndNoneWhenItIsNot",
	},
	{
		Name: "a member is restarted for CPU and memory that it could get while it runs", Peer: "",
		From: "bool { return !isResizable(o, r) && !awaitsWindow(o, r) }",
		To:   "bool { return r.Pod != nil }",
		Test: "TestANodeWithoutRoomIsToldAsOverdueAndRestartsNoMember",
	},
	{
		Name: "a member whose node never has room for its memory is not restarted", Peer: "",
		From: "(isOutdated(o, r) || isStuck(o, r))",
		To:   "isOutdated(o, r)",
		Test: "TestOtherAmountsReachMembersThatRunOneAfterTheOther",
	},
	{
		Name: "amounts that the first member could not get are given to the next one", Peer: "",
		From: "return isStuck(o, r) }) {",
		To:   "return false }) {",
		Test: "TestOtherAmountsReachMembersThatRunOneAfterTheOther",
	},
	{
		Name: "amounts that an autoscaler gave a Pod restart its member", Peer: "",
		From: "case pod.DeletionTimestamp != nil, !resources.HasItsAmounts(pod):",
		To:   "case pod.DeletionTimestamp != nil, pod == nil && !resources.HasItsAmounts(pod):",
		Test: "TestWhatTheKubeletSaysOfOtherAmountsIsToldApart",
	},
	{
		Name: "CPU and memory of a Pod that is being deleted are called a change that its kubelet makes", Peer: "",
		From: "case pod.DeletionTimestamp != nil, !resources.HasItsAmounts(pod):",
		To:   "case !resources.HasItsAmounts(pod):",
		Test: "TestWhatTheKubeletSaysOfOtherAmountsIsToldApart",
	},
	{
		Name: "a Pod says that it was made from amounts that Kubernetes refused", Peer: "",
		From: "	case err != nil:\n		return Answer(err, doing)",
		To:   "	case err != nil:\n		_ = s.restoreInputs(ctx, changes.RestoreInputs(c))\n		return Answer(err, doing)",
		Test: "TestWhatAResizeIsAnsweredIsToldApart",
	},
	{
		Name: "a roll tells the value of a flag, which may be a secret", Peer: "",
		From: `fields = append(fields, d.field())`,
		To:   `fields = append(fields, d.field()+c.Inputs)`,
		Test: "TestSettingsDifferByTheFieldsOfTheSpecAndNeverByAValue",
	},
	{
		Name: "the way back tells a value of any field, which may be a secret", Peer: "",
		From: `case d.path == "version" || d.path == "image.repository"`,
		To:   `case d.path != "" || d.path == "image.repository"`,
		Test: "TestTheWayBackNamesFieldsAndTheValuesOfThoseThatHoldNoSecret",
	},
}
