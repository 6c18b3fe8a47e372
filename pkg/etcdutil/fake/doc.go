// Package fake is an etcd in memory that enforces etcd's own rules of membership: who may be added, promoted and
// removed, when a process starts, joins or stops, and what it says then. It models processes, data directories and the
// raft log between them, so that losing a directory has the consequences that it has in life, silent ones included.
//
// It holds no keys, only revisions, and replicates at once: between two calls there is no lag, unless a test asks for
// it. Time is the caller's clock and moves nothing by itself. The contract tests of the package beside it run one table
// of scenarios against this and against real etcd.
package fake
