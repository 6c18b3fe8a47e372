package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The edits of a bootstrap record. Each says whether the record has what was asked for, now or already. One that
// answers false has changed nothing: the record is another one than the caller saw.

// isUndecided reports the incarnation, as long as it can still be given up or begun.
func (b *Bootstrap) isUndecided(incarnation string) bool {
	return b.Incarnation == incarnation && b.ClusterID == 0
}

// GiveUp marks a bootstrap as given up, once and for all.
func (b *Bootstrap) GiveUp(incarnation string) bool {
	if !b.isUndecided(incarnation) {
		return false
	}
	b.Void = true
	return true
}

// BeginAgain puts the next bootstrap in the place of one that was given up. What that used up stays used up.
func (b *Bootstrap) BeginAgain(voided string, next Bootstrap) bool {
	switch {
	case b.Incarnation == next.Incarnation:
		return true
	case !b.isUndecided(voided) || !b.Void:
		return false
	}
	*b = b.followedBy(next)
	return true
}

// followedBy is the record of the incarnation that comes after this one. Ordinals and counters are never given twice.
func (b *Bootstrap) followedBy(next Bootstrap) Bootstrap {
	next.NextOrdinal, next.LastCounter = b.NextOrdinal, b.LastCounter
	next.form, next.rest = b.form, b.rest
	return next
}

// Begin writes down that Pods may be made, and on which volumes.
func (b *Bootstrap) Begin(incarnation string, volumes map[string]string) bool {
	if b.Incarnation != incarnation || b.Void {
		return false
	}
	if !b.Begun {
		b.Begun, b.Volumes, b.NextOrdinal = true, maps.Clone(volumes), len(b.Names)
	}
	return true
}

// Identify writes down which cluster came of the bootstrap. From then on nothing of it is ever bootstrapped again.
func (b *Bootstrap) Identify(incarnation string, cluster etcdutil.ID) bool {
	if b.Incarnation != incarnation || b.Void || b.ClusterID != 0 && b.ClusterID != cluster {
		return false
	}
	b.ClusterID = cluster
	return true
}

// FallAsleep writes down that no member is to run.
func (b *Bootstrap) FallAsleep(incarnation string) bool {
	if b.Incarnation != incarnation || b.ClusterID == 0 || b.Void || !b.Next.IsZero() {
		return false
	}
	b.Asleep = true
	return true
}

// WakeUp takes that back.
func (b *Bootstrap) WakeUp(incarnation string) bool {
	if b.Incarnation != incarnation {
		return false
	}
	b.Asleep = false
	return true
}

// OwnAuth writes down that authentication is on because the spec asks for that, or takes it back.
func (b *Bootstrap) OwnAuth(incarnation string, own bool) bool {
	if b.Incarnation != incarnation || b.Void {
		return false
	}
	b.Auth = own
	return true
}

// Promise gives a name to a member that will be added. A name that was given before is never given again.
func (b *Bootstrap) Promise(incarnation, name string, ordinal int) bool {
	switch {
	case b.Promised == name:
		return true
	case ordinal < b.NextOrdinal || b.Void || b.Incarnation != incarnation:
		return false
	}
	b.Promised, b.NextOrdinal = name, ordinal+1
	return true
}

// BreakPromise ends the promise of a name, so that it and what is left under it are not used again.
func (b *Bootstrap) BreakPromise(name string) {
	if b.Promised == name {
		b.Promised = ""
	}
}

// BeginNext writes down which incarnation a restore prepares. Its counter, and all ordinals below the given one, are
// used up by that, even if the restore is called off. A name that was promised meanwhile is another member's.
func (b *Bootstrap) BeginNext(from string, next Next, ordinal int) bool {
	switch {
	case !b.Next.IsZero() && b.Next.Incarnation == next.Incarnation:
		return true
	case b.Incarnation != from || b.Void || !b.Next.IsZero() || next.Counter <= max(b.Counter, b.LastCounter):
		return false
	case ordinal < b.NextOrdinal+len(next.Names):
		return false
	}
	b.Next, b.LastCounter, b.NextOrdinal = next, next.Counter, ordinal
	return true
}

// Prepares reports whether the restore still prepares this incarnation. In a record that was lost and written anew,
// another restore may have given the same name.
func (b *Bootstrap) Prepares(incarnation, restore string) bool {
	return b.Next.Incarnation == incarnation && b.Next.Restore == restore && b.Incarnation != incarnation
}

