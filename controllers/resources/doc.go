// Package resources builds the Kubernetes objects of a cluster: pure functions from the EtcdCluster, and what the
// caller adds to it, to an object as the caller creates it. It also says, by the same names, what is on objects that
// were read back: labels, records, the flags of a Pod, drift.
//
// Nothing here reads or writes anything. A string of the user's never becomes a path, a name of a flag that the
// operator owns, or more than the one argument it was meant for.
package resources
