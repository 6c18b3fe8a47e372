package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// plain asks the endpoints that etcd serves beside gRPC, on the same port and with the same certificates.
type plain struct {
	client *http.Client
	base   string // scheme and address
}

// newPlain makes a client that keeps no connection: it is used while versions move, and a connection that idles there
// for weeks is one more that a member holds.
func newPlain(endpoint Endpoint, scheme string) plain {
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: connectTimeout}
	if endpoint.TLS != nil {
		transport.TLSClientConfig = endpoint.TLS.Clone()
		transport.TLSClientConfig.ServerName = endpoint.ServerName
	}
	// etcd never redirects, and what answers at a reused address must not send the operator elsewhere
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	return plain{client: client, base: scheme + "://" + endpoint.Address}
}

// get gives no more than limit bytes of an answer to read.
func (p plain) get(ctx context.Context, path string, limit int64, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for %s: %s", path, response.Status)
	}
	if err := read(io.LimitReader(response.Body, limit)); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
