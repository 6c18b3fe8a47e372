// Package backup takes a snapshot of a running etcd cluster into a store, reads it back, and proves that what was
// restored from it is what the cluster had. It knows nothing of Kubernetes.
//
// A backup is two objects in a directory of its own: snapshot.db, the stream as etcd sends it with its SHA-256 trailer,
// and manifest.json, written last, which says what the snapshot is. A snapshot without a manifest is no backup.
package backup
