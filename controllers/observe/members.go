package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// listPatience bounds one linearizable list. A leader with a quorum answers in milliseconds; without one the call would
// hang for etcd's own 7 s.
const listPatience = 1500 * time.Millisecond

// membership asks for etcd's own list. It is known only when a quorum agreed on it and every member that answers is of
// that same cluster: two clusters among our Pods mean that some list is not ours. Once it is written down which cluster
// this is, and a member answers as part of it, those that answer as others have foreign data, and are not asked.
func (s survey) membership(ctx context.Context, ours ownership, bootstrapped etcdutil.ID) facts.Membership {
	s = s.of(bootstrapped)
	if conflict := s.conflict(ours); conflict != "" {
		return facts.Membership{Conflict: conflict, Why: conflict, LastKnown: s.remembered(ctx)}
	}
	why, denied := s.whyUnheard(ours), s.isDenied()
	for _, name := range s.informed(ours) {
		list, err := listMembers(ctx, s.clients[name])
		if err == nil && list.ClusterID != s.answers[name].ClusterID {
			err = fmt.Errorf("member %s answers as cluster %s and lists cluster %s", name, s.answers[name].ClusterID,
				list.ClusterID)
		}
		if err != nil {
			why, denied = cmp.Or(why, fmt.Sprintf("%s: %v", name, err)), denied || etcd.IsAuth(err)
			continue
		}
		return facts.Membership{
			Known: true, ClusterID: list.ClusterID, Leader: s.leader(), Members: list.Members,
			Strangers: ours.strangers(list.Members),
		}
	}
	return facts.Membership{Why: why, Denied: denied, LastKnown: s.remembered(ctx)}
}

// isDenied reports that a member knows us and does not let us in, and none does.
func (s survey) isDenied() bool {
	return len(s.answers) == 0 && slices.ContainsFunc(slices.Collect(maps.Values(s.errs)), etcd.IsAuth)
}

// of leaves out who answers as another cluster than the one that was bootstrapped, if anybody answers as that.
func (s survey) of(bootstrapped etcdutil.ID) survey {
	isBootstrapped := func(status etcd.Status) bool { return status.ClusterID == bootstrapped }
	if bootstrapped == 0 || !slices.ContainsFunc(slices.Collect(maps.Values(s.answers)), isBootstrapped) {
		return s
	}
	answers := maps.Clone(s.answers)
	maps.DeleteFunc(answers, func(_ string, status etcd.Status) bool { return !isBootstrapped(status) })
	s.answers = answers
	return s
}

func listMembers(ctx context.Context, c etcd.Client) (etcd.MemberList, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	return c.MemberList(ctx)
}

// informed are the voters that know a leader, the leader itself first, then those with the most of the log. A voter
// that knows none cannot read linearizably, and a learner refuses to.
func (s survey) informed(ours ownership) []string {
	var names []string
	for name, status := range s.answers {
		if !status.Learner && status.Leader != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		first, second := s.answers[a], s.answers[b]
		return cmp.Or(
			cmp.Compare(leads(second), leads(first)),
			cmp.Compare(second.RaftAppliedIndex, first.RaftAppliedIndex),
			etcdutil.CompareNames(ours.cluster, a, b),
		)
	})
	return names
}

func leads(s etcd.Status) int {
	if s.Leader == s.MemberID {
		return 1
	}
	return 0
}

// leader is the member that calls itself the leader, or else the one that the others call so. Of two that claim it, the
// one of the later term is right.
func (s survey) leader() etcdutil.ID {
	var leader etcdutil.ID
	var term uint64
	for _, status := range s.answers {
		own := status.Leader == status.MemberID
		if status.Leader != 0 && (status.RaftTerm > term || status.RaftTerm == term && (own || leader == 0)) {
			leader, term = status.Leader, status.RaftTerm
		}
	}
	return leader
}

