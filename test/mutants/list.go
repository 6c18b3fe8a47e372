package main

const (
	planPackage  = "./controllers/plan"
	worldPackage = "./controllers/plan/world"
)

// mutants are bugs that were shipped by others, or that would be easy to make here.
var mutants = []mutant{
	{
		Name: "a removal does not ask what quorum is left", Peer: "openshift/cluster-etcd-operator#937",
		File:    "controllers/plan/guard.go",
		From:    "if voters < 1 || healthy < etcdutil.Quorum(voters) {\n\t\treturn fmt.Sprintf(\"without",
		To:      "if voters < 1 {\n\t\treturn fmt.Sprintf(\"without",
		Package: planPackage, Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a learner is promoted blindly", Peer: "kubernetes/kubeadm#2997",
		File:    "controllers/plan/membership.go",
		From:    "return r.Answer.Applied+caughtUpWithin >= other.Answer.Applied",
		To:      "return true",
		Package: planPackage, Test: "TestNextOneSentencePerRule/a_learner_far_behind_is_not_promoted",
	},
	{
		Name: "a dead learner counts for its own promotion", Peer: "etcd-io/etcd-operator#441",
		File:    "controllers/plan/guard.go",
		From:    "if o.isCaughtUp(r) {\n\t\thealthy++",
		To:      "if r.IsLearner() {\n\t\thealthy++",
		Package: planPackage, Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "members are never sealed", Peer: "rancher/k3k#836",
		File:    "controllers/plan/blind.go",
		From:    "if len(seals) == 0 {",
		To:      "if len(seals) >= 0 {",
		Package: planPackage, Test: "TestNextOneSentencePerRule/a_stripped_seal_is_put_back",
	},
	{
		Name: "who lives on a volume is recorded before that very member said so", Peer: "",
		File:    "controllers/plan/membership.go",
		From:    "return r.Member != nil && a != nil && a.ID == r.Member.ID && a.ClusterID",
		To:      "return r.Member != nil && a != nil && a.ClusterID",
		Package: planPackage, Test: "TestARecordIsRefusedUnlessThatVeryMemberSaidIt",
	},
	{
		Name: "rules are swapped: what is left over goes before what was begun is recorded", Peer: "",
		File:    "controllers/plan/next.go",
		From:    "\t{\"record-members\", \"A member that answered is written down beside its data.\", recordMembers},\n\t{\"leftover-pod\", \"The Pod of a removed member is deleted.\", leftoverPod},",
		To:      "\t{\"leftover-pod\", \"The Pod of a removed member is deleted.\", leftoverPod},\n\t{\"record-members\", \"A member that answered is written down beside its data.\", recordMembers},",
		Package: planPackage, Test: "TestTheRulesAreInTheirOrderInDocGoAndInTheUsersDocs",
	},
	{
		Name: "unknown is taken for empty: volumes go while etcd cannot be asked", Peer: "cozystack/etcd-operator#347",
		File:    "controllers/plan/guard.go",
		From:    "if !o.Membership.Known || r.Member != nil {\n\t\treturn fmt.Sprintf(\"it is not certain that no member lives",
		To:      "if r.Member != nil {\n\t\treturn fmt.Sprintf(\"it is not certain that no member lives",
		Package: planPackage, Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a cluster is born over retained volumes", Peer: "cozystack/etcd-operator#355",
		File:    "controllers/plan/ownership.go",
		From:    "if o.isAlive() || o.Birth.Exists || len(o.Retained) == 0 {",
		To:      "if o.isAlive() || o.Birth.Exists || len(o.Retained) >= 0 {",
		Package: planPackage, Test: "TestNextOneSentencePerRule/over_retained_volumes_nothing_is_born",
	},
	{
		Name: "a birth with writes is voided", Peer: "",
		File:    "controllers/plan/void.go",
		From:    "if o.isAlive() || slices.ContainsFunc(o.Replicas, hasWrites) {\n\t\treturn \"\"",
		To:      "if o.isAlive() {\n\t\treturn \"\"",
		Package: planPackage, Test: "TestNextOneSentencePerRule/a_birth_with_writes_is_never_voided",
	},
	{
		Name: "a lost record is a new birth: at size 1 an empty cluster, silently", Peer: "rancher/k3k#836",
		File:    "controllers/plan/bootstrap.go",
		From:    "if trace := o.trace(); trace != \"\" {",
		To:      "if trace := o.trace(); trace == \"never\" {",
		Package: planPackage, Test: "TestNextOneSentencePerRule/nothing_is_born_when_the_record_and_all_volumes_are_gone",
	},
	{
		Name: "the leader is removed without handing over", Peer: "coreos/etcd-operator#1191",
		File:    "controllers/plan/size.go",
		From:    "if r.Member.ID == o.Membership.Leader {",
		To:      "if r.Member.ID == 0 {",
		Package: planPackage, Test: "TestNextOneSentencePerRule/a_leader_hands_over_before_it_is_removed",
	},
	{
		Name: "a name is used again", Peer: "cozystack/etcd-operator#98",
		File:    "controllers/plan/size.go",
		From:    "return etcdutil.MemberName(o.Cluster.Name, highest+1)",
		To:      "return etcdutil.MemberName(o.Cluster.Name, len(o.Replicas))",
		Package: planPackage, Test: "TestANewNameIsAboveEveryTraceOfAnOldOne",
	},
	{
		Name: "a stale decision is confirmed", Peer: "opensearch-project/opensearch-k8s-operator#1471",
		File:    "controllers/plan/next.go",
		From:    "return reflect.DeepEqual(Next(live).Change, c)",
		To:      "return reflect.DeepEqual(c, c)",
		Package: planPackage, Test: "TestConfirmRefusesWhenTheWorldMoved",
	},
	{
		Name: "a member is removed because it is silent", Peer: "coreos/etcd-operator#1968",
		File:    "controllers/plan/size.go",
		From:    "if why := o.isLost(r); why != \"\" && !r.IsHealthy(o.Membership) {",
		To:      "if why := o.isLost(r); !r.IsHealthy(o.Membership) {",
		Package: planPackage, Test: "TestNextOneSentencePerRule/a_silent_member_alone_is_not_removed",
	},
	{
		Name: "the only copy of an ephemeral member's data is deleted", Peer: "",
		File:    "controllers/plan/guard.go",
		From:    "case r.Volume == nil && r.IsRecorded():",
		To:      "case r.Volume == nil && r.IsRecorded() && r.Pod == nil:",
		Package: planPackage, Test: "TestThePodThatHoldsTheOnlyDataOfAMemberIsNeverDeleted",
	},
}
