package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Bounds of asking a Pod: it is the tenant's, and may answer anything.
const (
	progressTimeout = time.Second
	progressSize    = 4 << 10
)

// newProgressClient follows no redirect and no proxy: it talks to the Pod only.
func newProgressClient() *http.Client {
	return &http.Client{
		Timeout:       progressTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("a redirect is not followed") },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
}

// AskProgress makes what asks the Pod at an address how far it is.
func AskProgress() func(context.Context, string) *backupplan.Progress {
	c := newProgressClient()
	return func(ctx context.Context, address string) *backupplan.Progress { return askProgress(ctx, c, address) }
}

// askProgress is for display only, so any failure is no answer.
func askProgress(ctx context.Context, c *http.Client, address string) *backupplan.Progress {
	ip, err := netip.ParseAddr(address)
	if err != nil || !isOfAPod(ip) {
		return nil
	}
	return progressFrom(ctx, c, "http://"+net.JoinHostPort(address, strconv.Itoa(resources.ProgressPort))+"/progress")
}

func progressFrom(ctx context.Context, c *http.Client, url string) *backupplan.Progress {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil
	}
	response, err := c.Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	var said struct{ Bytes, Total int64 }
	err = json.NewDecoder(io.LimitReader(response.Body, progressSize)).Decode(&said)
	if err != nil || response.StatusCode != http.StatusOK || said.Bytes < 0 || said.Total < 0 {
		return nil
	}
	return &backupplan.Progress{Bytes: said.Bytes, Total: said.Total}
}

// isOfAPod keeps a forged status from making the operator ask its own node or the metadata service of a cloud.
func isOfAPod(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsValid() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified()
}
