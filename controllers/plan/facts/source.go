package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Origin says where a CA comes from.
type Origin string

// The origins.
const (
	OriginManaged Origin = "Managed" // the operator made it
	OriginSecret  Origin = "Secret"  // it was copied from a person's Secret
	OriginIssuer  Origin = "Issuer"  // an issuer has its key, and signs with it
)

// CASource is where the spec wants a CA from: a Secret of a person, or an issuer. Zero where the operator is to make
// it.
type CASource struct {
	Origin          Origin
	From            string // in words: see CA
	Print, Identity string // of the CA that is there; see CA
	NotAfter        time.Time
	Fault           string // why the CA cannot be used, as a sentence without its end; empty where it can
	IsAbsent        bool   // for a fault that may end by itself: the Secret may come, the issuer may answer

	// Of an issuer: it has to be asked which CA it signs with, once more or for the first time. When it was asked last.
	// When it was asked for what it then signed with another CA; zero for never.
	Ask          bool
	Asked, Moved time.Time
}

// Awaited is what a Secret with certificates waits for, where an issuer signs them. All that has to be done with the
// Secret waits for it.
type Awaited struct {
	Request   string // the CertificateRequest; empty: nothing is waited for
	Why       string // as a sentence without its end
	Since     time.Time
	IsRefused bool // it is asked again in a while, and a person may have to do something
	IsOtherCA bool // it was signed with another CA than the one that members trust
}

// IsAwaited reports a Secret that an issuer has to sign something for.
func (o Object) IsAwaited() bool { return o.Awaits.Request != "" }

// IsToWrite reports an object that is missing, or not as it has to be, and that can be written now.
func (o Object) IsToWrite() bool {
	return (o.State == ObjectAbsent || o.State == ObjectDrifted) && !o.IsAwaited() || o.Unmarked
}

// isWritten reports a Secret in which nothing is about to change. One that waits for an issuer has its earlier
// certificate, and all else in it is as it has to be.
func (o Object) isWritten() bool {
	return o.State == ObjectCurrent || o.State == ObjectDrifted && o.IsAwaited() && !o.Unmarked
}

// RequestRef is a CertificateRequest of ours that nothing waits for.
type RequestRef struct{ Name, UID string }

// IsOfSource reports a CA that comes from where the spec wants one from. Of a person's that is the one which the Secret
// holds now, or held with another certificate of the same name and key.
func (o Object) IsOfSource(ca CA) bool {
	if o.Source.From == "" {
		return ca.Origin == OriginManaged
	}
	return ca.Identity == o.Source.Identity
}

// isToGo reports a CA that another one is to replace. The operator replaces no CA of a person by itself, whenever that
// ends: which one comes next, the Secret says.
func (o View) isToGo(object Object, ca CA) bool {
	isManaged := object.Source.From == "" && ca.Origin == OriginManaged
	return !object.IsOfSource(ca) || isManaged && o.Desired.Rotation.IsDue(ca, o.Now)
}

// hasRenewed reports another certificate of the CA that signs, or that it signs elsewhere by now: with its issuer, or
// with another one. All that trust the earlier one take what the key signs, and all that will trust the later one take
// what it signed. So no second CA has to stand beside it.
func (o Object) hasRenewed() bool {
	signs, from := o.CAs[0], o.Source
	hasMoved := signs.From != from.From && (signs.Origin == OriginIssuer || from.Origin == OriginIssuer)
	return from.From != "" && signs.Identity == from.Identity && (signs.Print != from.Print || hasMoved)
}

// HasCopy reports a CA that signs, and that came from the very place that the spec names. What becomes of that does not
// stop it.
func (o Object) HasCopy() bool {
	return o.Source.From != "" && o.CAs[0].From == o.Source.From && o.CAs[1].Print == ""
}

// CAField is the field of the spec that says where the CA of a port comes from.
func CAField(port Port) string {
	if port == ForPeers {
		return "spec.tls.peerCA"
	}
	return "spec.tls.clientCA"
}

// IsAnother reports a Secret that holds another CA than the one that members trust. Nothing is issued from it.
func (o Object) IsAnother() bool {
	return o.CA && o.State == ObjectCurrent && o.Trusted != "" && o.Trusted != o.Holds
}

// LostCAs are those that members live by, and that are not to be had: the Secret is gone, or holds another CA.
func (o Observation) LostCAs() []Object {
	isLived := (o.Current.IsAlive() || o.Current.HasSwitchedOver()) && o.Current.MayHaveCertificates()
	return Filter(o.Objects, func(object Object) bool {
		isGone := object.CA && object.State == ObjectAbsent && (isLived || object.Trusted != "")
		return isGone || object.IsAnother()
	})
}

// ReasonLost is the reason for which nothing is issued while these are lost.
func ReasonLost(lost []Object) string {
	if slices.ContainsFunc(lost, Object.IsAnother) {
		return ReasonCAReplaced
	}
	return ReasonCALost
}

// HowLost says of each what became of it.
func HowLost(lost []Object) string {
	says := make([]string, 0, len(lost))
	for _, object := range lost {
		says = append(says, object.howLost())
	}
	return strings.Join(says, ", and ")
}

func (o Object) howLost() string {
	switch {
	case !o.IsAnother():
		return fmt.Sprintf("Secret %s, which holds a CA of this cluster, is gone", o.Name)
	case o.Holds == "":
		return fmt.Sprintf("Secret %s holds no CA that can be read, and members trust the one with the SHA-256 %s",
			o.Name, shortened(o.Trusted))
	}
	return fmt.Sprintf("Secret %s holds another CA (SHA-256 %s) than the one that members trust (SHA-256 %s)", o.Name,
		shortened(o.Holds), shortened(o.Trusted))
}

// shortened is as much of a fingerprint as people compare.
func shortened(fingerprint string) string {
	const compared = len("01:23:45:67:89:AB:CD:EF")
	if len(fingerprint) <= compared {
		return fingerprint
	}
	return fingerprint[:compared] + "…"
}

// WhyNoCertificates says why new members get no certificates, or "".
func (o Observation) WhyNoCertificates() string {
	lost := o.LostCAs()
	if !o.Desired.TLS || len(lost) == 0 {
		return ""
	}
	return HowLost(lost) + "; put it back from a copy"
}
