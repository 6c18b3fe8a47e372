package resources

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

var testedAt = time.Date(2026, time.March, 29, 5, 0, 0, 0, time.UTC)

func testRestoreStart() BackupStart {
	return BackupStart{
		Platform: Platform{AgentImage: "ghcr.io/etcdsteward/etcd-steward:v1"}, EtcdImage: "gcr.io/etcd-development/etcd:v3.6.16", PullPolicy: corev1.PullNever,
		PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, Deadline: time.Hour,
	}
}

func TestJobsOfTestRestoresAreBuiltAsTheyWereReviewed(t *testing.T) {
	golden(t, "test-restore-volume", BuildTestRestoreJob(nightly(), cluster(), testRestoreStart(), testedAt))
	golden(t, "test-restore-s3", BuildTestRestoreJob(nightly(toS3), cluster(full), testRestoreStart(), testedAt))
}

func TestATestRestoreReachesNoMemberAndWritesNothingToTheStore(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, option := range []func(*v1alpha1.EtcdBackup){func(*v1alpha1.EtcdBackup) {}, toS3, toBareS3, toGCS, toAzure} {
		c := cluster()
		template := BuildTestRestoreJob(nightly(option), c, testRestoreStart(), testedAt).Spec.Template
		for _, result := range evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		if labels.SelectorFromSet(MemberSelector(c.Name)).Matches(labels.Set(template.Labels)) || template.Labels[v1alpha1.LabelBackup] != "" {
			t.Errorf("it is taken for a member or a backup: %v", template.Labels)
		}
		for _, step := range append(template.Spec.InitContainers, template.Spec.Containers...) {
			for _, mount := range step.VolumeMounts {
				if mount.Name == tlsVolume || !mount.ReadOnly && mount.Name != scratchVolume {
					t.Errorf("%s mounts %s, read-only: %v", step.Name, mount.Name, mount.ReadOnly)
				}
			}
		}
	}
}

func TestTheNameOfAScheduledJobIsValidHoweverLongTheClustersIsAndTellsItsTime(t *testing.T) {
	s := nightly()
	s.Spec.ClusterRef.Name = strings.Repeat("c", 40)
	at := testedAt
	for _, name := range []string{PruneJob(s, at), TestRestoreJob(s, at)} {
		if errs := validation.IsDNS1035Label(name); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		if got := ScheduledAt(name); !got.Equal(at) {
			t.Errorf("%s tells %s, want %s", name, got, at)
		}
	}
	for _, name := range []string{"", "demo-prune-", "demo-prune-2c4c2d1e-UP!", "demo-prune-0"} {
		if got := ScheduledAt(name); !got.IsZero() {
			t.Errorf("%q tells %s", name, got)
		}
	}
}

func TestABackupOfAScheduleSaysSoInItsManifest(t *testing.T) {
	start := backupStart()
	args := func() string {
		return strings.Join(BuildBackupJob(toVolume(), cluster(), start).Spec.Template.Spec.InitContainers[0].Args, " ")
	}
	if !strings.Contains(args(), "--schedule=nightly") {
		t.Errorf("it is not said: %s", args())
	}
	start.Schedule = ""
	if strings.Contains(args(), "--schedule") {
		t.Error("one that somebody made by hand is of a schedule")
	}
}
