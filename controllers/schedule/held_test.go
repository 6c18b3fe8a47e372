package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestWhatAClusterIsBeingRestoredFromIsHeld(t *testing.T) {
	objects := jobworld.Serving()
	other := jobworld.Demo(3)
	other.Name, other.UID = "other", "uid-other"
	bootstrap := record.Bootstrap{
		Incarnation: "2a2b3c4d", Token: "t", Names: []string{"other-0"}, Begun: true,
		Origin: record.Origin{Hash: "h", Key: keyAt("1100"), SHA256: strings.Repeat("0", 64), SizeBytes: 32, Revision: 5},
	}
	back := jobworld.Demo(3)
	back.Name, back.UID = "back", "uid-back"
	coming := record.Bootstrap{
		Incarnation: "3a2b3c4d", Token: "t", Names: []string{"back-0"}, ClusterID: 7,
		Next: record.Next{
			Incarnation: "4a2b3c4d", Counter: 1, Token: "t2", Names: []string{"back-1"}, Source: record.SourceBackup, Restore: "uid-1",
			Origin: record.Origin{Hash: "h", Key: keyAt("0900"), SHA256: strings.Repeat("0", 64), SizeBytes: 32, Revision: 5},
		},
	}
	for cluster, record := range map[*v1alpha1.EtcdCluster]record.Bootstrap{other: bootstrap, back: coming} {
		objects = append(objects, resources.BuildPeerService(cluster, record, "ops/etcd-steward"))
	}
	w := newScheduleWorld(t, hourly(keepingTwo), objects...)
	w.hours(1)
	w.looks(3)
	args := strings.Join(w.running().Spec.Template.Spec.Containers[0].Args, " ")
	for _, at := range []string{"1100", "0900"} {
		if !strings.Contains(args, "--hold="+keyAt(at)) {
			t.Errorf("the backup of %s is not held: %s", at, args)
		}
	}
}

// byKey names the backup of a run in a store.
func byKey(run string) *v1alpha1.RestoreSource {
	return &v1alpha1.RestoreSource{Store: &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}, Key: keyAt(run)}
}

// restoring is an EtcdRestore of a cluster that nobody has approved.
func restoring(cluster string, source *v1alpha1.RestoreSource) *v1alpha1.EtcdRestore {
	return &v1alpha1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "back", UID: "uid-back"},
		Spec: v1alpha1.EtcdRestoreSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}, Source: v1alpha1.EtcdRestoreSource{
			BackupRef: source.BackupRef, Store: source.Store, Key: source.Key, Latest: source.Latest,
		}},
	}
}

// beginning is a cluster that is to begin with a backup.
func beginning(source *v1alpha1.RestoreSource) *v1alpha1.EtcdCluster {
	c := jobworld.Demo(3)
	c.Name, c.UID = "other", "uid-other"
	c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: source}
	return c
}

// recordOf is the record of a cluster that serves.
func recordOf(cluster *v1alpha1.EtcdCluster, edit func(*record.Bootstrap)) client.Object {
	record := record.Bootstrap{Incarnation: "2a2b3c4d", Token: "t", Names: []string{cluster.Name + "-0"}, ClusterID: 7}
	edit(&record)
	return resources.BuildPeerService(cluster, record, "ops/etcd-steward")
}

// looking is a Pod that looks at a backup of the cluster demo.
func looking(key string) *corev1.Pod {
	cluster := jobworld.Demo(3)
	cluster.Name, cluster.UID = "other", "uid-other"
	pod := resources.BuildPreflightPod(cluster, resources.PreflightStart{
		Store: v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}, Key: key, LatestOf: v1alpha1.BackedUpCluster{Name: "demo"},
	})
	pod.UID = "uid-preflight"
	return pod
}

// found is what a preflight says at its end.
func found(pod *corev1.Pod, key string) *corev1.Pod {
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  resources.StepPreflight,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: `{"key":"` + key + `","sha256":"a","etcdVersion":"3.6.0","revision":5}`}},
	}}}
	return pod
}

func TestWhatIsToBeRestoredIsHeldUntilItIs(t *testing.T) {
	taken := jobworld.Nightly(func(b *v1alpha1.EtcdBackup) {
		b.Name = "by-hand"
		b.Annotations = map[string]string{v1alpha1.AnnotationBackupRecord: backupplan.Record{Namespace: "shop", Name: "by-hand", Outcome: &backupplan.Outcome{
			Complete: true, Reason: "Stored", FinishedAt: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), Facts: &backupplan.Facts{Key: keyAt("1100"), Revision: 7},
		}}.Encode()}
	})
	byName := &v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "by-hand"}}
	carriedOut := func(r *record.Bootstrap) { r.Restore = observe.RequestID(restoring("other", byKey("1100"))) }
	overtaken := func(r *record.Bootstrap) {
		carriedOut(r)
		r.Former, r.Restore = []record.Former{{Incarnation: "1a2b3c4d"}, {Incarnation: "1b2b3c4d", Restore: r.Restore}}, ""
	}
	for name, row := range map[string]struct {
		objects []client.Object
		held    bool
	}{
		"by an EtcdRestore, by its key":                    {[]client.Object{restoring("other", byKey("1100"))}, true},
		"by an EtcdRestore, by the EtcdBackup":             {[]client.Object{restoring("other", byName), taken}, true},
		"by an EtcdRestore whose cluster serves meanwhile": {[]client.Object{restoring("other", byKey("1100")), recordOf(beginning(nil), func(*record.Bootstrap) {})}, true},
		"by a cluster that is not born":                    {[]client.Object{beginning(byKey("1100"))}, true},
		"by a cluster that is not born, by the EtcdBackup": {[]client.Object{beginning(byName), taken}, true},
		"by a preflight that found it":                     {[]client.Object{found(looking(""), keyAt("1100"))}, true},
		"by nobody: the EtcdRestore was carried out":       {[]client.Object{restoring("other", byKey("1100")), recordOf(beginning(nil), carriedOut)}, false},
		"by nobody: another one followed it":               {[]client.Object{restoring("other", byKey("1100")), recordOf(beginning(nil), overtaken)}, false},
		"by nobody: the cluster was born with it":          {[]client.Object{beginning(byKey("1100")), recordOf(beginning(byKey("1100")), func(*record.Bootstrap) {})}, false},
		"by nobody: the EtcdBackup does not exist":         {[]client.Object{restoring("other", byName)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScheduleWorld(t, hourly(keepingTwo), append(jobworld.Serving(), row.objects...)...)
			w.hours(1)
			w.looks(3)
			args := w.running().Spec.Template.Spec.Containers[0].Args
			if held := slices.Contains(args, "--hold="+keyAt("1100")); held != row.held {
				t.Errorf("held: %v, want %v: %q", held, row.held, args)
			}
		})
	}
}

