// Package contract holds the fake etcd and the table of exit reasons to real etcd. It has tests only: one table of
// membership scenarios runs against the fake and against the binaries below $ETCD_BINARIES, which are restored out as
// <version>/{etcd,etcdctl,etcdutl}. Without that variable the real half is skipped, and says so. Every scenario is
// played on one release, and on the others what differs between them; with FULL=1 every release plays all.
package contract
