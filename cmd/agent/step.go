package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

type step struct {
	name        string
	prepare     func(f *flagSet) work // adds the step's flags
	isForPeople bool                  // a person runs it, outside of any Pod of ours
}

// work is what a step does once its flags are read. What it returns is the termination message, or for people what they
// read.
type work func(ctx context.Context, t backup.Transfer) (any, error)

// steps are all of them: those of a backup, of a restore from a backup, of a restore from a surviving member, of a
// schedule, one that has a member defragmented, one that measures a disk, and those that a person runs. Between the
// steps of one Pod the cluster's own etcdutl does its work.
var steps = []step{
	{name: "snapshot", prepare: snapshot}, {name: "fetch", prepare: fetch}, {name: "compare", prepare: compare},

	{name: "preflight", prepare: preflight}, {name: "fetch-for-restore", prepare: fetchForRestore},
	{name: "activate", prepare: activate}, {name: "hold", prepare: hold},

	{name: "stream-survivor", prepare: streamSurvivor}, {name: "read-survivor", prepare: readSurvivor},
	{name: "activate-survivor", prepare: activateSurvivor},

	{name: "prune", prepare: prune}, {name: "defragment", prepare: defragment}, {name: "disk", prepare: disk},

	{name: "list", prepare: list, isForPeople: true}, {name: "inspect", prepare: inspect, isForPeople: true},
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
	return within(ctx, stalled, func() (any, error) {
		return o.work(ctx, backup.Transfer{Stall: o.stall, Progress: progress})
	})
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

// withStore opens the store for the work, and closes it.
func (f *flagSet) withStore(do work) work {
	return func(ctx context.Context, t backup.Transfer) (_ any, err error) {
		if t.Bucket, err = store.Open(ctx, f.store, f.storeOptions); err != nil {
			return nil, err
		}
		defer t.Bucket.Close()
		return do(ctx, t)
	}
}

// defaultTerminationLog is where the kubelet looks for a container's last words.
const defaultTerminationLog = "/dev/termination-log"

// maxTermination is what the kubelet keeps of them (kubernetes/kubernetes:pkg/kubelet/container/runtime.go
// MaxContainerTerminationMessageLength).
const maxTermination = 4096

// maxMessage leaves room for what JSON makes of quotes and line ends.
const maxMessage = 1500

const reasonUsage backup.Reason = "BadArguments"

// failed is the termination message of a step that failed.
type failed struct {
	Reason  backup.Reason `json:"reason"`
	Message string        `json:"message"`
}

func failure(ctx context.Context, err error) failed {
	reason := backup.ReasonOf(err)
	if ctx.Err() != nil {
		reason = backup.ReasonInterrupted // also when it broke something on its way
	}
	return failed{Reason: reason, Message: err.Error()}
}

// report writes the result as one line, to the termination log and to the log. The store's credentials are taken out in
// every case.
func report(stdout io.Writer, o *options, result any) {
	if f, ok := result.(failed); ok {
		f.Message = strings.ReplaceAll(store.Redact(o.storeOptions.CredentialsDir, f.Message), "\n", "; ")
		if o.store.Volume != nil { // where it is mounted says nothing to who reads this
			f.Message = strings.ReplaceAll(f.Message, strings.TrimSuffix(o.storeOptions.VolumeRoot, "/")+"/", "")
		}
		f.Message = shorten(f.Message)
		result = f
	}
	if o.step.isForPeople {
		tell(stdout, o, result)
		return
	}
	line := lineOf(result)
	fmt.Fprintln(stdout, string(line))
	if o.terminationLog == "" {
		return
	}
	if err := os.WriteFile(o.terminationLog, line, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
	}
}

// logWhole has what the store's library said of an error in the log: the IDs in it are for who runs the store.
func logWhole(o *options, err error) {
	if whole := store.Whole(err); whole != "" {
		whole = store.Redact(o.storeOptions.CredentialsDir, whole)
		fmt.Fprintln(os.Stderr, "agent:", strings.ReplaceAll(whole, "\n", "; "))
	}
}

// told is a result that a person reads.
type told interface{ print(w io.Writer) }

// tell prints a result for a person, or a program that one wrote. Why there is none goes to the log.
func tell(stdout io.Writer, o *options, result any) {
	readable, isReadable := result.(told)
	switch {
	case !isReadable:
		f, _ := result.(failed)
		fmt.Fprintf(os.Stderr, "agent: %s: %s\n", f.Reason, f.Message)
	case o.format == "json":
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(result)
	default:
		readable.print(stdout)
	}
}

// lineOf is a result as one line of JSON that the kubelet keeps whole. Of a failure whose text is too long as JSON,
// such as a page of control characters that some server calls an answer, the reason stays.
func lineOf(result any) []byte {
	line, err := json.Marshal(result)
	if err == nil && len(line) <= maxTermination {
		return line
	}
	unshown := failed{Reason: backup.ReasonInternal, Message: "the result cannot be shown"}
	if f, ok := result.(failed); ok {
		unshown = failed{Reason: f.Reason, Message: "what was said of it cannot be shown"}
	}
	line, _ = json.Marshal(unshown)
	return line
}

// shorten keeps beginning and end: what was done, and why it failed.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxMessage {
		return text
	}
	head, tail := text[:maxMessage/2], text[len(text)-maxMessage/2:]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for !utf8.ValidString(tail) {
		tail = tail[1:]
	}
	return head + " … " + tail
}

// serveProgress answers GET /progress with {"stage","bytes","total"}, and everything else with 404.
func serveProgress(address string, progress *backup.Progress) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the progress: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /progress", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(progress.Now())
	})
	server := &http.Server{
		Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
		MaxHeaderBytes: 4 << 10,
	}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
