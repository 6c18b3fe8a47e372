package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The oracle of exhaustive_test.go counts votes, and finds what the guard lets pass. This one knows more changes, and
// looks at both sides: what passes must be harmless, and what is harmless must pass, unless a literal list says why
// the guard is more careful than it has to be, or less careful than it should be. It asks nothing of the planner: each
// being is described in plain words.

// being is one name in a small world, and what is true there.
type being struct {
	state
	so string // of: listed votes serves runs pod stays recorded sealed unheard leaving, ready where it does not serve
}

func (b being) is(word string) bool { return slices.Contains(strings.Fields(b.so), word) }

var beings = []being{
	{state{"healthy", voter, true, true, true}, "listed votes serves runs pod stays recorded sealed"},
	{state{"silent", edited(voter, silent), true, false, true}, "listed votes runs pod stays recorded sealed"},
	{state{"stopped answering", edited(voter, unanswered), true, false, true},
		"listed votes runs pod stays recorded sealed ready"},
	{state{"neverHeard", edited(voter, unheardAndGiven), true, false, true},
		"listed votes runs pod stays recorded sealed unheard"},
	{state{"leaving", edited(voter, leaving), true, false, true},
		"listed votes runs pod stays recorded sealed leaving"},
	{state{"ended", edited(voter, ended), true, false, true}, "listed votes pod stays recorded sealed"},
	{state{"without Pod", edited(voter, noPod), true, false, true}, "listed votes stays recorded"},
	{state{"without data", edited(voter, noData), true, false, true}, "listed votes"},
	{state{"doomed", edited(voter, doomed), true, true, true}, "listed votes serves runs pod recorded sealed"},
	{state{"doomed and stopped", edited(voter, doomedAndStopped), true, false, true},
		"listed votes pod recorded sealed"},
	{state{"unwritten", edited(voter, unrecorded), true, true, true}, "listed votes serves runs pod stays"},
	{state{"unstarted", edited(voter, unstarted), true, false, true}, "listed votes stays"},
	{state{"learner", learner, false, true, true}, "listed serves runs pod stays recorded sealed"},
	{state{"dead learner", edited(learner, silent), false, false, true}, "listed runs pod stays recorded sealed"},
	{state{"added", added, false, false, true}, "listed stays"},
	{state{"removed", edited(voter, removed), false, false, false}, "runs pod stays recorded sealed"},
	{state{"left behind", edited(voter, leftBehind), false, false, false}, "stays recorded"},
	{state{"promised", promised, false, false, false}, "stays"},
}

func doomedAndStopped(r *facts.Replica) { doomed(r); wiped(r); r.Pod.Exit = nil }

func unstarted(r *facts.Replica) { unrecorded(r); noPod(r) }

func leftBehind(r *facts.Replica) { removed(r); noPod(r) }

// small is a world of a few beings.
type small struct {
	beings  []being
	up, all int
	isKnown bool // etcd has a quorum, so its list can be asked for
}

// ledTo counts the voters that serve and that clients are led to.
func (s small) ledTo() int {
	n := 0
	for _, b := range s.beings {
		n += one(b.is("votes") && b.is("serves") && b.is("sealed"))
	}
	return n
}

// othersServe reports that each voter but this one serves.
func (s small) othersServe(b being) bool {
	up := s.up - one(b.is("votes") && b.is("serves"))
	return up == s.all-one(b.is("votes"))
}

// isEachHeard reports that each member with data serves, and that it is written down who it is: so how far it was in
// raft's log is known.
func (s small) isEachHeard() bool {
	return !slices.ContainsFunc(s.beings, func(b being) bool {
		return b.is("votes") && !b.is("recorded") || b.is("listed") && b.is("recorded") && !b.is("serves")
	})
}

func (s small) at(name string) being {
	i, ok := etcdutil.Ordinal("demo", name)
	if !ok || i >= len(s.beings) {
		return being{state: state{name: "a new name"}}
	}
	return s.beings[i]
}

// leads reports the first healthy voter.
func (s small) leads(name string) bool {
	i, _ := etcdutil.Ordinal("demo", name)
	first := slices.IndexFunc(s.beings, func(b being) bool { return b.is("votes") && b.is("serves") })
	return s.isKnown && i == first
}

// isQuorum counts on fingers.
func isQuorum(up, all int) bool { return 2*up > all }

