package manifests

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	// longestRule is what a person can still read.
	longestRule = 300
	// longestMessage has room for the sentence besides.
	longestMessage = 370
	// longestSentence is a number of words.
	longestSentence = 25
)

// visit calls f for every object of a definition that is a schema, a rule or a column, with its path.
func visit(node any, path string, f func(path string, node map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		f(path, n)
		for _, key := range slices.Sorted(maps.Keys(n)) {
			visit(n[key], path+"."+key, f)
		}
	case []any:
		for _, child := range n {
			visit(child, path+"[]", f)
		}
	}
}

// visitDefinitions does that for every definition, and fails when there are none.
func visitDefinitions(t *testing.T, f func(path string, node map[string]any)) {
	t.Helper()
	files, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("definitions of four kinds: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition map[string]any
		if err := yaml.Unmarshal(data, &definition); err != nil {
			t.Fatal(err)
		}
		visit(definition, filepath.Base(file), f)
	}
}

func TestEveryRuleOfTheAPICanBeReadByAPerson(t *testing.T) {
	rules := 0
	visitDefinitions(t, func(path string, node map[string]any) {
		rule, ok := node["rule"].(string)
		if !ok {
			return
		}
		rules++
		if len(rule) > longestRule {
			t.Errorf("%s: %d characters, want at most %d: %s", path, len(rule), longestRule, rule)
		}
		if message, _ := node["messageExpression"].(string); len(message) > longestMessage {
			t.Errorf("%s: %d characters, want at most %d: %s", path, len(message), longestMessage, message)
		}
	})
	if rules < 100 {
		t.Errorf("only %d rules were found", rules)
	}
}

// foreign are the parts of a definition that Kubernetes describes.
var foreign = regexp.MustCompile(`\.(apiVersion|kind|metadata|affinity\..*|networkPolicy\.properties\.(clients|metrics)\.items.*|(tolerations|topologySpreadConstraints|conditions|pullSecrets|claims)\.items.*)$`)

// What a field means, its default and its limits, kubectl explain shows and docs/reference is made of.
func TestEveryFieldOfTheAPIHasADescription(t *testing.T) {
	fields := 0
	visitDefinitions(t, func(path string, node map[string]any) {
		properties, _ := node["properties"].(map[string]any)
		for name, field := range properties {
			schema, isSchema := field.(map[string]any)
			if full := path + ".properties." + name; isSchema && !foreign.MatchString(strings.ReplaceAll(full, ".properties.", ".")) {
				fields++
				if description, _ := schema["description"].(string); description == "" {
					t.Errorf("%s has no description", full)
				}
			}
		}
	})
	if fields < 300 {
		t.Errorf("only %d fields were found", fields)
	}
}

// sentenceEnd is where one sentence ends and the next one begins.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]?\s+|\n\n`)

func TestEverySentenceOfTheAPIReferenceIsShort(t *testing.T) {
	sentences := 0
	visitDefinitions(t, func(path string, node map[string]any) {
		description, ok := node["description"].(string)
		if !ok || foreign.MatchString(path) {
			return
		}
		for _, sentence := range sentenceEnd.Split(description, -1) {
			sentences++
			if words := len(strings.Fields(sentence)); words > longestSentence {
				t.Errorf("%s: %d words, want at most %d: %s", path, words, longestSentence, sentence)
			}
		}
	})
	if sentences < 300 {
		t.Errorf("only %d sentences were found", sentences)
	}
}
