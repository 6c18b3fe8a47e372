// Package world is a toy world that plays the planner's changes: a Kubernetes of Pods and volumes, and etcd processes
// with etcd's own rules of membership. It is pure and driven by a seed. It exists to explore what no cluster could in
// years: an operator that dies after each effect, looks at stale objects, or is two at once, while Pods, volumes and
// directories die and the spec changes midway. After every step the invariants of plan are checked.
//
// What the world knows of etcd is what the contract tests of pkg/etcdutil hold a real etcd to: data decides who a
// process is, flags only matter in an empty directory, and a list changes by quorum alone.
package world
