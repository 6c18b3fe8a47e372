package cluster

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// emptied is a world in which a cluster was deleted, and all of its volumes: its CAs are left.
func (w *world) emptied() {
	w.t.Helper()
	w.deleteCluster()
	for _, claim := range w.claims() {
		w.delete(&corev1.PersistentVolumeClaim{}, claim.Name)
	}
}

// createNaming creates the cluster under a UID, to begin empty in the place of another one.
func (w *world) createNaming(uid, earlier string) {
	w.t.Helper()
	cluster := demo(3)
	cluster.UID = types.UID(uid)
	cluster.Annotations = map[string]string{v1alpha1.AnnotationBeginEmpty: earlier}
	w.create(cluster)
	w.restart()
}

// TestAClusterBeginsEmptyOnce lets it lose its volumes a second time, with the annotation still on it as in a repository
// of GitOps. The operator dies at each of its first writes.
func TestAClusterBeginsEmptyOnce(t *testing.T) {
	for crashAt := range 8 {
		t.Run(fmt.Sprintf("killed at write %d", crashAt), func(t *testing.T) {
			w := newWorld(t, demo(3))
			w.settle()
			first, ca := w.cluster().UID, w.secretOf("demo-ca")
			w.emptied()
			w.createNaming("uid-second", string(first))
			w.crashAt = crashAt
			w.settle()
			if now := w.secretOf("demo-ca"); now.UID != ca.UID || now.Labels[v1alpha1.LabelClusterUID] != "uid-second" {
				t.Errorf("the CA is %+v", now.ObjectMeta)
			}

			w.emptied()
			w.createNaming("uid-third", string(first))
			w.some(20)
			next := w.status().NextStep
			if next == nil || next.Reason != facts.ReasonRetainedData ||
				!strings.Contains(next.Message, "begin-empty=uid-second") {
				t.Errorf("%+v", next)
			}
			for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{},
				&corev1.PersistentVolumeClaimList{}} {
				if made := w.objectsOf(list); len(made) > 0 {
					t.Errorf("%T: %d were made", list, len(made))
				}
			}
		})
	}
}
