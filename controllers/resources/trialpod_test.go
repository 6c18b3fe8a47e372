package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func mustTrialPod(t *testing.T, c *v1alpha1.EtcdCluster) *corev1.Pod {
	t.Helper()
	pod, err := BuildTrialPod(c, TrialStart{Member: "demo-1", Node: "node-b", Inputs: atBirth(c).Inputs})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestTrialPodsAreBuiltAsTheyWereReviewed(t *testing.T) {
	golden(t, "trial-pod-tls", mustTrialPod(t, cluster()))
	golden(t, "trial-pod-full", mustTrialPod(t, cluster(full)))
}

func TestATrialPodHasTheFlagsOfItsMemberAndNothingElseOfIt(t *testing.T) {
	c := cluster(full)
	birth := atBirth(c)
	birth.Name, birth.Incarnation, birth.Token, birth.Flags = "demo-1", "", "", StartSealed
	member, err := BuildPod(c, birth)
	if err != nil {
		t.Fatal(err)
	}
	trial := mustTrialPod(t, c)
	step, etcd := trial.Spec.Containers[0], member.Spec.Containers[0]
	want := append(slices.Clone(etcd.Args), "--version")
	if !slices.Equal(step.Args, want) || step.Image != etcd.Image {
		t.Errorf("%s %q\nwant %s %q", step.Image, step.Args, etcd.Image, want)
	}
	for _, variable := range step.Env {
		if from := variable.ValueFrom; from != nil {
			name := strings.TrimSuffix(strings.TrimPrefix(from.FieldRef.FieldPath, "metadata.annotations['"), "']")
			if trial.Annotations[name] != member.Annotations[name] || trial.Annotations[name] == "" {
				t.Errorf("%s is %q", name, trial.Annotations[name])
			}
		}
	}
	if trial.Spec.NodeName != "node-b" || len(trial.Spec.Volumes)+len(step.VolumeMounts)+len(step.Ports) > 0 ||
		step.LivenessProbe != nil || step.Lifecycle != nil {
		t.Errorf("%+v", trial.Spec)
	}
}

func TestATrialPodPassesPodSecurityRestrictedAndIsNoMember(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(full)
	pod := mustTrialPod(t, c)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
	if labels.SelectorFromSet(MemberSelector(c.Name)).Matches(labels.Set(pod.Labels)) || len(LostLabels(c, pod,
		record.Birth{})) > 0 {
		t.Errorf("%v", pod.Labels)
	}
	if pod.Spec.RestartPolicy != corev1.RestartPolicyNever || !IsControlledBy(pod, c.UID) {
		t.Error("it is restarted in place, or outlives its cluster")
	}
}
