// Package controllers is the house of the operator's passes; no code stands in its hall.
//
// A wing looks after one kind of object: cluster (restores with it), backup and schedule. Each is laid out alike:
// reconcile.go is one pass, look.go reads, apply.go writes, publish.go tells. What becomes of an object is decided
// apart: in plan for clusters and restores, in backupplan and scheduleplan for theirs.
//
// The rooms of a cluster stand beside its wing, since the kubectl plugin enters some of them: observe reads, plan
// decides, apply writes, report tells, resources builds objects, admission checks specs. What several wings share is in
// kit, and words has the words that they share.
//
// Reads are made in observe and in each look.go alone, writes in apply and in each apply.go alone; test/arrows holds
// both.
package controllers
