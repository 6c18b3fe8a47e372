// Package corpus holds what a program answers to very many questions as one hash for each block of them, in a file that is
// committed. A change that should move nothing changes no hash. What one does move is shown by `make corpus-diff`.
package corpus

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answersTo is the environment's name for a directory in which each answer is written down, for people and for diff.
const answersTo = "CORPUS_ANSWERS"

// Corpus takes answers in an order that is always the same.
type Corpus struct {
	file   string
	blocks []string // finished ones, a line each
	title  string
	hash   hash.Hash

	answers *os.File      // each answer, for people; nil where it is not asked for
	all     *bufio.Writer // to answers
}

// Open begins a corpus that is held against a file.
func Open(t testing.TB, file string) *Corpus {
	t.Helper()
	c := &Corpus{file: file}
	if dir := os.Getenv(answersTo); dir != "" {
		answers, err := os.Create(filepath.Join(dir, filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		c.answers, c.all = answers, bufio.NewWriter(answers)
	}
	return c
}

// Begin ends the block before, and begins one of this title.
func (c *Corpus) Begin(title string) {
	c.end()
	c.title, c.hash = title, sha256.New()
}

func (c *Corpus) end() {
	if c.hash != nil {
		c.blocks = append(c.blocks, hex.EncodeToString(c.hash.Sum(nil))[:16]+" "+c.title)
	}
}

// Add takes the answer to a question into the block. How it came about is for people alone: it stands indented below
// the answer, and in no hash.
func (c *Corpus) Add(question, answer string, how fmt.Stringer) {
	_, _ = io.WriteString(c.hash, answer+"\n")
	if c.all == nil {
		return
	}
	_, _ = fmt.Fprintf(c.all, "%s, %s: %s\n", c.title, question, answer)
	if told := how.String(); told != "" {
		_, _ = fmt.Fprintf(c.all, "  %s\n", strings.ReplaceAll(told, "\n", "\n  "))
	}
}

// Compare fails the test where a hash is another one than in the file. With update it writes the file.
func (c *Corpus) Compare(t testing.TB, update bool) {
	t.Helper()
	c.end()
	if c.all != nil {
		if err := errors.Join(c.all.Flush(), c.answers.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if update {
		if err := os.WriteFile(c.file, []byte(strings.Join(c.blocks, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSpace(string(text)), "\n")
	var moved []string
	for i, block := range c.blocks {
		if i >= len(before) || before[i] != block {
			moved = append(moved, block)
		}
	}
	if len(moved) > 0 || len(before) != len(c.blocks) {
		t.Errorf("%d of %d blocks are answered otherwise than %s says, %d are there; the first: %s\n"+
			"see what moved, against main:  make corpus-diff REF=main\n"+
			"if that is meant, write it:    make corpus", len(moved), len(before), c.file, len(c.blocks),
			slices.Concat(moved, []string{"none"})[0])
	}
}
