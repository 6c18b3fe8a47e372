package pki

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"

	"software.sslmate.com/src/go-pkcs12"
)

// Stores are files of PKCS#12, for programs that read no PEM.

// encoder is pinned: what its algorithms are decides which programs can read a store.
var encoder = pkcs12.Modern2023

// aliasBytes is how much of its fingerprint is the alias of a CA.
const aliasBytes = 8

// KeyStore holds a key, its certificate, and what stands behind that in its file.
func KeyStore(pair Pair, password string) ([]byte, error) {
	certs, err := readCertificates(pair.Cert)
	if err != nil {
		return nil, err
	}
	read, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return nil, errors.New("the certificate and its key are not of each other") // the cause may quote from them
	}
	salts, err := saltsFrom("keystore", []byte(password), pair.Cert, pair.Key)
	if err != nil {
		return nil, err
	}
	return encoder.WithRand(salts).Encode(read.PrivateKey, certs[0], certs[1:], password)
}

// TrustStore holds the CAs of a file.
func TrustStore(cas []byte, password string) ([]byte, error) {
	certs, err := readCertificates(cas)
	if err != nil {
		return nil, err
	}
	salts, err := saltsFrom("truststore", []byte(password), cas)
	if err != nil {
		return nil, err
	}
	return encoder.WithRand(salts).EncodeTrustStoreEntries(entriesOf(certs), password)
}

// entriesOf gives each CA an alias of its own: of two with one alias, Java trusts one.
func entriesOf(certs []*x509.Certificate) []pkcs12.TrustStoreEntry {
	entries := make([]pkcs12.TrustStoreEntry, 0, len(certs))
	for _, cert := range certs {
		sum := sha256.Sum256(cert.Raw)
		alias := "ca-" + hex.EncodeToString(sum[:aliasBytes])
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: alias})
	}
	return entries
}

// salts are what an encoder draws. It takes fewer than there are, and fails if it ever takes more: then it would get
// the same ones twice.
type salts struct{ rest []byte }

const saltBytes = 1024

// saltsFrom derives the salts and initialization vectors of a store from all that it is made of. So the same content
// gives the same bytes, and who compares a store sees whether it is as it has to be.
//
// That is safe. RFC 8018 wants a salt so that one password gives many keys, and lets it be known: it stands in the
// store. Another content or another password has other salts here, and so other keys of AES. A vector of CBC has to be
// unpredictable only where one key encrypts several texts. Here a key encrypts one text, ever. And none who does not
// know the password, 256 bits that were drawn, can compute either. What the same bytes tell is that the content is the
// same.
func saltsFrom(kind string, content ...[]byte) (*salts, error) {
	var secret []byte
	for _, part := range content {
		sum := sha256.Sum256(part)
		secret = append(secret, sum[:]...)
	}
	drawn, err := hkdf.Key(sha256.New, secret, nil, "etcdsteward.dev/pkcs12/"+kind, saltBytes)
	return &salts{drawn}, err
}

// Read implements io.Reader. It fills what it is given or fails: the encoder does not look at how much was read.
func (s *salts) Read(into []byte) (int, error) {
	if len(into) > len(s.rest) {
		return 0, errors.New("the encoder takes more salts than there are")
	}
	s.rest = s.rest[copy(into, s.rest):]
	return len(into), nil
}
