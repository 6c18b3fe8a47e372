package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

const (
	startTimeout = 3 * time.Minute
	pollInterval = 100 * time.Millisecond
	callTimeout  = 5 * time.Second
)

// api asks the API server the few things that `up` waits for. Everything else is done with kubectl.
type api struct {
	client *http.Client
	url    string
}

func newAPI(paths layout.Paths, families layout.Families) (*api, error) {
	file := func(name string) string { return filepath.Join(paths.PKI(), name) }
	pair, err := tls.LoadX509KeyPair(file("admin.crt"), file("admin.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}}
	return &api{client: &http.Client{Transport: transport, Timeout: callTimeout}, url: families.APIServerURL()}, nil
}

func (a *api) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return body, err
}

func (a *api) waitReady(ctx context.Context, paths layout.Paths) error {
	return poll(ctx, "the API server to serve", func(ctx context.Context) error {
		_, err := a.get(ctx, "/readyz")
		if err != nil && proc.PID(paths, layout.ControlPlane, "kube-apiserver") == 0 {
			return errHopeless
		}
		return err
	})
}

// nodeList is what of a v1.NodeList is read here.
type nodeList struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Taints []struct {
				Key string `json:"key"`
			} `json:"taints"`
		} `json:"spec"`
		Status struct {
			Conditions []struct {
				Type   string `json:"type"`
				Status string `json:"status"`
			} `json:"conditions"`
		} `json:"status"`
	} `json:"items"`
}

// ready returns the nodes that are Ready, and that the scheduler may use.
func (l nodeList) ready() map[string]bool {
	names := map[string]bool{}
	for _, n := range l.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" && len(n.Spec.Taints) == 0 {
				names[n.Metadata.Name] = true
			}
		}
	}
	return names
}

func (a *api) readyNodes(ctx context.Context) (map[string]bool, error) {
	body, err := a.get(ctx, "/api/v1/nodes")
	if err != nil {
		return nil, err
	}
	var list nodeList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("reading the nodes: %w", err)
	}
	return list.ready(), nil
}

func (a *api) waitNodes(ctx context.Context, count int) error {
	return poll(ctx, "all nodes to be Ready", func(ctx context.Context) error {
		ready, err := a.readyNodes(ctx)
		if err == nil && len(ready) < count {
			err = fmt.Errorf("%d of %d are", len(ready), count)
		}
		return err
	})
}

// waitDNS asks DNS for the API server by the way that Pods ask, through its Service.
func waitDNS(ctx context.Context, address, domain string) error {
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, net.JoinHostPort(address, "53"))
	}}
	return poll(ctx, "DNS to answer", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+domain+".")
		return err
	})
}

// errHopeless ends the waiting: it will not come.
var errHopeless = errors.New("it has ended")

func poll(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, errHopeless) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-time.After(pollInterval):
		}
	}
}
