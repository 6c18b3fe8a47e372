// Package forecast foretells what the operator will do with a cluster, from what the API server holds. It asks no etcd
// and reads no Secret: what members say is taken from the status, which the operator wrote, and certificates are taken
// for good. All else is read and judged as the operator does it, by package observe.
package forecast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/ahead"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Of foretells what the operator will do with a cluster whose spec, labels and annotations are these. They need not be
// stored. The status is the one of the cluster that is. A cluster in mode DryRun is foretold as one that is followed.
func Of(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	now func() time.Time) (ahead.Forecast, error) {
	cluster = cluster.DeepCopy()
	cluster.Spec.Mode = ""
	keeper, err := observe.KeeperOf(ctx, reader, cluster, whoBegins)
	if err != nil {
		return ahead.Forecast{}, err
	}
	sources := observe.Sources{Reader: reader}
	observer := &observe.Observer{Reader: reader, Secrets: noSecrets{}, Dial: fromStatus{}, Now: now, Operator: keeper,
		AsksNoHashes: true, WantedBackup: sources.WantedBackup, Requests: sources.Requests}
	fault := admission.Message(admission.ValidateExisting(cluster))
	seen, _, err := observer.Observe(ctx, cluster, fault)
	if err != nil {
		return ahead.Forecast{}, err
	}
	trustSecrets(&seen)
	unread := observer.MayNotRead()
	seesDrains := observe.SeesDrains(cluster)
	if slices.Contains(unread, "nodes") {
		seesDrains = seesDrains && trustNodes(&seen)
	}
	seen.Auth = facts.Auth{Known: true, On: seen.Current.Bootstrap.Auth}
	told := ahead.Of(seen, ahead.Spec{
		Of: func(o facts.Observation) facts.Desired {
			return observe.DesiredOf(cluster, fault, resources.ImageDefaults{}, o)
		},
		Compares: cluster.Spec.Etcd == nil || cluster.Spec.Etcd.CorruptionChecks == nil ||
			*cluster.Spec.Etcd.CorruptionChecks,
		SeesDrains: seesDrains,
	})
	told.Unread = withoutThose(unread)
	return told, nil
}

// withoutThose says what is taken for granted of what lies in no namespace and may not be read, as sentences, or "".
func withoutThose(unread []string) string {
	var says []string
	if slices.Contains(unread, "nodes") {
		says = append(says, "You may not get nodes, so what follows takes for granted that none is drained or gone "+
			"for good. From a node that is drained the operator moves an only member away first.")
	}
	if slices.Contains(unread, "persistentvolumes") {
		says = append(says, "You may not get persistentvolumes, so what follows takes for granted that no node which "+
			"is gone has the only copy of a volume.")
	}
	return strings.Join(says, " ")
}

// trustNodes takes for granted that no node is drained, where nodes may not be read here, and reports whether the
// operator may read them. A budget of an only voter says that it may: without that right it keeps none.
func trustNodes(o *facts.Observation) bool {
	if len(o.Current.Voters()) == 1 && o.Desired.HasBudget && o.Budget.MinAvailable == 0 {
		return false
	}
	for i := range o.Current.Members {
		if pod := o.Current.Members[i].Pod; pod != nil {
			pod.Drain.IsKnown = true
		}
	}
	return true
}

// whoBegins stands for the install that will begin with a cluster that none looks after yet.
const whoBegins = "an operator"

// noSecrets has none. What they would hold is not looked at.
type noSecrets struct{}

func (noSecrets) Get(_ context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
}

// GetLeft finds none either.
func (n noSecrets) GetLeft(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return n.Get(ctx, key)
}

