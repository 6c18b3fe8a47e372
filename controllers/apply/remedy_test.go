package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestARefusalNamesTheObjectBehindItAndTheCommandThatShowsIt(t *testing.T) {
	s := step{cluster: &v1alpha1.EtcdCluster{}}
	s.cluster.Namespace = "shop"
	s.view.Desired.Size = 5
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		s.view.Current.Members = append(s.view.Current.Members, facts.Replica{Name: name, Member: &etcdutil.Member{}})
	}
	const limitRange = "A LimitRange of the namespace asks for that: kubectl describe limitrange -n shop shows it."
	for text, want := range map[string]string{
		"exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3": "Raise the ResourceQuota: kubectl describe quota -n shop shows " +
			"what is used. The cluster needs room for 7 Pods: 5 members, one that joins before another one leaves, and one task such as a " +
			"backup. Or put spec.size back to 3.",
		"exceeded quota: team, requested: count/pods=1, used: count/pods=3, limited: count/pods=3": "needs room for 7 Pods",
		"exceeded quota: team, requested: requests.memory=1Gi, used: requests.memory=3Gi, limited: requests.memory=3Gi": "limited: " +
			"requests.memory=3Gi. Raise the ResourceQuota: kubectl describe quota -n shop shows what is used.",
		"spec.containers[0].resources.requests: Invalid value: \"256Mi\": must be less than or equal to memory limit of 64Mi": limitRange,
		"maximum memory usage per Container is 64Mi, but limit is 256Mi":                                                      limitRange,
		"maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 8Gi":                                          limitRange,
		"memory max limit to request ratio per Pod is 2, but provided ratio is 4.0":                                           limitRange,
		`User "steward" cannot create resource "pods"`:                                                                        `resource "pods"`,
	} {
		err := s.withRemedy(fmt.Errorf("as it is called: %w", Answer(forbidden(text), "creating Pod demo-3")))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := s.withRemedy(nil); err != nil {
		t.Error(err)
	}
}
