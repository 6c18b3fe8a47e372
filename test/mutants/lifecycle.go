package main

// lifecycle are bugs of bootstraps, growth, shrinking and the repair of what is certainly lost. Like those beside it,
// each was shipped by somebody, or would be easy to make here.
var lifecycle = []mutant{
	{
		Name: "a removal does not ask what quorum is left", Peer: "coreos/etcd-operator#1211",
		From: `if voters < 1 || healthy < etcdutil.Quorum(voters) {
		return quorumAtRisk("without %s only %d healthy of %d voters would be left, which is no quorum.", c.Name,
			healthy, voters)`,
		To: `if voters < 1 {
		return quorumAtRisk("without %s only %d healthy of %d voters would be left, which is no quorum.", c.Name, healthy, voters)`,
		Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a learner is promoted blindly", Peer: "kubernetes/kubeadm#2997",
		From: "return r.Answer.Applied+caughtUpWithin >= other.Answer.Applied",
		To:   "return true",
		Test: row("a learner far behind is not promoted"),
	},
	{
		Name: "a dead learner counts for its own promotion", Peer: "",
		From: `if o.IsCaughtUp(r) {
		healthy++`,
		To: `if r.IsLearner() {
		healthy++`,
		Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "members are never sealed", Peer: "rancher/k3k#836",
		From: "if len(seals) == 0 {\n\t\treturn nil\n\t}\n\treturn act(changes.SealPods{Pods: seals}, \"a member that has",
		To:   "if len(seals) >= 0 {\n\t\treturn nil\n\t}\n\treturn act(changes.SealPods{Pods: seals}, \"a member that has",
		Test: row("a stripped seal is put back"),
	},
	{
		Name: "who lives on a volume is recorded before that very member said so", Peer: "",
		From: "return r.Member != nil && a != nil && a.ID == r.Member.ID && a.ClusterID == o.Membership.ClusterID",
		To:   "return r.Member != nil && a != nil && a.ClusterID == o.Membership.ClusterID",
		Test: "TestARecordIsRefusedUnlessThatVeryMemberSaidIt",
	},
	{
		Name: "rules are swapped: what is left over goes before what was begun is recorded", Peer: "",
		From: `{"record-members", "A member that answered is written down beside its data.", recordMembers, ends},`,
		To: `{"collect", "", collect, givesWay},
		{"record-members", "A member that answered is written down beside its data.", recordMembers, ends},`,
		Test: "TestTheRulesAreInTheirOrderInDocGoAndInTheUsersDocs",
	},
	{
		Name: "unknown is taken for empty: volumes go while etcd cannot be asked", Peer: "cozystack/etcd-operator#347",
		From: `if !o.Membership.Known || r.Member != nil {
		return dataAtRisk("it is not certain that no member lives on the volume %s.", ref.Name)`,
		To: `if r.Member != nil {
		return dataAtRisk("it is not certain that no member lives on the volume %s.", ref.Name)`,
		Test: "TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld",
	},
	{
		Name: "a cluster is born over retained volumes", Peer: "cozystack/etcd-operator#355",
		From: `func retainedData(o pass) *proposal {
	if !o.IsOverRetained() || o.BeginsEmpty() {`,
		To: `func retainedData(o pass) *proposal {
	if o.IsOverRetained() {`,
		Test: row("over retained volumes nothing is born"),
	},
	{
		Name: "a birth with writes is voided", Peer: "",
		From: `if o.IsAlive() || o.HasSwitchedOver() || slices.ContainsFunc(o.Members, facts.HasWrites) {
		return ""`,
		To: `if o.IsAlive() {
		return ""`,
		Test: row("a birth with writes is never voided"),
	},
	{
		Name: "a lost record is a new birth: at size 1 an empty cluster, silently", Peer: "rancher/k3k#836",
		From: `if trace := traceOf(o); trace != "" {`,
		To:   `if trace := traceOf(o); trace == "never" {`,
		Test: row("nothing is born when the record and all volumes are gone"),
	},
	{
		Name: "a lost record is written anew from a volume whose label was edited", Peer: "",
		From: "ended := o.EndedWith(source.Record().ClusterID, source.Incarnation()); ended != \"\"",
		To:   "ended := o.EndedWith(0, source.Incarnation()); ended != \"\"",
		Test: row("nor from a volume that is said to be of another incarnation than the rest of what ended"),
	},
	{
		Name: "a lost record is written anew with the etcd cluster of the first volume", Peer: "",
		From: "bootstrap.ClusterID = source.Record().ClusterID",
		To:   "bootstrap.ClusterID = recorded[0].Record().ClusterID",
		Test: "TestARecordIsWrittenAnewForOneEtcdClusterOfOneIncarnation",
	},
	{
		Name: "a cluster switches over beside a member that will not be known for one that ended", Peer: "",
		From: "cmp.Or(o.WhyServedOn(o.IsLost), o.WhyLeftOut(), o.WhyNoCertificates())",
		To:   "cmp.Or(o.WhyServedOn(o.IsLost), o.WhyNoCertificates())",
		Test: row("not while a member that somebody relabelled would not be stopped with the others"),
	},
	{
		Name: "the guard lets a cluster switch over beside a member that will not be known", Peer: "",
		From: "cmp.Or(o.WhyServedOn(o.IsGone), o.WhyLeftOut(), o.WhyNoCertificates())",
		To:   "cmp.Or(o.WhyServedOn(o.IsGone), o.WhyNoCertificates())",
		Test: "TestAClusterMovesOnlyToWhatIsWholeAndWasApproved",
	},
	{
		Name: "a first volume whose label was edited passes for one of an earlier bootstrap", Peer: "",
		From: "case o.IsRelabelled(r):",
		To:   "case o.IsRelabelled(r) && false:",
		Test: row("but not the volume that was made for this bootstrap, whatever its label says"),
	},
	{
		Name: "the guard lets a first volume go whose label was edited", Peer: "",
		From: "!r.IsRecorded() && !o.IsRelabelled(r) {",
		To:   "!r.IsRecorded() {",
		Test: "TestTheGuardKeepsTheVolumeOfAFirstMemberWithAnyLabel",
	},
	{
		Name: "the guard lets a lost record name any etcd cluster", Peer: "",
		From: "case c.ClusterID != 0 && !isBorne(o, c):",
		To:   "case c.ClusterID != 0 && false:",
		Test: "TestARecordIsWrittenAnewForOneEtcdClusterOfOneIncarnation",
	},
	{
		Name: "the guard lets a lost record name what ended", Peer: "",
		From: "o.EndedWith(c.ClusterID, c.Incarnation) == \"\" && ",
		To:   "",
		Test: "TestARecordIsWrittenAnewForOneEtcdClusterOfOneIncarnation",
	},
	{
		Name: "a new member gets the volume that the others have, whatever the spec says", Peer: "",
		From: "largest := o.Desired.StorageBytes",
		To:   "largest := int64(0)",
		Test: "TestANewMemberGetsTheVolumeOfTheSpecButNoneSmallerThanThoseOfTheOthers",
	},
	{
		Name: "a volume that cannot be made stays when its size is put back", Peer: "",
		From: "v.Bytes > o.NewBytes() || v.WAL",
		To:   "v.WAL",
		Test: row("it goes once the spec asks for a smaller volume"),
	},
	{
		Name: "the leader is removed without handing over", Peer: "coreos/etcd-operator#1191",
		From: "if r.Member.ID == o.Membership.Leader {\n\t\treturn handOver(",
		To:   "if r.Member.ID == 0 {\n\t\treturn handOver(",
		Test: row("a leader hands over before it is removed"),
	},
	{
		Name: "a name is used again", Peer: "cozystack/etcd-operator#98",
		From: "return highest + 1",
		To:   "return len(o.Members)",
		Test: "TestANewNameIsAboveEveryTraceOfAnOldOne",
	},
	{
		Name: "a stale decision is confirmed", Peer: "opensearch-project/opensearch-k8s-operator#1471",
		From: "return reflect.DeepEqual(Decide(live).Change, c)",
		To:   "return reflect.DeepEqual(c, c)",
		Test: "TestConfirmRefusesWhenTheWorldMoved",
	},
	{
		Name: "a member is removed because it is silent", Peer: "coreos/etcd-operator#1968",
		From: "func (j Judgement) MustGo() bool { return j.Cure == Replace && j.Certain && j.State == Lost }",
		To:   "func (j Judgement) MustGo() bool { return j.Cure == Replace }",
		Test: row("a silent member alone is not removed"),
	},
	{
		Name: "the only copy of an ephemeral member's data is deleted", Peer: "",
		From: "case r.Ephemeral && r.IsRecorded():",
		To:   "case r.Ephemeral && r.IsRecorded() && r.Pod == nil:",
		Test: "TestThePodThatHoldsTheOnlyDataOfAMemberIsNeverDeleted",
	},
	{
		Name: "a volume made anew under an old name is started as at birth", Peer: "cozystack/etcd-operator#355",
		From: `if o.Membership.Known || o.Bootstrap.ClusterID != 0 || r.IsRecorded() ||
		!slices.Contains(o.Bootstrap.Names, r.Name) ||
		!o.IsFilled(r) {`,
		To: "if o.Membership.Known || r.IsRecorded() || !slices.Contains(o.Bootstrap.Names, r.Name) || " +
			"!o.IsFilled(r) {",
		Test: row("a volume whose record was stripped is not started as at birth"),
	},
	{
		Name: "a healthy member is removed because its claim was not seen", Peer: "etcd-io/etcd-operator#193",
		From: "return !r.Ephemeral && r.Volume == nil && (r.Pod == nil || !r.Pod.Running)",
		To:   "return !r.Ephemeral && r.Volume == nil",
		Test: row("a member that is silent for a moment is not removed because its claim is gone"),
	},
	{
		Name: "etcdctl in a member refuses --endpoints", Peer: "",
		From: `		fromAnnotation(compareVariable, v1alpha1.AnnotationInitialCompare),
`,
		To: `		fromAnnotation(compareVariable, v1alpha1.AnnotationInitialCompare),
		{Name: "ETCDCTL_ENDPOINTS", Value: "https://localhost:2379"},
`,
		Test: "TestEtcdctlInAMemberMayBeGivenEndpointsAndVerifiesItsOwn",
	},
}
