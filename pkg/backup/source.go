package backup

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// Endpoint is one member and where it serves clients.
type Endpoint struct{ Name, URL string }

// ParseEndpoints reads "name=url,name=url".
func ParseEndpoints(text string) ([]Endpoint, error) {
	var endpoints []Endpoint
	for pair := range strings.SplitSeq(text, ",") {
		name, address, ok := strings.Cut(pair, "=")
		parsed, err := url.Parse(address)
		if !ok || name == "" || err != nil || parsed.Host == "" || parsed.User != nil ||
			parsed.Scheme != etcdutil.SchemeHTTP && parsed.Scheme != etcdutil.SchemeHTTPS {
			return nil, fmt.Errorf("endpoint %q: want name=http(s)://host:port", name)
		}
		endpoints = append(endpoints, Endpoint{Name: name, URL: parsed.Scheme + "://" + parsed.Host})
	}
	return endpoints, nil
}

// ReadTLS reads ca.crt, tls.crt and tls.key; an empty directory name means plain HTTP.
func ReadTLS(dir string) (*tls.Config, error) {
	if dir == "" {
		return nil, nil
	}
	files := map[string][]byte{"ca.crt": nil, "tls.crt": nil, "tls.key": nil}
	for name := range files {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read the certificates for etcd: %w", err)
		}
		files[name] = content
	}
	return pki.ClientTLS(files["ca.crt"], pki.Pair{Cert: files["tls.crt"], Key: files["tls.key"]})
}

// A snapshot is taken of a member that has applied all but the last few entries: lagBound of them at most behind the
// furthest. Several thousand are applied in a second.
const lagBound = 500

const (
	statusDeadline  = 3 * time.Second
	catchUpInterval = 20 * time.Millisecond
)

// member is a connection to one member, and what it last said of itself.
type member struct {
	Endpoint
	conn        *clientv3.Client
	maintenance pb.MaintenanceClient
	status      *pb.StatusResponse

	unfit error // why it is of no use now; nil: it is
	tried int   // how many snapshots of it were begun
}

func dialMember(endpoint Endpoint, config *tls.Config) (*member, error) {
	if strings.HasPrefix(endpoint.URL, etcdutil.SchemeHTTP+"://") {
		config = nil
	}
	conn, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint.URL},
		TLS:       config,
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		},
	})
	if err != nil {
		return nil, fail(ReasonNoSource, "prepare a client for member %s: %w", endpoint.Name, err)
	}
	return &member{Endpoint: endpoint, conn: conn, maintenance: pb.NewMaintenanceClient(conn.ActiveConnection())}, nil
}

func (m *member) id() etcdutil.ID        { return etcdutil.ID(m.status.GetHeader().GetMemberId()) }
func (m *member) clusterID() etcdutil.ID { return etcdutil.ID(m.status.GetHeader().GetClusterId()) }

// sources are the members of a cluster while a snapshot is taken.
type sources struct {
	members   []*member
	clusterID etcdutil.ID // that must answer; 0: any, but all the same

	asked time.Time // when the members were surveyed last
	agreed
}

func connect(endpoints []Endpoint, config *tls.Config, clusterID etcdutil.ID) (*sources, error) {
	s := &sources{clusterID: clusterID}
	for _, endpoint := range endpoints {
		m, err := dialMember(endpoint, config)
		if err != nil {
			s.close()
			return nil, err
		}
		s.members = append(s.members, m)
	}
	return s, nil
}

func (s *sources) close() {
	for _, m := range s.members {
		_ = m.conn.Close()
	}
}

// survey asks all members at once how they are, and returns those that may be taken a snapshot of, the best first:
// voters of this cluster that have a leader, are caught up and not known to be corrupt; those that were tried least,
// followers before the leader, and followers in no order, so that a second Pod meets another one.
func (s *sources) survey(ctx context.Context) ([]*member, error) {
	s.asked = time.Now()
	s.ask(ctx)
	fit := s.fit()
	furthest := uint64(0)
	for _, m := range fit {
		furthest = max(furthest, m.status.GetRaftAppliedIndex())
	}
	fit = slices.DeleteFunc(fit, func(m *member) bool { return m.status.RaftAppliedIndex+lagBound < furthest })
	rand.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
	slices.SortStableFunc(fit, func(a, b *member) int { return cmp.Or(a.tried-b.tried, rank(a)-rank(b)) })
	if err := s.agree(ctx, fit); err != nil {
		return nil, err
	}
	fit = slices.DeleteFunc(fit, func(m *member) bool { return !s.isVoter(m) })
	if len(fit) == 0 {
		return nil, s.noSource()
	}
	return fit, nil
}

