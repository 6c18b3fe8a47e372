package facts

// AuthWish is what the spec asks of etcd's authentication.
type AuthWish string

// What the spec may ask of it.
const (
	AuthAsItIs AuthWish = ""    // it says nothing: people turn authentication on and off
	AuthOn     AuthWish = "On"  // it is on
	AuthOff    AuthWish = "Off" // it is off, unless people turned it on
)

// Auth is how etcd's authentication stands. It is not asked for where neither the spec nor the bootstrap record speaks
// of it, unless certificates are to go.
type Auth struct {
	Known bool   // the leader said so
	Why   string // why it did not, where it was asked
	On    bool
	// HasUsers: the operator's user has the role root, and that of the clients' Secret has a role. It is asked only
	// before authentication is turned on.
	HasUsers bool
}

// MustKnowAuth reports that the planner has to know whether authentication is on.
func (o Observation) MustKnowAuth() bool {
	isTurningOff := o.Desired.TLS && !o.Desired.Transport.HasCertificates()
	return o.Desired.Auth != AuthAsItIs || o.Current.Bootstrap.Auth || isTurningOff
}
