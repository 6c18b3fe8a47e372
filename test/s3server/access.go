package s3server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// Access is what a client has to know of a server, or of a proxy before it.
type Access struct {
	// Endpoint is a URL without a path. Buckets are the first part of a path, never of the host's name.
	Endpoint, Region, Bucket     string
	AccessKeyID, SecretAccessKey string
	// CA is the CA of its certificate, PEM; nil without TLS.
	CA []byte
}

// Client is one that never tries again and follows no redirect, so that a test sees what the server says.
func (a Access) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &a.Endpoint,
		Region:       a.Region,
		UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey}, nil
		}),
		Retryer: aws.NopRetryer{},
		HTTPClient: &http.Client{
			Transport:     Trusting(a.CA),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		// What servers older than S3's newer checksums understand.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
}

// Put writes an object as another tool does.
func (s *Server) Put(ctx context.Context, key string, content []byte) error {
	_, err := s.Client().PutObject(ctx, &s3.PutObjectInput{Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(content)})
	return err
}

func (s *Server) makeBucket(ctx context.Context) error {
	_, err := s.Client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.Bucket})
	var already *types.BucketAlreadyOwnedByYou
	if errors.As(err, &already) {
		return nil
	}
	return err
}

// Trusting is a transport that trusts this CA, PEM, and without one those of the system.
func Trusting(ca []byte) *http.Transport {
	transport := &http.Transport{}
	if ca != nil {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return transport
}

// KeyPair is a server's certificate and key, for itself and for the proxies before it.
type KeyPair struct {
	CertFile, KeyFile string
	CA                []byte // the CA that was made for it, PEM
	tls.Certificate
}

// NewKeyPair makes a CA, and a certificate for a server's address in a directory.
func NewKeyPair(dir, host string) (*KeyPair, error) {
	now := time.Now()
	root, err := pki.NewCA("s3server", now, 24*time.Hour)
	if err != nil {
		return nil, fmt.Errorf("making the authority of a server: %w", err)
	}
	ca, err := pki.ParseCA(root)
	if err != nil {
		return nil, fmt.Errorf("reading the authority of a server: %w", err)
	}
	leaf := pki.Leaf{CommonName: "s3server", DNSNames: []string{"localhost"}, IPs: []net.IP{net.ParseIP(host)}, Server: true, Validity: 24 * time.Hour}
	issued, err := ca.Issue(leaf, now)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of a server: %w", err)
	}
	p := &KeyPair{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), CA: root.Cert}
	if p.Certificate, err = tls.X509KeyPair(issued.Cert, issued.Key); err != nil {
		return nil, fmt.Errorf("reading the certificate of a server: %w", err)
	}
	return p, errors.Join(os.WriteFile(p.CertFile, issued.Cert, 0o600), os.WriteFile(p.KeyFile, issued.Key, 0o600))
}
