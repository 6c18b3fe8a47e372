package plan

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

func TestTheRulesAreInTheirOrderInDocGoAndInTheUsersDocs(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	section := string(doc)
	section = section[strings.Index(section, "# The order"):strings.Index(section, "# Invariants")]
	var inDoc []string
	for _, word := range regexp.MustCompile(`[a-z]+(-[a-z]+)*`).FindAllString(section, -1) {
		if slices.Contains(RuleNames(), word) && !slices.Contains(inDoc, word) {
			inDoc = append(inDoc, word)
		}
	}
	if !slices.Equal(inDoc, RuleNames()) {
		t.Errorf("doc.go lists %v\nthe code asks %v", inDoc, RuleNames())
	}

	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var inPage []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		inPage = append(inPage, m[1])
		for _, r := range everyRule() {
			if r.name == m[1] && r.says != "" && r.says != m[2] {
				t.Errorf("docs/rules.md says of %s: %q\nthe code: %q", m[1], m[2], r.says)
			}
		}
	}
	if !slices.Equal(inPage, RuleNames()) {
		t.Errorf("docs/rules.md lists %v\nthe code asks %v", inPage, RuleNames())
	}
}

var update = flag.Bool("update", false, "write the table of signs in docs/reference/judgement.md anew")

// signRow is the row of the docs for a row of the table.
func signRow(s judge.Sign) string {
	var proof []string
	for _, w := range s.Proof {
		proof = append(proof, string(w))
	}
	cells := []string{string(s.State), string(s.Cause), doneAbout(s), strings.Join(proof, ", "), s.Word()}
	for i, c := range cells {
		cells[i] = cmp.Or(c, "–")
	}
	return fmt.Sprintf("| %s | %s |\n", s.Says, strings.Join(cells, " | "))
}

// doneAbout is what the operator does about a member with this sign.
func doneAbout(s judge.Sign) string {
	switch {
	case s.Cure != judge.Replace:
		return map[judge.Cure]string{
			judge.NoCure: "", judge.Await: "Waits.", judge.Restart: "Starts it.", judge.Compare: "Compares all copies.",
			judge.Person:  "Asks you.",
			judge.Correct: "Asks you to put it right.",
		}[s.Cure]
	case s.Certain:
		return "Replaces it at once."
	case s.State == judge.Doomed && len(s.Proof) > 1:
		return "Lets another member join, or replaces it after `repair.replaceAfter`."
	case s.State == judge.Doomed:
		return "Lets another member join, then replaces it."
	case s.Cause == facts.CauseCorruption:
		return "Leads clients away, then replaces it."
	}
	return "Replaces it after `repair.replaceAfter`."
}

func TestThePageOfJudgementsSaysHowAMemberIsJudgedAsTheTableOfSignsDoes(t *testing.T) {
	const path = "../../docs/reference/judgement.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| What is seen | The member is | Cause | What the operator does | Seen by | Member reason |\n" +
		"|---|---|---|---|---|---|\n"
	want := head
	for _, s := range judge.Signs {
		want += signRow(s)
	}
	before, rest, isThere := strings.Cut(string(page), head)
	if !isThere {
		t.Fatalf("%s has no such table: %s", path, head)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	if *update {
		if err := os.WriteFile(path, []byte(before+want+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.Contains(string(page), want+"\n") {
		t.Errorf("%s says it differently; go test ./controllers/plan -run PageOfJudgements -update writes\n%s", path,
			want)
	}
}

func TestWhatIsDoneIsSaidAsAPersonReadIt(t *testing.T) {
	const path = "testdata/messages.txt"
	said := map[string]string{} // by rule and change: what the first row says
	for _, row := range allRows() {
		if d := Decide(row.world.Observation); d.Verdict == Act {
			key := d.Rule + ", " + d.Reason
			said[key] = cmp.Or(said[key], d.Message)
		}
	}
	var want strings.Builder
	for _, key := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(&want, "%s: %s\n", key, said[key])
	}
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	read, err := os.ReadFile(path)
	if err != nil || string(read) != want.String() {
		t.Errorf("%v: %s says it differently; read what go test ./controllers/plan -run APersonReadIt -update writes", err, path)
	}
}
