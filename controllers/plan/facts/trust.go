package facts

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// IsAnother reports a Secret that holds another CA than the one that members trust. Nothing is issued from it.
func (o Object) IsAnother() bool {
	return o.Authority && o.State == ObjectCurrent && o.Trusted != "" && o.Trusted != o.Holds
}

// LostAuthorities are those that members live by, and that are not to be had: the Secret is gone, or holds another CA.
func (o Observation) LostAuthorities() []Object {
	isLived := o.Current.IsAlive() || o.Current.HasSwitchedOver()
	return Filter(o.Objects, func(object Object) bool {
		isGone := object.Authority && object.State == ObjectAbsent && (isLived || object.Trusted != "")
		return isGone || object.IsAnother()
	})
}

// ReasonLost is the reason for which nothing is issued while these are lost.
func ReasonLost(lost []Object) string {
	if slices.ContainsFunc(lost, Object.IsAnother) {
		return ReasonAuthorityReplaced
	}
	return ReasonAuthorityLost
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
	lost := o.LostAuthorities()
	if !o.Desired.TLS || len(lost) == 0 {
		return ""
	}
	return HowLost(lost) + "; put it back from a copy"
}

// FirstEnd is when the first certificate ends that a member, a client or the operator has; zero where nothing tells.
func (o Observation) FirstEnd() time.Time {
	var ends []time.Time
	for _, object := range o.Objects {
		if !object.Authority {
			ends = append(ends, object.NotAfter)
		}
	}
	for _, r := range o.Current.Members {
		ends = append(ends, r.Secret.NotAfter)
	}
	ends = slices.DeleteFunc(ends, time.Time.IsZero)
	if len(ends) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(ends, time.Time.Compare)
}
