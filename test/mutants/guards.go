package main

import "strings"

// guardRow is the name of a test of one row of the guard's table.
func guardRow(name string) string {
	return "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/" + strings.ReplaceAll(name, " ", "_")
}

// guards are bugs of the guard that no rule shows: today's rules ask for the same thing themselves before they propose.
var guards = []mutant{
	{
		Name: "the guard lets a cluster begin empty beside a volume", Peer: "",
		From: "o.IsOverRetained() && !o.BeginsEmpty()",
		To:   "o.IsOverRetained() && o.Desired.BeginEmpty == \"\"",
		Test: guardRow("CAs beside a volume, which would not be empty"),
	},
	{
		Name: "a learner is added beside a learner", Peer: "",
		From: "case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:",
		To:   "case len(o.Membership.Strangers) > 0:",
		Test: guardRow("a learner beside a learner"),
	},
	{
		Name: "a member loses its certificates", Peer: "",
		From: "case !o.Membership.Known || r.Member != nil:\n\t\treturn identityAtRisk(\"it is not certain that %s is no",
		To:   "case !o.Membership.Known:\n\t\treturn identityAtRisk(\"it is not certain that %s is no",
		Test: guardRow("the certificates of a member"),
	},
	{
		Name: "certificates that were made anew are deleted", Peer: "",
		From: "if r.Secret.UID != c.UID {",
		To:   "if r.Secret.UID == \"\" {",
		Test: guardRow("certificates that were made anew"),
	},
	{
		Name: "a vote that nobody of ours has is left out", Peer: "",
		From: "func(s etcdutil.Member) bool { return !s.Learner })",
		To:   "func(etcdutil.Member) bool { return false })",
		Test: guardRow("a removal beside a vote that nobody of ours has"),
	},
	{
		Name: "clients are led to a member that could start empty", Peer: "",
		From: "case !r.IsSealed() || (role == facts.RoleLearner) == r.IsVoter():",
		To:   "case (role == facts.RoleLearner) == r.IsVoter():",
		Test: guardRow("a label for a member that could start empty"),
	},
	{
		Name: "leadership moves to a member that does not answer", Peer: "",
		From: "if !taker.IsVoter() || taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {",
		To:   "if !taker.IsVoter() || taker.Member.ID != c.ToID {",
		Test: guardRow("a leader that hands over to a member that does not answer"),
	},
	{
		Name: "a member of another cluster is recorded", Peer: "",
		From: "isOurs := o.Bootstrap.ClusterID == 0 || says.ClusterID == o.Bootstrap.ClusterID",
		To:   "isOurs := true",
		Test: guardRow("a record with another cluster ID"),
	},
	{
		Name: "one member alone says what the cluster's identity is", Peer: "",
		From: "if o.Bootstrap.ClusterID != 0 || len(bearers) < etcdutil.Quorum(len(o.Bootstrap.Names)) {",
		To:   "if o.Bootstrap.ClusterID != 0 || len(bearers) < 1 {",
		Test: guardRow("a cluster ID that one of three first members bears"),
	},
	{
		Name: "a disruption budget lets a quorum go", Peer: "",
		From: "if o.Membership.Known && c.MinAvailable < facts.BudgetFor(o, len(o.Voters())) {",
		To:   "if o.Membership.Known && c.MinAvailable < 1 {",
		Test: guardRow("a budget below quorum"),
	},
	{
		Name: "a restore begins with another source than was approved", Peer: "",
		From: `return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && isBumped`,
		To:   `return r.WantedBackup.Fault == "" && r.Survivor == l.Survivor && isBumped`,
		Test: guardRow("an empty incarnation where a backup was approved"),
	},
	{
		Name: "a refused request is carried out", Peer: "",
		From: `return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && isBumped`,
		To:   "return r.Source == l.Source && r.Survivor == l.Survivor && isBumped",
		Test: guardRow("an incarnation of a refused request"),
	},
	{
		Name: "the guard does not compare a restore with its request", Peer: "",
		From: "case !isApproved || !asksFor(request, c.Next):",
		To:   "case !isApproved:",
		Test: guardRow("an incarnation with another bump than was approved"),
	},
	{
		Name: "the guard lets a restore begin at revisions that were served", Peer: "",
		From: "if !o.MayBegin(l) {",
		To:   "if l.Bump < 0 {",
		Test: guardRow("an incarnation that begins at a revision that was served"),
	},
	{
		Name: "the guard lets the cluster switch over to revisions that were served meanwhile", Peer: "",
		From: "case !o.IsStillAbove(l):",
		To:   "case l.Bump < 0:",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets a process that may still be starting be stopped", Peer: "",
		From: "return !p.RunningSince.IsZero() && now.Sub(p.RunningSince) > StartDeadline",
		To:   "return !p.RunningSince.IsZero() && now.Sub(p.RunningSince) > 0",
		Test: "TestAMemberThatRunsIsDeletedOnlyWhenNoOtherMemberHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process that served before be stopped unasked", Peer: "",
		From: "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {",
		To:   "if isSpare || r.HasLastingData() && (o.IsAlone(r) || !o.IsAnyReady()) {",
		Test: "TestAMemberThatRunsIsDeletedOnlyWhenNoOtherMemberHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process be stopped unasked while another one serves", Peer: "",
		From: "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {",
		To:   "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady()) {",
		Test: "TestAMemberThatRunsIsDeletedOnlyWhenNoOtherMemberHasAnythingOfIt",
	},
	{
		Name: "the guard lets members start before the former ones are marked", Peer: "",
		From: `case r.Volume != nil && r.Volume.Superseded == "":`,
		To:   "case false:",
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start while former ones are terminating", Peer: "",
		From: "return p.Terminating && !p.GoneBy.IsZero() && o.Now.Sub(p.GoneBy) > facts.LeavingDeadline",
		To:   "return p.Terminating",
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start beside a quorum of former ones", Peer: "",
		From: "return i < 0 || n >= etcdutil.Quorum(len(o.Bootstrap.Former[i].Voters))",
		To:   "return i < 0",
		Test: "TestNothingOfAnIncarnationThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard calls a quorum gone whose members answer", Peer: "",
		From: "return o.Bootstrap.ClusterID != 0 && r.Answer.ClusterID != o.Bootstrap.ClusterID",
		To:   "return true",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets a member be rebuilt from that answers as another one", Peer: "",
		From: "case o.IsGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):",
		To:   "case o.IsGone(r) || m.IsZero():",
		Test: "TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a member of another incarnation be rebuilt from", Peer: "",
		From: "case m.IsZero() || r.Incarnation() != o.Bootstrap.Incarnation || m.ClusterID != o.Bootstrap.ClusterID:",
		To:   "case m.IsZero():",
		Test: "TestAnIncarnationIsRestoredOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a cluster move to a volume that was not restored", Peer: "",
		From: "return v.Incarnation == l.Incarnation && (l.Origin.IsZero() || v.Restored == l.Incarnation)",
		To:   "return v.Incarnation == l.Incarnation",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets data of two clusters be resumed", Peer: "",
		From: "if len(origins) != 1 {",
		To:   "if len(origins) == 0 {",
		Test: guardRow("data of two clusters"),
	},
	{
		Name: "the guard lets data that two objects left be resumed", Peer: "",
		From: "if item.Owner != o.Retained[0].Owner || item.IsVolume() && !isUsable(item, o.Desired) {",
		To:   "if item.IsVolume() && !isUsable(item, o.Desired) {",
		Test: guardRow("data that two objects left"),
	},
}
