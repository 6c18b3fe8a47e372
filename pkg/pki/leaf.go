package pki

import (
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"time"
)

// Leaf is what a certificate has to say. It is compared as a set: the order of names and addresses means nothing.
type Leaf struct {
	// CommonName is the user's name for etcd's authentication, where that is enabled.
	CommonName   string
	Organization []string
	// DNSNames and IPs are what a server is called, and on the peer port also from where etcd lets its holder dial.
	DNSNames []string
	IPs      []net.IP
	// Server and Client are the uses; at least one, since a certificate with none may be used for everything.
	Server, Client bool
	// Validity is counted from the issue; zero or less means DefaultLeafValidity.
	Validity time.Duration
}

// Issue signs a certificate for l with a new key. It never outlives the authority.
func (a Authority) Issue(l Leaf, now time.Time) (Pair, error) {
	if err := cmp.Or(l.check(), a.CheckValidity(now)); err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", l.CommonName, err)
	}
	pair, err := sign(l.template(now, a.cert.NotAfter), &a)
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", l.CommonName, err)
	}
	return pair, nil
}

func (l Leaf) check() error {
	switch {
	case l.CommonName == "":
		return errors.New("the common name is empty")
	case !l.Server && !l.Client:
		return errors.New("it is for neither server nor client")
	case l.Server && len(l.DNSNames) == 0 && len(l.IPs) == 0:
		return errors.New("a server needs a DNS name or an IP address")
	}
	return nil
}

func (l Leaf) template(now, latest time.Time) *x509.Certificate {
	notAfter := now.Add(l.validity())
	if notAfter.After(latest) {
		notAfter = latest
	}
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: l.CommonName, Organization: l.Organization},
		DNSNames:              l.DNSNames,
		IPAddresses:           l.IPs,
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           l.usages(),
		BasicConstraintsValid: true,
	}
}

func (l Leaf) validity() time.Duration {
	if l.Validity <= 0 {
		return DefaultLeafValidity
	}
	return l.Validity
}

func (l Leaf) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if l.Server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	if l.Client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	return usages
}
