package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestSizesAreReadAndNamed(t *testing.T) {
	for text, want := range map[string]string{"100Mi": "100 MiB", "1Gi": "1 GiB", "1024Mi": "1 GiB", "4Gi": "4 GiB"} {
		bytes, err := parseSize(text)
		if err != nil || sizeName(bytes) != want {
			t.Errorf("%s: %s, %v", text, sizeName(bytes), err)
		}
	}
	for _, text := range []string{"", "much", "1Mi", "8Gi"} {
		if bytes, err := parseSize(text); err == nil {
			t.Errorf("%q: %d", text, bytes)
		}
	}
}

func TestTheSizesOfDatabasesCanBeChosen(t *testing.T) {
	o, err := parse([]string{"-database", "100Mi", "-databases", "100Mi,2Gi", "-keys", "1500000"})
	if err != nil || o.database != 100<<20 || !slices.Equal(o.databases, []int64{100 << 20, 2 << 30}) || keysName(o.keys) != "1.5 million small keys" {
		t.Errorf("got %d, %v and %s: %v", o.database, o.databases, keysName(o.keys), err)
	}
	for _, wrong := range [][]string{{"-database", "1"}, {"-databases", "1Gi,"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}

func TestALargeDatabaseHasAQuotaAndVolumesForIt(t *testing.T) {
	like := shape{namespace: "bench-x", name: clusterName, size: 1, database: 4 << 30}
	c := manifest(like)
	quota := c.Spec.QuotaOrDefault()
	if quota.Value() < like.database*5/4 || resources.StorageBytes(c) < 2*quota.Value()+1<<30 {
		t.Errorf("quota %s, storage %d", quota.String(), resources.StorageBytes(c))
	}
	like.database = 1 << 30
	if c := manifest(like); c.Spec.Etcd != nil || c.Spec.Storage != nil {
		t.Errorf("what the default holds has %+v %+v", c.Spec.Etcd, c.Spec.Storage)
	}
}

func TestThePodThatSavesByHandIsThatOfABackupButForItsProgram(t *testing.T) {
	turn := &trial{side: ours, shape: shape{namespace: "bench-x", name: clusterName, size: 3}}
	made := backup{status: v1alpha1.EtcdBackupStatus{Member: "bench-1"}, node: "node-2"}
	for claim, programs := range map[string][]string{"": {"etcdctl"}, "restored-0": {"etcdctl", "etcdutl"}} {
		pod, err := turn.savePod(made, claim)
		if err != nil {
			t.Fatal(err)
		}
		asked := turn.etcdBackup(destination{name: "by-hand", store: v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: "none"}}})
		if claim != "" {
			asked.Spec.Store = v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: claim}}
		}
		asked.Spec.Verify = new(false)
		like := resources.BuildBackupJob(asked, manifest(turn.shape), resources.BackupStart{}).Spec.Template.Spec
		all := append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...)
		if len(all) != len(programs) || pod.Spec.NodeName != made.node || isMember(pod) {
			t.Errorf("%d containers on %s, member %v", len(all), pod.Spec.NodeName, isMember(pod))
		}
		for i, c := range all {
			if c.Command[0] != programs[i] || stepOf(append(c.Command, c.Args...)) == "" {
				t.Errorf("container %d is %v %v", i, c.Command, c.Args)
			}
			for what, pair := range map[string][2]any{
				"resources": {c.Resources, like.Containers[0].Resources}, "security": {c.SecurityContext, like.Containers[0].SecurityContext},
				"mounts": {c.VolumeMounts, like.Containers[0].VolumeMounts},
			} {
				if !equality.Semantic.DeepEqual(pair[0], pair[1]) {
					t.Errorf("%s: %v, and of a backup %v", what, pair[0], pair[1])
				}
			}
		}
		if !equality.Semantic.DeepEqual(pod.Spec.Volumes, like.Volumes) {
			t.Errorf("volumes %v, and of a backup %v", pod.Spec.Volumes, like.Volumes)
		}
		if !strings.Contains(strings.Join(all[0].Args, " "), "--endpoints=https://bench-1.bench-peer") || !strings.Contains(strings.Join(all[0].Args, " "), "--cacert=/") {
			t.Errorf("it saves %v", all[0].Args)
		}
		mayRun(t, pod)
	}
}

