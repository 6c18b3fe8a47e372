package client

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestErrorsAreSortedIntoWhatTheyAskFor(t *testing.T) {
	type verdict struct{ later, auth, tls, unreachable, added bool }
	for _, row := range []struct {
		err  error
		want verdict
	}{
		{nil, verdict{}},
		{errors.New("anything"), verdict{}},
		{context.DeadlineExceeded, verdict{later: true, unreachable: true}},
		{status.Error(codes.DeadlineExceeded, "latest balancer error"), verdict{later: true, unreachable: true}},
		{status.Error(codes.Unavailable, "connection refused"), verdict{later: true, unreachable: true}},
		{status.Error(codes.Unavailable, "transport: authentication handshake failed: tls: bad certificate"),
			verdict{later: true, unreachable: true, tls: true}},
		{status.Error(codes.Unknown, "raft proposal dropped"), verdict{later: true}},
		{status.Error(codes.Unknown, "etcdserver: request timed out, leader transfer took too long"), verdict{later: true}},
		{rpctypes.ErrUnhealthy, verdict{later: true}},
		{rpctypes.ErrMemberLearnerNotReady, verdict{later: true}},
		{rpctypes.ErrLeaderChanged, verdict{later: true}},
		{rpctypes.ErrNoLeader, verdict{later: true}},
		{rpctypes.ErrTimeout, verdict{later: true}},
		{rpctypes.ErrTooManyRequests, verdict{later: true}},
		{rpctypes.ErrMemberNotEnoughStarted, verdict{later: true}},
		{rpctypes.ErrMemberNotFound, verdict{}},
		{rpctypes.ErrMemberNotLearner, verdict{}},
		{rpctypes.ErrTooManyLearners, verdict{}},
		{rpctypes.ErrPeerURLExist, verdict{added: true}},
		{rpctypes.ErrMemberExist, verdict{added: true}},
		{rpctypes.ErrPermissionDenied, verdict{auth: true}},
		{rpctypes.ErrUserEmpty, verdict{auth: true}},
		{rpctypes.ErrInvalidAuthToken, verdict{auth: true}},
		{rpctypes.ErrCorrupt, verdict{}},
		{ErrLearnerRefuses, verdict{}},
	} {
		err := row.err
		if err != nil {
			err = fmt.Errorf("removing member 1: %w", err)
		}
		got := verdict{IsRetryLater(err), IsAuth(err), IsTLS(err), IsUnreachable(err), IsAlreadyAdded(err)}
		if got != row.want {
			t.Errorf("%v: got %+v, want %+v", row.err, got, row.want)
		}
	}
}
