// Histories judges what clients of a cluster asked and were told, by the model of etcd's own robustness tests, and writes
// the report of `make report`.
//
//	go run -C test/histories . /path/to/report              judge every run, and write report.md and report.json
//	go run -C test/histories . -check /path/to/report/cut-1 judge one history alone
//
// It fails if a history is not linearizable, if its watch broke a promise, or if a run came to no end. The report is written before.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("histories", flag.ContinueOnError)
	one := flags.Bool("check", false, "judge one history, and write nothing")
	patience := flags.Duration("timeout", 5*time.Minute, "how long the judgement of one history may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one directory")
	}
	if *one {
		found := judge(flags.Arg(0), *patience)
		fmt.Printf("linearizable: %s\nwatch: %s\n", found.Linearizable, found.Watch)
		return found.err()
	}
	return judgeAll(flags.Arg(0), *patience)
}

// judgeAll judges every run in a directory.
func judgeAll(directory string, patience time.Duration) error {
	r, err := read(directory)
	if err != nil {
		return err
	}
	for i := range r.Runs {
		if run := &r.Runs[i]; run.Error == "" {
			run.verdict = judge(filepath.Join(directory, run.History), patience)
			fmt.Printf("%-20s linearizable: %s, watch: %s\n", run.History, run.Linearizable, run.Watch)
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, "report.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	page := r.markdown()
	if err := os.WriteFile(filepath.Join(directory, "report.md"), []byte(page), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Printf("\n%s\n%s\n", page, filepath.Join(directory, "report.md"))
	return r.err()
}
