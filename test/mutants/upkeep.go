package main

// upkeep are bugs about room that etcd does not use.
var upkeep = []mutant{
	{
		Name: "a member is defragmented beside another one that is silent", Peer: "deckhouse/deckhouse#1315",
		From: "case len(o.HealthyVoters()) < len(o.Membership.Members):",
		To:   "case len(o.HealthyVoters()) == 0:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "the leader is defragmented", Peer: "kubernetes/kubernetes#93280",
		From: "case len(o.Voters()) > 1 && c.ID == o.Membership.Leader:",
		To:   "case false:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "two members are defragmented at once", Peer: "gardener/etcd-backup-restore#556",
		From: "case isBusy || r.Defragmenting != nil:",
		To:   "case r.Defragmenting != nil:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "a member is defragmented while it sends a backup", Peer: "",
		From: "case o.Streaming != \"\":\n\t\treturn quorumAtRisk",
		To:   "case false:\n\t\treturn quorumAtRisk",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "a member whose Pod was killed is taken for dead while etcd goes on", Peer: "",
		From: "return p != nil && p.Started && !p.HasSucceeded() && r.Answer == nil",
		To:   "return p != nil && p.Started && !p.HasEnded(now) && r.Answer == nil",
		Test: "TestABusyMemberIsJudgedByNothingButThatUntilItsTimeIsOver",
	},
	{
		Name: "clients are led away for a Pod that Kubernetes refuses", Peer: "",
		From: "if c.Before == (changes.StartDefrag{}) {",
		To:   "if true {",
		Test: "TestClientsAreLedAwayOnlyForADefragmentationThatKubernetesAdmits",
	},
	{
		Name: "a Pod that no node took for long silences its member when it begins", Peer: "",
		From: "if now.After(by) {\n\t\treturn fmt.Errorf",
		To:   "if false {\n\t\treturn fmt.Errorf",
		Test: "TestAPodThatNoNodeTookForLongLeavesItsMemberAlone",
	},
	{
		Name: "a member whose Pod no node takes gets no clients for ever", Peer: "",
		From: "p.HasFailed() || p.Terminating || p.NeverRan(now)",
		To:   "p.HasFailed() || p.Terminating",
		Test: row("clients are led back from a member whose Pod no node takes"),
	},
	{
		Name: "a member whose Pod Kubernetes refuses gets no clients for ever", Peer: "",
		From: "!isRejected(o.Observation, nameDefragment)",
		To:   "true",
		Test: row("clients are led back where Kubernetes refuses the Pod"),
	},
	{
		Name: "a member is believed to be busy for ever", Peer: "",
		From: "r.Answer == nil && !now.After(p.Ends())",
		To:   "r.Answer == nil",
		Test: "TestABusyMemberIsJudgedByNothingButThatUntilItsTimeIsOver",
	},
	{
		Name: "a busy member is restarted by a rule that acts blind", Peer: "etcd-io/etcd#16858",
		From: "pod.RunningSince.IsZero() || r.IsBusy(o.Now) {",
		To:   "pod.RunningSince.IsZero() {",
		Test: row("and is started anew by nobody"),
	},
	{
		Name: "a busy member is removed", Peer: "",
		From: "guardDoomed(o, r), guardBusy(o, r)); veto.Holds() {",
		To:   "guardDoomed(o, r)); veto.Holds() {",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "the leader is defragmented first", Peer: "etcd-io/etcd#20115",
		From: "cmp.Compare(leads(o.Incarnation, a), leads(o.Incarnation, b))",
		To:   "cmp.Compare(leads(o.Incarnation, b), leads(o.Incarnation, a))",
		Test: row("the next follower comes after it"),
	},
	{
		Name: "members are defragmented although keys fill one", Peer: "",
		From: "slices.ContainsFunc(o.Raised(), isOther) || o.IsOutOfSpace() ||",
		To:   "slices.ContainsFunc(o.Raised(), isOther) ||",
		Test: row("but where keys fill them"),
	},
	{
		Name: "more history is taken away than the spec allows", Peer: "",
		From: "case c.Revision <= 0 || c.Revision > o.History.Reached:",
		To:   "case c.Revision <= 0:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "history is taken away although a person forbids it", Peer: "",
		From: "case !o.Desired.Upkeep.Compacts:",
		To:   "case false:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "history is taken away while copies may differ", Peer: "",
		From: "case len(raised) == 0 || slices.ContainsFunc(raised, isOther):",
		To:   "case len(raised) == 0:",
		Test: "TestTheGuardRefusesAChangeForOneWrongFactAndNamesIt",
	},
	{
		Name: "the operator believes to know a past that it did not see", Peer: "",
		From: "if !m.at.After(at) {\n\t\t\treached, isFullSince",
		To:   "if reached == 0 || !m.at.After(at) {\n\t\t\treached, isFullSince",
		Test: "TestWhatWasReachedAWhileAgoIsKnownOnlyOfATimeThatWasSeen",
	},
	{
		Name: "the guard takes an alarm of corruption back beside a learner that copied before", Peer: "",
		From: "if len(o.FilledLearners()) > 0 {\n\t\treturn dataAtRisk",
		To:   "if false {\n\t\treturn dataAtRisk",
		Test: "TestTheGuardKeepsCopiesAlarmsAndVolumesForOneWrongFactAndNamesIt",
	},
	{
		Name: "a learner that copied the wrong copy is kept, and its alarm stands for ever", Peer: "",
		From: "case isCured(o, corrupt) && len(o.FilledLearners()) > 0:",
		To:   "case false:",
		Test: row("not beside a learner that may have copied the wrong copy: it is removed first"),
	},
	{
		Name: "a compaction that is under way is taken for one that is done", Peer: "",
		From: "!(known.IsAllCompacted(o.Leader()) && known.IsSteady) {",
		To:   "!known.IsAllCompacted(o.Leader()) {",
		Test: "TestTheQuotaGrowsOnlyWhereKeysFillItAndOnlyAsFarAsThereIsRoom",
	},
	{
		Name: "a quota that has grown is forgotten while the list is unknown", Peer: "",
		From: "if r.Member != nil || !current.Membership.Known {",
		To:   "if r.Member != nil {",
		Test: "TestTheQuotaGrowsOnlyWhereKeysFillItAndOnlyAsFarAsThereIsRoom",
	},
}
