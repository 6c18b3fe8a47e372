package main

// deaths are bugs of whoever decides that a member will not come back.
var deaths = []mutant{
	{
		Name: "a member is removed before it is known whether another one is admitted", Peer: "",
		From: "ID: r.Member.ID, Successor: successor(o),",
		To:   "ID: r.Member.ID,",
		Test: "TestARemovalNamesWhatTakesTheMembersPlace",
	},
	{
		Name: "a learner that the size asks for anyway passes for the successor of a member", Peer: "",
		From: "case voters < o.Desired.Size || len(learners) == 0:",
		To:   "case len(learners) == 0:",
		Test: "TestARemovalNamesWhatTakesTheMembersPlace",
	},
	{
		Name: "the volume of a successor is not tried", Peer: "",
		From: "err := s.rehearseVolume(ctx, c)",
		To:   "err := error(nil)",
		Test: "TestNoMemberIsRemovedWhoseSuccessorWouldNotBeAdmitted",
	},
	{
		Name: "a quota that is just full lets no member be replaced whose volume goes", Peer: "",
		From: "old == nil || !c.Frees {",
		To:   "old == nil || c.Frees {",
		Test: "TestNoMemberIsRemovedWhoseSuccessorWouldNotBeAdmitted",
	},
	{
		Name: "one witness is enough: the operator cannot reach the member", Peer: "coreos/etcd-operator#1968",
		From: "func isReadyUnseen(_ Judged, r facts.Replica) bool { return r.Answer == nil && r.Pod.Ready }",
		To:   "func isReadyUnseen(_ Judged, r facts.Replica) bool { return r.Answer == nil && false }",
		Test: row("not while the kubelet calls it ready: the operator is the one that is cut off"),
	},
	{
		Name: "one witness is enough: the kubelet calls the Pod not ready", Peer: "gardener/etcd-druid#280",
		From: "func isUnanswered(_ Judged, r facts.Replica) bool { return r.Answer == nil }",
		To:   "func isUnanswered(_ Judged, r facts.Replica) bool { return !r.Pod.Ready }",
		Test: row("not while it answers: its peers are the ones that are cut off"),
	},
	{
		Name: "crash loops are cured by replacing one member after the other", Peer: "coreos/etcd-operator#1211",
		From: "means(Stopped, facts.CauseSettings, Correct).by(ByMember).toldBy(wordOfEtcd),",
		To:   "means(Stopped, facts.CauseSettings, Replace).from(podChangeOf).by(ByMember).toldBy(wordOfEtcd),",
		Test: row("not for what a new member would meet as well"),
	},
	{
		Name: "between two crashes a member counts as dead", Peer: "",
		From: "return !r.Pod.Running || endedSince && o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline",
		To:   "return !r.Pod.Running || endedSince && false",
		Test: row("not between two crashes of one that stops again and again"),
	},
	{
		Name: "a Pod that no node takes is replaced by one that no node takes", Peer: "",
		From: `return r.Pod.Waiting == "Unschedulable" && slices.ContainsFunc(tiedToNode, says)`,
		To:   `return r.Pod.Waiting == "Unschedulable" || slices.ContainsFunc(tiedToNode, says)`,
		Test: row("a Pod that no node takes for its own demands is not"),
	},
	{
		Name: "a volume that was made counts as one that never was", Peer: "",
		From: `return v.Phase == VolumePending && v.Backing == ""`,
		To:   "return v.Phase == VolumePending",
		Test: row("not when its volume was made meanwhile"),
	},
	{
		Name: "a member that ran counts as one that never started", Peer: "",
		From: "r.IsRestored() || r.Pod != nil && (r.Pod.Started || r.Pod.Running) ||",
		To:   "r.IsRestored() ||",
		Test: row("nor when a container of its Pod has run"),
	},
	{
		Name: "a member is given up at once", Peer: "coreos/etcd-operator#1968",
		From: "return since.Add(patience(o))",
		To:   "return since",
		Test: row("not a moment before"),
	},
	{
		Name: "an outage costs a member that comes back last", Peer: "",
		From: "quorum.After(since) {",
		To:   "quorum.Before(since) {",
		Test: row("nor right after an outage: the quorum has only just come back, and so may this one"),
	},
	{
		Name: "any restart puts a dead member's end off", Peer: "",
		From: "return ready[quorum-1]",
		To:   "return ready[len(ready)-1]",
		Test: row("and whoever came back beside a quorum puts nothing off"),
	},
	{
		Name: "never is taken for at once", Peer: "",
		From: "if j.Cure != judge.Replace || j.Certain || j.Since.IsZero() || o.Desired.ReplaceAfter == 0 {",
		To:   "if j.Cure != judge.Replace || j.Certain || j.Since.IsZero() {",
		Test: row("never where the user says never"),
	},
	{
		Name: "a start gets no time when nobody was there to look", Peer: "",
		From: "func lastStartOf(r facts.Replica) time.Time { return facts.LastStart(r.Pod) }",
		To:   "func lastStartOf(r facts.Replica) time.Time { return facts.PodChange(r.Pod) }",
		Test: row("a member that has only just started again gets its time"),
	},
	{
		Name: "the Pod of a dead node is waited for, for ever", Peer: "coreos/etcd-operator#1839",
		From: `return r.Pod.GoneBy
}`,
		To: `return time.Time{}
}`,
		Test: row("a Pod that should long be gone is on a dead node"),
	},
	{
		Name: "replacing a dead member does not pass the guard", Peer: "",
		From: `if d.Change == nil {
		return d, false`,
		To: `if d.Change == nil || d.Rule == "replace" {
		return d, false`,
		Test: row("not when that would leave no quorum"),
	},
	{
		Name: "a Pod is made for a volume that no node can use", Peer: "bitnami/charts#5360",
		From: `func (v *Volume) isUsable() bool { return !v.Terminating && v.Phase != VolumeLost && v.Stranded == "" }`,
		To:   "func (v *Volume) isUsable() bool { return !v.Terminating && v.Phase != VolumeLost }",
		Test: row("a member whose volume's node was deleted is removed at once"),
	},
	{
		Name: "a successor goes instead of the member whose volume is lost, for ever", Peer: "",
		From: "return r.Volume == nil || r.Volume.Terminating || r.Volume.Phase == VolumeLost",
		To:   "return r.Volume == nil || r.Volume.Terminating",
		Test: row("and is the one that goes"),
	},
	{
		Name: "a node that is up and tainted is taken for gone", Peer: "",
		From: "case !isNodeReady(node) && isOutOfService(node):",
		To:   "case isOutOfService(node):",
		Test: "TestNodes",
	},
	{
		Name: "who may not read nodes takes them for deleted", Peer: "",
		From: "\t\ts.observer.denied.add(kind, s.observer.Now())\n\t\treturn nil, false, nil",
		To:   "\t\ts.observer.denied.add(kind, s.observer.Now())\n\t\treturn nil, true, nil",
		Test: "TestWhoMayNotReadNodesKnowsNothingAndDoesNotGoOnAsking",
	},
	{
		Name: "a learner is given up because another member is removed under it", Peer: "cozystack/etcd-operator#352",
		From: "if isOnItsWay && !isUrgent && o.Now.Sub(r.Pod.Created) <= facts.StartDeadline {",
		To:   "if isOnItsWay && !isUrgent && o.Now.Sub(r.Pod.Created) < 0 {",
		Test: row("a lost member of five is not removed under a learner that is starting"),
	},
	{
		Name: "a learner of three is given up for a removal that makes nothing safer", Peer: "",
		From: "isUrgent := o.Margin() <= 0 && etcdutil.Quorum(voters-1) < etcdutil.Quorum(voters)",
		To:   "isUrgent := o.Margin() <= 0 && voters > 0",
		Test: row("but where none may fail after it either"),
	},
	{
		Name: "a repair waits for a learner where no further voter may fail", Peer: "",
		From: "if isOnItsWay && !isUrgent && o.Now.Sub(r.Pod.Created) <= facts.StartDeadline {",
		To:   "if isOnItsWay && (!isUrgent || true) && o.Now.Sub(r.Pod.Created) <= facts.StartDeadline {",
		Test: row("nor where no further voter may fail before, and one may after it"),
	},
	{
		Name: "a dead member is said to be replaced when it was last heard of", Peer: "",
		From: "at := overdueAt(o, j)\n\tif o.IsPast(at) {\n\t\treturn \"\"",
		To:   "at := j.Since\n\tif false {\n\t\treturn \"\"",
		Test: row("a node that died is named, with when its member is replaced"),
	},
}
