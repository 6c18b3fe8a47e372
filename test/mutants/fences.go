package main

// fencedIsKept is the name of the test of what the guard keeps of fenced members.
const fencedIsKept = "TestTheGuardKeepsWhatAPersonFenced"

// fences are bugs of how a member is stopped for a person.
var fences = []mutant{
	{
		Name: "a fenced member is stopped beside one that does not serve", Peer: "",
		From: "case len(others) < len(voters)-1 || len(others) < etcdutil.Quorum(len(voters)):",
		To:   "case len(others) < etcdutil.Quorum(len(voters)):",
		Test: fencedIsKept,
	},
	{
		Name: "one of two members is stopped for a person", Peer: "",
		From: "case len(others) < len(voters)-1 || len(others) < etcdutil.Quorum(len(voters)):",
		To:   "case len(others) < len(voters)-1:",
		Test: fencedIsKept,
	},
	{
		Name: "a member is stopped for a person who does not ask for it", Peer: "",
		From: "case !o.IsFenced(r):",
		To:   "case false:",
		Test: fencedIsKept,
	},
	{
		Name: "a Pod starts on the volume that a person has", Peer: "",
		From: "guardKeptDown(o, r), guardSealed(o, r, s), guardTransport(o, r, s))",
		To:   "guardSealed(o, r, s), guardTransport(o, r, s))",
		Test: fencedIsKept,
	},
	{
		Name: "a fenced member is removed, and its volume with it", Peer: "",
		From: "guardFenced(o, r), guardDoomed(o, r),",
		To:   "guardDoomed(o, r),",
		Test: fencedIsKept,
	},
	{
		Name: "a quorum is lost for a fenced member", Peer: "",
		From: "(o.HasQuorum() || o.isQuorumReady())",
		To:   "true",
		Test: row("and where the others are no quorum"),
	},
	{
		Name: "a fenced member starts whenever members choose a leader", Peer: "",
		From: "(o.HasQuorum() || o.isQuorumReady())",
		To:   "o.HasQuorum()",
		Test: "TestAFencedMemberIsNotStartedForAMomentWithoutALeader",
	},
	{
		Name: "a person is asked for a member that a person fenced", Peer: "",
		From: "means(Absent, facts.CauseOutside, Await).told(facts.MemberFenced)",
		To:   "means(Absent, facts.CauseOutside, Person).told(facts.MemberFenced)",
		Test: "TestEachMemberIsJudgedByWhatIsSeenOfIt/a_person_fenced_it,_and_the_others_serve",
	},
	{
		Name: "voters that serve leave beside a fenced one", Peer: "",
		From: "if isAnyKeptDown(o) {",
		To:   "if false {",
		Test: row("no voter that serves leaves beside it"),
	},
	{
		Name: "a fenced member and its successor wait for each other", Peer: "",
		From: "return isGoingDown(o) && !r.IsDrained() || o.IsFenced(r)",
		To:   "return isGoingDown(o) && !r.IsDrained()",
		Test: row("one that the spec moves is stopped where it is"),
	},
}
