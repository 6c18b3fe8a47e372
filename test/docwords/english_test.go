package docwords

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestSentence is a number of words.
const longestSentence = 25

// rule is one thing that plain English asks for. Find returns what it refuses in a file.
type rule struct {
	name string
	find func(source) []string
	// least is how much there has to be to look at: a rule that sees nothing proves nothing.
	least int
}

var rules = []rule{
	{"long-sentence", longSentences, 3000},
	{"banned-term", bannedTerms, 3000},
	{"vague-word", vagueWords, 3000},
	{"vague-word-in-comment", vagueComments, 5000},
	{"vague-name", vagueNames, 20000},
}

// The allow-list holds how many findings each rule may still have in a file, or in all files of a directory.
func TestUserFacingTextNamesAndCodeAreInPlainEnglish(t *testing.T) {
	sources := readSources(t)
	list := readAllowed(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			looked := 0
			found := map[string][]string{}
			for _, s := range sources {
				looked += s.size(r.name)
				key := list.keyOf(r.name, s.path)
				found[key] = append(found[key], r.find(s)...)
			}
			if looked < r.least {
				t.Errorf("only %d pieces were looked at, want at least %d", looked, r.least)
			}
			list.compare(t, r.name, found)
		})
	}
}

// sentenceEnd is where one sentence ends and the next one begins. A middle dot separates the entries of a list.
var sentenceEnd = regexp.MustCompile(`[.!?…]["'”)*]*\s+|\n\n| · |\s*\|\s*`)

func longSentences(s source) []string {
	var found []string
	for _, piece := range s.texts {
		for _, sentence := range sentenceEnd.Split(piece.text, -1) {
			if words := len(strings.Fields(sentence)); words > longestSentence {
				found = append(found, fmt.Sprintf("%s:%d: %d words, want at most %d: %s", s.path, piece.line, words,
					longestSentence, sentence))
			}
		}
	}
	return found
}

// banned are terms of the glossary that have a plain one, and the plain one.
var banned = []struct {
	term  *regexp.Regexp
	plain string
}{
	{anyWord("life"), "incarnation"},
	{anyWord("coming"), "next"},
	{bootstrap, "bootstrap"},
	{anyWord("lay", "lays", "laid", "laying"), "restore, restored data"},
	{anyWord("switched over", "moves on", "move on"), "switch over"},
	{anyWord("choices?"), "settings"},
	{anyWord("authority", "authorities"), "CA"},
	{anyWord("volumes of before"), "previous volumes"},
	{anyWord("silent", "silence", "mute"), "stopped answering"},
	{anyWord("gives? up", "gave up", "given up", "giving up", "exchanged?", "succeeded by"), "replace"},
	{anyWord("wishe?s?", "superseded"), "request; next incarnation"},
}

// foreignTerms are other people's words, or names of ours that are older than the glossary.
var foreignTerms = regexp.MustCompile(`(?i)unknown authority|certificate authorit(y|ies)|bootstrap record`)

// A bootstrap is a term of the code, which this page explains to engineers.
var bootstrap = anyWord("births?", "born")

const architecture = "docs/architecture.md"

func bannedTerms(s source) []string {
	var found []string
	for _, piece := range s.texts {
		text := foreignTerms.ReplaceAllString(piece.text, "…")
		for _, b := range banned {
			if term := b.term.FindString(text); term != "" && (b.term != bootstrap || s.path != architecture) {
				found = append(found, fmt.Sprintf("%s:%d: %q, say %s: %s", s.path, piece.line, term,
					b.plain, piece.text))
			}
		}
	}
	return found
}

// vague are words that hide who does what.
var vague = anyWord("somebody", "nobody", "whoever", "whatever", "what is of", "(is|are) to be", "lest",
	"it is so that")

func vagueWords(s source) []string    { return vagueIn(s.path, s.texts) }
func vagueComments(s source) []string { return vagueIn(s.path, s.comments) }

func vagueIn(path string, pieces []piece) []string {
	var found []string
	for _, p := range pieces {
		if word := vague.FindString(p.text); word != "" {
			found = append(found, fmt.Sprintf("%s:%d: %q: %s", path, p.line, word, p.text))
		}
	}
	return found
}

// anyWord matches each of these patterns as whole words.
func anyWord(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)
}

func vagueNames(s source) []string {
	if s.tree == nil {
		return nil
	}
	var found []string
	add := func(idents ...*ast.Ident) {
		for _, ident := range idents {
			if slices.Contains([]string{"is", "of"}, ident.Name) {
				found = append(found, fmt.Sprintf("%s: a variable named %s: say what it holds", s.position(ident),
					ident.Name))
			}
		}
	}
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.InterfaceType:
			return false // its methods are no variables
		case *ast.Field:
			add(n.Names...)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(identsOf(n.Lhs...)...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(identsOf(n.Key, n.Value)...)
			}
		}
		return true
	})
	return found
}

func identsOf(exprs ...ast.Expr) []*ast.Ident {
	var idents []*ast.Ident
	for _, expr := range exprs {
		if ident, ok := expr.(*ast.Ident); ok {
			idents = append(idents, ident)
		}
	}
	return idents
}
