package resources

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

const snapshotKey = "prod/etcd/prod/demo/8f0d8f6e-0000-4000-8000-000000000001/20260102T030405Z-0a1b2c3d/snapshot.db"

func stored(options ...func(*v1alpha1.EtcdBackup)) v1alpha1.BackupStore {
	return toVolume(options...).Spec.Store
}

func restoring(c *v1alpha1.EtcdCluster, store v1alpha1.BackupStore) RestoreStart {
	bootstrap := atBootstrap(c)
	return RestoreStart{
		Next: record.Next{
			Incarnation: bootstrap.Incarnation, Token: bootstrap.Token, Bump: v1alpha1.DefaultBumpRevision,
			Origin: record.Origin{Key: snapshotKey, SHA256: strings.Repeat("ab", 32), SizeBytes: 24608, Revision: 1234},
		},
		Member: bootstrap.Name, Initial: bootstrap.Initial, Inputs: bootstrap.Inputs, Platform: Platform{AgentImage: "ghcr.io/etcdsteward/etcd-steward:v1"}, Store: store, Hash: "5e884898",
	}
}

func ofSurvivorPod(s RestoreStart) RestoreStart {
	s.Store, s.Hash, s.Origin = v1alpha1.BackupStore{}, "8f0d8f6e-0000-4000-8000-000000000007-5e884898", record.Origin{Revision: s.Origin.Revision}
	s.Survivor, s.ClusterID = "demo-7", 0xcdf818194e3a8c32
	return s
}

func readFromVolume(s RestoreStart) RestoreStart {
	s.Mounts, s.RestoredIn, s.MemberID = "demo-7", "9f8e7d6c", 0x8e9e05c52164694d
	return s
}

func unbumped(s RestoreStart) RestoreStart {
	s.Bump = 0
	return s
}

func preflighting(store v1alpha1.BackupStore) PreflightStart {
	return PreflightStart{
		Platform: Platform{AgentImage: "ghcr.io/etcdsteward/etcd-steward:v1", Images: ImageDefaults{PullSecrets: []string{"registry"}}},
		Store:    store, Hash: "5e884898", Key: snapshotKey, SHA256: strings.Repeat("ab", 32), Version: "3.6.16", VolumeBytes: 8 << 30,
	}
}

func latest(s PreflightStart) PreflightStart {
	s.Key = ""
	return s
}

func latestOf(s PreflightStart, cluster v1alpha1.BackedUpCluster) PreflightStart {
	s.Key, s.LatestOf = "", cluster
	return s
}

