package observe_test

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// leaseReader answers for Leases, and notes where they were looked for.
type leaseReader struct {
	client.Reader
	lease *coordinationv1.Lease // nil: there is none
	err   error
	asked []client.ObjectKey
}

func (r *leaseReader) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	opts ...client.GetOption) error {
	lease, isLease := object.(*coordinationv1.Lease)
	if !isLease {
		return r.Reader.Get(ctx, key, object, opts...)
	}
	r.asked = append(r.asked, key)
	switch {
	case r.err != nil:
		return r.err
	case r.lease == nil:
		return errAbsent(key.Name)
	}
	r.lease.DeepCopyInto(lease)
	return nil
}

// beside looks with what Leases say.
func (w *world) beside(leases *leaseReader) view {
	w.t.Helper()
	o := w.observer()
	leases.Reader, leases.asked = o.Live, nil
	o.Live = leases
	seen, clients, err := o.Observe(w.t.Context(), w.cluster, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return view{seen, clients}
}

func TestTheLeaseOfAnotherInstallIsDatedByTheAPIServer(t *testing.T) {
	w := newBootstrappedWorld(t)
	leases := &leaseReader{err: errors.New("not to be asked")}
	if seen := w.beside(leases); len(leases.asked) > 0 || seen.Keeping.Known || seen.IsAnothers() {
		t.Errorf("the cluster is this install's, and %v was asked: %+v", leases.asked, seen.Keeping)
	}
	w.objects["*v1.Service demo-peers"].GetAnnotations()[v1alpha1.AnnotationOperator] = "old/etcd-steward"
	seen := w.beside(leases)
	want := client.ObjectKey{Namespace: "old", Name: observe.LeaseName}
	if len(leases.asked) != 1 || leases.asked[0] != want {
		t.Errorf("asked for %v, not %s", leases.asked, want)
	}
	if seen.Keeping.Known || seen.Keeping.Why == "" || seen.IsKeeperUp() || seen.IsKeeperGone() {
		t.Errorf("a Lease that cannot be read says %+v", seen.Keeping)
	}
	if seen := w.beside(&leaseReader{}); !seen.Keeping.Known || !seen.IsKeeperGone() {
		t.Errorf("no Lease says %+v", seen.Keeping)
	}
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		RenewTime: &metav1.MicroTime{Time: w.now.Add(-time.Hour)}}}
	if seen := w.beside(&leaseReader{lease: lease}); !seen.Keeping.Renewed.Equal(w.now.Add(-time.Hour)) {
		t.Errorf("by the install's own clock it was renewed at %s", seen.Keeping.Renewed)
	}
	lease.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "manager", Time: &metav1.Time{Time: w.now.Add(-time.Second)}}}
	if seen := w.beside(&leaseReader{lease: lease}); !seen.IsKeeperUp() {
		t.Errorf("its clock is an hour slow, and it counts as gone: %+v", seen.Keeping)
	}
}

func TestAClusterThatNoInstallClaimsIsOfTheOneThatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.cluster.Annotations = map[string]string{v1alpha1.AnnotationOperator: "new/etcd-steward"}
	leases := &leaseReader{}
	if seen := w.beside(leases); !seen.IsAnothers() || len(leases.asked) != 1 || leases.asked[0].Namespace != "new" {
		t.Errorf("%+v, asked for %v", seen.Keeping, leases.asked)
	}
}
