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
// followed, as S3 knows them, and others are refused. It has no overall deadline: big objects take long, and who calls
// watches that bytes move.
func newHTTPClient(caFile string) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the store's authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the store's authority: %s has no certificate", caFile)
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
	return &http.Client{Transport: transport, CheckRedirect: stayOnHost}, nil
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
