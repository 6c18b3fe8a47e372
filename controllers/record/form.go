package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

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
