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
// followed, as S3 knows them, and others are refused. It has no overall deadline, since big objects take long: a request
// ends when it stands still.
func newHTTPClient(o Options) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the store's authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the store's authority: %s has no certificate", o.CAFile)
		}
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   uploadConcurrency + 1,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	stall := o.Stall
	if stall <= 0 {
		stall = defaultStall
	}
	return &http.Client{Transport: watched{next: transport, stall: stall}, CheckRedirect: stayOnHost}, nil
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
