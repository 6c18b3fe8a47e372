// Package record holds what the operator writes down about a cluster: the birth record on the peer Service, and the
// member record beside the data of each member. Every room uses these types as they are. Nothing copies them field by
// field.
//
// # Incarnations
//
// An incarnation is one continuous history of the cluster's data. Birth is the record of the current one. Beside it
// stand Next, the incarnation that a restore prepares, and Former, those that restores ended.
//
// # Form
//
// A record is a JSON object in an annotation. Its names never change, and a field never changes its meaning: releases
// are upgraded and put back. What is new is a new field beside the old ones. IDs and versions are text.
//
// Each record says in which version of this form it was written (recordVersion), and the lowest version that may read
// it (leastReader). A release of a lower version refuses the whole record: TooNew. A release that may read it keeps the
// fields that it does not know, and writes them back as they were. See docs/decisions/0013.
package record
