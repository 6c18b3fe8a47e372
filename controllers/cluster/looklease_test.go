package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// leaseReader holds one Lease, or answers with an error.
type leaseReader struct {
	client.Reader
	spec coordinationv1.LeaseSpec
	err  error
}

func (r leaseReader) Get(_ context.Context, _ types.NamespacedName, object client.Object, _ ...client.GetOption) error {
	object.(*coordinationv1.Lease).Spec = r.spec
	return r.err
}

func TestAProcessLeadsWhileTheLeaseNamesItAndLasts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	renewed := func(holder string, ago time.Duration) leaseReader {
		return leaseReader{spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(holder), LeaseDurationSeconds: new(int32(90)), RenewTime: new(metav1.NewMicroTime(now.Add(-ago))),
		}}
	}
	for _, row := range []struct {
		name  string
		lease leaseReader
		says  string // empty: it leads
	}{
		{"it renewed it a moment ago", renewed("me", 5*time.Second), ""},
		{"a call that changes etcd still ends before it does", renewed("me", 87*time.Second), ""},
		{"a call that changes etcd may outlast it", renewed("me", 88*time.Second), "was not renewed in time"},
		{"it ended", renewed("me", 91*time.Second), "was not renewed in time"},
		{"another process holds it", renewed("you", 0), "another process"},
		{"it was given back", renewed("", 0), "another process"},
		{"it is empty", leaseReader{}, "another process"},
		{"it does not say when it was renewed", leaseReader{spec: coordinationv1.LeaseSpec{HolderIdentity: new("me")}}, "does not say"},
		{"it cannot be read", leaseReader{err: apierrors.NewForbidden(coordinationv1.Resource("leases"), "l", nil)}, "reading the Lease ops/l"},
	} {
		t.Run(row.name, func(t *testing.T) {
			lease := &kit.Lease{NamespacedName: types.NamespacedName{Namespace: "ops", Name: "l"}, Identity: "me", Now: func() time.Time { return now }}
			until, err := kit.LeadsBy(row.lease, lease)(t.Context())
			if err == nil && !until.Equal(row.lease.spec.RenewTime.Add(90*time.Second)) {
				t.Errorf("until %s", until)
			}
			if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)) {
				t.Errorf("%v", err)
			}
		})
	}
	if kit.LeadsBy(leaseReader{}, nil) != nil {
		t.Error("a Lease is asked for where no leader is elected")
	}
}

func TestAProcessThatLostTheLeaseGrowsNoClusterAndSaysSo(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	lease := leaseReader{spec: coordinationv1.LeaseSpec{HolderIdentity: new("you")}}
	w.operator.Applier.Leads = kit.LeadsBy(lease, &kit.Lease{Identity: "me", Now: func() time.Time { return w.now }})
	w.resize(3)
	for range 20 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if next := w.status().NextStep; next.Reason != "NotLeading" || next.Verdict != "Wait" || w.status().Size != 1 || len(w.pods()) != 1 {
		t.Errorf("%+v, members %+v", next, w.status().Members)
	}
	w.operator.Applier.Leads = nil
	w.settle()
}
