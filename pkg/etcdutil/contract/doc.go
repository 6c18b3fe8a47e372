// Package contract holds the fake etcd and the table of exit reasons to real etcd. It has tests only: one table of
// membership scenarios runs against the fake and against the binaries below $ETCD_BINARIES, which are restored out as
// <version>/{etcd,etcdctl,etcdutl}. Without that variable the real half is skipped, and says so. Every scenario is
// played on one release, and on the others what differs between them; with FULL=1 every release plays all.
//
// What changes once authentication is on is tried on each release (auth_test.go, authlive_test.go):
//
//   - A client is the user that its certificate names, by gRPC alone. The gateway, which speaks JSON below /v3/, then
//     answers 400 to each certificate with a name, and serves one without to a user who logged in by a password.
//     /health, /livez, /readyz, /version and /metrics go on.
//   - The user root is there and has the role root, or authentication cannot be turned on. While it is on, neither can
//     be taken away. So a client whose certificate names root is let in wherever it is on, after a restore as well:
//     package backup tries that.
//   - Each call about users is an entry of raft's log, questions too. Each change of users raises their revision.
//   - A write is judged where it is applied: by its user, and by the revision of users that its member knew when it
//     took the write. Where that member lagged behind a change of users, the write fails with "revision of auth store
//     is old". A client in Go tries again. So all members are asked, which brings each of them up to date, before
//     authentication is turned on. Turning it off fails no write.
//   - Members join, are promoted and removed as ever, by root. A learner says nothing of users.
package contract