// trustSecrets takes for good the Secrets of a cluster that was bootstrapped, and of each member that has anything. The
// operator says in the status where one is not.
func trustSecrets(o *facts.Observation) {
	for i := range o.Objects {
		o.Objects[i].Source = facts.CASource{} // nothing of it was read
	}
	if !o.Current.Bootstrap.Exists() || !o.Desired.TLS {
		return
	}
	for i := range o.Objects {
		if o.Objects[i].Kind == resources.KindSecret {
			o.Objects[i].State, o.Objects[i].Detail = facts.ObjectCurrent, ""
		}
	}
	for _, members := range [][]facts.Replica{o.Current.Members, o.Next.Members} {
		for i := range members {
			if r := &members[i]; r.Member != nil || r.Pod != nil || r.Volume != nil {
				r.Secret = facts.Object{Kind: resources.KindSecret, Name: resources.MemberSecret(r.Name),
					State: facts.ObjectCurrent, UID: "unread"}
			}
		}
	}
}

// fromStatus gives clients that answer what the status of a cluster says of their members.
type fromStatus struct{}

// Dial connects to nothing.
func (fromStatus) Dial(_ context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) (map[string]etcd.Client,
	error) {
	said, err := readStatus(cluster)
	if err != nil {
		return nil, err
	}
	said.listAs(cluster, pods)
	clients := map[string]etcd.Client{}
	for _, pod := range pods {
		clients[pod.Name] = said.of(pod.Name)
	}
	return clients, nil
}

// Distrust does nothing: nothing was trusted.
func (fromStatus) Distrust(*v1alpha1.EtcdCluster) {}

// said is what a status says of etcd.
type said struct {
	list    etcd.MemberList
	members map[string]etcd.Status // of those that answered, by name
	version etcdutil.Version       // of the cluster
}

// Nothing that is foretold depends on how far the cluster is, but that all members are as far and hold something.
const (
	someRevision = 1 << 20
	someIndex    = 1 << 20
)

// readStatus reads what the operator wrote.
func readStatus(cluster *v1alpha1.EtcdCluster) (said, error) {
	status := cluster.Status
	out := said{members: map[string]etcd.Status{}}
	if status.ClusterID == "" {
		return out, nil
	}
	var err error
	if out.list.ClusterID, err = etcdutil.ParseID(status.ClusterID); err != nil {
		return out, fmt.Errorf("reading status.clusterID: %w", err)
	}
	for _, m := range status.Members {
		if m.ID == "" {
			continue
		}
		if err := out.add(cluster, m); err != nil {
			return out, fmt.Errorf("reading status.members, of %s: %w", m.Name, err)
		}
	}
	out.complete(status)
	out.raise(status)
	return out, nil
}

// raise adds the alarm that keeps etcd from taking writes: the condition Available names it. NOSPACE is of the member
// whose database takes most of its quota, and whom CORRUPT is of is not known.
func (s *said) raise(status v1alpha1.EtcdClusterStatus) {
	available := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable)
	if available == nil || available.Reason != facts.AlarmNoSpace && available.Reason != facts.AlarmCorrupt {
		return
	}
	alarm := "alarm:" + available.Reason
	if full := s.fullest(status); full != 0 && available.Reason == facts.AlarmNoSpace {
		alarm = fmt.Sprintf("memberID:%d %s", uint64(full), alarm)
	}
	for name, answer := range s.members {
		answer.Errors = []string{alarm}
		s.members[name] = answer
	}
}

func (s *said) fullest(status v1alpha1.EtcdClusterStatus) (fullest etcdutil.ID) {
	most := 0.0
	for _, m := range status.Members {
		answer, answers := s.members[m.Name]
		if !answers || m.QuotaBackendBytes == nil || m.QuotaBackendBytes.Value() <= 0 {
			continue
		}
		if filled := float64(answer.DBSize) / float64(m.QuotaBackendBytes.Value()); filled > most {
			most, fullest = filled, answer.MemberID
		}
	}
	return fullest
}

// add adds a member of etcd's list and, if it answered, what it said.
func (s *said) add(cluster *v1alpha1.EtcdCluster, m v1alpha1.MemberStatus) error {
	id, err := etcdutil.ParseID(m.ID)
	if err != nil {
		return err
	}
	isLearner := m.Role == facts.RoleLearner
	s.list.Members = append(s.list.Members, etcdutil.Member{ID: id, Name: m.Name, Learner: isLearner,
		PeerURLs: []string{resources.PeerURL(cluster, m.Name)}})
	if !m.Healthy {
		return nil
	}
	answer := etcd.Status{ClusterID: s.list.ClusterID, MemberID: id, Version: m.Version, Learner: isLearner,
		RaftTerm: 1, RaftIndex: someIndex, RaftAppliedIndex: someIndex, Revision: someRevision}
	if m.DBSize != nil {
		answer.DBSize, answer.DBSizeInUse = m.DBSize.Value(), m.DBSize.Value()
	}
	if m.DBSizeInUse != nil {
		answer.DBSizeInUse = m.DBSizeInUse.Value()
	}
	s.members[m.Name] = answer
	return nil
}