// everySmallWorld visits each world of three beings, alone and beside two healthy voters, with at most one learner.
func everySmallWorld(visit func(scene, small)) {
	healthy := beings[0]
	for _, a := range beings {
		for _, b := range beings {
			for _, c := range beings {
				for _, picked := range [][]being{{a}, {a, b, c}, {a, healthy, b, healthy, c}} {
					if len(picked) == 1 && (b.name != a.name || c.name != a.name) {
						continue // once is enough
					}
					states := make([]state, len(picked))
					for i, p := range picked {
						states[i] = p.state
					}
					if learners(states) > 1 {
						continue
					}
					s := small{beings: picked}
					s.up, s.all = count(states)
					s.isKnown = isQuorum(s.up, s.all)
					o := build(states)
					for _, name := range o.Current.Bootstrap.Names {
						o.Current.Bootstrap.Volumes[name] = "volume-" + name
					}
					visit(o, s)
				}
			}
		}
	}
}

// damage says in plain words whom a change would hurt, or "".
func (s small) damage(c changes.Change) string {
	switch c := c.(type) {
	case changes.RemoveMember, changes.Promote, changes.AddLearner, changes.MoveLeader:
		return s.damageToList(c)
	case changes.EvictPod:
		return s.damageOfEviction(c.Pod.Name)
	case changes.DeletePods:
		return s.damageOfDeletion(c.Pods[0].Name)
	case changes.DeleteVolumes:
		b := s.at(c.Volumes[0].Name)
		return when(!s.isKnown, "its member may be listed", b.is("listed"), "a member lives on it", b.is("pod"),
			"a Pod uses it")
	case changes.StartPods:
		return s.damageOfStart(c.Pods[0])
	case changes.RecordMembers:
		b := s.at(c.Members[0].Name)
		isTrue := c.Members[0].Record.IsOf(clusterID, etcdutil.ID(ordinal(c.Members[0].Name)+1))
		return when(!s.isKnown || !b.is("listed") || !b.is("serves"), "that member did not say so", !isTrue,
			"it said something else")
	case changes.SetBudget:
		return when(!s.isKnown, "the number of voters is unknown", s.all > 1 && !isQuorum(c.MinAvailable, s.all),
			"a drain may take the quorum")
	case changes.LabelRole:
		b := s.at(c.Pod.Name)
		return when(c.Role == facts.RoleVoter && !b.is("sealed"), "clients are led to what may lose their writes",
			c.Role == facts.RoleVoter && s.isKnown && !b.is("votes"), "clients are led to what does not serve them",
			c.Role == "" && s.isKnown && b.is("ready") && !b.is("serves") && s.ledTo() < etcdutil.Quorum(s.all),
			"clients are led to too few")
	case changes.SealPods:
		return when(!s.at(c.Pods[0].Pod.Name).is("recorded"), "it never starts, where it has not begun")
	case changes.WriteSettings:
		b := s.at(c.Volumes[0].Name)
		return when(b.is("recorded") && !c.Settings.Version.SameMinor(settings.Version) &&
			!(s.isKnown && s.othersServe(b)), "a higher minor is tried, and too few serve to go back",
			b.is("recorded") && c.Settings.Version.Minor >= 7 && !s.isEachHeard(), "its log may hold what 3.5 wrote")
	case changes.PrepareMember:
		return when(s.at(c.Volume.Name).name != "a new name" && s.at(c.Volume.Name).name != "promised",
			"the name was given before")
	case changes.BeginBootstrap, changes.Bootstrap, changes.VoidBootstrap, changes.NextBootstrap:
		return "the cluster lives"
	default:
	case changes.DeleteSecret:
		return when(!s.isKnown, "its member may be listed", s.at(c.Name).is("listed"), "a member cannot start again")
	}
	return "the oracle does not know this change"
}

