// Package apply is the only writer: one function per change of the planner, one file per concern.
//
// Each change may have been decided on a cache, may be carried out twice, and may have been cut off half way. So what
// can hurt is decided again on what is read live (Look and plan.Confirm); deletes carry the UID and resource version of
// a live read, patches the UID or the resource version; creates use deterministic names, and an object that is already
// there counts as created when it is ours. "Ours" is the UID of the owner, or for data the cluster UID in a label,
// never a name.
//
// An error that needs no other treatment than looking again has a type of its own: see errors.go. Anything else means
// that a call failed.
package apply
