package resources

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// toVolume is the smallest backup that a user writes; options add to it.
func toVolume(options ...func(*v1alpha1.EtcdBackup)) *v1alpha1.EtcdBackup {
	b := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", UID: "0b4c2d1e-0000-4000-8000-000000000002"},
		Spec: v1alpha1.EtcdBackupSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: "demo"},
			Store:      v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups", Path: "etcd"}},
		},
	}
	for _, option := range options {
		option(b)
	}
	return b
}

func signed(b *v1alpha1.EtcdBackup) {
	b.Spec.Store.Volume.CredentialsSecretRef = &v1alpha1.StoreSecretReference{Name: "manifest-key"}
}

func toS3(b *v1alpha1.EtcdBackup) {
	b.Spec.Store = v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
		Bucket: "etcd-backups", Prefix: "prod/etcd", Endpoint: "https://minio.storage.svc:9000", Region: "eu-central-1", ForcePathStyle: true,
		CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: "s3-credentials"}, CASecretRef: &v1alpha1.StoreSecretReference{Name: "s3-ca"},
		ServerSideEncryption: "AES256",
	}}
}

func toBareS3(b *v1alpha1.EtcdBackup) {
	b.Spec.Store = v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: "etcd-backups"}}
}

func toGCS(b *v1alpha1.EtcdBackup) {
	b.Spec.Store = v1alpha1.BackupStore{GCS: &v1alpha1.GCSStore{
		Bucket: "etcd-backups", Prefix: "prod", Endpoint: "https://storage.example.com", CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: "gcs"},
	}}
}

func toAzure(b *v1alpha1.EtcdBackup) {
	b.Spec.Store = v1alpha1.BackupStore{Azure: &v1alpha1.AzureStore{
		Container: "etcd-backups", Prefix: "prod", Endpoint: "https://account.blob.core.windows.net",
		CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: "azure"}, CASecretRef: &v1alpha1.StoreSecretReference{Name: "azure-ca"},
	}}
}

func unverified(b *v1alpha1.EtcdBackup) { b.Spec.Verify = new(false) }

func withoutNames(b *v1alpha1.EtcdBackup) { b.Spec.LargestDepth = new(int32(0)) }

func backupStart() BackupStart {
	return BackupStart{
		Platform: Platform{AgentImage: "ghcr.io/etcdsteward/etcd-steward:v1"}, EtcdImage: "gcr.io/etcd-development/etcd:v3.6.16",
		PullPolicy: corev1.PullIfNotPresent, PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		ClusterID: 0xcdf818194e3a8c32, Incarnation: 2, Members: []string{"demo-0", "demo-1", "demo-2"}, Deadline: 59*time.Minute + time.Millisecond,
		Schedule: "nightly",
	}
}

func TestJobsOfBackupsAreBuiltAsTheyWereReviewed(t *testing.T) {
	for name, job := range map[string]struct {
		backup  *v1alpha1.EtcdBackup
		cluster *v1alpha1.EtcdCluster
	}{
		"job-volume-tls":              {toVolume(), cluster()},
		"job-volume-signed":           {toVolume(signed), cluster()},
		"job-volume-plain":            {toVolume(), cluster(withoutTLS)},
		"job-volume-tls-unverified":   {toVolume(unverified), cluster()},
		"job-s3-tls":                  {toVolume(toS3), cluster()},
		"job-s3-plain-unverified":     {toVolume(toS3, unverified), cluster(withoutTLS)},
		"job-s3-of-the-pods-identity": {toVolume(toBareS3), cluster()},
		"job-gcs-unverified":          {toVolume(toGCS, unverified), cluster()},
		"job-azure-unverified":        {toVolume(toAzure, unverified), cluster()},
		"job-of-a-full-cluster":       {toVolume(toS3, withoutNames), cluster(full)},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, BuildBackupJob(job.backup, job.cluster, backupStart())) })
	}
}

