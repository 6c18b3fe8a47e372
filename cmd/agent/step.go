package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// step is a subcommand. What run returns is the termination message, or for people what they read.
type step struct {
	name  string
	flags func(o *options, f *flagSet)
	run   func(ctx context.Context, o *options, progress *backup.Progress) (any, error)

	isForPeople bool // a person runs it, outside of any Pod of ours
}

// steps are all of them: those of a backup, of a restore from a backup, of a restore from a surviving member, of a
// schedule, and those that a person runs. Between the steps of one Pod the cluster's own etcdutl does its work.
var steps = []step{
	{name: "snapshot", flags: snapshotFlags, run: snapshot},
	{name: "fetch", flags: fetchFlags, run: fetch},
	{name: "compare", flags: compareFlags, run: compare},

	{name: "preflight", flags: preflightFlags, run: preflight},
	{name: "fetch-for-restore", flags: fetchForRestoreFlags, run: fetchForRestore},
	{name: "activate", flags: activateFlags, run: activate},
	{name: "hold", flags: holdFlags, run: hold},

	{name: "stream-survivor", flags: streamSurvivorFlags, run: streamSurvivor},
	{name: "read-survivor", flags: readSurvivorFlags, run: readSurvivor},
	{name: "activate-survivor", flags: activateSurvivorFlags, run: activateSurvivor},

	{name: "prune", flags: pruneFlags, run: prune},

	{name: "list", flags: listFlags, run: list, isForPeople: true},
	{name: "inspect", flags: inspectFlags, run: inspect, isForPeople: true},
}

// stepNamed finds a step; the error says which there are.
func stepNamed(name string) (step, error) {
	if i := slices.IndexFunc(steps, func(s step) bool { return s.name == name }); i >= 0 {
		return steps[i], nil
	}
	return step{}, fmt.Errorf("%q is not a step; %s", name, usage())
}

func usage() string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.name
	}
	return "usage: agent " + strings.Join(names, "|") + " --flag=value…"
}

// stopGrace is how long a step that was told to stop, or that stands still, may take to tidy up. What hangs in the
// kernel, such as a write to a volume whose server is away, does not hear of it at all.
const stopGrace = 20 * time.Second

// runStep runs the step that was asked for, and serves its progress meanwhile.
func runStep(ctx context.Context, o *options) (any, error) {
	stalled := make(chan error, 1)
	progress := &backup.Progress{OnStall: func(err error) {
		select {
		case stalled <- err:
		default:
		}
	}}
	stopServing, err := serveProgress(o.progressAddress, progress)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err) // a backup without a visible progress is a backup
	} else {
		defer stopServing()
	}
	return within(ctx, stalled, func() (any, error) { return o.step.run(ctx, o, progress) })
}

// within waits for a step, and after the context has ended or its bytes stood still no longer than stopGrace.
func within(ctx context.Context, stalled <-chan error, work func() (any, error)) (any, error) {
	type outcome struct {
		result any
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := work()
		done <- outcome{result, err}
	}()
	var why error
	select {
	case o := <-done:
		return o.result, o.err
	case why = <-stalled:
	case <-ctx.Done():
		why = fmt.Errorf("stop: %w", context.Cause(ctx))
	}
	select {
	case o := <-done:
		return o.result, o.err
	case <-time.After(stopGrace):
		return nil, why
	}
}

// transfer is how a step moves bytes that needs no store.
func (o *options) transfer(progress *backup.Progress) backup.Transfer {
	return backup.Transfer{Stall: o.stall, Progress: progress}
}

// withStore opens the store for one piece of work, and closes it.
func withStore[T any](ctx context.Context, o *options, progress *backup.Progress,
	work func(backup.Transfer) (T, error)) (T, error) {
	bucket, err := store.Open(ctx, o.store, o.storeOptions)
	if err != nil {
		var none T
		return none, err
	}
	defer bucket.Close()
	transfer := o.transfer(progress)
	transfer.Bucket = bucket
	return work(transfer)
}