func (s small) damageToList(c changes.Change) string {
	if !s.isKnown {
		return "the list is unknown"
	}
	switch c := c.(type) {
	case changes.RemoveMember:
		b := s.at(c.Name)
		isLast := b.is("votes") && s.all == 1
		return when(!b.is("listed"), "it is no member", !b.is("votes"), "", s.leads(c.Name),
			"clients wait for an election", isLast, "none is left",
			!isQuorum(s.up-one(b.is("serves")), s.all-1), "the others are no quorum")
	case changes.Promote:
		b := s.at(c.Name)
		return when(!b.is("listed") || b.is("votes"), "it is no learner", !b.is("sealed"), "it may start empty",
			!isQuorum(s.up+one(b.is("serves")), s.all+1), "there is no quorum with it")
	case changes.AddLearner:
		b := s.at(c.Name)
		hasLearner := slices.ContainsFunc(s.beings, func(b being) bool { return b.is("listed") && !b.is("votes") })
		return when(hasLearner, "there is a learner", b.is("listed") || b.is("pod") || b.is("recorded"),
			"the name is in use")
	default:
	case changes.MoveLeader:
		b := s.at(c.To)
		return when(!s.leads(c.From), "another one leads", !b.is("votes") || !b.is("serves"), "the heir does not serve")
	}
	return ""
}

// damageOfEviction: the Pod is made anew at once, on the data that it has.
func (s small) damageOfEviction(name string) string {
	b := s.at(name)
	rest := s.up - one(b.is("serves") && b.is("votes"))
	return when(!b.is("stays"), "its data goes with it", b.is("listed") && !b.is("sealed"), "it may start empty",
		!s.isKnown && !s.neverAnswered(name), "it may be needed",
		s.isKnown && s.all > 1 && s.leads(name), "clients wait for an election",
		s.isKnown && b.is("votes") && s.all > 1 && !isQuorum(rest, s.all), "the others are no quorum")
}

// damageOfDeletion: the Pod goes without asking a budget, so only one may that does nothing.
func (s small) damageOfDeletion(name string) string {
	b := s.at(name)
	return when(s.isKnown && !b.is("listed"), "", b.is("leaving"), "", b.is("pod") && !b.is("stays"),
		"its data goes with it",
		b.is("runs") && !(!s.isKnown && s.neverAnswered(name)), "a process is stopped that may be needed")
}

// neverAnswered reports a process that was never heard, with settings that the spec does not ask for, while no kubelet
// calls a Pod ready.
func (s small) neverAnswered(name string) bool {
	return s.at(name).is("unheard") && !slices.ContainsFunc(s.beings, func(b being) bool {
		return b.is("serves") || b.is("ready") || b.name == "removed"
	})
}

// damageOfStart: a member ID must never start on an empty directory, nor one that is no member.
func (s small) damageOfStart(start changes.Start) string {
	b := s.at(start.Name)
	isFirst := ordinal(start.Name) < 3
	switch start.Flags {
	case facts.FlagsComparing, facts.FlagsNone:
	case facts.FlagsBootstrap:
		return when(b.is("recorded"), "it may start empty", !s.isKnown || !b.is("votes") || !isFirst || !b.is("stays"),
			"a cluster of its own begins")
	case facts.FlagsJoin:
		return when(b.is("recorded"), "it may start empty", !s.isKnown || !b.is("listed") || b.is("votes"),
			"it is no learner")
	case facts.FlagsSealed:
		return when(!b.is("recorded") || !b.is("stays"), "it has no data", s.isKnown && !b.is("listed"),
			"it is no member",
			!start.Settings.Version.SameMinor(settings.Version), "another minor version wrote its data")
	}
	return "it has nothing to start with"
}

// when is the first reason whose condition holds.
func when(pairs ...any) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			return pairs[i+1].(string)
		}
	}
	return ""
}

func one(isSo bool) int {
	if isSo {
		return 1
	}
	return 0
}

func ordinal(name string) int {
	i, _ := etcdutil.Ordinal("demo", name)
	return i
}