func TestThePodOfABackupPassesPodSecurityRestrictedAndIsNoMember(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, option := range []func(*v1alpha1.EtcdBackup){func(*v1alpha1.EtcdBackup) {}, toS3, toBareS3, toGCS, toAzure, unverified} {
		c := cluster()
		template := BuildBackupJob(toVolume(option), c, backupStart()).Spec.Template
		for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		if labels.SelectorFromSet(MemberSelector(c.Name)).Matches(labels.Set(template.Labels)) {
			t.Errorf("the cluster's Services and budget take it for a member: %v", template.Labels)
		}
		if *template.Spec.AutomountServiceAccountToken || *template.Spec.EnableServiceLinks || template.Spec.ServiceAccountName != "" {
			t.Error("it has a token, service links or an account")
		}
	}
}

func TestOnlyTheStepsThatNeedTheStoreReachItAndOnlyTheFirstReachesTheMembers(t *testing.T) {
	spec := BuildBackupJob(toVolume(toS3), cluster(), backupStart()).Spec.Template.Spec
	wants := map[string]string{
		StepSnapshot: "scratch credentials store-ca tls", StepFetch: "scratch credentials store-ca", StepRestore: "scratch scratch",
		StepCompare: "scratch credentials store-ca",
	}
	for _, step := range append(spec.InitContainers, spec.Containers...) {
		var mounted []string
		for _, mount := range step.VolumeMounts {
			mounted = append(mounted, mount.Name)
			if !mount.ReadOnly && mount.Name != scratchVolume {
				t.Errorf("%s may write to %s", step.Name, mount.Name)
			}
		}
		if got := strings.Join(mounted, " "); got != wants[step.Name] {
			t.Errorf("%s mounts %s, want %s", step.Name, got, wants[step.Name])
		}
		delete(wants, step.Name)
	}
	if len(wants) > 0 {
		t.Errorf("steps that are missing: %v", wants)
	}
}

// The etcd image is the tenant's. What the agent's steps hand on to each other it must not be able to write.
func TestTheImageOfTheMembersSeesTheSnapshotReadOnlyAndWritesNothingButTheRestoredCopy(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{
		"a backup":            BuildBackupJob(toVolume(toS3), cluster(), backupStart()).Spec.Template.Spec,
		"a backup on a claim": BuildBackupJob(toVolume(), cluster(full), backupStart()).Spec.Template.Spec,
		"a test of a restore": BuildTestRestoreJob(nightly(toS3), cluster(), testRestoreStart(), testedAt).Spec.Template.Spec,
	} {
		seen := 0
		for _, step := range append(spec.InitContainers, spec.Containers...) {
			if step.Image != backupStart().EtcdImage {
				continue
			}
			seen++
			want := []corev1.VolumeMount{
				{Name: scratchVolume, MountPath: "/scratch/fetched.db", SubPath: "fetched.db", ReadOnly: true},
				{Name: scratchVolume, MountPath: "/scratch/restored", SubPath: "restored"},
			}
			if !reflect.DeepEqual(step.VolumeMounts, want) {
				t.Errorf("%s: %s mounts %+v", name, step.Name, step.VolumeMounts)
			}
		}
		if seen != 1 {
			t.Errorf("%s has %d steps of etcd's image", name, seen)
		}
	}
}

func TestNamesAndLabelsOfABackupAreValidHoweverLongItsNameIs(t *testing.T) {
	b, c := toVolume(), cluster()
	b.Name = strings.Repeat("b", 63)
	b.Spec.ClusterRef.Name = strings.Repeat("c", 40)
	c.Name = b.Spec.ClusterRef.Name
	job := BuildBackupJob(b, c, backupStart())
	if errs := validation.IsDNS1035Label(job.Name); len(errs) > 0 {
		t.Errorf("%s: %v", job.Name, errs)
	}
	for key, value := range job.Labels {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s=%s: %v", key, value, errs)
		}
	}
	other := toVolume()
	other.UID = "1b4c2d1e-0000-4000-8000-000000000002"
	if BackupJob(other) == BackupJob(toVolume()) {
		t.Error("two backups of one name, one after the other, would share a Job")
	}
}

