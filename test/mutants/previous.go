package main

// previous are bugs of the way back from restored members that never served.
var previous = []mutant{
	{
		Name: "a cluster goes back from what serves", Peer: "",
		From: "case o.IsAlive() || o.Membership.Known || o.IsAnyReady():",
		To:   "case false:",
		Test: "TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere",
	},
	{
		Name: "a cluster is proposed to go back from what serves", Peer: "",
		From: "case o.IsAlive() || last.Incarnation == \"\":",
		To:   "case last.Incarnation == \"\":",
		Test: "TestAClusterThatCannotGoBackSaysWhyAndWhatElse",
	},
	{
		Name: "a cluster goes back to what is no quorum", Peer: "",
		From: "if c.ClusterID == 0 || back < etcdutil.Quorum(len(voters)) {",
		To:   "if c.ClusterID == 0 || back < 0*etcdutil.Quorum(len(voters)) {",
		Test: "TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere",
	},
	{
		Name: "a cluster goes back to a volume that a backup tool put back", Peer: "",
		From: "return r.Volume != nil && r.IsRecorded() && r.IsOnOwnVolume() && r.Volume.isUsable()",
		To:   "return r.Volume != nil && r.IsRecorded() && r.Volume.isUsable()",
		Test: "TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere",
	},
	{
		Name: "a cluster goes back to a volume of which etcd said that its data is gone", Peer: "",
		From: "r.Volume.Superseded == from && r.Volume.RemovedFor != CauseDisk",
		To:   "r.Volume.Superseded == from",
		Test: "TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere",
	},
	{
		Name: "a Pod of a previous member goes with its word that its data is gone", Peer: "",
		From: "fenceLabels, fenceWords,",
		To:   "fenceLabels,",
		Test: row("what etcd says of data that is gone is written down before its Pod goes"),
	},
	{
		Name: "a cluster goes back for the same EtcdRestore again and again", Peer: "",
		From: "return f.Back == request })",
		To:   "return false })",
		Test: "TestAClusterGoesBackOnlyFromWhatNeverServedAndToWhatIsThere",
	},
	{
		Name: "previous members start while their volumes say that others took their place", Peer: "",
		From: "if marked := o.StillMarked(); len(marked) > 0 {",
		To:   "if marked := o.StillMarked(); len(marked) > 9 {",
		Test: "TestAVolumeOfAnIncarnationThatWasGoneBackToIsMarkedAnew",
	},
	{
		Name: "volumes of two incarnations are without a mark", Peer: "",
		From: "\t\t\tref.Name)\n\t}\n\treturn guardSwitched(o, ref.Name)",
		To:   "\t\t\tref.Name)\n\t}\n\treturn Veto{}",
		Test: "TestAVolumeOfAnIncarnationThatWasGoneBackToIsMarkedAnew",
	},
	{
		Name: "an approval from before a cluster went back counts again", Peer: "",
		From: "for _, incarnation := range e.wentBack {",
		To:   "for _, incarnation := range e.wentBack[:0] {",
		Test: "TestNoApprovalFromBeforeAClusterWentBackCounts",
	},
	{
		Name: "it does once the bootstrap record is lost", Peer: "",
		From: "if r.Volume != nil && r.Volume.GoesBackFrom != \"\" {",
		To:   "if false {",
		Test: "TestNoApprovalFromBeforeAClusterWentBackCounts",
	},
	{
		Name: "certificates of a restored member count as a lost one of what the cluster went back to", Peer: "",
		From: "wasGiven &&\n\t\t!o.isOfFormer(r.Name)",
		To:   "wasGiven",
		Test: "TestANameThatTheClusterWentBackFromIsNoLostMemberOfIt",
	},
	{
		Name: "an older EtcdRestore gives up what the cluster went back from", Peer: "",
		From: "if f.Back != \"\" && f.Incarnation == v.Incarnation {",
		To:   "if false {",
		Test: row("nor does the one give them up that the previous incarnation came of"),
	},
	{
		Name: "a cluster that went back forgets how far revisions had come", Peer: "",
		From: "to.Counter, to.Served, to.Restore = b.Counter, b.Served, b.Former[last].Restore",
		To:   "to.Counter, to.Restore = b.Counter, b.Former[last].Restore",
		Test: "TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing",
	},
	{
		Name: "volumes do not say that the cluster went back to them", Peer: "",
		From: "annotations[v1alpha1.AnnotationGoesBack] = c.After",
		To:   "annotations[v1alpha1.AnnotationGoesBack] = \"\"",
		Test: "TestEachEffectTriedTwiceSucceedsTwice/mark_what_is_current_again",
	},
	{
		Name: "restored members that cannot start have no way back in the status", Peer: "",
		From: "return withWayBack(o, d)",
		To:   "return d",
		Test: row("members that cannot start have a way back, in one command"),
	},
}
