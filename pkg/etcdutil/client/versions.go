package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Versions of a cluster, which are not those of its members' binaries, and what moves them.

// downgradeDeadline outlasts etcd's own limit for what its leader has to agree on.
const downgradeDeadline = 10 * time.Second

// versionLimit bounds what is read of an answer that is a hundred bytes long.
const versionLimit = 4 << 10

// notDecided is what a member says before the first cluster version was agreed on
// (etcd-io/etcd:server/etcdserver/api/etcdhttp/version.go).
const notDecided = "not_decided"

// newHTTP makes the client of the plain endpoints that etcd serves beside gRPC. It keeps no connection: it is used
// while versions move, and a connection that idles there for weeks is one more that a member holds.
func newHTTP(endpoint Endpoint, scheme string) (*http.Client, string) {
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: connectTimeout}
	if endpoint.TLS != nil {
		transport.TLSClientConfig = endpoint.TLS.Clone()
		transport.TLSClientConfig.ServerName = endpoint.ServerName
	}
	return &http.Client{Transport: transport}, scheme + "://" + endpoint.Address + "/version"
}

// ClusterVersion asks the plain endpoint /version: gRPC does not tell the cluster version.
func (c *etcdClient) ClusterVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.versionURL, nil)
	if err != nil {
		return "", fmt.Errorf("asking etcd for the cluster version: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking etcd for the cluster version: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking etcd for the cluster version: %s", response.Status)
	}
	var versions struct {
		Cluster string `json:"etcdcluster"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, versionLimit)).Decode(&versions); err != nil {
		return "", fmt.Errorf("reading the cluster version: %w", err)
	}
	if versions.Cluster == notDecided {
		return "", nil
	}
	return versions.Cluster, nil
}

// EnableDowngrade validates the step first, so that etcd's reason is told and nothing was changed.
func (c *etcdClient) EnableDowngrade(ctx context.Context, minor etcdutil.Version) error {
	for _, action := range []pb.DowngradeRequest_DowngradeAction{
		pb.DowngradeRequest_VALIDATE, pb.DowngradeRequest_ENABLE,
	} {
		request := &pb.DowngradeRequest{Action: action, Version: minor.MinorString()}
		if _, err := call(ctx, c, downgradeDeadline, c.maintenance.Downgrade, request); err != nil {
			return fmt.Errorf("enabling the downgrade to %s: %w", minor.MinorString(), err)
		}
	}
	return nil
}

func (c *etcdClient) CancelDowngrade(ctx context.Context) error {
	request := &pb.DowngradeRequest{Action: pb.DowngradeRequest_CANCEL}
	if _, err := call(ctx, c, downgradeDeadline, c.maintenance.Downgrade, request); err != nil {
		return fmt.Errorf("cancelling the downgrade: %w", err)
	}
	return nil
}

// AppendEntry lists the alarms, which goes through raft's log as any request about alarms does.
func (c *etcdClient) AppendEntry(ctx context.Context) error {
	request := &pb.AlarmRequest{Action: pb.AlarmRequest_GET, Alarm: pb.AlarmType_NONE}
	if _, err := call(ctx, c, readDeadline, c.maintenance.Alarm, request); err != nil {
		return fmt.Errorf("adding an entry to the log: %w", err)
	}
	return nil
}