func TestAStringOfAStoreIsNeverReadAsAnything(t *testing.T) {
	b := toVolume()
	b.Spec.Store.Volume.Path = `$(HOME) "}; rm -rf / --credentials-dir=/` // which the schema refuses
	spec := BuildBackupJob(b, cluster(), backupStart()).Spec.Template.Spec
	want := `--store={"volume":{"path":"$$(HOME) \"}; rm -rf / --credentials-dir=/"}}`
	if got := spec.InitContainers[0].Args[1]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestATaskRunsWhereMembersMay(t *testing.T) {
	linux := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}}}},
	}}
	apart := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}}}
	c := cluster()
	c.Spec.Pod = &v1alpha1.PodSpec{
		NodeSelector:      map[string]string{"pool": "etcd"},
		Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Affinity:          &corev1.Affinity{NodeAffinity: linux, PodAntiAffinity: apart},
		PriorityClassName: "important",
		SchedulerName:     "packs",
		DNSConfig:         &corev1.PodDNSConfig{Searches: []string{"example.com"}},
	}
	for name, spec := range map[string]corev1.PodSpec{
		"a backup":            BuildBackupJob(toVolume(), c, backupStart()).Spec.Template.Spec,
		"pruning":             BuildPruneJob(nightly(), c, pruneStart()).Spec.Template.Spec,
		"a look at a backup":  BuildPreflightPod(c, preflighting(stored())).Spec,
		"a test of a restore": BuildTestRestoreJob(nightly(), c, testRestoreStart(), testedAt).Spec.Template.Spec,
	} {
		if spec.NodeSelector["pool"] != "etcd" || !slices.Contains(spec.Tolerations, c.Spec.Pod.Tolerations[0]) ||
			spec.PriorityClassName != "important" {
			t.Errorf("%s: %v, %v, %q", name, spec.NodeSelector, spec.Tolerations, spec.PriorityClassName)
		}
		if spec.SchedulerName != "packs" || !reflect.DeepEqual(spec.DNSConfig, c.Spec.Pod.DNSConfig) {
			t.Errorf("%s goes to scheduler %q, and asks for names by %v", name, spec.SchedulerName, spec.DNSConfig)
		}
		if !reflect.DeepEqual(spec.Affinity, &corev1.Affinity{NodeAffinity: linux}) {
			t.Errorf("%s goes to other nodes than members, or is kept apart from them: %+v", name, spec.Affinity)
		}
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			short := func(t corev1.Toleration) bool { return t.Key == taint && t.TolerationSeconds != nil }
			if !slices.ContainsFunc(spec.Tolerations, short) {
				t.Errorf("%s waits for ever for a node that has the taint %s", name, taint)
			}
		}
	}
}

func TestWhatTheClusterSaysOfPullingIsAboutItsOwnImage(t *testing.T) {
	start := backupStart()
	start.PullPolicy = corev1.PullNever
	spec := BuildBackupJob(toVolume(), cluster(), start).Spec.Template.Spec
	for _, step := range append(spec.InitContainers, spec.Containers...) {
		want := corev1.PullIfNotPresent
		if step.Image == start.EtcdImage {
			want = corev1.PullNever
		}
		if step.ImagePullPolicy != want {
			t.Errorf("the image of %s is pulled %s, want %s", step.Name, step.ImagePullPolicy, want)
		}
	}
}

func TestADatabaseLargerThanItsQuotaHasRoomToBeProven(t *testing.T) {
	c := cluster()
	c.Status.DBSize = resource.NewQuantity(5<<30, resource.BinarySI)
	for _, volume := range BuildBackupJob(toVolume(), c, backupStart()).Spec.Template.Spec.Volumes {
		if volume.EmptyDir != nil && volume.EmptyDir.SizeLimit.Value() < 2*(5<<30) {
			t.Errorf("it has %s", volume.EmptyDir.SizeLimit)
		}
	}
}
