package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

const overQuotaOf = kit.MetricPrefix + `client_objects_over_quota{name="demo",namespace="prod"}`

func withQuota(text string) func(*v1alpha1.EtcdClient) {
	return func(c *v1alpha1.EtcdClient) {
		quota := resource.MustParse(text)
		c.Spec.Quota = &quota
	}
}

// backup puts an EtcdBackup of the cluster that was made just now and says this of clients. It is signed with the key.
func (w *world) backup(name, key string, clients ...v1alpha1.ClientUsage) {
	w.t.Helper()
	b := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, CreationTimestamp: metav1.NewTime(w.now)},
		Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: "demo"}},
		Status:     v1alpha1.EtcdBackupStatus{Clients: []v1alpha1.ClientUsage{{Name: "shop", User: "shop", Keys: 1, Bytes: 1 << 40}}},
	}
	text := backupplan.Record{Namespace: "prod", Name: name, Outcome: &backupplan.Outcome{Complete: true, Reason: "Done", FinishedAt: w.now,
		VerifiedAt: w.now, Facts: &backupplan.Facts{Key: name, Revision: 7, StartedAt: w.now, Clients: clients}}}.Encode()
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text,
		v1alpha1.AnnotationBackupSignature: backupplan.KeyOf([]byte(key), "prod", "demo").Sign(b, text)}
	must(w.t, w.kube.Create(w.t.Context(), b))
}

func takes(name string, bytes int64) v1alpha1.ClientUsage {
	return v1alpha1.ClientUsage{Name: name, User: name, Keys: 2, Bytes: bytes, Revisions: 3}
}

// quotaIs fails unless the condition WithinQuota has the reason, and gives its message.
func (w *world) quotaIs(name, reason string) string {
	w.t.Helper()
	c := meta.FindStatusCondition(w.client(name).Status.Conditions, v1alpha1.ClientWithinQuota)
	if c == nil || c.Reason != reason {
		w.t.Fatalf("%s: %+v, want %s", name, c, reason)
	}
	return c.Message
}

func TestAClientWithAQuotaIsJudgedByTheNewestProvenBackupAndStaysReady(t *testing.T) {
	w := newWorld(t, aClient("shop", 60, withQuota("1Mi")), aClient("billing", 60))
	key := string(resources.RecordSecret(w.secret(resources.CASecret("demo")).Data))
	w.passes(enough, "shop", "billing")
	w.quotaIs("shop", accessplan.ReasonNotMeasured)
	w.now = w.now.Add(time.Minute)
	w.backup("nightly-1", key, takes("shop", 1<<20), takes("billing", 1<<30))
	w.now = w.now.Add(time.Minute)
	w.backup("forged", "another key", takes("shop", 1<<30))
	w.passes(1, "shop", "billing")
	if said := w.quotaIs("shop", accessplan.ReasonWithinQuota); !strings.Contains(said, "EtcdBackup nightly-1") {
		t.Errorf("it says %s", said)
	}
	w.now = w.now.Add(time.Minute)
	w.backup("nightly-2", key, takes("shop", 2<<20))
	w.passes(3, "shop", "billing")
	w.quotaIs("shop", accessplan.ReasonQuotaExceeded)
	w.is("shop", accessplan.ReasonGranted, "")
	if usage := w.client("shop").Status.Usage; usage == nil || usage.Bytes != 2<<20 || usage.Keys != 2 || usage.Backup != "nightly-2" {
		t.Errorf("%+v", usage)
	}
	if got := metrictest.Gather(t, w.registry)[overQuotaOf]; got != 1 {
		t.Errorf("%v are told of", got)
	}
	if status := w.client("billing").Status; len(status.Conditions) != 1 || status.Usage != nil {
		t.Errorf("one without a quota has %+v", status)
	}
	var told []string
	for len(w.events.Events) > 0 {
		if event := <-w.events.Events; strings.Contains(event, accessplan.EventQuotaExceeded) {
			told = append(told, event)
		}
	}
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
	w.change("shop", withQuota("4Mi"))
	w.passes(1, "shop")
	w.quotaIs("shop", accessplan.ReasonWithinQuota)
	if got := metrictest.Gather(t, w.registry)[overQuotaOf]; got != 0 {
		t.Errorf("%v are told of", got)
	}
	w.change("shop", func(c *v1alpha1.EtcdClient) { c.Spec.Quota = nil })
	w.passes(1, "shop")
	_, isTold := metrictest.Gather(t, w.registry)[overQuotaOf]
	if status := w.client("shop").Status; len(status.Conditions) != 1 || status.Usage != nil || isTold {
		t.Errorf("without its quota it has %+v", status)
	}
}

func TestBackupsAreReadForClientsWithAQuotaAlone(t *testing.T) {
	w := newWorld(t, aClient("shop", 0), aClient("billing", 0, withQuota("1Mi")))
	w.passes(enough, "shop", "billing")
	w.lists = nil
	w.passes(3, "shop")
	if got := fmt.Sprint(w.lists); strings.Contains(got, "EtcdBackup") {
		t.Errorf("it lists %s", got)
	}
	w.passes(1, "billing")
	if got := fmt.Sprint(w.lists); !strings.Contains(got, "EtcdBackup") {
		t.Errorf("it lists %s", got)
	}
}

func TestANamespaceThatIsNotAllowedHearsNothingOfTheBackupsOfACluster(t *testing.T) {
	w := newWorld(t, aClient("cart", 60, withQuota("1Mi"), func(c *v1alpha1.EtcdClient) {
		c.Namespace, c.Spec.ClusterRef.Namespace = "team", "prod"
	}))
	w.now = w.now.Add(time.Minute)
	w.backup("nightly", string(resources.RecordSecret(w.secret(resources.CASecret("demo")).Data)), takes("shop", 1))
	w.passes(2, "team/cart")
	if said := w.quotaIs("team/cart", accessplan.ReasonNotMeasured); strings.Contains(said, "nightly") {
		t.Errorf("it says %s", said)
	}
}
