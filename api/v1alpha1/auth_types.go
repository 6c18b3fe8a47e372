package v1alpha1

// AuthSpec says whether etcd's authentication is on.
type AuthSpec struct {
	// Enabled has the operator turn etcd's authentication on once all members serve, and
	// off again with false. Without spec.auth it stays as it is. Each certificate is the
	// user that its common name says while it is on. Before, the operator makes the users root, which it is
	// itself, and <cluster>-client, which all who use the Secret <cluster>-client-tls
	// are. The latter gets the role root, unless it is there with another role: so no
	// client that was let in before is kept out. The operator never changes a user or a
	// role while authentication is on, and leaves it on where people turned it on.
	// Needs spec.tls.mode Managed.
	// +required
	Enabled bool `json:"enabled"`
}