// DropNext takes the incarnation that a restore prepared out of the record again.
func (b *Bootstrap) DropNext(incarnation string) bool {
	switch {
	case b.Incarnation == incarnation: // it is the current one
		return false
	case b.Next.IsZero():
		return true
	case b.Next.Incarnation != incarnation:
		return false
	}
	b.Next = Next{}
	return true
}

// SwitchOver makes the next incarnation the current one. From then on the old members belong to a former incarnation.
func (b *Bootstrap) SwitchOver(from, to string, volumes map[string]string, voters []string) bool {
	next := b.Next
	switch {
	case b.Incarnation == to:
		return true
	case b.Incarnation != from || b.Void || next.IsZero() || next.Incarnation != to:
		return false
	}
	*b = b.followedBy(Bootstrap{
		Incarnation: to, Counter: next.Counter, Token: next.Token, Names: next.Names, Origin: next.Origin,
		Restore: next.Restore,
		Begun:   true, Volumes: maps.Clone(volumes), Served: b.servedBy(next),
		Former: append(slices.Clone(b.Former), Former{Incarnation: from, Restore: b.Restore, Voters: voters}),
	})
	return true
}

// GoBack makes the incarnation that ended last the current one again, in the place of one that never served. What that
// used up stays used up, and revisions go on above those that it began with.
func (b *Bootstrap) GoBack(from, request string, to Bootstrap) bool {
	last := len(b.Former) - 1
	switch {
	case b.Incarnation == to.Incarnation:
		return last >= 0 && b.Former[last].Incarnation == from && b.Former[last].Back == request
	case !b.isUndecided(from) || b.Void || !b.Next.IsZero() || last < 0 || to.ClusterID == 0 ||
		b.Former[last].Incarnation != to.Incarnation:
		return false
	}
	to.Counter, to.Served, to.Restore = b.Counter, b.Served, b.Former[last].Restore
	to.Former = append(slices.Clone(b.Former[:last]),
		Former{Incarnation: from, Restore: b.Restore, Voters: b.Names, Back: request})
	*b = b.followedBy(to)
	return true
}

// The form of the records that this release writes. A release that adds a field which an older one must not pass over
// raises both. One that adds any other field raises Version alone.
const (
	Version     = 1 // of the form; the highest that this release reads
	leastReader = 1 // the lowest version that may read what this release writes
)

// TooNew says that a newer release wrote a record, and that this release would misread it.
type TooNew struct{ LeastReader int }

func (e TooNew) Error() string {
	return fmt.Sprintf("a newer release wrote it in a form of version %d, and this release reads up to version %d",
		e.LeastReader, Version)
}

// form says how a record was written. Releases before version 1 did not say.
type form struct {
	RecordVersion int `json:"recordVersion,omitempty"`
	LeastReader   int `json:"leastReader,omitempty"`
}

// newer is the form of a record that a newer release wrote; zero for any other, so that records that say the same are
// equal.
func (f form) newer() form {
	if f.RecordVersion <= Version {
		return form{}
	}
	return f
}

// raised is the form of a record that this release writes. What a newer one asked for stays.
func (f form) raised() form {
	return form{RecordVersion: max(f.RecordVersion, Version), LeastReader: max(f.LeastReader, leastReader)}
}

// rest is the part of a record that this release does not know: a JSON object, or nothing. It is text, so that two
// records are the same exactly when they are equal.
type rest string

// decode reads a record, if this release may. Whether it may is read first: the rest of a newer record may have another
// form.
func decode(text string, into any) error {
	var how form
	if err := json.Unmarshal([]byte(text), &how); err != nil {
		return err
	}
	if how.LeastReader > Version {
		return TooNew{LeastReader: how.LeastReader}
	}
	return json.Unmarshal([]byte(text), into)
}

// JSON writes plain structs of text, numbers and lists, which cannot fail.
func JSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", value, err))
	}
	return string(text)
}

// join writes an object that has at least one field, and what was kept of it.
func join(known any, kept rest) ([]byte, error) {
	text, err := json.Marshal(known)
	if err != nil || kept == "" {
		return text, err
	}
	return append(append(text[:len(text)-1], ','), kept[1:]...), nil
}

// split reads an object, and returns the part that its type does not know.
func split(data []byte, known any) (rest, error) {
	if err := json.Unmarshal(data, known); err != nil {
		return "", err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return "", err
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(known).Elem()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for given := range all {
			if strings.EqualFold(given, name) { // as encoding/json reads it
				delete(all, given)
			}
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return rest(JSON(all)), nil
}

// isNull reports a field that is there and says that it is not.
func isNull(data []byte) bool { return string(data) == "null" }
