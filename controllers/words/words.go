// Package words is what all wings say in the same way: events, conditions, times, and sentences of others.
package words

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Event is something to tell people once.
type Event struct {
	Warning bool
	Reason  string // CamelCase, at most 128 characters
	Action  string // CamelCase: what the operator did or saw; part of what tells two series of events apart
	Note    string // a sentence, at most 1024 characters
	Member  string // the member, and so the Pod, that it is about; empty when it is about the whole object
}

// Type is what Kubernetes calls it.
func (e Event) Type() string {
	if e.Warning {
		return "Warning"
	}
	return "Normal"
}

// Condition is one whose time Since fills in.
func Condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Since gives conditions the time at which each turned: now, unless it was so before. The generation is zero where none
// is shown.
func Since(now time.Time, generation int64, conditions, old []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now.Truncate(time.Second))
		if was := meta.FindStatusCondition(old, c.Type); was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
	return conditions
}

// ReasonOf is the reason of a condition; empty when there is none.
func ReasonOf(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// TimeOrNil is a time as the API has it; nil for zero.
func TimeOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t))
}

// TimeOf is a time of the API; zero for nil.
func TimeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// Format is a time as people are told it.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var reason = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// IsReason reports whether a foreign word can be the reason of a condition.
func IsReason(word string) bool { return reason.MatchString(word) }

// Longest is how much of a foreign text a condition repeats, in bytes.
const Longest = 1024

// Bounded is one line of text, not too long.
func Bounded(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) <= Longest {
		return text
	}
	cut := Longest
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// passing is what differs from one answer to the next: what begins with a digit and stands by itself, addresses of
// IPv6, UIDs, and hashes or IDs in hexadecimal. A number within a name is no such thing: demo-0 is not demo-1.
var passing = regexp.MustCompile(`(?i)(^|[^\w.-])` +
	`([0-9][\w.:+-]*|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8,}\b)`)

// Alike reports texts that say the same: nothing but numbers, amounts, times and addresses, or the order of their
// words, is another one.
func Alike(a, b string) bool { return slices.Equal(lasting(a), lasting(b)) }

func lasting(text string) []string {
	return slices.Sorted(slices.Values(strings.Fields(passing.ReplaceAllString(text, "$1"))))
}

// Sooner is the earlier of two times to look again; zero asks for nothing.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Failure is why a step of a Pod failed, by its last words: the agent says it in words of its own, etcdutl at the end
// of what it printed, and the runtime where there is none.
func Failure(text string) (reason, message string) {
	var said struct{ Reason, Message string }
	if json.Unmarshal([]byte(text), &said) == nil && said.Message != "" {
		return said.Reason, said.Message
	}
	if etcdutil.LacksEtcdutl(text) {
		return "", etcdutil.NoEtcdutl
	}
	return "", strings.TrimSpace(etcdutil.LastWords(text))
}
