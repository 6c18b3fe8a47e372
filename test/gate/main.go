// Gate runs the phases of `make test` one after the other, all of them even if one fails, and ends with what failed and
// the commands that repeat it.
//
//	go run ./test/gate -lock ~/.cache/etcd-steward/gate.lock tools check test-unit test-core
//
// A phase is a target of the Makefile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	lock := flag.String("lock", "", "a file that only one run on this machine may hold")
	flag.Parse()
	if err := run(*lock, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errRed = errors.New("make test: failed, see above")

func run(lock string, targets []string) error {
	release, err := hold(lock)
	if err != nil {
		return err
	}
	defer release()
	// make and what it started get the signal of a terminal as well. What they had to say until then is summed up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := report{}
	for _, target := range targets {
		report.phases = append(report.phases, play(ctx, target))
		if ctx.Err() != nil {
			break
		}
	}
	report.print(os.Stdout)
	if ctx.Err() != nil {
		return errors.New("make test: interrupted")
	}
	if report.isRed() {
		return errRed
	}
	return nil
}

// hold takes the lock, which ends with this process however that ends. What it starts does not inherit it.
func hold(path string) (release func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the gate: %w", err)
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		by, _ := io.ReadAll(f)
		_ = f.Close()
		return nil, fmt.Errorf("another `make test` runs on this machine (%s); two would share its localkube: "+
			"start this one again when that one has ended", by)
	}
	dir, _ := os.Getwd()
	_ = f.Truncate(0)
	_, _ = fmt.Fprintf(f, "process %d in %s", os.Getpid(), dir)
	return func() { _ = f.Close() }, nil
}

// play runs one target, shows what it prints, and reads the failures out of it.
func play(ctx context.Context, target string) phase {
	fmt.Printf("== %s\n", target)
	began := time.Now()
	reader := &reader{phase: target}
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "--keep-going", target)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stdout = io.MultiWriter(os.Stdout, reader)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	p := phase{name: target, seconds: int(time.Since(began).Seconds()), failed: err != nil, reader: reader}
	fmt.Println("== " + p.String())
	return p
}
