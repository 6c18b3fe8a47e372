package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// errRedirected marks a store that wanted the request, and with it the data, sent to somebody else.
var errRedirected = errors.New("the store redirects to another host")

// newHTTPClient speaks to the store alone. With a CA file it trusts exactly that; redirects within the host are
// followed, as S3 knows them, and others are refused. It has no overall deadline, since big objects take long: a
// request ends when it stands still.
func newHTTPClient(o Options) (*http.Client, error) {
	if o.CAFile == "" {
		return newClient(nil, o), nil
	}
	roots := x509.NewCertPool()
	if err := addAuthority(roots, o.CAFile); err != nil {
		return nil, err
	}
	return newClient(roots, o), nil
}

// newIdentityClient speaks to whoever gives out identities. That is the cloud, whose certificate is of the system's
// authorities, or stands behind what the store stands behind, and so it trusts both.
func newIdentityClient(o Options) (*http.Client, error) {
	roots, err := identityRoots(o.CAFile)
	if err != nil {
		return nil, err
	}
	o.mood = nil // how they are says nothing of the store
	return newClient(roots, o), nil
}

func identityRoots(caFile string) (*x509.CertPool, error) {
	if caFile == "" {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's CAs: %w", err)
	}
	return roots, addAuthority(roots, caFile)
}

func addAuthority(roots *x509.CertPool, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the store's CA: %w", err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("read the store's CA: %s has no certificate", file)
	}
	return nil
}

func newClient(roots *x509.CertPool, o Options) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   uploadConcurrency + 1,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		// nothing of ours is stored compressed, and a few bytes could become any number of them
		DisableCompression: true,
	}
	if o.Stall <= 0 {
		o.Stall = defaultStall
	}
	return &http.Client{Transport: watched{next: transport, stall: o.Stall, mood: o.mood}, CheckRedirect: stayOnHost}
}

func stayOnHost(request *http.Request, via []*http.Request) error {
	if len(via) >= 3 {
		return errors.New("the store redirects in a circle")
	}
	first := via[0].URL
	if request.URL.Host != first.Host || request.URL.Scheme != first.Scheme {
		return errRedirected
	}
	return nil
}
