package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// An issuer signs with a CA of which the operator never has the key, such as cert-manager: see docs/decisions/0058.

// blockSeed is the type of the PEM block with a seed: nothing takes it for a private key.
const blockSeed = "ETCD STEWARD SEED"

const seedBytes = 32

// NewSeed makes what the keys of certificates follow from that one issuer signs.
func NewSeed() []byte {
	seed := make([]byte, seedBytes)
	_, _ = rand.Read(seed) // never fails
	return pem.EncodeToMemory(&pem.Block{Type: blockSeed, Bytes: seed})
}

// IsSeed reports a file with a seed.
func IsSeed(file []byte) bool { _, err := readSeed(file); return err == nil }

func readSeed(file []byte) ([]byte, error) {
	block, _ := pem.Decode(file)
	if block == nil || block.Type != blockSeed || len(block.Bytes) != seedBytes {
		return nil, errors.New("the seed of the keys cannot be read")
	}
	return block.Bytes, nil
}

// Wanted is a certificate that an issuer is to sign. Its key follows from the seed, and from what is drawn for this
// one request. So it has to be kept nowhere while the issuer takes its time, and no request has the key of another one.
// Without a seed the key is a new one that is thrown away, and the certificate only shows what the issuer does.
type Wanted struct {
	Leaf Leaf
	Seed []byte // the file: see NewSeed
	Draw string // drawn for the request, and no secret
	Name string // of the request
}

// key is that of FIPS 186-5, A.2.1: half as many bits again as the key has, so that each key is as likely.
func (w Wanted) key() (*ecdsa.PrivateKey, error) {
	curve := elliptic.P256()
	if len(w.Seed) == 0 {
		return ecdsa.GenerateKey(curve, rand.Reader)
	}
	seed, err := readSeed(w.Seed)
	if err != nil {
		return nil, err
	}
	const bytes = 48
	drawn, err := hkdf.Key(sha256.New, seed, []byte(w.Draw), w.Name, bytes)
	if err != nil {
		return nil, errors.New("make a key from the seed")
	}
	one := big.NewInt(1)
	d := new(big.Int).SetBytes(drawn)
	d.Mod(d, new(big.Int).Sub(curve.Params().N, one)).Add(d, one)
	return ecdsa.ParseRawPrivateKey(curve, d.FillBytes(make([]byte, curve.Params().BitSize/8)))
}

