package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is one command of a page.
type command struct {
	line  int
	text  string
	stmt  *syntax.Stmt
	shows []string // what the page shows below it
}

// commands are those of a block, in their order.
func (b block) commands() ([]command, error) {
	if b.lang != langConsole {
		return parseShell(b.line, b.text)
	}
	var all []command
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); {
		text, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			return nil, fmt.Errorf("line %d: %q stands below no command", b.line+i, lines[i])
		}
		begin := i
		for i++; strings.HasSuffix(text, "\\") && i < len(lines); i++ {
			text += "\n" + lines[i]
		}
		parsed, err := parseShell(b.line+begin, text)
		if err != nil {
			return nil, err
		}
		last := &parsed[len(parsed)-1]
		for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			last.shows = append(last.shows, lines[i])
		}
		all = append(all, parsed...)
	}
	return all, nil
}

// left is what a page leaves to its readers.
const left = "…"

// parseShell takes commands as a shell does.
func parseShell(line int, text string) ([]command, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(withoutSecrets(text)), "")
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if len(file.Stmts) == 0 {
		return nil, fmt.Errorf("line %d: there is no command", line)
	}
	all := make([]command, 0, len(file.Stmts))
	for _, stmt := range file.Stmts {
		c := command{line: line + int(stmt.Pos().Line()) - 1, stmt: stmt}
		var source strings.Builder
		if err := syntax.NewPrinter().Print(&source, stmt); err != nil {
			return nil, fmt.Errorf("line %d: %w", c.line, err)
		}
		if c.text = source.String(); strings.Contains(c.text, left) {
			return nil, fmt.Errorf("line %d: what %q is to be, nobody knows", c.line, left)
		}
		all = append(all, c)
	}
	return all, nil
}

// withoutSecrets takes the server's credentials from the environment where a page has three dots for them.
func withoutSecrets(text string) string {
	return strings.NewReplacer(
		"access-key-id="+left, `access-key-id="$`+envAccessKey+`"`,
		"secret-access-key="+left, `secret-access-key="$`+envSecretKey+`"`,
	).Replace(text)
}

var columns = regexp.MustCompile(` {2,}|\t`)

// head are the columns of a table, if a line is the head of one.
func head(line string) []string {
	fields := columns.Split(strings.TrimSpace(line), -1)
	if len(fields) < 2 || line != strings.ToUpper(line) || strings.ContainsAny(line, `=:;"`) {
		return nil
	}
	return fields
}

// differs says how what was printed is unlike what the page shows: only the head of a table can be.
func (c command) differs(printed string) error {
	if len(c.shows) == 0 {
		return nil
	}
	wanted := head(c.shows[0])
	if wanted == nil {
		return nil
	}
	first, _, _ := strings.Cut(printed, "\n")
	if got := head(first); strings.Join(got, "|") != strings.Join(wanted, "|") {
		return errors.New("the page shows the columns " + strings.Join(wanted, ", ") + ", and it prints: " + first)
	}
	return nil
}
