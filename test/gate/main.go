// Gate runs the phases of `make test` one after the other, all of them even if one fails, and ends with what failed and
// the commands that repeat it.
//
//	go run ./test/gate -lock ~/.cache/etcd-steward/gate.lock tools check test-core+test-computed
//
// A phase is a target of the Makefile, or several with + between: the first one has the machine, and the others get what
// it leaves. What they print is shown when they end.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

func run(lock string, phases []string) error {
	release, err := hold(lock)
	if err != nil {
		return err
	}
	defer release()
	// make and what it started get the signal of a terminal as well. What they had to say until then is summed up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := report{began: time.Now()}
	for _, targets := range phases {
		report.phases = append(report.phases, playTogether(ctx, strings.Split(targets, "+"))...)
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

// playTogether runs the first target, and the others with what it leaves of the machine.
func playTogether(ctx context.Context, targets []string) []phase {
	phases, printed := make([]phase, len(targets)), make([]bytes.Buffer, len(targets))
	var others sync.WaitGroup
	for i, target := range targets[1:] {
		others.Go(func() { phases[1+i] = play(ctx, target, &printed[1+i], "nice", "-n", meekness) })
	}
	phases[0] = play(ctx, targets[0], os.Stdout)
	others.Wait()
	for i := range targets[1:] {
		_, _ = printed[1+i].WriteTo(os.Stdout)
	}
	return phases
}

// meekness is how nice the others are: they get a tenth of a core that the first one could fill.
const meekness = "10"

// play runs one target, shows what it prints, and reads the failures out of it. It has a session of its own, because
// Linux weighs whole sessions against each other (autogroup, in sched(7)), and because make on its own passes a signal
// on to none of its grandchildren.
func play(ctx context.Context, target string, shown io.Writer, before ...string) phase {
	_, _ = fmt.Fprintf(shown, "== %s\n", target)
	began := time.Now()
	reader := &reader{phase: target}
	line := append(before, "make", "--no-print-directory", "--keep-going", target)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Stdout = io.MultiWriter(shown, reader)
	cmd.Stderr = cmd.Stdout
	err := cmd.Start()
	if err == nil && len(before) > 0 {
		group := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "autogroup")
		_ = os.WriteFile(group, []byte(meekness), 0) // where Linux has none, the processes alone are weighed
	}
	if err == nil {
		err = cmd.Wait()
	}
	p := phase{name: target, seconds: int(time.Since(began).Seconds()), failed: err != nil, reader: reader}
	_, _ = fmt.Fprintln(shown, "== "+p.String())
	return p
}