func TestTheListOfWhatIsHeldIsBelievedForMinutesOnly(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...)
	w.hours(1)
	w.looks(3)
	spec := w.running().Spec
	i := slices.IndexFunc(spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--not-after=") })
	until, err := time.Parse("--not-after="+time.RFC3339, spec.Template.Spec.Containers[0].Args[max(i, 0)])
	if err != nil || until.Sub(w.Now) > 5*time.Minute || until.Before(w.Now.Add(4*time.Minute)) || *spec.ActiveDeadlineSeconds != 360 {
		t.Errorf("at %s: %v, %q", w.Now, err, spec.Template.Spec.Containers[0].Args)
	}
	if since := "--not-before=" + until.Add(-10*time.Minute).Format(time.RFC3339); !slices.Contains(
		spec.Template.Spec.Containers[0].Args, since) {
		t.Errorf("without %s: %q", since, spec.Template.Spec.Containers[0].Args)
	}
}

func TestNothingIsRemovedWhileItIsNotKnownWhatIsRestored(t *testing.T) {
	damaged := recordOf(beginning(nil), func(*record.Bootstrap) {})
	damaged.GetAnnotations()[v1alpha1.AnnotationBootstrap] = "{"
	for reason, object := range map[string]client.Object{"RecordUnreadable": damaged, "RestoreBegins": looking("")} {
		w := newScheduleWorld(t, hourly(keepingTwo), append(jobworld.Serving(), object)...)
		w.hours(1)
		if again := w.looks(4); again < time.Second {
			t.Errorf("%s: it looks again after %s", reason, again)
		}
		if job := w.running(); job != nil {
			t.Errorf("%s: %s runs", reason, job.Name)
		}
		w.conditionIs("Retained", "False "+reason)
		w.conditionIs("Ready", "True Scheduled")
		if err := w.Kube.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		w.looks(4)
		if w.running() == nil {
			t.Errorf("%s: it does not go on", reason)
		}
	}
}

// A Service may be left by a cluster that was deleted without what is its, and anybody may make one.
func TestTheRecordOnAServiceOfNoClusterHoldsWhatItNamesAndStopsNoCluster(t *testing.T) {
	record := func(text func(string) string, owners ...metav1.OwnerReference) *corev1.Service {
		service := recordOf(beginning(nil), func(r *record.Bootstrap) {
			r.ClusterID = 0
			r.Origin = record.Origin{Hash: "h", Key: keyAt("1100"), SHA256: strings.Repeat("0", 64), SizeBytes: 32, Revision: 5}
		}).(*corev1.Service)
		service.OwnerReferences = owners
		service.Annotations[v1alpha1.AnnotationBootstrap] = text(service.Annotations[v1alpha1.AnnotationBootstrap])
		return service
	}
	whole, damaged := func(text string) string { return text }, func(string) string { return "{" }
	other := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "uid-demo", Controller: new(true)}
	for name, row := range map[string]struct {
		service *corev1.Service
		held    bool
	}{
		"whole":                          {record(whole), true},
		"whole, and of another kind's":   {record(whole, other), true},
		"damaged":                        {record(damaged), false},
		"damaged, and of another kind's": {record(damaged, other), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScheduleWorld(t, hourly(keepingTwo), append(jobworld.Serving(), row.service)...)
			w.hours(1)
			w.looks(3)
			job := w.running()
			if job == nil {
				t.Fatal("retention is stopped")
			}
			if args := job.Spec.Template.Spec.Containers[0].Args; slices.Contains(args, "--hold="+keyAt("1100")) != row.held {
				t.Errorf("%q", args)
			}
		})
	}
}

func TestAPreflightThatLooksAtOneBackupKeepsNoOtherRestoreWaiting(t *testing.T) {
	w := newScheduleWorld(t, hourly(keepingTwo), append(jobworld.Serving(), looking(keyAt("1100")))...)
	w.hours(1)
	w.looks(3)
	if w.running() == nil {
		t.Error("nothing runs")
	}
}

func TestARunThatOnlyTriesAgainIsNotHeldUp(t *testing.T) {
	for reason, want := range map[string]string{backupplan.ReasonRetrying: "", backupplan.ReasonRunning: "",
		backupplan.ReasonUnschedulable: "m"} {
		b := &v1alpha1.EtcdBackup{Status: v1alpha1.EtcdBackupStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.BackupComplete, Status: metav1.ConditionFalse, Reason: reason, Message: "m"}}}}
		if got := runOf(b, v1alpha1.BackupStore{}, nil).HeldUp; got != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
