// Package words is what the controllers of backups and of their schedules say in the same way: events, conditions, times, and
// sentences of others.
package words

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is something to tell people once.
type Event struct {
	Warning              bool
	Reason, Action, Note string
}

// Condition is one whose time Since fills in.
func Condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Since gives conditions the time at which each turned: now, unless it was so before.
func Since(now time.Time, conditions, old []metav1.Condition) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		for _, was := range old {
			if was.Type == c.Type && was.Status == c.Status {
				c.LastTransitionTime = was.LastTransitionTime
			}
		}
	}
	return conditions
}

// ReasonOf is the reason of a condition; empty when there is none.
func ReasonOf(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Reason
		}
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

// Format is a time as people are told it.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var reason = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// IsReason reports whether somebody else's word can be the reason of a condition.
func IsReason(word string) bool { return reason.MatchString(word) }

// Longest is how much of somebody else's words a condition repeats, in bytes.
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
