package plan

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// phaseRows are worlds in which a rule is asked or is not, and others in which it acts on one member and not on the
// next.
func phaseRows() []row {
	three := settledWorld(3)
	sized := func(o scene, n int) scene { return desire(o, func(d *facts.Desired) { d.Size = n }) }
	elsewhere := settledWorld(1).budgeting(2)
	elsewhere.Current.Bootstrap.ClusterID = 9
	const refused = "no such version"
	firstReady := func(r *facts.Replica) { r.Pod.Ready, r.Pod.RunningSince = true, now.Add(-10*time.Minute) }
	return []row{
		{"a refused spec adds no member", refusing(sized(three, 5)), Refuse, "spec-refused", facts.ReasonSpecRefused,
			"", refused},
		{"and removes none", refusing(sized(three, 1)), Refuse, "spec-refused", facts.ReasonSpecRefused, "", refused},
		{"and restarts none", refusing(wanting(three, other)), Refuse, "spec-refused", facts.ReasonSpecRefused, "",
			refused},
		{"and abandons no learner for its size", refusing(three.with(learner(3)).budgeting(3)), Act, "promote",
			"", "Promote", "demo-3"},
		{"no ephemeral member is followed by one to which no step leads", noWay(inMemory(three)), Refuse, "roll",
			facts.ReasonNotSupported, "", "put spec.version back"},
		{"a member that was restored of another incarnation is no survivor",
			requesting(lostWorld().edit2(0, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), ofDemo0),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "holds the data of"},

		{"clients are led away from no member while too few others answer",
			three.edit(1, unanswered).edit(2, unanswered), Refuse, "member-health", facts.ReasonNotReady, "", "demo-1"},
		{"a member that does not answer gets no label", three.edit(1, unanswered).edit(1, unlabelled), Refuse,
			"member-health", facts.ReasonNotReady, "", "demo-1"},
		{"the budget does not follow the voters of another cluster", elsewhere, Refuse, "membership",
			facts.ReasonMembersDisagree, "", "bootstrapped as 9"},

		{"a first member that its kubelet calls ready is deleted and not evicted: no list says who votes",
			wanting(atBootstrap(3).edit(0, firstReady).edit(0, given(other)), other),
			Act, "pods", "", "DeletePods", "demo-0"},
		{"of two members that cannot start one takes the settings of the spec",
			wanting(three.edit(1, unpullable).edit(2, unpullable), other),
			Act, "settings", "", "WriteSettings", "Write settings on the volume of demo-1: etcd cannot serve with those that stand"},
		{"of two members that run and never answered one is made anew",
			three.edit(0, unheardAndGiven).edit(1, unheardAndGiven).edit(2, servedBefore).blind(),
			Act, "pods", "", "DeletePods",
			"Delete the Pod of demo-0: demo-0 does not answer, and was made"},
	}
}

func TestClientsAreLedAwayOnlyAfterASecondLook(t *testing.T) {
	if !MustConfirm(changes.LabelRole{}) {
		t.Error("what a cache says is enough to lead clients away from a member")
	}
	if MustConfirm(changes.LabelRole{Role: facts.RoleVoter}) {
		t.Error("a member that serves waits for a second look before clients are led to it")
	}
}

func TestNoRuleCallsARule(t *testing.T) {
	rules, called := map[string]bool{}, map[string]string{}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if source == "policy.go" {
				maps.Copy(rules, ruleOf(n))
			}
			for _, name := range calledBy(n) {
				called[name] = source
			}
			return true
		})
	}
	if len(rules) != len(everyRule()) {
		t.Fatalf("the table has %d rules, and these were found: %v", len(everyRule()), rules)
	}
	for name := range rules {
		if source, isCalled := called[name]; isCalled {
			t.Errorf("%s calls the rule %s", source, name)
		}
	}
}

// ruleOf is the function in a row of the table.
func ruleOf(n ast.Node) map[string]bool {
	row, isLiteral := n.(*ast.CompositeLit)
	if !isLiteral || len(row.Elts) != 4 {
		return nil
	}
	if _, isList := row.Type.(*ast.ArrayType); isList {
		return nil
	}
	return map[string]bool{row.Elts[2].(*ast.Ident).Name: true}
}

// calledBy are the functions that a piece of code calls by their names, or lists as steps, or hands on to inTurn.
func calledBy(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.CallExpr:
		called := names([]ast.Expr{n.Fun})
		if slices.Contains(called, "inTurn") {
			called = append(called, names(n.Args)...)
		}
		return called
	case *ast.CompositeLit:
		list, isList := n.Type.(*ast.ArrayType)
		if !isList {
			return nil
		}
		if _, isOfSteps := list.Elt.(*ast.FuncType); isOfSteps {
			return names(n.Elts)
		}
	}
	return nil
}

func names(all []ast.Expr) []string {
	var out []string
	for _, e := range all {
		if name, isName := e.(*ast.Ident); isName {
			out = append(out, name.Name)
		}
	}
	return out
}
