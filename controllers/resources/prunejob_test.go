package resources

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// nightly is a schedule with every rule of retention, and with the store of a backup made by these options.
func nightly(options ...func(*v1alpha1.EtcdBackup)) *v1alpha1.EtcdBackupSchedule {
	return &v1alpha1.EtcdBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", UID: "2c4c2d1e-0000-4000-8000-000000000003"},
		Spec: v1alpha1.EtcdBackupScheduleSpec{
			ClusterRef: v1alpha1.ClusterReference{Name: "demo"}, Schedule: "0 3 * * *", Store: toVolume(options...).Spec.Store,
			TimeZone: new("Europe/Berlin"),
			Retention: &v1alpha1.BackupRetention{
				KeepLast: new(int32(3)), KeepDaily: new(int32(7)), KeepWeekly: new(int32(4)), KeepWithin: &metav1.Duration{Duration: 36 * time.Hour},
			},
		},
	}
}

func pruneStart() PruneStart {
	return PruneStart{
		BackupStart: BackupStart{Platform: Platform{AgentImage: "ghcr.io/etcdsteward/etcd-steward:v1"},
			PullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}, Deadline: 6 * time.Minute},
		At:        time.Date(2026, time.March, 29, 3, 0, 0, 0, time.UTC),
		Held:      []string{"etcd/prod/demo/8f0d8f6e-0000-4000-8000-000000000001/20260301T030000Z-1a2b3c4d/snapshot.db"},
		Ask:       []string{"etcd/prod/demo/8f0d8f6e-0000-4000-8000-000000000001/20260302T030000Z-1a2b3c4d/snapshot.db"},
		NotBefore: time.Date(2026, time.March, 29, 2, 55, 0, 0, time.UTC),
		NotAfter:  time.Date(2026, time.March, 29, 3, 5, 0, 0, time.UTC),
	}
}

func TestJobsThatPruneAreBuiltAsTheyWereReviewed(t *testing.T) {
	bare := pruneStart()
	bare.Held, bare.Ask, bare.PullSecrets = nil, nil, nil
	keepsLast := func(s *v1alpha1.EtcdBackupSchedule) *v1alpha1.EtcdBackupSchedule {
		s.Spec.Retention, s.Spec.TimeZone = &v1alpha1.BackupRetention{KeepLast: new(int32(7))}, nil
		return s
	}
	golden(t, "prune-volume", BuildPruneJob(nightly(), cluster(), pruneStart()))
	golden(t, "prune-s3", BuildPruneJob(nightly(toS3), cluster(full), pruneStart()))
	golden(t, "prune-of-the-pods-identity", BuildPruneJob(keepsLast(nightly(toBareS3)), cluster(withoutTLS), bare))
	golden(t, "prune-gcs", BuildPruneJob(keepsLast(nightly(toGCS)), cluster(), bare))
	golden(t, "prune-azure", BuildPruneJob(keepsLast(nightly(toAzure)), cluster(), bare))
}

func TestThePodThatPrunesPassesPodSecurityRestrictedAndMountsNothingOfTheClusters(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, option := range []func(*v1alpha1.EtcdBackup){func(*v1alpha1.EtcdBackup) {}, toS3, toBareS3, toGCS, toAzure} {
		c := cluster()
		template := BuildPruneJob(nightly(option), c, pruneStart()).Spec.Template
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
		for _, volume := range template.Spec.Volumes {
			if volume.Secret != nil && volume.Secret.SecretName == OperatorSecret(c.Name) {
				t.Error("it has the operator's certificate for etcd")
			}
		}
	}
}

func TestEveryRunOfPruningHasAJobOfItsOwnWithAValidName(t *testing.T) {
	s, at := nightly(), pruneStart().At
	if PruneJob(s, at) == PruneJob(s, at.Add(time.Minute)) {
		t.Error("two runs share a Job")
	}
	other := nightly()
	other.UID = "3c4c2d1e-0000-4000-8000-000000000003"
	if PruneJob(s, at) == PruneJob(other, at) {
		t.Error("two schedules share a Job")
	}
	s.Spec.ClusterRef.Name = strings.Repeat("c", 40)
	for _, at := range []time.Time{at, time.Date(2199, time.January, 1, 0, 0, 0, 0, time.UTC)} {
		if errs := validation.IsDNS1035Label(PruneJob(s, at)); len(errs) > 0 {
			t.Errorf("%s: %v", PruneJob(s, at), errs)
		}
	}
}

func TestARuleThatIsNotSetIsNotPassedOn(t *testing.T) {
	s := nightly()
	s.Spec.Retention, s.Spec.TimeZone = &v1alpha1.BackupRetention{KeepDaily: new(int32(2))}, nil
	for _, arg := range BuildPruneJob(s, cluster(), pruneStart()).Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--keep-") && arg != "--keep-daily=2" || strings.HasPrefix(arg, "--time-zone") {
			t.Errorf("it is called with %s", arg)
		}
	}
}
