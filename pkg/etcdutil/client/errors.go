package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	ErrUserNotFound        error = rpctypes.ErrUserNotFound     // it is not there, or our own is not
	ErrUserExists          error = rpctypes.ErrUserAlreadyExist // NewUser: another one made it
	ErrRoleNotFound        error = rpctypes.ErrRoleNotFound     // Permissions: make it
	ErrRootUserNotExist    error = rpctypes.ErrRootUserNotExist // EnableAuthentication: make it first
	ErrRootRoleNotExist    error = rpctypes.ErrRootRoleNotExist // EnableAuthentication: grant it first
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
		rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrAuthFailed, rpctypes.ErrInvalidAuthToken,
		rpctypes.ErrAuthOldRevision) || saysOneOf(err, strangerWords)
}

// strangerWords are how 3.5 refuses calls of maintenance, which have no code there
// (etcd-io/etcd:server/etcdserver/api/v3rpc/maintenance.go isAuthenticated).
var strangerWords = []string{"auth: user not found", "auth: user name is empty", "auth: permission denied"}

// ErrHungUp marks a TLS connection that the member closed under our call. With TLS 1.3 the member judges our
// certificate after our side of the handshake is done, and whether its reason arrives before the end of the connection
// is chance.
var ErrHungUp = errors.New("the member closed the connection; it may have refused our certificate")

// hangUps are the texts of gRPC for a connection that ended without a reason.
var hangUps = []string{"broken pipe", "connection reset by peer", "EOF"}

// IsTLS says that the handshake failed, or may have: certificates may have been changed since they were read. gRPC
// keeps only the text of the cause.
func IsTLS(err error) bool {
	return errors.Is(err, ErrHungUp) || saysOneOf(err, []string{"authentication handshake failed", "tls: ", "x509: "})
}

// HasHungUp says that the connection ended without a reason.
func HasHungUp(err error) bool { return saysOneOf(err, hangUps) }

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
