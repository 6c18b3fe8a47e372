package world

import (
	"fmt"
	"regexp"
	"slices"
)

// Violation is what an operator must not do, or must not leave undone.
type Violation struct {
	Class Class
	Text  string
}

// Class is what a violation costs.
type Class string

const (
	// Safety is data, a quorum, a membership, or an identity.
	Safety Class = "safety"
	// Liveness is time: the operator never comes to rest, or does what changes nothing.
	Liveness Class = "liveness"
)

func (v Violation) String() string { return v.Text }

// Signature is the same for violations that differ only in names, IDs and numbers.
func (v Violation) Signature() string {
	text := v.Text
	for _, taken := range details {
		text = taken.pattern.ReplaceAllString(text, taken.by)
	}
	return string(v.Class) + ": " + text
}

var details = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[a-z]+(-[a-z]+)*-\d+\b`), "NAME"},
	{regexp.MustCompile(`NAME((, | and )NAME)+`), "NAMES"},
	{regexp.MustCompile(`\b[0-9a-f]{8,}\b`), "ID"},
	{regexp.MustCompile(`\b\d[\w.]*`), "N"},
}

// violate says that an invariant does not hold. The story ends.
func (w *World) violate(format string, args ...any) { w.say(Safety, format, args...) }

// stall says, once, that the operator does not get on. The story goes on: it may show something worse.
func (w *World) stall(format string, args ...any) { w.say(Liveness, format, args...) }

func (w *World) say(class Class, format string, args ...any) {
	v := Violation{class, fmt.Sprintf(format, args...)}
	if class == Liveness && slices.Contains(w.Violations, v) {
		return
	}
	w.Violations = append(w.Violations, v)
	w.logf("VIOLATION of %s: %s", v.Class, v.Text)
}

// IsUnsafe reports a violation of an invariant.
func (w *World) IsUnsafe() bool {
	return slices.ContainsFunc(w.Violations, func(v Violation) bool { return v.Class == Safety })
}
