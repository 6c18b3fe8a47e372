package dial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Versions of a cluster, which are not those of its members' binaries, and what moves them.

// downgradeDeadline outlasts etcd's own limit for what its leader has to agree on.
const downgradeDeadline = 10 * time.Second

// notDecided is what a member says before the first cluster version was agreed on
// (etcd-io/etcd:server/etcdserver/api/etcdhttp/version.go).
const notDecided = "not_decided"

// ClusterVersion asks the plain endpoint /version: gRPC does not tell the cluster version.
func (c *etcdClient) ClusterVersion(ctx context.Context) (string, error) {
	const limit = 4 << 10 // it is a hundred bytes long
	var versions struct {
		Cluster string `json:"etcdcluster"`
	}
	err := c.plain.get(ctx, "/version", limit, func(body io.Reader) error {
		return json.NewDecoder(body).Decode(&versions)
	})
	if err != nil {
		return "", fmt.Errorf("asking etcd for the cluster version: %w", err)
	}
	if versions.Cluster == notDecided {
		return "", nil
	}
	return versions.Cluster, nil
}

// savedSnapshots counts the snapshots that were written to disk (etcd-io/etcd:server/etcdserver/api/snap/metrics.go).
const savedSnapshots = "etcd_debugging_snap_save_total_duration_seconds"

// SnapshotsSaved reads the metrics that the client port serves: nothing else tells of snapshots.
func (c *etcdClient) SnapshotsSaved(ctx context.Context) (uint64, error) {
	families, err := c.metrics(ctx)
	if err != nil {
		return 0, fmt.Errorf("asking etcd for its snapshots: %w", err)
	}
	series := families[savedSnapshots].GetMetric()
	if len(series) == 0 || series[0].GetHistogram() == nil {
		return 0, fmt.Errorf("asking etcd for its snapshots: it does not tell %s", savedSnapshots)
	}
	return series[0].GetHistogram().GetSampleCount(), nil
}

// compactRevision is a gauge (etcd-io/etcd:server/storage/mvcc/metrics.go).
const compactRevision = "etcd_debugging_mvcc_compact_revision"

// Compacted reads the metrics that the client port serves: other calls tell it only after work of their own.
func (c *etcdClient) Compacted(ctx context.Context) (int64, error) {
	families, err := c.metrics(ctx)
	if err != nil {
		return 0, fmt.Errorf("asking etcd how far its history was compacted: %w", err)
	}
	series := families[compactRevision].GetMetric()
	if len(series) == 0 {
		return 0, fmt.Errorf("asking etcd how far its history was compacted: it does not tell %s", compactRevision)
	}
	return max(0, int64(series[0].GetGauge().GetValue())), nil // -1 before it first was
}

// StreamsSnapshot compares how many were begun with how many have ended: a gauge of them there is not
// (grpc-ecosystem/go-grpc-middleware:providers/prometheus/server_metrics.go).
func (c *etcdClient) StreamsSnapshot(ctx context.Context) (bool, error) {
	families, err := c.metrics(ctx)
	if err != nil {
		return false, fmt.Errorf("asking etcd whether it sends a snapshot: %w", err)
	}
	count := func(name string) (n float64) {
		for _, series := range families[name].GetMetric() {
			if slices.ContainsFunc(series.GetLabel(), func(l *dto.LabelPair) bool {
				return l.GetName() == "grpc_method" && l.GetValue() == "Snapshot"
			}) {
				n += series.GetCounter().GetValue()
			}
		}
		return n
	}
	return count("grpc_server_started_total") > count("grpc_server_handled_total"), nil
}

// metrics are what the client port serves.
func (c *etcdClient) metrics(ctx context.Context) (families map[string]*dto.MetricFamily, err error) {
	const limit = 8 << 20 // a few hundred KB, more with histograms of each gRPC method
	err = c.plain.get(ctx, "/metrics", limit, func(body io.Reader) (err error) {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err = parser.TextToMetricFamilies(body)
		return err
	})
	return families, err
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

// CancelDowngrade takes it for done where 3.5 refuses it, because none is enabled. Later minors say nothing then.
func (c *etcdClient) CancelDowngrade(ctx context.Context) error {
	request := &pb.DowngradeRequest{Action: pb.DowngradeRequest_CANCEL}
	_, err := call(ctx, c, downgradeDeadline, c.maintenance.Downgrade, request)
	if err != nil && !errors.Is(err, rpctypes.ErrNoInflightDowngrade) {
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
