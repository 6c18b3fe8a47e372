package facts

import "time"

// Origin says where a CA comes from.
type Origin string

// The origins.
const (
	OriginManaged Origin = "Managed" // the operator made it
	OriginSecret  Origin = "Secret"  // it was copied from a person's Secret
)

// CASource is a Secret of a person from which the spec wants a CA; zero where the operator is to make it.
type CASource struct {
	Secret          string // its name
	Print, Identity string // of the CA in it; see CA
	NotAfter        time.Time
	Fault           string // why the CA cannot be used, as a sentence without its end; empty where it can
	IsAbsent        bool   // for the fault that there is no such Secret: it may come
}

// IsOfSource reports a CA that comes from where the spec wants one from. Of a person's that is the one which the Secret
// holds now, or held with another certificate of the same name and key.
func (o Object) IsOfSource(ca CA) bool {
	if o.Source.Secret == "" {
		return ca.Origin == OriginManaged
	}
	return ca.Identity == o.Source.Identity
}

// isToGo reports a CA that another one is to replace. The operator replaces no CA of a person by itself, whenever that
// ends: which one comes next, the Secret says.
func (o View) isToGo(object Object, ca CA) bool {
	isManaged := object.Source.Secret == "" && ca.Origin == OriginManaged
	return !object.IsOfSource(ca) || isManaged && o.Desired.Rotation.IsDue(ca, o.Now)
}

// hasRenewed reports another certificate of the CA that signs. All that trust the earlier one take what the key signs,
// and all that will trust the later one take what it signed. So no second CA has to stand beside it.
func (o Object) hasRenewed() bool {
	signs := o.CAs[0]
	return o.Source.Secret != "" && signs.Identity == o.Source.Identity && signs.Print != o.Source.Print
}

// HasCopy reports a CA that signs, and that came from the very Secret that the spec names. What becomes of that Secret
// does not stop it.
func (o Object) HasCopy() bool {
	return o.Source.Secret != "" && o.CAs[0].Secret == o.Source.Secret && o.CAs[1].Print == ""
}

// CAField is the field of the spec that says where the CA of a port comes from.
func CAField(port Port) string {
	if port == ForPeers {
		return "spec.tls.peerCA"
	}
	return "spec.tls.clientCA"
}
