package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// page is what of a page is run.
type page struct {
	name   string // path from the repository's root
	blocks []block
}

// block is a fenced block, or commands in a comment.
type block struct {
	line    int    // of its first line within the page
	lang    string // the first word behind the fence; hidden for commands in a comment
	text    string
	skip    string         // why it is not run
	expects *regexp.Regexp // what its output matches; nil for anything
}

// Languages of blocks that mean something here.
const (
	langShell   = "sh"
	langConsole = "console"
	langYAML    = "yaml"
	langHidden  = "a comment"
)

// isRun reports a block that has commands in it.
func (b block) isRun() bool {
	return b.skip == "" && (b.lang == langShell || b.lang == langConsole || b.lang == langHidden)
}

// readPages reads these pages, or without any all that have something to run.
func readPages(root string, names []string) ([]page, error) {
	isAll := len(names) == 0
	if isAll {
		docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
		if err != nil || len(docs) == 0 {
			return nil, fmt.Errorf("there are no pages in %s: %w", filepath.Join(root, "docs"), err)
		}
		names = append([]string{"README.md"}, docs...)
		for i, name := range names[1:] {
			names[i+1] = filepath.Join("docs", filepath.Base(name))
		}
	}
	var pages []page
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, fmt.Errorf("reading a page: %w", err)
		}
		p, err := parsePage(name, string(text))
		if err != nil {
			return nil, err
		}
		if !isAll || p.hasCommands() {
			pages = append(pages, p)
		}
	}
	return pages, nil
}

func (p page) hasCommands() bool {
	for _, b := range p.blocks {
		if b.isRun() || b.skip != "" {
			return true
		}
	}
	return false
}

var (
	fence     = regexp.MustCompile("^( *)(```+|~~~+) *([^ `]*)")
	directive = regexp.MustCompile(`^<!-- test (skip|expects|run): ?(.*)$`)
)

const commentEnd = "-->"

// parsePage finds fenced blocks, and the comments that are meant for us.
func parsePage(name, text string) (page, error) {
	p := parser{page: page{name: name}, lines: strings.Split(text, "\n")}
	for p.at < len(p.lines) {
		if err := p.next(); err != nil {
			return page{}, fmt.Errorf("%s:%d: %w", name, p.at+1, err)
		}
	}
	if p.pending != (block{}) {
		return page{}, fmt.Errorf("%s: the last comment for the test stands before no block", name)
	}
	return p.page, nil
}

// parser goes over a page from line to line.
type parser struct {
	page

	lines   []string
	at      int   // index of the line that is next
	pending block // with what comments said about the block to come
}

// next takes a fenced block, a comment or one line of prose.
func (p *parser) next() error {
	line := p.lines[p.at]
	if m := fence.FindStringSubmatch(line); m != nil {
		return p.fenced(m[1], m[2], m[3])
	}
	if m := directive.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		return p.directive(m[1], m[2])
	}
	if strings.Contains(line, "<!-- test") {
		return fmt.Errorf("%q is no comment that the test knows: skip, expects or run, and a colon", strings.TrimSpace(line))
	}
	if strings.TrimSpace(line) != "" && p.pending != (block{}) {
		return errors.New("a comment for the test stands before this, which is no block")
	}
	p.at++
	return nil
}

// fenced takes a block up to its fence.
func (p *parser) fenced(indent, fence, lang string) error {
	b := p.pending
	b.line, b.lang = p.at+2, lang
	var text []string
	for i := p.at + 1; i < len(p.lines); i++ {
		line := p.lines[i]
		if closes := strings.TrimSpace(line); strings.HasPrefix(closes, fence) && strings.Trim(closes, fence[:1]) == "" {
			b.text = strings.Join(text, "\n") + "\n"
			p.blocks, p.pending, p.at = append(p.blocks, b), block{}, i+1
			return nil
		}
		text = append(text, strings.TrimPrefix(line, indent))
	}
	return errors.New("this block has no end")
}

// directive takes a comment, which may go over several lines.
func (p *parser) directive(word, rest string) error {
	begin, lines := p.at, []string{rest}
	for !strings.HasSuffix(strings.TrimSpace(lines[len(lines)-1]), commentEnd) {
		p.at++
		if p.at == len(p.lines) {
			return errors.New("the comment has no end")
		}
		lines = append(lines, p.lines[p.at])
	}
	text := strings.TrimSuffix(strings.TrimSpace(strings.Join(lines, "\n")), commentEnd)
	p.at++
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s says nothing", word)
	}
	switch word {
	case "skip":
		p.pending.skip = strings.Join(strings.Fields(text), " ")
	case "expects":
		expression, err := regexp.Compile(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("what is expected: %w", err)
		}
		p.pending.expects = expression
	default:
		text := strings.Join(lines, "\n")
		p.blocks = append(p.blocks, block{line: begin + 1, lang: langHidden, text: text[:strings.LastIndex(text, commentEnd)]})
	}
	return nil
}