// fit are the members that answered as they should when they were asked.
func (s *sources) fit() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.unfit != nil })
}

// ask asks all members at once how they are, and notes of each why neither a snapshot nor a hash of it is of use.
func (s *sources) ask(ctx context.Context) {
	var group sync.WaitGroup
	for _, m := range s.members {
		group.Go(func() { m.unfit = m.ask(ctx) })
	}
	group.Wait()
	for _, m := range s.members {
		if m.unfit == nil {
			m.unfit = s.admit(m)
		}
	}
}

func (m *member) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	status, err := m.maintenance.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return memberFailure(m, "asking for its status", err)
	}
	m.status = status
	return nil
}

// awaitCaughtUp waits until a member holds all that a quorum had agreed on when the members were asked. A follower
// applies a write a moment after the member that told its client that it was done, and what was done when a backup
// began is to be in it.
func (s *sources) awaitCaughtUp(ctx context.Context, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	for !s.isReachedBy(m.status) {
		select {
		case <-ctx.Done():
			return fail(ReasonMemberFailed, "member %s stays at revision %d and raft index %d; a quorum has %d and %d",
				m.Name, m.status.GetHeader().GetRevision(), m.status.GetRaftAppliedIndex(), s.revision, s.index)
		case <-time.After(catchUpInterval):
		}
		if err := m.ask(ctx); err != nil {
			return err
		}
	}
	return nil
}

// alarms are those that the member knows of, of all members.
func (m *member) alarms() []etcdutil.Alarm { return etcdutil.ParseAlarms(m.status.GetErrors()) }

// isCalledCorrupt reports whether any member knows of the alarm CORRUPT for this one, which may be the last to hear.
func (s *sources) isCalledCorrupt(m *member) bool {
	return slices.ContainsFunc(s.members, func(other *member) bool {
		return other.clusterID() == m.clusterID() && etcdutil.IsCalledCorrupt(other.alarms(), m.id())
	})
}

// admit says why a member that answered is not taken a snapshot of.
func (s *sources) admit(m *member) error {
	id := m.clusterID()
	switch {
	case s.clusterID != 0 && id != s.clusterID:
		return fail(ReasonForeignCluster, "member %s is of cluster %s, not of %s", m.Name, id, s.clusterID)
	case m.status.GetIsLearner():
		return fail(ReasonNoSource, "member %s is a learner", m.Name)
	case m.status.GetLeader() == 0:
		return fail(ReasonNoSource, "member %s has no leader", m.Name)
	case s.isCalledCorrupt(m):
		return m.corrupt()
	}
	return nil
}

func (m *member) corrupt() error {
	return fail(ReasonNoSource, "the alarm CORRUPT accuses member %s, or no member by name", m.Name)
}

func rank(m *member) int {
	if m.status.GetLeader() == m.status.GetHeader().GetMemberId() {
		return 1
	}
	return 0
}

// noSource puts the reasons of all members into one error.
func (s *sources) noSource() error {
	errs := make([]error, len(s.members))
	for i, m := range s.members {
		errs[i] = m.unfit
		if m.unfit == nil {
			errs[i] = fail(ReasonNoSource, "member %s is no voting member of the cluster", m.Name)
		}
	}
	return joinNoSource(errs)
}

// joinNoSource makes one error of those of all members; what all agree on is its reason.
func joinNoSource(errs []error) error {
	reason := ReasonOf(errs[0])
	for _, err := range errs {
		if ReasonOf(err) != reason {
			reason = ReasonNoSource
		}
	}
	if reason == ReasonMemberFailed {
		reason = ReasonNoSource
	}
	return fail(reason, "no member can be taken a snapshot of: %w", errors.Join(errs...))
}

// memberFailure names an error of a call to a member. What etcd itself says has no secret in it.
func memberFailure(m *member, doing string, err error) error {
	if err = rpctypes.Error(err); client.IsAuth(err) {
		return fail(ReasonAuthRequired, "%s of member %s: etcd's authentication is on and refuses us: %w", doing,
			m.Name, err)
	}
	return fail(ReasonMemberFailed, "%s of member %s: %w", doing, m.Name, err)
}
