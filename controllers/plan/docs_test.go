package plan

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		if says := RuleSays(m[1]); says != "" && says != m[2] {
			t.Errorf("docs/rules.md says of %s: %q\nthe code: %q", m[1], m[2], says)
		}
	}
	if !slices.Equal(inPage, RuleNames()) {
		t.Errorf("docs/rules.md lists %v\nthe code asks %v", inPage, RuleNames())
	}
}