// everyDeed is each change that concerns one of the beings, whether or not a rule would propose it.
func everyDeed(o scene) []changes.Change {
	out := []changes.Change{changes.AddLearner{Name: "demo-9"}, changes.SetBudget{}, changes.SetBudget{MinAvailable: 1},
		changes.SetBudget{MinAvailable: 2}, changes.SetBudget{MinAvailable: 3},
		changes.PrepareMember{Volume: changes.NewVolume{Name: "demo-9"}},
		changes.BeginBootstrap{Names: o.Current.Bootstrap.Names}, changes.Bootstrap{}, changes.VoidBootstrap{}, changes.NextBootstrap{}}
	for _, r := range o.Current.Members {
		id := etcdutil.ID(r.Ordinal + 1)
		out = append(out, changes.RemoveMember{Name: r.Name, ID: id}, changes.Promote{Name: r.Name, ID: id},
			changes.AddLearner{Name: r.Name}, changes.DeleteSecret{Name: r.Name, UID: r.Secret.UID},
			changes.PrepareMember{Volume: changes.NewVolume{Name: r.Name}})
		for _, flags := range []facts.Flags{facts.FlagsBootstrap, facts.FlagsJoin, facts.FlagsSealed, facts.FlagsNone} {
			out = append(out, changes.StartPods{Pods: []changes.Start{{Name: r.Name, Flags: flags, Settings: settings}}})
		}
		out = append(out, changes.StartPods{Pods: []changes.Start{{Name: r.Name, Flags: facts.FlagsSealed,
			Settings: newer}}})
		for _, to := range o.Current.Members {
			out = append(out, changes.MoveLeader{From: r.Name, To: to.Name, FromID: id,
				ToID: etcdutil.ID(to.Ordinal + 1)})
		}
		if r.Pod != nil {
			out = append(out, changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, changes.EvictPod{Pod: r.PodRef()},
				changes.LabelRole{Pod: r.PodRef(), Role: facts.RoleVoter}, changes.LabelRole{Pod: r.PodRef()},
				changes.SealPods{Pods: []changes.Seal{{Pod: r.PodRef()}}})
		}
		if r.Volume != nil {
			refs := []facts.VolumeRef{r.VolumeRef()}
			out = append(out, changes.DeleteVolumes{Volumes: refs}, changes.WriteSettings{Volumes: refs, Settings: other},
				changes.WriteSettings{Volumes: refs, Settings: newer})
			for _, ids := range [][2]etcdutil.ID{{clusterID, id}, {clusterID, 77}, {clusterID + 1, id}} {
				said := record.Member{ClusterID: ids[0], MemberID: ids[1], Version: settings.Version,
					VolumeUID: r.Volume.UID}
				out = append(out, changes.RecordMembers{Members: []changes.MemberRecord{{Name: r.Name,
					VolumeUID: r.Volume.UID, Record: said}}})
			}
		}
	}
	return out
}

// about is the name that a change concerns.
func about(c changes.Change) string {
	switch c := c.(type) {
	case changes.RemoveMember:
		return c.Name
	case changes.Promote:
		return c.Name
	case changes.AddLearner:
		return c.Name
	case changes.DeleteSecret:
		return c.Name
	case changes.MoveLeader:
		return c.To
	case changes.StartPods:
		return c.Pods[0].Name
	case changes.DeletePods:
		return c.Pods[0].Name
	case changes.EvictPod:
		return c.Pod.Name
	case changes.LabelRole:
		return c.Pod.Name
	case changes.DeleteVolumes:
		return c.Volumes[0].Name
	case changes.RecordMembers:
		return c.Members[0].Name
	case changes.SealPods:
		return c.Pods[0].Pod.Name
	case changes.WriteSettings:
		return c.Volumes[0].Name
	case changes.PrepareMember:
		return c.Volume.Name
	default:
	}
	return ""
}

// disagreement is where guard and oracle differ: on this kind of change, to these beings, while the list is known or
// is not.
type disagreement struct {
	kind, beings string // beings by name, with a bar between them; * for any
	isKnown      string // known, unknown or *
	why          string
}

func (d disagreement) covers(c changes.Change, s small) bool {
	known := map[bool]string{true: "known", false: "unknown"}[s.isKnown]
	return d.kind == changes.KindOf(c) && (d.isKnown == "*" || d.isKnown == known) &&
		(d.beings == "*" || slices.Contains(strings.Split(d.beings, "|"), s.at(about(c)).name))
}

// cautions are harmless changes that the guard vetoes, and why it may.
var cautions = []disagreement{
	{"DeletePods", "leaving", "*", "its process may run on for a while, and it was asked to go already"},
	{"EvictPod", "neverHeard", "unknown", "beside others a Pod that was never ready is deleted; no budget counts it"},
	{"EvictPod", "removed", "known", "what is no member is deleted; no budget counts it"},
	{"Promote", "dead learner", "known", "no hash is known here, and its Pod is not ready, so no time says that none can be had"},
	{"LabelRole", "*", "unknown",
		"others may serve that the operator cannot reach, or none: clients are led nowhere else"},
}