func mustRestorePod(t *testing.T, c *v1alpha1.EtcdCluster, s RestoreStart) *corev1.Pod {
	t.Helper()
	pod, err := BuildRestorePod(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func mustPlacePod(t *testing.T, c *v1alpha1.EtcdCluster, s RestoreStart) *corev1.Pod {
	t.Helper()
	pod, err := BuildPlacePod(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestAPodThatHoldsAPlaceAsksForAllThatTheMembersPodAsksFor(t *testing.T) {
	c := cluster(full)
	s := restoring(c, stored())
	amount := func(text v1alpha1.Amount) *v1alpha1.ResourceRequirements {
		return &v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: text}}
	}
	s.Inputs.Pod = &v1alpha1.PodSpec{Resources: amount("1Gi"), Sidecars: []v1alpha1.Sidecar{{Name: "beside", Image: "i", Resources: amount("512Mi")}}}
	pod := mustPlacePod(t, c, s)
	if got := pod.Spec.Containers[0].Resources.Requests.Memory().String(); got != "1536Mi" {
		t.Errorf("it asks for %s of memory", got)
	}
	if restore := mustRestorePod(t, c, s); !reflect.DeepEqual(pod.Spec.Affinity, restore.Spec.Affinity) ||
		!reflect.DeepEqual(pod.Spec.TopologySpreadConstraints, restore.Spec.TopologySpreadConstraints) || pod.Name != restore.Name {
		t.Errorf("it goes where the member would not: %+v", pod.Spec)
	}
	if !HoldsPlace(pod) || HoldsPlace(mustRestorePod(t, c, s)) {
		t.Error("a Pod that holds a place is not told from one that restores")
	}
}

func defragmenting() DefragStart {
	return DefragStart{Platform: Platform{AgentImage: "example.com/etcd-steward:v1"}, Member: "demo-1", MemberID: 0x8e9e05c52164694d,
		ClusterID: 0xcdf818194e3a8c32, Deadline: 5 * time.Minute, StartBy: time.Date(2026, 1, 31, 12, 5, 0, 0, time.UTC)}
}

func TestPodsOfRestoresAreBuiltAsTheyWereReviewed(t *testing.T) {
	old := v1alpha1.BackedUpCluster{Namespace: "staging", Name: "old", UID: "8f0d8f6e-0000-4000-8000-000000000009"}
	for name, pod := range map[string]*corev1.Pod{
		"restore-pod-volume-tls":     mustRestorePod(t, cluster(), restoring(cluster(), stored())),
		"restore-pod-s3-plain":       mustRestorePod(t, cluster(withoutTLS), restoring(cluster(withoutTLS), stored(toS3))),
		"restore-pod-full":           mustRestorePod(t, cluster(full), restoring(cluster(full), stored(toBareS3))),
		"restore-pod-survivor-tls":   mustRestorePod(t, cluster(), ofSurvivorPod(restoring(cluster(), stored()))),
		"restore-pod-survivor-plain": mustRestorePod(t, cluster(withoutTLS), ofSurvivorPod(restoring(cluster(withoutTLS), stored()))),
		"restore-pod-survivor-read":  mustRestorePod(t, cluster(), readFromVolume(ofSurvivorPod(restoring(cluster(), stored())))),
		"place-pod":                  mustPlacePod(t, cluster(), restoring(cluster(), stored())),
		"place-pod-full":             mustPlacePod(t, cluster(full), restoring(cluster(full), stored(toBareS3))),
		"restore-pod-unbumped":       mustRestorePod(t, cluster(), unbumped(restoring(cluster(), stored()))),
		"preflight-pod-volume":       BuildPreflightPod(cluster(), preflighting(stored())),
		"preflight-pod-s3-latest":    BuildPreflightPod(cluster(), latest(preflighting(stored(toS3)))),
		"preflight-pod-s3-latest-of": BuildPreflightPod(cluster(), latestOf(preflighting(stored(toBareS3)), old)),
		"defrag-pod-tls":             BuildDefragPod(cluster(), defragmenting()),
		"defrag-pod-full":            BuildDefragPod(cluster(full), defragmenting()),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, pod) })
	}
}

func TestThePodsOfARestorePassPodSecurityRestrictedAndAreNoMembers(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, options := range [][]func(*v1alpha1.EtcdCluster){{}, {withoutTLS}, {full}} {
		c := cluster(options...)
		for _, store := range []v1alpha1.BackupStore{stored(), stored(toS3), stored(toBareS3)} {
			for _, pod := range []*corev1.Pod{
				mustRestorePod(t, c, restoring(c, store)), mustPlacePod(t, c, restoring(c, store)), BuildPreflightPod(c, preflighting(store)),
				BuildDefragPod(c, defragmenting()),
			} {
				for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
					if !result.Allowed {
						t.Errorf("%s: %s: %s", pod.Name, result.ForbiddenReason, result.ForbiddenDetail)
					}
				}
				if labels.SelectorFromSet(MemberSelector(c.Name)).Matches(labels.Set(pod.Labels)) || pod.Labels[v1alpha1.LabelRole] != "" {
					t.Errorf("the cluster's Services and budget take it for a member: %v", pod.Labels)
				}
				if *pod.Spec.AutomountServiceAccountToken || *pod.Spec.EnableServiceLinks || pod.Spec.ServiceAccountName != "" {
					t.Errorf("%s has a token, service links or an account", pod.Name)
				}
				if pod.Spec.RestartPolicy != corev1.RestartPolicyNever || !IsControlledBy(pod, c.UID) {
					t.Errorf("%s is restarted in place, or outlives its cluster", pod.Name)
				}
			}
		}
	}
}

