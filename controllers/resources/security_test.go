package resources

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestEveryPodPassesPodSecurityRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	selinux := as(v1alpha1.PodSecurityContext{RunAsGroup: new(int64(0)), SELinuxOptions: &corev1.SELinuxOptions{Type: "container_engine_t"}})
	tried := 0
	for _, options := range [][]func(*v1alpha1.EtcdCluster){{}, {withoutTLS}, {ephemeral}, {full}, {full, ephemeral}, {full, withoutTLS}, {selinux}} {
		for _, start := range []func(*v1alpha1.EtcdCluster) PodStart{atBootstrap, joining, sealed} {
			c := cluster(options...)
			pod := mustPod(t, c, start(c))
			for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				tried++
				if !result.Allowed {
					t.Errorf("%s: %s", result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	}
	if tried == 0 {
		t.Error("no check was made")
	}
	pod := mustPod(t, cluster(), atBootstrap(cluster()))
	pod.Spec.Containers[0].SecurityContext.Capabilities = nil
	if policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec)).Allowed {
		t.Error("the evaluator lets everything pass")
	}
}

func TestMembersAndTasksHaveAUserNamespaceAndStrictGroupsOnlyWhereTheSpecAsksForThem(t *testing.T) {
	hardened := func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{HostUsers: new(false), SecurityContext: &v1alpha1.PodSecurityContext{
			SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyStrict}}
	}
	relaxed := func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{HostUsers: new(true), SecurityContext: &v1alpha1.PodSecurityContext{
			SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyMerge}}
	}
	for _, options := range [][]func(*v1alpha1.EtcdCluster){{}, {relaxed}, {hardened}} {
		c := cluster(options...)
		isAsked := c.Spec.Pod != nil && !*c.Spec.Pod.HostUsers
		for name, pod := range map[string]*corev1.Pod{"member": mustPod(t, c, sealed(c)),
			"restore": mustRestorePod(t, c, restoring(c, stored()))} {
			strict := pod.Spec.SecurityContext.SupplementalGroupsPolicy
			if (pod.Spec.HostUsers != nil) != isAsked || (strict != nil) != isAsked ||
				isAsked && (*pod.Spec.HostUsers || *strict != corev1.SupplementalGroupsPolicyStrict) {
				t.Errorf("%s: the spec asks for it: %t; hostUsers %v, groups %v", name, isAsked, pod.Spec.HostUsers, strict)
			}
		}
	}
}

// TestAMemberLeavesTheServiceInTheLeastTimeThatASpecMayGiveIt also keeps a shell or a request out of the hook.
func TestAMemberLeavesTheServiceInTheLeastTimeThatASpecMayGiveIt(t *testing.T) {
	const least, toHandOver = 30, 7
	for _, start := range []func(*v1alpha1.EtcdCluster) PodStart{atBootstrap, joining, sealed} {
		c := cluster()
		c.Spec.Pod = &v1alpha1.PodSpec{TerminationGracePeriodSeconds: new(int64(least))}
		pod := mustPod(t, c, start(c))
		hook := pod.Spec.Containers[0].Lifecycle.PreStop
		if hook.Sleep == nil || hook.Exec != nil || hook.HTTPGet != nil || hook.TCPSocket != nil {
			t.Fatalf("it does not just sleep: %+v", hook)
		}
		if left := *pod.Spec.TerminationGracePeriodSeconds - hook.Sleep.Seconds; hook.Sleep.Seconds <= 0 || left <= 2*toHandOver {
			t.Errorf("%d s to leave, and %d s to stop", hook.Sleep.Seconds, left)
		}
	}
}

func TestAPodReachesNothingButItsOwn(t *testing.T) {
	for _, options := range [][]func(*v1alpha1.EtcdCluster){{}, {withoutTLS}, {ephemeral}, {full}} {
		c := cluster(options...)
		pod := mustPod(t, c, atBootstrap(c))
		if *pod.Spec.AutomountServiceAccountToken || *pod.Spec.EnableServiceLinks || pod.Spec.ServiceAccountName != "" || pod.Namespace != c.Namespace {
			t.Error("it has a token, service links, an account, or is in another namespace")
		}
		for _, volume := range pod.Spec.Volumes {
			switch {
			case volume.Secret != nil && volume.Secret.SecretName == "demo-0-tls" && len(volume.Secret.Items) == 0:
			case volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == "demo-0":
			case volume.EmptyDir != nil && c.Spec.IsEphemeral():
			case strings.HasPrefix(volume.Name, "sidecar-") && volume.PersistentVolumeClaim == nil && volume.HostPath == nil:
			default:
				t.Errorf("it mounts %+v", volume)
			}
		}
		for _, mount := range pod.Spec.Containers[0].VolumeMounts {
			if mount.SubPath != "" || mount.SubPathExpr != "" {
				t.Errorf("%s is mounted by a path, which the kubelet never renews", mount.Name)
			}
		}
	}
}

func TestUserLabelsAndAnnotationsNeverHideOurs(t *testing.T) {
	c := cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{
			Labels:      map[string]string{v1alpha1.LabelRole: "voter", v1alpha1.LabelInstance: "other", "team": "storage"},
			Annotations: map[string]string{v1alpha1.AnnotationInitialState: "new", v1alpha1.AnnotationInputs: "{}"},
		}
	})
	pod := mustPod(t, c, sealed(c))
	if pod.Labels[v1alpha1.LabelInstance] != "demo" || pod.Labels["team"] != "storage" || FlagsOf(c, "demo-0", pod.Annotations) != StartSealed {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
	unsealed := mustPod(t, c, atBootstrap(c))
	if role, ok := unsealed.Labels[v1alpha1.LabelRole]; ok {
		t.Errorf("a Pod that is not sealed has the role %s", role)
	}
}

func TestOnlyEtcdRunsAndTheSidecarsOfTheSpec(t *testing.T) {
	pod := mustPod(t, cluster(full), atBootstrap(cluster(full)))
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != len(cluster(full).Spec.Pod.Sidecars) || len(pod.Spec.Containers[0].Command) != 1 {
		t.Errorf("containers %d, init containers %d, command %v", len(pod.Spec.Containers), len(pod.Spec.InitContainers), pod.Spec.Containers[0].Command)
	}
	if !strings.HasPrefix(pod.Spec.Containers[0].Args[0], "--") {
		t.Errorf("first argument %q", pod.Spec.Containers[0].Args[0])
	}
}