// gaps are changes that may hurt and that the guard lets pass. Only the rules that propose them stand before the harm.
var gaps = []disagreement{
	{"SetBudget", "*", "unknown",
		"restore-fence takes the budget away while no list is known, and the guard does not ask whether a restore does"},
	{"StartPods", "added", "known",
		"a learner with a first member's name may start as at birth; only that names are never given twice keeps that away"},
	{"SealPods", "*", "*", "the guard does not look at seals: what is sealed before it has data never starts"},
	{"PrepareMember", "*", "*", "the guard does not look at names: one that is in use may be promised again"},
}

// disagreements are the rows of a list, and how often each was met.
type disagreements struct {
	rows []disagreement
	met  []int
}

func (d *disagreements) cover(c changes.Change, s small) bool {
	i := slices.IndexFunc(d.rows, func(row disagreement) bool { return row.covers(c, s) })
	if i >= 0 {
		d.met[i]++
	}
	return i >= 0
}

func (d *disagreements) mustAllBeMet(t *testing.T, what string) {
	t.Helper()
	for i, row := range d.rows {
		if d.met[i] == 0 {
			t.Errorf("%s is over, take it from the list: %+v", what, row)
		}
	}
}

func TestTheGuardVetoesWhatHurtsAndNothingElse(t *testing.T) {
	careful := &disagreements{cautions, make([]int, len(cautions))}
	careless := &disagreements{gaps, make([]int, len(gaps))}
	agreed := map[string][2]int{}
	everySmallWorld(func(o scene, s small) {
		for _, c := range everyDeed(o) {
			veto, damage := Veto(o.Observation, c), s.damage(c)
			switch {
			case veto == "" && damage != "" && !careless.cover(c, s):
				t.Fatalf("%s of %s passes in %s: %s", changes.KindOf(c), about(c), describeAll(s), damage)
			case veto != "" && damage == "" && !careful.cover(c, s):
				t.Fatalf("%s of %s is harmless in %s, and is vetoed: %s", changes.KindOf(c), about(c), describeAll(s),
					veto)
			}
			n := agreed[changes.KindOf(c)]
			n[one(veto == "")]++
			agreed[changes.KindOf(c)] = n
		}
	})
	careful.mustAllBeMet(t, "a caution")
	careless.mustAllBeMet(t, "a gap")
	t.Logf("vetoed and passed: %v", agreed)
	if len(agreed) < 19 {
		t.Fatalf("only %d kinds of change were tried", len(agreed))
	}
}

// Before the identity of a cluster is written down, a quorum of its first members must bear it.
func TestAnIdentityIsWrittenDownOnlyWhenAQuorumOfFirstMembersBearsIt(t *testing.T) {
	passed, vetoed := 0, 0
	everySmallWorld(func(o scene, s small) {
		o.Current.Bootstrap.ClusterID = 0
		bearers := 0
		for i, b := range s.beings {
			isFirst := slices.Contains(o.Current.Bootstrap.Names, o.Current.Members[i].Name)
			bearers += one(isFirst && b.is("recorded") && b.name != "without data")
		}
		for _, id := range []etcdutil.ID{clusterID, clusterID + 1} {
			mayPass := id == clusterID && isQuorum(bearers, len(o.Current.Bootstrap.Names))
			if veto := Veto(o.Observation, changes.RecordBootstrap{ClusterID: id}); (veto == "") != mayPass {
				t.Fatalf("%d first members of %s bear %s: %q", bearers, describeAll(s), id, veto)
			}
			passed, vetoed = passed+one(mayPass), vetoed+one(!mayPass)
		}
	})
	if passed == 0 || vetoed == 0 {
		t.Fatalf("%d passed, %d were vetoed", passed, vetoed)
	}
}

// Where all that answers is another cluster than the one that was written down, nothing of it is.
func TestNothingOfAnotherClusterIsWrittenDown(t *testing.T) {
	tried := 0
	everySmallWorld(func(o scene, s small) {
		o.Current.Bootstrap.ClusterID = clusterID + 1
		for _, c := range everyDeed(o) {
			written, ok := c.(changes.RecordMembers)
			if !ok {
				continue
			}
			tried++
			if Veto(o.Observation, written) == "" {
				t.Fatalf("%s is recorded as a member of %s in %s", about(c), written.Members[0].Record.ClusterID,
					describeAll(s))
			}
		}
	})
	if tried == 0 {
		t.Fatal("nothing was tried")
	}
}

func describeAll(s small) string {
	var out []string
	for _, b := range s.beings {
		out = append(out, b.name)
	}
	return fmt.Sprintf("[%s], list known %v", strings.Join(out, ", "), s.isKnown)
}
