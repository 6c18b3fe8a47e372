// Package etcdutil holds facts about etcd that need no I/O: identities, quorum arithmetic, the tiers of versions,
// the flags that each minor knows, the URLs members are reached by, and what the last words of a stopped etcd mean.
//
// Everything here is a plain value or a pure function, so that the planner may use it. The package imports the
// standard library only.
package etcdutil
