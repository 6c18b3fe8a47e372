package main

import "strings"

// guardRow is the name of a test of one row of the guard's table.
func guardRow(name string) string {
	return "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt/" + strings.ReplaceAll(name, " ", "_")
}

// guards are bugs of the guard that no rule shows: today's rules ask for the same thing themselves before they propose.
var guards = []mutant{
	{
		Name: "a learner is added beside a learner", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:",
		To:      "case len(o.Membership.Strangers) > 0:",
		Package: planPackage, Test: guardRow("a learner beside a learner"),
	},
	{
		Name: "a member loses its certificates", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "case !o.Membership.Known || r.Member != nil:\n\t\treturn fmt.Sprintf(\"it is not certain that %s is no",
		To:      "case !o.Membership.Known:\n\t\treturn fmt.Sprintf(\"it is not certain that %s is no",
		Package: planPackage, Test: guardRow("the certificates of a member"),
	},
	{
		Name: "certificates that were made anew are deleted", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "if r.Secret.UID != c.UID {",
		To:      "if r.Secret.UID == \"\" {",
		Package: planPackage, Test: guardRow("certificates that were made anew"),
	},
	{
		Name: "a vote that nobody of ours has is left out", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "func(s etcdutil.Member) bool { return !s.Learner })",
		To:      "func(etcdutil.Member) bool { return false })",
		Package: planPackage, Test: guardRow("a removal beside a vote that nobody of ours has"),
	},
	{
		Name: "clients are led to a member that could start empty", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "(!r.IsSealed() || (c.Role == facts.RoleVoter) != r.IsVoter()):",
		To:      "(c.Role == facts.RoleVoter) != r.IsVoter():",
		Package: planPackage, Test: guardRow("a label for a member that could start empty"),
	},
	{
		Name: "leadership moves to a member that does not answer", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "if !taker.IsVoter() || taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {",
		To:      "if !taker.IsVoter() || taker.Member.ID != c.ToID {",
		Package: planPackage, Test: guardRow("a leader that hands over to a member that does not answer"),
	},
	{
		Name: "a member of another cluster is recorded", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "isOurs := o.Birth.ClusterID == 0 || says.ClusterID == o.Birth.ClusterID",
		To:      "isOurs := true",
		Package: planPackage, Test: guardRow("a record with another cluster ID"),
	},
	{
		Name: "one member alone says what the cluster's identity is", Peer: "",
		File:    "controllers/plan/guard/birth.go",
		From:    "if o.Birth.ClusterID != 0 || len(bearers) < etcdutil.Quorum(len(o.Birth.Names)) {",
		To:      "if o.Birth.ClusterID != 0 || len(bearers) < 1 {",
		Package: planPackage, Test: guardRow("a cluster ID that one of three first members bears"),
	},
	{
		Name: "a disruption budget lets a quorum go", Peer: "",
		File:    "controllers/plan/guard/members.go",
		From:    "if o.Membership.Known && c.MinAvailable < facts.BudgetFor(o, len(o.Voters())) {",
		To:      "if o.Membership.Known && c.MinAvailable < 1 {",
		Package: planPackage, Test: guardRow("a budget below quorum"),
	},
	{
		Name: "a restore begins with another source than was approved", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    `return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && r.Bump == l.Bump`,
		To:      `return r.WantedBackup.Fault == "" && r.Survivor == l.Survivor && r.Bump == l.Bump`,
		Package: planPackage, Test: guardRow("an empty incarnation where a backup was approved"),
	},
	{
		Name: "a refused request is carried out", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    `return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && r.Bump == l.Bump`,
		To:      "return r.Source == l.Source && r.Survivor == l.Survivor && r.Bump == l.Bump",
		Package: planPackage, Test: guardRow("an incarnation of a refused request"),
	},
	{
		Name: "the guard does not compare a restore with its request", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    "case !isApproved || !asksFor(request, c.Next):",
		To:      "case !isApproved:",
		Package: planPackage, Test: guardRow("an incarnation with another bump than was approved"),
	},
	{
		Name: "the guard lets a process that may still be starting be stopped", Peer: "",
		File:    "controllers/plan/facts/replica.go",
		From:    "return r.Answer == nil && !r.Pod.RunningSince.IsZero() && now.Sub(r.Pod.RunningSince) > StartDeadline",
		To:      "return r.Answer == nil && !r.Pod.RunningSince.IsZero() && now.Sub(r.Pod.RunningSince) > 0",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process that served before be stopped unasked", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {",
		To:      "if isSpare || r.HasLastingData() && (o.IsAlone(r) || !o.IsAnyReady()) {",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process be stopped unasked while another one serves", Peer: "",
		File:    "controllers/plan/guard/data.go",
		From:    "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {",
		To:      "if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady()) {",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets members start before the former ones are marked", Peer: "",
		File:    "controllers/plan/guard/former.go",
		From:    `case r.Volume != nil && r.Volume.Superseded == "":`,
		To:      "case false:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start while former ones are terminating", Peer: "",
		File:    "controllers/plan/guard/former.go",
		From:    "case !r.Pod.Terminating || r.Pod.GoneBy.IsZero() || o.Now.Sub(r.Pod.GoneBy) <= facts.LeavingDeadline:",
		To:      "case !r.Pod.Terminating:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start beside a quorum of former ones", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "return i < 0 || n >= etcdutil.Quorum(len(o.Birth.Former[i].Voters))",
		To:      "return i < 0",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard calls a quorum gone whose members answer", Peer: "",
		File:    "controllers/plan/facts/incarnation.go",
		From:    "return o.Birth.ClusterID != 0 && r.Answer.ClusterID != o.Birth.ClusterID",
		To:      "return true",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets a member be rebuilt from that answers as another one", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    "case o.IsGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):",
		To:      "case o.IsGone(r):",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a member of another incarnation be rebuilt from", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    "case m.IsZero() || r.Incarnation() != o.Birth.Incarnation || m.ClusterID != o.Birth.ClusterID:",
		To:      "case m.IsZero():",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a cluster move to a volume that was not restored", Peer: "",
		File:    "controllers/plan/guard/inplace.go",
		From:    "return v.Incarnation == l.Incarnation && (l.Origin.IsZero() || v.Restored == l.Incarnation)",
		To:      "return v.Incarnation == l.Incarnation",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets data of two clusters be resumed", Peer: "",
		File:    "controllers/plan/guard/birth.go",
		From:    "if len(origins) != 1 {",
		To:      "if len(origins) == 0 {",
		Package: planPackage, Test: guardRow("data of two clusters"),
	},
	{
		Name: "the guard lets a copy of a volume be resumed", Peer: "",
		File:    "controllers/plan/guard/birth.go",
		From:    `return r.TooNew == "" && r.TLS == d.TLS && !d.Ephemeral && r.Record.IsOn(r.UID, r.Backing)`,
		To:      `return r.TooNew == "" && r.TLS == d.TLS && !d.Ephemeral`,
		Package: planPackage, Test: guardRow("data on a copy of the volume that its member lived on"),
	},
	{
		Name: "the guard lets data that two objects left be resumed", Peer: "",
		File:    "controllers/plan/guard/birth.go",
		From:    "if item.Owner != o.Retained[0].Owner || item.IsVolume() && !isUsable(item, o.Desired) {",
		To:      "if item.IsVolume() && !isUsable(item, o.Desired) {",
		Package: planPackage, Test: guardRow("data that two objects left"),
	},
}