func TestOnlyTheFirstStepOfARestoreReachesTheStoreAndNoneReachesASecretOfTheCluster(t *testing.T) {
	wants := map[string]string{StepFetch: "data credentials store-ca", StepRestore: "data", StepActivate: "data", StepPreflight: "credentials store-ca scratch"}
	restore := mustRestorePod(t, cluster(), restoring(cluster(), stored(toS3)))
	preflight := BuildPreflightPod(cluster(), preflighting(stored(toS3)))
	for _, step := range slices.Concat(restore.Spec.InitContainers, restore.Spec.Containers, preflight.Spec.Containers) {
		var mounted []string
		for _, mount := range step.VolumeMounts {
			mounted = append(mounted, mount.Name)
			if !mount.ReadOnly && mount.Name != dataVolume && mount.Name != scratchVolume {
				t.Errorf("%s may write to %s", step.Name, mount.Name)
			}
		}
		if got := strings.Join(mounted, " "); got != wants[step.Name] {
			t.Errorf("%s mounts %q, want %q", step.Name, got, wants[step.Name])
		}
		delete(wants, step.Name)
	}
	if len(wants) > 0 {
		t.Errorf("steps that are missing: %v", wants)
	}
	for _, volume := range restore.Spec.Volumes {
		if volume.Name == dataVolume && volume.PersistentVolumeClaim.ClaimName != "demo-0" {
			t.Errorf("it restores %s", volume.PersistentVolumeClaim.ClaimName)
		}
	}
	volume := BuildPreflightPod(cluster(), preflighting(stored())).Spec.Containers[0].VolumeMounts
	if len(volume) != 2 || volume[0].Name != backupsVolume || !volume[0].ReadOnly {
		t.Errorf("a preflight mounts %v", volume)
	}
}

func TestEtcdRestoresWhatTheMemberWillStartFrom(t *testing.T) {
	for _, options := range [][]func(*v1alpha1.EtcdCluster){{}, {withoutTLS}} {
		c := cluster(options...)
		restore := mustRestorePod(t, c, restoring(c, stored()))
		bootstrap := mustPod(t, c, atBootstrap(c))
		etcd, etcdutl := bootstrap.Spec.Containers[0], restore.Spec.InitContainers[1]
		if etcdutl.Image != etcd.Image || !slices.Equal(etcdutl.Command, []string{"etcdutl"}) {
			t.Errorf("%v of %s restores for %s", etcdutl.Command, etcdutl.Image, etcd.Image)
		}
		for _, flag := range []string{"--name=", "--initial-cluster-token=", "--initial-advertise-peer-urls="} {
			if got, want := argument(etcdutl, flag), argument(etcd, flag); got == "" || got != want {
				t.Errorf("%s%s, and the member starts with %s", flag, got, want)
			}
		}
		if got, want := argument(etcdutl, "--initial-cluster="), bootstrap.Annotations[v1alpha1.AnnotationInitialCluster]; got != want {
			t.Errorf("the list is %s, want %s", got, want)
		}
		staged := argument(etcdutl, "--data-dir=")
		if want := "/var/lib/etcd/" + incarnation + ".restore/demo-0/data"; staged != want || argument(etcd, "--data-dir=") != DataDir(incarnation, "demo-0") {
			t.Errorf("it restores into %s, want %s", staged, want)
		}
		if argument(etcdutl, "--bump-revision=") != "1000000000" || !slices.Contains(etcdutl.Args, "--mark-compacted") {
			t.Errorf("watchers of the old cluster would not notice: %v", etcdutl.Args)
		}
	}
}

func argument(c corev1.Container, flag string) string {
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, flag); ok {
			return value
		}
	}
	return ""
}

