package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/corpus"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// state is what one ordinal can be, and what the oracle needs to know of it: nothing here uses the planner's own
// counting.
type state struct {
	name    string
	build   func(int) facts.Replica
	voter   bool // has a vote
	healthy bool // its process serves
	member  bool
}

var states = []state{
	{"healthy", voter, true, true, true},
	{"silent", edited(voter, silent), true, false, true},
	{"no data", edited(voter, noData), true, false, true},
	{"wiped", edited(voter, wiped), true, false, true},
	{"doomed", edited(voter, doomed), true, true, true},
	{"outdated", edited(voter, adopted), true, true, true},
	{"neverHeard", edited(voter, unheardAndGiven), true, false, true},
	{"ended", edited(voter, ended), true, false, true},
	{"leaving", edited(voter, leaving), true, false, true},
	{"learner", learner, false, true, true},
	{"dead learner", edited(learner, silent), false, false, true},
	{"added", added, false, false, true},
	{"removed", edited(voter, removed), false, false, false},
	{"nothing", nil, false, false, false},
}

// unheardAndGiven is a process that never answered, and on whose volume the settings of the spec are written.
func unheardAndGiven(r *facts.Replica) {
	failsWithOther(r)
	r.Volume.Settings = settings
}

func edited(build func(int) facts.Replica, change func(*facts.Replica)) func(int) facts.Replica {
	return func(i int) facts.Replica {
		r := build(i)
		change(&r)
		return r
	}
}

// bootstrapped are the first members in these worlds. To the planner they differ from those that came later.
const bootstrapped = 3

// everyWorld calls visit with each world of up to five ordinals in which at most one learner is on its way. Whether
// etcd has a quorum decides whether its list is known. The gate sees four ordinals in every order, and of five each
// combination once: the first members and the later ones stand there in the order of states. A full run sees five in
// every order.
func everyWorld(visit func(scene, []state)) {
	walkWorlds(4, false, visit)
	walkWorlds(5, !needs.IsFull(), visit)
}

func walkWorlds(ordinals int, isSorted bool, visit func(scene, []state)) {
	picked := make([]state, 0, ordinals)
	var walk func(from int)
	walk = func(from int) {
		if len(picked) == ordinals {
			visit(build(picked), picked)
			return
		}
		if !isSorted || len(picked) == bootstrapped {
			from = 0
		}
		for i, s := range states[from:] {
			picked = append(picked, s)
			if learners(picked) <= 1 {
				walk(from + i)
			}
			picked = picked[:len(picked)-1]
		}
	}
	walk(0)
}

func learners(picked []state) int {
	n := 0
	for _, s := range picked {
		if s.member && !s.voter {
			n++
		}
	}
	return n
}

func build(picked []state) scene {
	o := settledWorld(0)
	o.Desired.Size = 1 // with 0 it would be about to sleep
	o.Current.Bootstrap.Names = []string{"demo-0", "demo-1", "demo-2"}
	o.Current.Membership.Leader = 0
	for i, s := range picked {
		if s.build == nil {
			continue
		}
		r := s.build(i)
		o.Current.Members = append(o.Current.Members, r)
		if s.voter && s.healthy && o.Current.Membership.Leader == 0 {
			o.Current.Membership.Leader = r.Member.ID
		}
	}
	o = covered(o.joined())
	if up, all := count(picked); 2*up <= all {
		return o.blind()
	}
	for i := range o.Current.Members {
		if o.Current.Members[i].Answer != nil {
			o.Current.Members[i].Answer.Leader = o.Current.Membership.Leader
		}
	}
	return o
}

// count is the oracle's: voters that serve, and all of them.
func count(picked []state) (up, all int) {
	for _, s := range picked {
		if s.voter {
			all++
		}
		if s.voter && s.healthy {
			up++
		}
	}
	return up, all
}

// harm is the oracle: what the change does to the votes, by counting on fingers.
func harm(picked []state, c changes.Change) string {
	up, all := count(picked)
	at := func(name string) state {
		i, _ := etcdutil.Ordinal("demo", name)
		return picked[i]
	}
	switch c := c.(type) {
	case changes.RemoveMember:
		s := at(c.Name)
		if !s.voter {
			return ""
		}
		all--
		if s.healthy {
			up--
		}
	case changes.Promote:
		all++
		if at(c.Name).healthy {
			up++
		}
	case changes.DeletePods:
		for _, p := range c.Pods {
			if s := at(p.Name); s.member && (s.healthy || s.name == "neverHeard" && 2*up > all) {
				return "a member that serves, or that a roll restarts, is stopped"
			}
		}
		return ""
	case changes.EvictPod:
		s := at(c.Pod.Name)
		if s.name == "doomed" {
			return "the only copy of a member's data is stopped"
		}
		if s.healthy && s.voter {
			up--
		}
		if !s.voter || all == 1 || s.name == "neverHeard" && up == 0 {
			return "" // a learner, or the only member, which is back on its volume, or one where nobody serves anyway
		}
	case changes.DeleteVolumes:
		for _, v := range c.Volumes {
			if at(v.Name).member {
				return "the volume of a member is deleted"
			}
		}
		return ""
	default:
		return ""
	}
	if all == 0 || 2*up <= all {
		return fmt.Sprintf("%d of %d voters would be left", up, all)
	}
	return ""
}

