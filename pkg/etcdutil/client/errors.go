package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The answers of etcd that decide what to do next. Test for them with errors.Is: clientv3 and the fake both return
// errors that match. Sources: etcd-io/etcd:api/v3rpc/rpctypes/error.go.
var (
	ErrMemberNotFound   error = rpctypes.ErrMemberNotFound   // Remove: already so
	ErrMemberNotLearner error = rpctypes.ErrMemberNotLearner // Promote: already so
	ErrPeerURLExist     error = rpctypes.ErrPeerURLExist     // AddLearner: look again
	// AddLearner, the same URL twice in one second: look again
	ErrMemberExist     error = rpctypes.ErrMemberExist
	ErrTooManyLearners error = rpctypes.ErrTooManyLearners       // AddLearner: finish or abandon the other one
	ErrLearnerNotReady error = rpctypes.ErrMemberLearnerNotReady // Promote: later
	// membership: the asked member lacks connections; later
	ErrUnhealthy           error = rpctypes.ErrUnhealthy
	ErrNotEnoughStarted    error = rpctypes.ErrMemberNotEnoughStarted // membership: too few voters ever started
	ErrNotLeader           error = rpctypes.ErrNotLeader              // MoveLeader: ask the leader
	ErrBadLeaderTransferee error = rpctypes.ErrBadLeaderTransferee    // MoveLeader: not a voter, or unknown
	ErrFutureRevision      error = rpctypes.ErrFutureRev              // HashKV: the member is not there yet
	ErrNoLeader            error = rpctypes.ErrNoLeader
	// a learner answers Status and little else
	ErrLearnerRefuses error = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)
)

// IsRetryLater says that the same call may succeed with nothing changed but time. Whether the call was applied is
// unknown for timeouts: look before calling again.
func IsRetryLater(err error) bool {
	return isOneOf(err, rpctypes.ErrUnhealthy, rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrLeaderChanged,
		rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail,
		rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrTooManyRequests,
		rpctypes.ErrMemberNotEnoughStarted) || IsUnreachable(err) || saysOneOf(err, laterWords)
}

func isOneOf(err error, answers ...error) bool {
	return slices.ContainsFunc(answers, func(answer error) bool { return errors.Is(err, answer) })
}

// laterWords are answers that have no code of their own: a proposal is dropped while leadership is being handed over
// (etcd-io/raft ErrProposalDropped), and a handover can time out (etcd-io/etcd:server/etcdserver/errors/errors.go).
var laterWords = []string{"raft proposal dropped", "etcdserver: request timed out"}

// IsAlreadyAdded says that AddLearner found the URL in the list: look again, it may be our own add that timed out.
func IsAlreadyAdded(err error) bool {
	return isOneOf(err, ErrPeerURLExist, ErrMemberExist)
}

// IsDowngradeRefused says that etcd does not enable a downgrade: it does not lead from the cluster's version to the one
// that was asked for, or another one is enabled.
func IsDowngradeRefused(err error) bool {
	return isOneOf(err, rpctypes.ErrInvalidDowngradeTargetVersion, rpctypes.ErrWrongDowngradeVersionFormat,
		rpctypes.ErrDowngradeInProcess)
}

// IsAuth says that etcd knows us and does not let us, or does not know us.
func IsAuth(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated || isOneOf(err, rpctypes.ErrPermissionDenied,
		rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision)
}

// errHungUp marks a TLS connection that the member closed under our call. With TLS 1.3 the member judges our
// certificate after our side of the handshake is done, and whether its reason arrives before the end of the connection
// is chance.
var errHungUp = errors.New("the member closed the connection; it may have refused our certificate")

// hangUps are the texts of gRPC for a connection that ended without a reason.
var hangUps = []string{"broken pipe", "connection reset by peer", "EOF"}

// IsTLS says that the handshake failed, or may have: certificates may have been changed since they were read. gRPC
// keeps only the text of the cause.
func IsTLS(err error) bool {
	return errors.Is(err, errHungUp) || saysOneOf(err, []string{"authentication handshake failed", "tls: ", "x509: "})
}

func saysOneOf(err error, words []string) bool {
	return err != nil && slices.ContainsFunc(words, func(word string) bool {
		return strings.Contains(err.Error(), word)
	})
}

// IsUnreachable says that no answer came: nothing listens, the address is dead, or the deadline passed.
func IsUnreachable(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	code := status.Code(err)
	return err != nil && (code == codes.Unavailable || code == codes.DeadlineExceeded)
}

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
