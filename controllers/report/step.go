package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// step is what people are told of a decision and its outcome.
type step struct {
	rule, reason, message string
	verdict               plan.Verdict
	needsHuman            bool
	late                  *facts.Note // the wait that is past its deadline; nil when none is
	also                  string      // what other rules need a person for, or have waited for too long
}

// step joins decision and outcome.
func (in Input) step() step {
	d := in.Decision
	s := in.tried(step{rule: d.Rule, reason: d.Reason, message: sentence(d.Message), verdict: d.Verdict,
		needsHuman: d.NeedsHuman})
	if d.Overdue {
		s.late = &facts.Note{Rule: s.rule, Reason: s.reason, Message: s.message}
	}
	for _, note := range d.Trace.Yielded() {
		note.Message = sentence(note.Message)
		if note.Overdue && s.late == nil {
			s.late = &note
		}
		if note.Rule != s.rule && (note.Overdue || note.NeedsHuman) {
			s.also += " " + note.Message
		}
	}
	return s
}

// tried is the step with what came of it. A change that could not be made is a wait, and one that was rejected a
// refusal, although the planner wanted it.
func (in Input) tried(s step) step {
	switch {
	case in.isDryRun():
		s.message = "Not done, because spec.mode is DryRun: " + s.message
	case in.Outcome.Err != nil:
		s.verdict, s.reason = plan.Wait, ReasonApplyFailed
		s.message = in.lastError(s, cmp.Or(in.Outcome.Message, in.Outcome.Err.Error()))
	case in.Outcome.Rejected && s.needsHuman && !in.Outcome.NeedsHuman: // graver than what was rejected
		s.also = " " + sentence(in.Outcome.Message)
	case in.Outcome.Rejected:
		s.verdict, s.reason, s.needsHuman = plan.Refuse, in.Outcome.Reason, in.Outcome.NeedsHuman
		s.rule = cmp.Or(in.Outcome.Rule, s.rule)
		s.message = in.lastError(s, in.Outcome.Message)
	case in.Outcome.Reason != "":
		s.verdict, s.reason = plan.Wait, in.Outcome.Reason
		s.rule = cmp.Or(in.Outcome.Rule, s.rule)
		s.message = in.lastError(s, in.Outcome.Message)
	case s.reason == facts.ReasonMembershipUnknown:
		s.message = in.firstError(s, s.message)
	}
	return s
}

// lastError is what fails or refuses now. While that says the same its first text stays: addresses, times and counts
// differ in each answer, and each would be a write.
func (in Input) lastError(s step, text string) string {
	text = sentence(text)
	if first := in.firstError(s, text); words.Alike(first, text) {
		return first
	}
	return text
}

// firstError keeps the text of the first error while the same step keeps failing.
func (in Input) firstError(s step, text string) string {
	if old := in.old().NextStep; old != nil && s.isSameAs(old) {
		return old.Message
	}
	return sentence(text)
}

func (s step) isSameAs(old *v1alpha1.NextStep) bool {
	return old.Rule == s.rule && old.Verdict == string(s.verdict) && old.Reason == s.reason
}

// nextStep is the step as the status shows it. Since moves only with rule, verdict or reason.
func (in Input) nextStep(s step) *v1alpha1.NextStep {
	next := &v1alpha1.NextStep{
		Rule: s.rule, Verdict: string(s.verdict), Reason: s.reason, Message: s.message,
		Since: seconds(in.Observation.Now),
	}
	if old := in.old().NextStep; old != nil && s.isSameAs(old) {
		next.Since = old.Since
	}
	return next
}

// seconds drops what the API server would not store, so that a status reads back as it was written.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// sentence ends a foreign text like a sentence of ours.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
