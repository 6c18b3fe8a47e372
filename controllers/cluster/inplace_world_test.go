package cluster

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

const savedKey = "shop/demo/snapshot.db"

// runTask runs a Pod of a restore to its end: the preflight finds the backup, and a restore Pod leaves a data directory
// of the cluster that it was told to make. One that holds a place runs on.
func (w *world) runTask(pod *corev1.Pod) {
	w.t.Helper()
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodRunning {
		return
	}
	if resources.HoldsPlace(pod) {
		pod.Status.Phase = corev1.PodRunning
		if err := w.kube.Status().Update(w.t.Context(), pod); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	says := "{}"
	if member, isRestore := resources.RestoredMember(pod.Name); isRestore {
		w.restoreInto(pod, member)
	} else {
		says = fmt.Sprintf(`{"key":"%s","sha256":"%s","sizeBytes":1056,"revision":7,"etcdVersion":"3.6.16"}`, savedKey, strings.Repeat("a", 64))
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: says, FinishedAt: metav1.NewTime(w.now)}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: ended}}}
	if err := w.kube.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

// restoreInto does what etcdutl does: the list, the token and the URL make the identity.
func (w *world) restoreInto(pod *corev1.Pod, member string) {
	w.t.Helper()
	args := map[string]string{}
	for _, arg := range pod.Spec.InitContainers[1].Args {
		if name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "="); ok {
			args[name] = value
		}
	}
	p := w.network.Start("volume of "+member, etcdfake.Flags{
		Name: args["name"], PeerURL: args["initial-advertise-peer-urls"], InitialCluster: args["initial-cluster"],
		InitialClusterState: etcdutil.StateNew, InitialClusterToken: args["initial-cluster-token"], Address: "restore-of-" + string(pod.UID),
	})
	if exit := p.Exited(); exit != nil {
		w.t.Errorf("restoring %s: %s", member, exit.Message)
	}
	p.Stop()
}

// saved is a complete and proven EtcdBackup of the cluster.
func (w *world) saved(name string, revision int64) {
	w.t.Helper()
	b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name, UID: types.UID("uid-" + name)}}
	b.Spec.ClusterRef.Name = w.key.Name
	b.Spec.Store.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	outcome := &backupplan.Outcome{Complete: true, Reason: "Verified", FinishedAt: w.now, VerifiedAt: w.now, Facts: &backupplan.Facts{
		Key: savedKey, ClusterID: w.status().ClusterID, EtcdVersion: "3.6.16", Revision: revision, StartedAt: w.now.Add(-time.Minute),
	}}
	text := backupplan.Record{Namespace: b.Namespace, Name: name, Outcome: outcome}.Encode()
	b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: text}
	ca := &corev1.Secret{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: resources.CASecret(w.key.Name)}, ca); err != nil {
		w.t.Fatal(err)
	}
	b.Annotations[v1alpha1.AnnotationBackupSignature] = backupplan.KeyOf(ca.Data[resources.KeyKey], b.Namespace, w.key.Name).Sign(b, text)
	w.create(b)
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	object.SetCreationTimestamp(metav1.NewTime(w.now))
	if err := w.kube.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// ask makes an EtcdRestore, which nobody has approved yet.
func (w *world) ask(name string, source v1alpha1.EtcdRestoreSource) {
	w.t.Helper()
	r := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name, UID: types.UID("uid-" + name), Generation: 1}}
	r.Spec.ClusterRef.Name, r.Spec.Source = w.key.Name, source
	w.create(r)
}

func backupNamed(name string) v1alpha1.EtcdRestoreSource {
	return v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: name}}
}

func (w *world) restoreOf(name string) *v1alpha1.EtcdRestore {
	w.t.Helper()
	r := &v1alpha1.EtcdRestore{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: name}, r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) editRestore(name string, edit func(*v1alpha1.EtcdRestoreSpec)) {
	w.t.Helper()
	r := w.restoreOf(name)
	edit(&r.Spec)
	r.Generation++
	if err := w.kube.Update(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
}

// approve quotes the evidence as the cluster's status has it.
func (w *world) approve(name string) {
	w.t.Helper()
	w.until("there is evidence", func() bool { return w.status().Evidence != nil })
	digest := w.status().Evidence.Digest
	w.editRestore(name, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = digest })
}

// until makes passes until something is so; an operator that was killed is started again.
func (w *world) until(what string, reached func() bool) {
	w.t.Helper()
	for range 300 {
		if reached() {
			return
		}
		w.passOn()
	}
	w.t.Fatalf("not after %d passes: %s; %+v", w.passes, what, w.status().NextStep)
}

func (w *world) passOn() {
	w.t.Helper()
	_, err := w.pass()
	switch {
	case err != nil && strings.Contains(err.Error(), errCrash.Error()):
		w.crashAt = 0
		w.restart()
	case err != nil:
		w.t.Fatalf("pass %d: %v", w.passes, err)
	}
}

func (w *world) bootstrapRecord() record.Bootstrap {
	w.t.Helper()
	service := &corev1.Service{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: resources.PeerService(w.key.Name)}, service); err != nil {
		w.t.Fatal(err)
	}
	record, err := record.DecodeBootstrap(service.Annotations[v1alpha1.AnnotationBootstrap])
	if err != nil {
		w.t.Fatal(err)
	}
	return record
}

// uids are those of the Pods or volumes, by name.
func (w *world) uidsOf(list client.ObjectList) map[string]types.UID {
	w.t.Helper()
	uids := map[string]types.UID{}
	switch list.(type) {
	case *corev1.PodList:
		for _, pod := range w.pods() {
			uids[pod.Name] = pod.UID
		}
	case *corev1.PersistentVolumeClaimList:
		for _, claim := range w.claims() {
			uids[claim.Name] = claim.UID
		}
	}
	return uids
}
