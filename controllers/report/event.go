package report

import "github.com/etcdsteward/etcd-steward/api/v1alpha1"

// Event is one thing that happened, told to people.
type Event struct {
	Type   string // Normal or Warning
	Reason string // CamelCase, at most 128 characters
	Action string // CamelCase: what the operator did or tried; part of what tells two series of events apart
	Note   string // a sentence, at most 1024 characters
	Member string // the member, and so the Pod, that it is about; empty when it is about the whole cluster
}

// Events are the few things of this pass that a person wants to hear of. They are to be sent after the status was stored,
// so that a pass that is repeated does not tell them twice; old is the status that the stored one replaced.
func Events(in Input, old v1alpha1.EtcdClusterStatus) []Event { return nil }
