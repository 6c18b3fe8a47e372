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
		File:    "controllers/plan/guard.go",
		From:    "case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:",
		To:      "case len(o.Membership.Strangers) > 0:",
		Package: planPackage, Test: guardRow("a learner beside a learner"),
	},
	{
		Name: "leadership moves to a member that does not answer", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {",
		To:      "taker.Member.ID != c.ToID {",
		Package: planPackage, Test: guardRow("a leader that hands over to a member that does not answer"),
	},
	{
		Name: "a member of another cluster is recorded", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "isOurs := o.Birth.ClusterID == 0 || says.ClusterID == o.Birth.ClusterID",
		To:      "isOurs := true",
		Package: planPackage, Test: guardRow("a record with another cluster ID"),
	},
	{
		Name: "one member alone says what the cluster's identity is", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "len(bearers) < etcdutil.Quorum(len(o.Birth.Names)) {",
		To:      "len(bearers) < 1 {",
		Package: planPackage, Test: guardRow("a cluster ID that one of three first members bears"),
	},
	{
		Name: "a disruption budget lets a quorum go", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "c.MinAvailable < budgetFor(o, len(o.Voters())) {",
		To:      "c.MinAvailable < 1 {",
		Package: planPackage, Test: guardRow("a budget below quorum"),
	},
	{
		Name: "a restore begins with another source than was approved", Peer: "",
		File:    "controllers/plan/guardinplace.go",
		From:    "return r.WantedBackup.Fault == \"\" && r.Source == l.Source && ",
		To:      "return r.WantedBackup.Fault == \"\" && ",
		Package: planPackage, Test: guardRow("an empty incarnation where a backup was approved"),
	},
	{
		Name: "a refused request is carried out", Peer: "",
		File:    "controllers/plan/guardinplace.go",
		From:    "return r.WantedBackup.Fault == \"\" && r.Source == l.Source && ",
		To:      "return r.Source == l.Source && ",
		Package: planPackage, Test: guardRow("an incarnation of a refused request"),
	},
	{
		Name: "the guard does not compare a restore with its request", Peer: "",
		File:    "controllers/plan/guardinplace.go",
		From:    "case !isApproved || !request.asksFor(c.Next):",
		To:      "case !isApproved:",
		Package: planPackage, Test: guardRow("an incarnation with another bump than was approved"),
	},
	{
		Name: "the guard lets a process that may still be starting be stopped", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "now.Sub(r.Pod.RunningSince) > startDeadline",
		To:      "now.Sub(r.Pod.RunningSince) > 0",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process that served before be stopped unasked", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "r.Pod.neverReady() && !o.isAnyReady()) {",
		To:      "!o.isAnyReady()) {",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets a process be stopped unasked while another one serves", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "r.Pod.neverReady() && !o.isAnyReady()) {",
		To:      "r.Pod.neverReady()) {",
		Package: planPackage, Test: "TestAMemberThatRunsIsDeletedOnlyWhenNobodyHasAnythingOfIt",
	},
	{
		Name: "the guard lets members start before the former ones are marked", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "case r.Volume != nil && r.Volume.Superseded == \"\":",
		To:      "case false:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start while former ones are terminating", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "case !r.Pod.Terminating || r.Pod.GoneBy.IsZero() || o.Now.Sub(r.Pod.GoneBy) <= leavingDeadline:",
		To:      "case !r.Pod.Terminating:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard lets members start beside a quorum of former ones", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "return i < 0 || n >= etcdutil.Quorum(len(o.Birth.Former[i].Voters))",
		To:      "return i < 0",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "the guard calls a quorum gone whose members answer", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "return o.Birth.ClusterID != 0 && r.Answer.ClusterID != o.Birth.ClusterID",
		To:      "return true",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets a member be rebuilt from that answers as another one", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "case o.isGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):",
		To:      "case o.isGone(r):",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a member of another incarnation be rebuilt from", Peer: "",
		File:    "controllers/plan/guardfacts.go",
		From:    "case m.IsZero() || r.Incarnation() != o.Birth.Incarnation || m.ClusterID != o.Birth.ClusterID:",
		To:      "case m.IsZero():",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the guard lets a cluster move to a volume that was not restored", Peer: "",
		File:    "controllers/plan/guardinplace.go",
		From:    " && (l.Origin.IsZero() || v.Restored == l.Incarnation)",
		To:      "",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "the guard lets data of two clusters be resumed", Peer: "",
		File:    "controllers/plan/resume.go",
		From:    "if len(origins) != 1 {",
		To:      "if len(origins) == 0 {",
		Package: planPackage, Test: guardRow("data of two clusters"),
	},
	{
		Name: "the guard lets a copy of a volume be resumed", Peer: "",
		File:    "controllers/plan/resume.go",
		From:    " && !d.Ephemeral && r.Record.IsOn(r.UID, r.Backing)",
		To:      " && !d.Ephemeral",
		Package: planPackage, Test: guardRow("data on a copy of the volume that its member lived on"),
	},
	{
		Name: "the guard lets data that two objects left be resumed", Peer: "",
		File:    "controllers/plan/resume.go",
		From:    "if item.Owner != o.Retained[0].Owner || item.isVolume()",
		To:      "if item.isVolume()",
		Package: planPackage, Test: guardRow("data that two objects left"),
	},
}