// Request is what the issuer is asked with, in PEM.
func (w Wanted) Request() ([]byte, error) {
	key, err := w.key()
	if err == nil {
		err = w.Leaf.check()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for certificate %q: %w", w.Leaf.CommonName, err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: w.Leaf.CommonName, Organization: w.Leaf.Organization},
		DNSNames: w.Leaf.DNSNames, IPAddresses: w.Leaf.IPs,
	}, key)
	if err != nil {
		return nil, fmt.Errorf("ask for certificate %q: %w", w.Leaf.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// IsAskedBy reports that a request asks for this certificate, with its key.
func (w Wanted) IsAskedBy(request []byte) bool {
	csr, err := readRequest(request)
	if err != nil || csr.Subject.CommonName != w.Leaf.CommonName ||
		!sameSet(csr.Subject.Organization, w.Leaf.Organization) || !sameSet(csr.DNSNames, w.Leaf.DNSNames) ||
		!sameSet(texts(csr.IPAddresses), texts(w.Leaf.IPs)) {
		return false
	}
	if len(w.Seed) == 0 {
		return true
	}
	key, err := w.key()
	return err == nil && key.PublicKey.Equal(csr.PublicKey)
}

func readRequest(file []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(file)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("no PEM certificate request")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	return csr, err
}

// Answer is what an issuer answered.
type Answer struct {
	Request []byte // it was asked with
	Cert    []byte // the certificate, and behind it the CAs above it, if any
	CA      []byte // what the issuer calls its CA; it may be the root, and not what signed
}

// Its files, as a CertificateRequest has them.
const (
	fileSigned   = "status.certificate"
	fileSignedBy = "status.ca"
)

// ErrOtherCA says that an issuer signed with another CA than the one that is held. Nothing is wrong with that by
// itself: the other one may be on its way to all who are to trust it.
var ErrOtherCA = errors.New("the certificate is of another CA than the one that is trusted")

// NotYet says from when a certificate is valid. Clocks may differ by as much.
type NotYet struct{ From time.Time }

func (n NotYet) Error() string { return "it is not valid before " + n.From.UTC().Format(time.RFC3339) }

const (
	// longestNotYet is how far the clock of an issuer may be ahead.
	longestNotYet = 10 * time.Minute
	// ShortestLeaf is what a certificate of an issuer has to last yet: so long the operator may be away.
	ShortestLeaf = 12 * time.Hour
)

// Signer is the CA that signed a certificate, without its key: the one right above it, so that no more is trusted than
// that. It is checked as one that a person gives, and the certificate has to be what was asked for. Every error is
// Unusable or NotYet.
func (a Answer) Signer(want Leaf, now time.Time) (CA, error) {
	leaf, all, err := a.read()
	if err != nil {
		return CA{}, err
	}
	i := slices.IndexFunc(all, func(ca *x509.Certificate) bool { return isSignedBy(leaf, ca) })
	if i < 0 {
		return CA{}, Unusable{fileSigned, "is signed by a CA that stands neither behind it nor in status.ca"}
	}
	signer := all[i]
	for _, why := range []string{whyNoCA(signer), whyWeak(signer.PublicKey), whyNotNow(signer, now)} {
		if why != "" {
			return CA{}, Unusable{"the CA that signed", why}
		}
	}
	csr, err := readRequest(a.Request)
	if err != nil {
		return CA{}, Unusable{"spec.request", "cannot be read"}
	}
	ca := CA{cert: signer, certPEM: encodeCertificate(signer.Raw)}
	if err := ca.whyNotTaken(leaf, csr.PublicKey, want, now); err != nil {
		return CA{}, err
	}
	return ca.WithChain(chainOf(signer, all)), nil
}

// read is the certificate, and all CAs that came with it. An issuer that names no CA shows none that members could
// trust alone: those of ACME sign for everyone.
func (a Answer) read() (leaf *x509.Certificate, all []*x509.Certificate, err error) {
	certs, err := readCertificates(a.Cert)
	if err != nil {
		return nil, nil, Unusable{fileSigned, "cannot be read: " + err.Error()}
	}
	if len(a.CA) == 0 {
		return nil, nil, Unusable{fileSignedBy, "is empty: the issuer does not say which CA it signs with, as those " +
			"of ACME do not. Members would have to trust a CA that signs for everyone"}
	}
	named, err := readCertificates(a.CA)
	if err != nil {
		return nil, nil, Unusable{fileSignedBy, "cannot be read: " + err.Error()}
	}
	return certs[0], append(certs[1:], named...), nil
}

func isSignedBy(cert, ca *x509.Certificate) bool { return !candidate{cert: cert, ca: ca}.isForeign() }

// whyNotTaken says what is wrong with a certificate that an issuer signed.
func (a CA) whyNotTaken(cert *x509.Certificate, key any, want Leaf, now time.Time) error {
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	switch ahead := cert.NotBefore.Sub(now); {
	case !ok || !public.Equal(key):
		return Unusable{fileSigned, "has another key than was asked for"}
	case cert.IsCA:
		return Unusable{fileSigned, "is a CA, and could sign others"}
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return Unusable{fileSigned, "may not be used for signatures, and so for no connection"}
	case ahead > 0 && ahead <= longestNotYet:
		return NotYet{cert.NotBefore}
	case cert.NotAfter.Sub(now) < ShortestLeaf:
		return Unusable{fileSigned, fmt.Sprintf("ends at %s, and has to last %.0f hours yet",
			cert.NotAfter.UTC().Format(time.RFC3339), ShortestLeaf.Hours())}
	}
	file, want := encodeCertificate(cert.Raw), want.OfIssuer()
	if reason, isBad := NeedsRenewal(file, a.certPEM, want, now); isBad {
		return Unusable{fileSigned, reason}
	}
	if err := a.verify(file, want.usages(), now); err != nil {
		return Unusable{fileSigned, "is not taken by who trusts its CA: " + err.Error()}
	}
	return nil
}

// Take is the certificate with its key, and the chain of the CA behind it, if it is what is wanted and of this CA.
// Every error is ErrOtherCA, NotYet or Unusable.
func (w Wanted) Take(a Answer, by CA, now time.Time) (Pair, error) {
	certs, err := readCertificates(a.Cert)
	if err != nil {
		return Pair{}, Unusable{fileSigned, "cannot be read: " + err.Error()}
	}
	key, err := w.key()
	if err != nil {
		return Pair{}, Unusable{"the seed", err.Error()}
	}
	if !isSignedBy(certs[0], by.cert) {
		if _, err := a.Signer(w.Leaf, now); err != nil {
			return Pair{}, err
		}
		return Pair{}, ErrOtherCA
	}
	if err := by.whyNotTaken(certs[0], key.Public(), w.Leaf, now); err != nil {
		return Pair{}, err
	}
	pair, err := encodePair(certs[0].Raw, key)
	pair.Cert = append(pair.Cert, by.chain...)
	return pair, err
}

// ReadCA reads a CA without its key: it signs nothing, and what it signed is checked against it.
func ReadCA(certPEM []byte) (CA, error) {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return CA{}, fmt.Errorf("read the CA's certificate: %w", err)
	}
	cert := certs[0]
	if len(certs) > 1 || !maySign(cert) {
		return CA{}, fmt.Errorf("read CA %q: want one certificate, and of a CA", cert.Subject.CommonName)
	}
	return CA{cert: cert, certPEM: encodeCertificate(cert.Raw)}, nil
}

// OfIssuer is the leaf as an issuer may sign it: for a shorter time, and with more than was asked for where that does
// no harm. Its name as a DNS name is let pass, which Vault adds.
func (l Leaf) OfIssuer() Leaf { l.ofIssuer = true; return l }

// RenewedAt is when a certificate of an issuer is due: after two thirds of its life, and of no more than is asked for.
func RenewedAt(cert *x509.Certificate) time.Time {
	life := min(cert.NotAfter.Sub(cert.NotBefore), DefaultLeafValidity)
	return cert.NotBefore.Add(life - life/3)
}

// without is the names without one that was not asked for.
func without(names []string, extra string, asked []string) []string {
	if slices.Contains(asked, extra) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == extra })
}