// everyChange is each change that could hurt in this world, whether or not a rule would propose it.
func everyChange(o scene) []changes.Change {
	var out []changes.Change
	for _, r := range o.Current.Members {
		id := etcdutil.ID(r.Ordinal + 1)
		out = append(out, changes.RemoveMember{Name: r.Name, ID: id}, changes.Promote{Name: r.Name, ID: id})
		if r.Pod != nil {
			out = append(out, changes.DeletePods{Pods: []facts.PodRef{r.PodRef()}}, changes.EvictPod{Pod: r.PodRef()})
		}
		if r.Volume != nil {
			out = append(out, changes.DeleteVolumes{Volumes: []facts.VolumeRef{r.VolumeRef()}})
		}
	}
	return out
}

func TestTheGuardAgreesWithAnIndependentOracleInEverySmallWorld(t *testing.T) {
	worlds, vetoed, passed := 0, 0, 0
	everyWorld(func(o scene, picked []state) {
		worlds++
		for _, c := range everyChange(o) {
			if Veto(o.Observation, c) != "" {
				vetoed++
				continue
			}
			passed++
			if why := harm(picked, c); why != "" {
				t.Fatalf("%s lets %T pass in %s: %s", "the guard", c, describe(picked), why)
			}
		}
	})
	t.Logf("%d worlds, %d changes vetoed, %d passed", worlds, vetoed, passed)
	if passed == 0 || vetoed == 0 {
		t.Fatal("an oracle that was never asked proves nothing")
	}
}

func TestNextIsHarmlessAndNeverMuteInEverySmallWorld(t *testing.T) {
	verdicts := map[Verdict]int{}
	answers, visited := corpus.Open(t, "testdata/corpus-of-worlds.txt"), 0
	everyWorld(func(o scene, picked []state) {
		if visited++; visited%1000 == 1 {
			answers.Begin(fmt.Sprintf("worlds from %d on", visited))
		}
		for _, size := range []int{1, 3, 5} {
			o.Desired.Size = size
			d := Decide(o.Observation)
			verdicts[d.Verdict]++
			answers.Add(fmt.Sprintf("size %d of %s", size, describe(picked)), answerOf(d), d.Trace.Spoken())
			if d.Change != nil {
				if why := harm(picked, d.Change); why != "" {
					t.Fatalf("size %d, %s: %s by %s: %s", size, describe(picked), changes.KindOf(d.Change), d.Rule, why)
				}
			}
			if d.Verdict == Settled && (len(o.Current.HealthyVoters()) != size || len(o.Current.Members) != size) {
				t.Fatalf("size %d, %s is called settled", size, describe(picked))
			}
			if d.Verdict == Settled && strings.Contains(describe(picked), "outdated") {
				t.Fatalf("size %d, %s is called settled", size, describe(picked))
			}
			if d.Message == "" || d.Rule == "" {
				t.Fatalf("size %d, %s: no word", size, describe(picked))
			}
		}
	})
	if !needs.IsFull() { // which sees more worlds
		answers.Compare(t, *update)
	}
	t.Logf("%v", verdicts)
	for _, v := range []Verdict{Act, Wait, Refuse, Settled} {
		if verdicts[v] == 0 {
			t.Fatalf("no world leads to %s", v)
		}
	}
}

// answerOf is what the corpus holds of a decision: not its words.
func answerOf(d Decision) string {
	if d.Change == nil {
		return fmt.Sprintf("%s %s %s", d.Rule, d.Verdict, d.Reason)
	}
	return fmt.Sprintf("%s %s %s %s %s", d.Rule, d.Verdict, d.Reason, changes.KindOf(d.Change), about(d.Change))
}

func describe(picked []state) string {
	out := make([]string, 0, len(picked))
	for _, s := range picked {
		out = append(out, s.name)
	}
	return strings.Join(out, ", ")
}