// mayRun asks what the namespaces of this program ask.
func mayRun(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

func TestPodsOfBackupsAndRestoresAreNoMembers(t *testing.T) {
	for component, want := range map[string]bool{
		"": true, v1alpha1.ComponentMember: true, v1alpha1.ComponentBackup: false, v1alpha1.ComponentRestore: false, componentBench: false,
	} {
		pod := &corev1.Pod{}
		if component != "" {
			pod.Labels = map[string]string{v1alpha1.LabelComponent: component}
		}
		if isMember(pod) != want {
			t.Errorf("%q: %v", component, !want)
		}
	}
}

func TestABackupIsProvenWhenItIsCompleteAndVerifiedAndOtherwiseNeverOnceItEnded(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status}
	}
	for name, c := range map[string]struct {
		conditions   []metav1.Condition
		proven, over bool
	}{
		"it runs":       {[]metav1.Condition{condition(v1alpha1.BackupComplete, "False"), condition(v1alpha1.BackupVerified, "False")}, false, false},
		"proven":        {[]metav1.Condition{condition(v1alpha1.BackupComplete, "True"), condition(v1alpha1.BackupVerified, "True")}, true, false},
		"complete only": {[]metav1.Condition{condition(v1alpha1.BackupComplete, "True"), condition(v1alpha1.BackupVerified, "False")}, false, true},
		"failed":        {[]metav1.Condition{condition(v1alpha1.BackupFailed, "True")}, false, true},
	} {
		proven, err := isProven(v1alpha1.EtcdBackupStatus{Conditions: c.conditions})
		if proven != c.proven || (err != nil) != c.over {
			t.Errorf("%s: %v, %v", name, proven, err)
		}
	}
}

func TestTheP99IsTheSlowestButOneInAHundred(t *testing.T) {
	var latencies []time.Duration
	for i := range 200 {
		latencies = append(latencies, time.Duration(200-i)*time.Millisecond)
	}
	if got := p99(latencies); got != 199*time.Millisecond {
		t.Errorf("got %s", got)
	}
	if p99(nil) != 0 || p99([]time.Duration{3}) != 3 {
		t.Error("of none, or of one")
	}
}

func TestMemoryIsThatOfTheStepsItIsAskedOf(t *testing.T) {
	turn := &trial{bench: &bench{}}
	turn.addMemory("1 GiB", observed{stays: []stay{
		{step: "snapshot", resident: 70, anonymous: 40}, {step: "fetch", resident: 60, anonymous: 50},
		{step: stepRestore, resident: 900, anonymous: 800}, {step: "compare", resident: 1000, anonymous: 30},
	}})
	for i, want := range []float64{70, 30} {
		if f := turn.figures[i]; len(f.Ours) != 1 || f.Ours[0].Value != want || !f.isHit() {
			t.Errorf("%s: %+v, want %v", f.Name, f.Ours, want)
		}
	}
}

func TestPutsThatTheOnlyMemberDidNotAcknowledgeAreCounted(t *testing.T) {
	turn := &trial{bench: &bench{}}
	for _, failed := range []int{0, 13} {
		turn.addFailed("1 GiB", observed{wrote: wrote{acknowledged: 500, failed: failed}})
	}
	if f := turn.figures[0]; len(f.Ours) != 2 || f.value() != 13 || f.isHit() || f.Ours[1].Note != "of 513" {
		t.Errorf("%+v", f)
	}
}

func TestWritesAreHeldAgainstTheSaveThroughoutAndWhileTheSnapshotIsStreamed(t *testing.T) {
	turn, at := &trial{bench: &bench{}}, time.Unix(0, 0)
	slower := func(from, to time.Time) (time.Duration, int) { return to.Sub(from) / 1000, 9 }
	first, last := stay{began: at, ended: at.Add(2 * time.Second)}, stay{began: at, ended: at.Add(5 * time.Second)}
	turn.addWrites("1 GiB", ours, observed{writes: slower}, first, last)
	turn.addWrites("1 GiB", floor, observed{writes: slower}, first, first)
	for i, want := range []float64{2.5, 1} {
		if f := turn.figures[i]; f.value() != want || f.isHit() != (want == 1) {
			t.Errorf("%s: %v, want %v", f.Name, f.value(), want)
		}
	}
}

// As etcdctl 3.6.16 prints it.
func TestKeysOfARestoredClusterAreCounted(t *testing.T) {
	if got := countIn("\"ClusterID\" : 14841639068965178418\n\"Revision\" : 4\n\"RaftTerm\" : 2\n\"More\" : false\n\"Count\" : 3\n"); got != "3" {
		t.Errorf("got %q", got)
	}
	if got := countIn("Error: no"); got != "" {
		t.Errorf("of an error: %q", got)
	}
}
