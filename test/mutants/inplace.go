package main

const (
	guardInPlace = "controllers/plan/guardinplace.go"
	guardLives   = "controllers/plan/guardlives.go"
	fence        = "controllers/plan/fence.go"
	laying       = "controllers/plan/laying.go"
)

// inPlace are bugs of restores in place, and of the way back from a lost quorum.
var inPlace = []mutant{
	{
		Name: "the cluster moves on an approval of what was there before", Peer: "",
		File:    guardInPlace,
		From:    "if r.ID == id && r.Approval == digest && ",
		To:      "if r.ID == id && r.Approval != \"\" && len(digest) > 0 && ",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "an EtcdRestore that was carried out is carried out again", Peer: "",
		File:    guardInPlace,
		From:    " && o.lifeOfRequest(id) == \"\" {",
		To:      " {",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "without a backup a cluster with a quorum is given up", Peer: "",
		File:    guardInPlace,
		From:    "if !l.Origin.IsZero() || !o.isCertainlyLost() {",
		To:      "if !l.Origin.IsZero() {",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "a survivor of another cluster is rebuilt from", Peer: "",
		File:    "controllers/plan/survivor.go",
		From:    "case r.incarnation() != o.Birth.Incarnation || record.ClusterID != o.Birth.ClusterID:",
		To:      "case r.incarnation() != o.Birth.Incarnation:",
		Package: planPackage, Test: "TestALifeIsLaidOnlyOnAnApprovalAndUnderNamesThatWereNeverUsed",
	},
	{
		Name: "the cluster moves while a volume is still being restored", Peer: "",
		File:    laying,
		From:    "case r.Restoring != nil:\n\t\treturn \"its restore Pod is there\"",
		To:      "case r.Restoring != nil && r.Volume == nil:\n\t\treturn \"its restore Pod is there\"",
		Package: planPackage, Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "what a Pod laid on a volume that is gone counts for the next one", Peer: "",
		File:    laying,
		From:    "isGoing := r.Volume == nil || r.Volume.Terminating || ",
		To:      "isGoing := r.Volume != nil && r.Volume.Terminating || r.Volume != nil && ",
		Package: planPackage, Test: row("what was laid on a volume that is gone says nothing of the next one"),
	},
	{
		Name: "the next members start beside those of the life before", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "if why := o.guardFence(); why != \"\" && len(c.Pods) > 0 {",
		To:      "if why := o.guardFence(); why != \"\" && len(c.Pods) > 9 {",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "a majority on nodes that do not answer is left behind", Peer: "",
		File:    fence,
		From:    "n > 0 && n >= etcdutil.Quorum(len(past.Voters))",
		To:      "n > 0 && n >= max(3, etcdutil.Quorum(len(past.Voters)))",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "members are stopped before their volumes say that the cluster moved on", Peer: "",
		File:    guardLives,
		From:    "r.Pod.Incarnation == o.Birth.Incarnation || len(o.unmarked()) > 0:",
		To:      "r.Pod.Incarnation == o.Birth.Incarnation:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "old volumes are deleted without a word", Peer: "",
		File:    fence,
		From:    "return request.DeletesOld && o.lifeOfRequest(",
		To:      "return o.lifeOfRequest(",
		Package: planPackage, Test: row("a cluster that was restored in place is settled"),
	},
	{
		Name: "old volumes go before what followed serves", Peer: "",
		File:    fence,
		From:    "case o.Birth.ClusterID == 0 || !o.Membership.Known || o.Membership.ClusterID != o.Birth.ClusterID || o.Margin() < 0:",
		To:      "case o.Birth.ClusterID == 0:",
		Package: planPackage, Test: "TestNothingOfALifeThatEndedServesWhenTheNextOneStartsOrIsLost",
	},
	{
		Name: "a life that was moved to is voided into an empty one", Peer: "",
		File:    "controllers/plan/void.go",
		From:    "if o.hasMoved() {\n\t\treturn o.lostAfterMove()\n\t}\n",
		To:      "",
		Package: planPackage, Test: row("a life that cannot serve any more is never begun again empty"),
	},
	{
		Name: "what is laid is taken back although it is wanted", Peer: "",
		File:    guardInPlace,
		From:    "if r.ID == o.Birth.Coming.Restore && r.Approval != \"\" {",
		To:      "if r.ID == o.Birth.Coming.Restore && r.Approval == \"\" {",
		Package: planPackage, Test: "TestWhatIsLaidTouchesNothingOfTheLifeThatServes",
	},
	{
		Name: "a lagging operator starts a member of a life that ended", Peer: "",
		File:    "controllers/plan/next.go",
		From:    "ApplyObjects, PrepareMember, FollowPolicy:\n",
		To:      "ApplyObjects, PrepareMember, FollowPolicy, StartPods:\n",
		Package: planPackage, Test: "TestEveryStartIsConfirmed",
	},
	{
		Name: "what a restore moved on from is taken up again by a new cluster", Peer: "",
		File:    "controllers/plan/resume.go",
		From:    "return !v.Record.IsZero() && v.Superseded == \"\" })",
		To:      "return !v.Record.IsZero() })",
		Package: planPackage, Test: row("what a restore ended is not taken up again by itself"),
	},
	{
		Name: "a survivor that answers is restarted to be read", Peer: "",
		File:    "controllers/plan/survivor.go",
		From:    "return r.Answer == nil && r.isKept() && !r.Pod.Terminating && r.Pod.neverReady() && ",
		To:      "return r.isKept() && !r.Pod.Terminating && ",
		Package: planPackage, Test: "TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped",
	},
	{
		Name: "a survivor is started again while it is read", Peer: "",
		File:    "controllers/plan/survivor.go",
		From:    "guardRead(r Replica) string {\n\tif o.isFlushed(r) {",
		To:      "guardRead(r Replica) string {\n\tif o.isFlushed(r) && r.Pod != nil {",
		Package: planPackage, Test: "TestASurvivorIsStoppedOnlyToBeReadAndReadOnlyOnceItIsStopped",
	},
	{
		Name: "a veto of a restore keeps the cluster from being looked after", Peer: "",
		File:    "controllers/plan/inplace.go",
		From:    "return refuse(ReasonGuard, \"%s Held back: %s\", p.Message, veto).yielding()",
		To:      "return refuse(ReasonGuard, \"%s Held back: %s\", p.Message, veto)",
		Package: planPackage, Test: row("what cannot be moved to keeps nobody from looking after the cluster"),
	},
	{
		Name: "a digest that changes with every write is never approved in time", Peer: "",
		File:    "controllers/plan/evidence.go",
		From:    "members = append(members, \"member \"+m.ID.String())",
		To:      "members = append(members, fmt.Sprint(\"member \", m.ID, m.Revision))",
		Package: planPackage, Test: "TestAnApprovalIsOfALifeAndItsMembersAndNotOfTheMoment",
	},
}
