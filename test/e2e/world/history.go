package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// History is the sequence of decisions that the operator published for a cluster.
type History struct {
	mu    sync.Mutex
	steps []Step
}

// Step is one decision as it was published.
type Step struct {
	At time.Time
	v1alpha1.NextStep
}

// follow writes a cluster's history until the story is over, and prints it when the story failed.
func (s *Story) follow(name string) *History {
	h := &History{}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { s.watchSteps(ctx, name, h) })
	ginkgo.DeferCleanup(func() {
		cancel()
		ended.Wait()
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.GinkgoWriter.Printf("\n---- decisions for %s/%s\n%s\n", s.Namespace, name, h)
		}
	})
	return h
}

// watchSteps begins a new watch whenever one ends.
func (s *Story) watchSteps(ctx context.Context, name string, h *History) {
	for ctx.Err() == nil {
		events, err := s.Client.Watch(ctx, &v1alpha1.EtcdClusterList{}, client.InNamespace(s.Namespace),
			&client.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name)})
		if err != nil {
			continue
		}
		for event := range events.ResultChan() {
			h.take(event)
		}
	}
}

func (h *History) take(event watch.Event) {
	object, ok := event.Object.(*v1alpha1.EtcdCluster)
	if !ok || object.Status.NextStep == nil {
		return
	}
	step := *object.Status.NextStep
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.steps); n > 0 {
		last := h.steps[n-1]
		if last.Rule == step.Rule && last.Verdict == step.Verdict && last.Reason == step.Reason && last.Message == step.Message {
			return
		}
	}
	h.steps = append(h.steps, Step{At: time.Now(), NextStep: step})
}

// Steps are the decisions so far.
func (h *History) Steps() []Step {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.steps)
}

// HasReason reports whether a decision of this reason was ever published.
func (h *History) HasReason(reason string) bool {
	return slices.ContainsFunc(h.Steps(), func(s Step) bool { return s.Reason == reason })
}

// HasSaid reports whether a decision of this reason ever had this in its message.
func (h *History) HasSaid(reason, text string) bool {
	return slices.ContainsFunc(h.Steps(), func(s Step) bool { return s.Reason == reason && strings.Contains(s.Message, text) })
}

// Rules are the names of the rules that spoke, in order, the same one never twice in a row.
func (h *History) Rules() []string {
	var rules []string
	for _, s := range h.Steps() {
		rules = append(rules, s.Rule)
	}
	return slices.Compact(rules)
}

// Restarted are the members that a roll stopped, in order. One member stands there twice in a row when its Pod was
// started again in between: two stops may meet at the same member. A cluster of one cannot be asked meanwhile. Not
// every decision is published: of a start, or of the comparison that follows it, one is.
func (h *History) Restarted() []string { return restarted(h.Steps()) }

func restarted(steps []Step) []string {
	var members []string
	stopped := ""
	for _, s := range steps {
		member, isRestart := strings.CutPrefix(s.Message, "The operator evicts the Pod of ")
		member, _, _ = strings.Cut(member, ": ")
		switch {
		case s.Reason == "StartPods", s.Reason == facts.ReasonMembershipUnknown,
			s.Rule == "compare" && strings.Contains(s.Message, stopped+": etcd started"):
			stopped = ""
		case isRestart && s.Rule == "roll" && member != stopped:
			members, stopped = append(members, member), member
		}
	}
	return members
}

func (h *History) String() string {
	var text strings.Builder
	for _, s := range h.Steps() {
		fmt.Fprintf(&text, "%s %s\n", s.At.Format("15:04:05.000"), describeStep(&s.NextStep))
	}
	return text.String()
}

// linesWith keeps the last n lines that hold a word.
func linesWith(text, word string, n int) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, word) })
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
