package access

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

const (
	countedAs = kit.MetricPrefix + `client_objects{name="demo",namespace="prod",reason="`
	endsAt    = kit.MetricPrefix + `client_certificate_expiry_timestamp_seconds{name="demo",namespace="prod"}`
)

func TestClientsAreCountedByReasonAndTheFirstEndOfACertificateIsTold(t *testing.T) {
	same := func(c *v1alpha1.EtcdClient) { c.Spec.User = "shop" }
	w := newWorld(t, aClient("shop", 60), aClient("billing", 30, withQuota("1Mi")), aClient("newer", 0, same))
	w.passes(enough, "shop")
	first := certificateIn(t, w.secret("shop-etcd")).NotAfter
	w.now = w.now.Add(time.Hour)
	w.passes(enough, "billing", "newer")
	metrictest.Exported(t, w.registry)
	got := metrictest.Gather(t, w.registry)
	for series, want := range map[string]float64{countedAs + accessplan.ReasonGranted + `"}`: 2,
		countedAs + accessplan.ReasonUserClaimed + `"}`: 1, endsAt: float64(first.Unix()), overQuotaOf: 0} {
		if _, isThere := got[series]; !isThere {
			t.Errorf("there is no %s", series)
		}
		if got[series] != want {
			t.Errorf("%s is %v, want %v", series, got[series], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("there are %v", got)
	}
}

func TestTheSeriesGoWithTheClient(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	must(t, w.kube.Delete(t.Context(), w.client("shop")))
	w.passes(enough, "shop")
	w.now = w.now.Add(time.Minute) // the cache does not say that it is gone for what it does not show yet
	w.pass("shop")
	if got := metrictest.Gather(t, w.registry); len(got) > 0 {
		t.Errorf("what is gone is still there: %v", got)
	}
}
