package main

// rolls are bugs of whoever restarts members that run.
var rolls = []mutant{
	{
		Name: "a roll goes on although the member before did not come back", Peer: "coreos/etcd-operator#1211",
		File: "controllers/plan/rollout.go",
		From: `if other.Name != r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o) &&
			!isCuredBeside(o.Incarnation, r, other) {`,
		To: "if other.Name == r.Name && !isWell(o.Incarnation, other) && !isSucceeding(o) && " +
			"!isCuredBeside(o.Incarnation, r, other) {",
		Package: planPackage, Test: row("nobody is restarted while another one is not well"),
	},
	{
		Name: "a roll believes etcd's answer and not the kubelet", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && o.IsCaughtUp(r)",
		To:      "return r.IsSealed() && !r.Pod.Terminating && o.IsCaughtUp(r)",
		Package: planPackage, Test: row("nobody is restarted while the kubelet does not call the last one ready"),
	},
	{
		Name: "a roll is blind to what the member before still lacks", Peer: "gardener/etcd-druid#588",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && o.IsCaughtUp(r)",
		To:      "return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && r.IsHealthy(o.Membership)",
		Package: planPackage, Test: "TestNobodyIsRestartedWhileAnotherOneIsReadyButFarBehind",
	},
	{
		Name: "a sick member is restarted last", Peer: "gardener/etcd-druid#879",
		File: "controllers/plan/rollout.go",
		From: `case !r.IsHealthy(o.Membership):
		return 0`,
		To: `case !r.IsHealthy(o.Membership):
		return 4`,
		Package: planPackage, Test: row("a sick member is restarted before healthy ones"),
	},
	{
		Name: "the leader is not restarted last", Peer: "etcd-io/etcd-operator#403",
		File: "controllers/plan/rollout.go",
		From: `return 3
	case isBehindVolume(r):`,
		To: `return 0
	case isBehindVolume(r):`,
		Package: planPackage, Test: row("new settings are written on a follower's volume first"),
	},
	{
		Name: "the leader is restarted without handing over", Peer: "",
		File:    "controllers/plan/rollout.go",
		From:    "if r.Member.ID == o.Membership.Leader && len(o.Voters()) > 1 {",
		To:      "if r.Member.ID == 0 && len(o.Voters()) > 1 {",
		Package: planPackage, Test: row("the leader hands over to a member that is done before it is restarted"),
	},
	{
		Name: "members are restarted without asking what quorum is left", Peer: "gardener/etcd-druid#588",
		File: "controllers/plan/guard/data.go",
		From: `return guardVotes(o, r)
}`,
		To: `return ""
}`,
		Package: planPackage, Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a member with its data in its Pod is evicted", Peer: "cozystack/etcd-operator#98",
		File:    "controllers/plan/guard/data.go",
		From:    "case r.Ephemeral || r.IsDoomed():",
		To:      "case r.IsDoomed():",
		Package: planPackage, Test: "TestAMemberIsEvictedOnlyOnDataThatOutlivesItsPod",
	},
	{
		Name: "a member whose volume is going is evicted", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "case r.Ephemeral || r.IsDoomed():",
		To:      "case r.Ephemeral:",
		Package: planPackage, Test: "TestAMemberIsEvictedOnlyOnDataThatOutlivesItsPod",
	},
	{
		Name: "new settings never reach ephemeral members", Peer: "etcd-io/etcd-operator#327",
		File: "controllers/plan/rollout.go",
		From: `if !o.Desired.Ephemeral {
		return facts.Replica{}`,
		To: `if o.Desired.Size > 0 {
		return facts.Replica{}`,
		Package: planPackage, Test: row("an ephemeral member is never restarted: a successor joins first"),
	},
	{
		Name: "a member is restarted because an annotation of its Pod is gone", Peer: "etcd-io/etcd-operator#403",
		File:    "controllers/plan/rollout.go",
		From:    "return answersOther(r, o.Desired.Choices.Version)",
		To:      "return !answersOther(r, o.Desired.Choices.Version)",
		Package: planPackage, Test: row("and is not restarted for that, even while it cannot be told"),
	},
	{
		Name: "a member whose Pod lost an annotation is forgotten by every roll", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "if !r.Pod.Choices.IsZero() || !r.IsSealed() ||",
		To:      "if !r.Pod.Choices.IsZero() || r.IsSealed() ||",
		Package: planPackage, Test: row("before a roll would forget it"),
	},
	{
		Name: "a Pod is told settings of a version that it does not run", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "if !c.IsZero() && !answersOther(r, c.Version) {",
		To:      "if !c.IsZero() {",
		Package: planPackage,
		Test:    row("nor is it told settings of another version than it answers with: it is restarted for that"),
	},
	{
		Name: "a roll writes what Kubernetes may refuse", Peer: "",
		File: "controllers/plan/rollout.go",
		From: `return act(changes.SetChoices{Volumes: []facts.VolumeRef{r.VolumeRef()}, Choices: o.Desired.Choices,
			Rehearse: true}, facts.ReasonRoll,`,
		To: "return act(changes.SetChoices{Volumes: []facts.VolumeRef{r.VolumeRef()}, Choices: " +
			"o.Desired.Choices}, facts.ReasonRoll,",
		Package: planPackage, Test: "TestARollAsksWhetherItsPodWouldBeAdmittedBeforeItWritesAnything",
	},
	{
		Name: "a member is stopped without asking whether its successor would be admitted", Peer: "",
		File:    "controllers/apply/rehearse.go",
		From:    "\t\treturn s.rehearseStart(ctx, c.Successor)",
		To:      "\t\treturn nil",
		Package: applyPackage, Test: "TestNothingIsStoppedForAPodThatWouldNotBeAdmitted",
	},
	{
		Name: "a roll deletes Pods past the disruption budget", Peer: "",
		File: "controllers/plan/rollout.go",
		From: `return act(changes.EvictPod{Pod: r.PodRef(), Successor: restartOf(r)}, facts.ReasonRoll,
		"%s is restarted with the settings on its volume.", r.Name)`,
		To:      `return act(changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, facts.ReasonRoll, "%s is restarted with the settings on its volume.", r.Name)`,
		Package: planPackage, Test: row("then its Pod is evicted"),
	},
	{
		Name: "an eviction is carried out as a delete", Peer: "",
		File:    "controllers/apply/evict.go",
		From:    "err = s.Client.SubResource(\"eviction\").Create(limited, live, eviction)",
		To:      "_ = eviction\n\terr = s.Client.Delete(limited, live)",
		Package: applyPackage, Test: "TestWhatAnEvictionIsAnsweredIsToldApart",
	},
	{
		Name: "an eviction hits another Pod of the same name", Peer: "",
		File:    "controllers/apply/evict.go",
		From:    "case live.GetUID() != types.UID(c.Pod.UID):",
		To:      "case types.UID(c.Pod.UID) == \"\":",
		Package: applyPackage, Test: "TestNoOtherPodThanTheOneThatWasMeantIsEvicted",
	},
	{
		Name: "an eviction that cannot succeed holds its slot of the budget", Peer: "",
		File:    "controllers/apply/evict.go",
		From:    "UID: new(live.GetUID()),",
		To:      "UID: new(live.GetUID()), ResourceVersion: new(live.GetResourceVersion()),",
		Package: applyPackage, Test: "TestAPodOfWhichItsKubeletSpeaksMeanwhileIsEvictedAllTheSame",
	},
	{
		Name: "a roll takes members to a version to which no step leads", Peer: "",
		File:    "controllers/plan/health.go",
		From:    `} else if o.Desired.NoWay != "" {`,
		To:      "} else if c.IsZero() {",
		Package: planPackage, Test: row("a step that this release does not take is not begun"),
	},
	{
		Name: "a member that cannot start takes a version to which no step leads", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "|| !mayTakeVersion(o, r, o.Desired.Choices.Version) {",
		To:      "{",
		Package: planPackage, Test: row("but no version to which this release takes no step"),
	},
	{
		Name: "a member that cannot start tries a higher minor beside one that is away", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "other.Name != r.Name && !other.IsHealthy(o.Membership)",
		To:      "other.Name != r.Name && false",
		Package: planPackage, Test: row("and not while one does not"),
	},
	{
		Name: "a higher minor is written beside data while others are away", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "if !o.Membership.Known || len(others) < len(wanted) {",
		To:      "if !o.Membership.Known && len(others) < len(wanted) {",
		Package: planPackage, Test: "TestTheGuardVetoesWhatHurtsAndNothingElse",
	},
	{
		Name: "a new member joins with a higher minor than the cluster's", Peer: "",
		File:    "controllers/plan/size.go",
		From:    "known = ofLowestMinor(known)",
		To:      "_ = ofLowestMinor(known)",
		Package: planPackage, Test: "TestANewMemberJoinsWithTheLowestMinorThatThereIs",
	},
	{
		Name: "a member is removed for its size while minors differ", Peer: "",
		File:    "controllers/plan/size.go",
		From:    "return r, mustLeave || !haveMixedMinors(o)",
		To:      "return r, mustLeave || !haveMixedMinors(o) || true",
		Package: planPackage, Test: row("a size that is lowered waits until all run one minor"),
	},
	{
		Name: "a silent member goes back below the version of its cluster, since its own record is of before", Peer: "",
		File:    "controllers/plan/facts/versions.go",
		From:    "return etcdutil.WhyNotOn(version, r.Record().Version, o.ClusterVersion())",
		To:      "return etcdutil.WhyNotOn(version, r.Record().Version, r.Record().ClusterVersion)",
		Package: planPackage, Test: "TestASilentMemberGoesToNoMinorBelowWhatOthersSayTheClusterIsOf",
	},
	{
		Name: "a member that lost its quorum midway never takes corrected settings", Peer: "",
		File:    "controllers/plan/facts/versions.go",
		From:    "case ran(r), version.SameMinor(r.Choices().Version):",
		To:      "case ran(r):",
		Package: planPackage, Test: "TestAMinorThatWasBegunIsGoneOnWithBlind",
	},
	{
		Name: "a learner waits for ever with settings that cannot run, for members of another minor", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "isStuck := o.IsAlive() &&",
		To:      "isStuck := !o.IsAlive() &&",
		Package: planPackage,
		Test: "TestALearnerThatCannotRunTakesTheSettingsOfTheMembersWhileThoseOfTheSpecAreOf" +
			"AnotherMinor",
	},
	{
		Name: "a member that was not heard since its restart is taken for one of the lower minor", Peer: "",
		File:    "controllers/plan/facts/versions.go",
		From:    "case r.Answer == nil && !r.Choices().IsZero() && !r.Choices().Version.SameMinor(wrote) &&",
		To:      "case r.Answer != nil && !r.Choices().IsZero() && !r.Choices().Version.SameMinor(wrote) &&",
		Package: planPackage, Test: "TestASilentMemberMayRunWhatItsVolumeAsksFor",
	},
	{
		Name: "first members that started skip a minor, since nothing is written down of them", Peer: "",
		File:    "controllers/plan/facts/versions.go",
		From:    "case wrote.IsZero() && !o.Membership.Known &&",
		To:      "case wrote.IsZero() && o.Membership.Known &&",
		Package: planPackage, Test: "TestAFirstMemberThatStartedCountsBeforeAnythingIsWrittenDown",
	},
	{
		Name: "a cluster at a stop is called settled", Peer: "",
		File:    "controllers/plan/health.go",
		From:    "case isOnItsWay:",
		To:      "case isOnItsWay && false:",
		Package: planPackage,
		Test:    row("nor where the choices of all are those of the stop, and one runs another version"),
	},
	{
		Name: "two members of different minors wait for each other for ever", Peer: "",
		File:    "controllers/plan/size.go",
		From:    "if len(o.Voters()) == 2 {",
		To:      "if len(o.Voters()) == 0 {",
		Package: planPackage, Test: "TestOneOfTwoMembersLeavesAlsoWhileTheirMinorsDiffer",
	},
	{
		Name: "a higher minor starts on data that nothing asks it for", Peer: "",
		File:    "controllers/plan/facts/versions.go",
		From:    "if !c.Version.SameMinor(wrote) && c != r.Choices() {",
		To:      "if c.Version.Compare(wrote) < 0 && !c.Version.SameMinor(wrote) && c != r.Choices() {",
		Package: planPackage, Test: "TestAMemberStartsOnlyFromItsOwnData",
	},
	{
		Name:    "settings with which one member cannot run are given to the next one that stops",
		Peer:    "",
		File:    "controllers/plan/pods.go",
		From:    "return !isTried || o.IsServedWith(o.Desired.Choices) || !o.IsServedWith(current)",
		To:      "return isTried || !isTried",
		Package: planPackage, Test: row("a setting with which another member cannot run is not spread"),
	},
	{
		Name: "two members that cannot start wait for each other to try corrected settings", Peer: "",
		File: "controllers/plan/pods.go",
		From: "return !isTried || o.IsServedWith(o.Desired.Choices) || !o.IsServedWith(current)",
		To:   "return !isTried || o.IsServedWith(o.Desired.Choices)", Package: planPackage,
		Test: row("where nobody serves with what it has, a member need not wait for another to try"),
	},
	{
		Name: "another minor version starts on a member's data", Peer: "",
		File: "controllers/plan/guard/data.go",
		From: "why := o.WhyNotStart(r, s.Choices)",
		To:   `why := ""`, Package: planPackage, Test: "TestAMemberStartsOnlyFromItsOwnData",
	},
	{
		Name: "a member that asks too much is replaced by one that asks the same, for ever", Peer: "",
		File:    "controllers/plan/judge/seen.go",
		From:    `return r.Pod.Waiting == "Unschedulable" && slices.ContainsFunc(tiedToNode, says) && o.IsServedWith(r.Pod.Choices)`,
		To:      `return r.Pod.Waiting == "Unschedulable" && slices.ContainsFunc(tiedToNode, says)`,
		Package: planPackage, Test: row("one whose new settings no node has room for is not"),
	},
	{
		Name: "a Pod that cannot start is never given the corrected settings", Peer: "coreos/etcd-operator#1301",
		File: "controllers/plan/pods.go",
		From: `case r.CannotRun():
		return mayAdopt(o, r)`,
		To: `case !r.CannotRun():
		return mayAdopt(o, r)`,
		Package: planPackage, Test: row("a Pod that cannot start takes a corrected setting"),
	},
	{
		Name: "a new member is made from settings with which nobody serves", Peer: "coreos/etcd-operator#1211",
		File:    "controllers/plan/size.go",
		From:    "serving := facts.Filter(known, func(r facts.Replica) bool { return r.IsHealthy(o.Membership) })",
		To:      "serving := known",
		Package: planPackage, Test: "TestANewMemberIsMadeLikeThoseThatServe",
	},
	{
		Name: "labels and annotations that others put on a Pod are removed", Peer: "",
		File:    "controllers/resources/dress.go",
		From:    "\tfor _, key := range before {",
		To:      "\tfor key := range have {",
		Package: resourcesPackage, Test: "TestDressing/keys_that_left_the_spec_go,_and_only_those",
	},
	{
		Name: "labels and annotations of the operator are removed", Peer: "",
		File:    "controllers/resources/dress.go",
		From:    "if isThere && !isWanted && !isOurs(key) {",
		To:      "if isThere && !isWanted {",
		Package: resourcesPackage, Test: "TestDressing/a_record_that_names_keys_of_ours_takes_none_of_them_away",
	},
	{
		Name: "a new operator writes on every Pod of the release before", Peer: "",
		File:    "controllers/resources/dress.go",
		From:    "case !isWritten && d.IsZero(), isWritten && ",
		To:      "case isWritten && ",
		Package: resourcesPackage, Test: "TestDressing/a_Pod_that_was_made_before_keys_were_written_down_needs_nothing",
	},
	{
		Name: "a member that runs and never answers is not given the corrected settings",
		Peer: "coreos/etcd-operator#1301",
		File: "controllers/plan/pods.go",
		From: `return mayStopBlind(o, r)
}`,
		To: `return false
}`,
		Package: planPackage, Test: row("the only member, which runs and never answers, takes a corrected setting"),
	},
	{
		Name: "an operator that is cut off stops members that serve", Peer: "coreos/etcd-operator#1968",
		File:    "controllers/plan/stopping.go",
		From:    "return hasNeverServed(o.Observation, r) && !o.IsAnyReady() && areToBlame(o, runsWith(r))",
		To:      "return hasNeverServed(o.Observation, r) && areToBlame(o, runsWith(r))",
		Package: planPackage, Test: row("not while another one is ready: the operator is the one that is cut off"),
	},
	{
		Name: "a member that waits for the others is given settings that nobody served with", Peer: "",
		File:    "controllers/plan/stopping.go",
		From:    "return having < quorum || failing >= quorum",
		To:      "return having < quorum || failing < quorum",
		Package: planPackage, Test: row("what others will serve with when they are back is not given up"),
	},
	{
		Name: "a member with a large database is restarted before it has read it", Peer: "coreos/etcd-operator#2109",
		File:    "controllers/plan/stopping.go",
		From:    "return o.Now.Sub(pod.RunningSince) > facts.StartDeadline",
		To:      "return o.Now.Sub(pod.RunningSince) > 0",
		Package: planPackage, Test: row("not while it may still be starting"),
	},
	{
		Name: "new settings are tried on all members at once", Peer: "coreos/etcd-operator#1211",
		File: "controllers/plan/stopping.go",
		From: `if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) || isAnotherTrying(o, r) {`,
		To: `if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) {`,
		Package: planPackage, Test: row("one member at a time"),
	},
	{
		Name: "members are replaced one after the other for settings that keep them silent",
		Peer: "coreos/etcd-operator#1211",
		File: "controllers/plan/judge/seen.go",
		From: `return IsUnheard(r) && r.HasLastingData() && r.Pod.NeverReady() && r.Pod.Choices == o.Desired.Choices &&
		!o.IsServedWith(r.Pod.Choices)`,
		To: "return false && r.HasLastingData() && r.Pod.NeverReady() && r.Pod.Choices == o.Desired.Choices && " +
			"!o.IsServedWith(r.Pod.Choices)",
		Package: planPackage, Test: row("a member that never was ready with new settings is not replaced: the next " +
			"one would take them too"),
	},
}
