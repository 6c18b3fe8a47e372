package observe

import "fmt"

// Unreadable says that a record of ours, which is an annotation of an object of ours, is there and cannot be read. It
// is never taken for none.
type Unreadable struct {
	Kind, Name string // of the object
	Annotation string
	Err        error
}

func (e Unreadable) Error() string {
	return fmt.Sprintf("annotation %s of %s %s: %v", e.Annotation, e.Kind, e.Name, e.Err)
}

func (e Unreadable) Unwrap() error { return e.Err }