func TestARestoreRunsWhereItsMemberWillRun(t *testing.T) {
	c := cluster(full)
	c.Spec.Pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: MemberSelector(c.Name)},
		}},
	}}
	member, restore := mustPod(t, c, atBootstrap(c)), mustRestorePod(t, c, restoring(c, stored()))
	if restore.Spec.PriorityClassName != member.Spec.PriorityClassName || len(restore.Spec.NodeSelector) != len(member.Spec.NodeSelector) ||
		len(restore.Spec.Tolerations) != len(member.Spec.Tolerations) || restore.Spec.SchedulerName != member.Spec.SchedulerName ||
		!reflect.DeepEqual(restore.Spec.DNSConfig, member.Spec.DNSConfig) {
		t.Errorf("the restore is scheduled by %+v", restore.Spec)
	}
	for _, step := range slices.Concat(restore.Spec.InitContainers, restore.Spec.Containers) {
		if step.Resources.Requests.Cpu().Cmp(*member.Spec.Containers[0].Resources.Requests.Cpu()) != 0 ||
			step.Resources.Requests.Memory().Cmp(*member.Spec.Containers[0].Resources.Requests.Memory()) != 0 {
			t.Errorf("%s asks for %v", step.Name, step.Resources)
		}
	}

	// Two restores keep apart like two members, and from members: their volumes stay where they land.
	plain := mustRestorePod(t, cluster(), restoring(cluster(), stored()))
	selectors := []*metav1.LabelSelector{restore.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector}
	for _, constraint := range plain.Spec.TopologySpreadConstraints {
		selectors = append(selectors, constraint.LabelSelector)
	}
	selectors = append(selectors, plain.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector)
	if len(selectors) != 4 {
		t.Fatalf("%d selectors", len(selectors))
	}
	other := Labels(cluster(func(c *v1alpha1.EtcdCluster) { c.Name = "other" }))
	for _, text := range selectors {
		selector, err := metav1.LabelSelectorAsSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if !selector.Matches(labels.Set(restore.Labels)) || !selector.Matches(labels.Set(member.Labels)) || selector.Matches(labels.Set(other)) {
			t.Errorf("%s does not count the cluster's restores and members", selector)
		}
	}
	if c.Spec.Pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels[v1alpha1.LabelComponent] == "" {
		t.Error("the spec was changed")
	}
}

func TestAStringOfARestoreIsNeverReadAsAnything(t *testing.T) {
	const hostile = `$(HOME) "}; rm -rf / --volume=/` // which the schema refuses
	c, s := cluster(), restoring(cluster(), stored())
	s.Origin.Key = hostile
	pod := mustRestorePod(t, c, s)
	preflight := preflighting(stored())
	preflight.Key = hostile
	for _, step := range []corev1.Container{pod.Spec.InitContainers[0], pod.Spec.Containers[0], BuildPreflightPod(c, preflight).Spec.Containers[0]} {
		if got := argument(step, "--key="); got != "$"+hostile {
			t.Errorf("%s has the key %s", step.Name, got)
		}
	}
	s.Inputs.Version = "new"
	if _, err := BuildRestorePod(c, s); err == nil {
		t.Error("a version that is none was taken")
	}
	if _, err := BuildPlacePod(c, s); err == nil {
		t.Error("a version that is none holds a place")
	}
}

func TestNamesOfARestoreAreValidAndNoMembers(t *testing.T) {
	c := cluster(func(c *v1alpha1.EtcdCluster) { c.Name = strings.Repeat("c", 40) })
	s := restoring(c, stored())
	s.Member = c.Name + "-4294967295"
	for _, pod := range []*corev1.Pod{mustRestorePod(t, c, s), BuildPreflightPod(c, preflighting(stored()))} {
		if errs := validation.IsDNS1035Label(pod.Name); len(errs) > 0 {
			t.Errorf("%s: %v", pod.Name, errs)
		}
	}
}