// conflict says which members answer as which clusters, when it is more than one.
func (s survey) conflict(ours ownership) string {
	clusters := map[etcdutil.ID]bool{}
	var claims []string
	for _, name := range s.answering(ours) {
		clusters[s.answers[name].ClusterID] = true
		claims = append(claims, fmt.Sprintf("%s as %s", name, s.answers[name].ClusterID))
	}
	if len(clusters) < 2 {
		return ""
	}
	return "members answer as different clusters: " + strings.Join(claims, ", ")
}

// whyUnheard says why no list can be asked for; empty when one can.
func (s survey) whyUnheard(ours ownership) string {
	switch {
	case s.dialErr != nil:
		return s.dialErr.Error()
	case len(s.answers) > 0 && len(s.informed(ours)) == 0:
		return "the members that answer know no leader: " + strings.Join(s.answering(ours), ", ")
	case len(s.answers) > 0:
		return ""
	case len(s.errs) == 0:
		return "no member runs"
	}
	first := sortedNames(ours, s.errs)[0]
	return fmt.Sprintf("%s: %v", first, s.errs[first])
}

func (s survey) answering(ours ownership) []string { return sortedNames(ours, s.answers) }

// sortedNames are names of members by their ordinals.
func sortedNames[V any](ours ownership, byName map[string]V) []string {
	names := slices.Collect(maps.Keys(byName))
	etcdutil.SortNames(ours.cluster, names)
	return names
}

// remembered is the list as the surviving voter with the most of the log has it, without a quorum that confirmed it.
func (s survey) remembered(ctx context.Context) []etcdutil.Member {
	var survivor string
	for name, status := range s.answers {
		if status.Learner {
			continue
		}
		if survivor == "" || status.RaftAppliedIndex > s.answers[survivor].RaftAppliedIndex {
			survivor = name
		}
	}
	if survivor == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shortPatience)
	defer cancel()
	list, err := s.clients[survivor].MemberListSerializable(ctx)
	if err != nil {
		return nil // evidence for people only; a survivor that stopped meanwhile remembers nothing
	}
	return list.Members
}

// partImpostors takes out of a survey what answered as another member than the one that is written down beside the data
// of that Pod, where no certificate proves who was asked: the address of a Pod whose node stopped may be another
// Pod's by now.
func (s *survey) partImpostors(records map[string]record.Member) {
	s.impostors = map[string]etcd.Status{}
	for name, status := range s.answers {
		own := records[name]
		if own.IsZero() || own.IsOf(status.ClusterID, status.MemberID) {
			continue
		}
		s.impostors[name] = status
		delete(s.answers, name)
		delete(s.clients, name)
	}
}

// recordsOf are the members that are written down beside the data of Pods, by name. What cannot be read is told
// elsewhere.
func (g gathered) recordsOf() map[string]record.Member {
	records := map[string]record.Member{}
	for i := range g.pods {
		if r, err := recordOf(&g.pods[i]); err == nil && !r.IsZero() {
			records[g.pods[i].Name] = r
		}
	}
	for i := range g.volumes {
		if r, err := recordOf(&g.volumes[i]); err == nil && !r.IsZero() {
			records[g.volumes[i].Name] = r
		}
	}
	return records
}

// recordsWithoutTLS are those of members that are dialled without TLS.
func (g gathered) recordsWithoutTLS(cluster *v1alpha1.EtcdCluster) map[string]record.Member {
	records := g.recordsOf()
	for i := range g.pods {
		if takesTLS(cluster, &g.pods[i]) {
			delete(records, g.pods[i].Name)
		}
	}
	return records
}

// addSurvey joins what etcd said: the list, the answers of members, and what others answered at their addresses.
func (r replicas) addSurvey(s survey, membership *facts.Membership) {
	r.addMembers(membership)
	for name := range s.answers {
		r.of(name).Answer = s.answerOf(name)
	}
	for name, status := range s.impostors {
		r.of(name).Impostor = answerIn(status)
	}
}

// answerIn is what a status says.
func answerIn(status etcd.Status) *facts.Answer {
	return &facts.Answer{ID: status.MemberID, ClusterID: status.ClusterID, Leader: status.Leader,
		Revision: status.Revision, Applied: status.RaftAppliedIndex, Learner: status.Learner}
}
