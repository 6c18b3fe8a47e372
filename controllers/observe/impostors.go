package observe

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

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

// addSurvey joins what etcd said: the list, the answers of members, and what others answered at their addresses.
func (r replicas) addSurvey(s survey, membership *facts.Membership) {
	r.addMembers(membership)
	r.addAnswers(s)
	for name, status := range s.impostors {
		r.of(name).Impostor = answerIn(status)
	}
}

// answerIn is what a status says.
func answerIn(status etcd.Status) *facts.Answer {
	return &facts.Answer{ID: status.MemberID, ClusterID: status.ClusterID, Leader: status.Leader,
		Revision: status.Revision, Applied: status.RaftAppliedIndex, Learner: status.Learner}
}