// listAs has peers dial members as their Pods listen: the status does not say how they are listed.
func (s *said) listAs(cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) {
	for i := range pods {
		transport, isSaid := resources.TransportOf(&pods[i])
		at := slices.IndexFunc(s.list.Members, func(m etcdutil.Member) bool { return m.Name == pods[i].Name })
		if isSaid && at >= 0 {
			s.list.Members[at].PeerURLs = []string{resources.PeerURLOf(cluster, pods[i].Name, transport)}
		}
	}
}

// complete adds who leads, and of which version cluster and data are: of the lowest minor that runs. While minors
// differ and the spec asks for less than one of them, a downgrade is enabled, or they could not.
func (s *said) complete(status v1alpha1.EtcdClusterStatus) {
	var highest etcdutil.Version
	for _, answer := range s.members {
		runs := minorOf(answer.Version)
		if s.version.IsZero() || runs.Compare(s.version) < 0 {
			s.version = runs
		}
		if runs.Compare(highest) > 0 {
			highest = runs
		}
	}
	leader, target := s.leaderOf(status), minorOf(status.TargetVersion)
	isDown := !target.IsZero() && target.Compare(highest) < 0 && s.version.Compare(highest) < 0
	for name, answer := range s.members {
		answer.Leader = leader
		if minorOf(answer.Version).Minor >= 6 {
			answer.StorageVersion = s.version.String()
			if isDown {
				answer.Downgrade = s.version.String()
			}
		}
		s.members[name] = answer
	}
}

// minorOf is a version without its patch; zero for what is none.
func minorOf(text string) etcdutil.Version {
	v, err := etcdutil.ParseVersion(text)
	if err != nil {
		return etcdutil.Version{}
	}
	return etcdutil.Version{Major: v.Major, Minor: v.Minor}
}

// leaderOf is the member that leads, or the first that can where the status names none.
func (s *said) leaderOf(status v1alpha1.EtcdClusterStatus) (leader etcdutil.ID) {
	voters, healthy := 0, 0
	for _, m := range s.list.Members {
		if m.Learner {
			continue
		}
		voters++
		if _, answers := s.members[m.Name]; answers {
			healthy++
			if leader == 0 || m.Name == status.Leader {
				leader = m.ID
			}
		}
	}
	if healthy < etcdutil.Quorum(voters) {
		return 0
	}
	return leader
}

func (s said) of(name string) etcd.Client { return member{said: s, name: name} }

// member is one member as the status has it. What a look does not ask is not there to be called.
type member struct {
	etcd.Client
	said said
	name string
}

var errUnknown = errors.New("the status does not say that it answers")

// Status is what the status says of the member.
func (m member) Status(context.Context) (etcd.Status, error) {
	answer, answers := m.said.members[m.name]
	if !answers {
		return etcd.Status{}, errUnknown
	}
	return answer, nil
}

// MemberList is what the status says of all.
func (m member) MemberList(context.Context) (etcd.MemberList, error) { return m.said.list, nil }

// MemberListSerializable is the same.
func (m member) MemberListSerializable(context.Context) (etcd.MemberList, error) {
	return m.said.list, nil
}

// ClusterVersion is that of the lowest member.
func (m member) ClusterVersion(context.Context) (string, error) { return m.said.version.String(), nil }

// SnapshotsSaved is not known, and counts from there.
func (m member) SnapshotsSaved(context.Context) (uint64, error) { return 0, nil }

// Compacted is not known.
func (m member) Compacted(context.Context) (int64, error) { return 0, errUnknown }
