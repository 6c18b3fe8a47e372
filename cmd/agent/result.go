package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

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
