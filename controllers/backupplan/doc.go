// Package backupplan decides what becomes of an EtcdBackup. Next is a pure function from what was observed to the one thing
// to do now; Status, Events and ValuesOf are pure functions from that to what people see.
//
// # Words
//
// A backup is one EtcdBackup. Its Job makes Pods, one after the other, until one succeeds: each is an attempt. An
// attempt has steps: snapshot, and to prove it fetch, restore and compare. The record is an annotation on the
// EtcdBackup: which Job was made for it, and what came of it. Facts are what the snapshot's manifest says.
//
// # The order of rules
//
//  1. What is done stays done: deleting, recorded, record-taken-away. An outcome that is recorded is the outcome, also
//     when the Job or the status is gone: a backup never runs twice. A record that was taken away, or damaged, is put
//     back from the status.
//  2. Whether anything may be done: other-operator, record-unreadable (it may have run; it has failed when its deadline
//     is over), name-taken.
//  3. The Job that there is: record-job, job-finished, etcdutl-missing, job-overdue, job-suspended,
//     attempt-lingers, job-running.
//     Its Pods' last words are the outcome, and it is kept until they are recorded. A container of others in a Pod
//     does not count, and a Pod that it keeps from ending is ended.
//  4. The Job that is gone: job-deleted. It was recorded, so it ran; nobody knows what came of it.
//  5. The Job that is not made yet: deadline, claim-of-a-member, cluster, agent-image, create-job.
//
// Nothing is decided from the status but that a backup that ended is not run again, and nothing here touches a member:
// a backup reads, and the cluster's own passes do not know of it.
package backupplan
