package world

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// newPods are what policies of a story look at.
var newPods = admissionv1.RuleWithOperations{
	Operations: []admissionv1.OperationType{admissionv1.Create},
	Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
}

// ChangePods lets the API server add a part to each new Pod of the story's namespace, by a CEL expression. It returns
// once a Pod like this would get that part, and ends with what it returns, or with the story.
func (s *Story) ChangePods(ctx context.Context, like *corev1.Pod, part string, hasPart func(*corev1.Pod) bool) (end func(context.Context)) {
	ginkgo.GinkgoHelper()
	return s.mutatePods(ctx, like, admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration,
		ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: part}}, hasPart)
}

// InjectProxy puts a container that never ends into each new Pod of the story's namespace, as the webhook of a mesh does.
func (s *Story) InjectProxy(ctx context.Context, like *corev1.Pod) (end func(context.Context)) {
	ginkgo.GinkgoHelper()
	const proxy = `[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{
		name: "mesh-proxy", image: "registry.k8s.io/pause:3.10",
		securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: false, runAsNonRoot: true,
			capabilities: Object.spec.containers.securityContext.capabilities{drop: ["ALL"]}}}}]`
	return s.mutatePods(ctx, like, admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch,
		JSONPatch: &admissionv1.JSONPatch{Expression: proxy}},
		func(pod *corev1.Pod) bool { return len(pod.Spec.Containers) == len(like.Spec.Containers)+1 })
}

func (s *Story) mutatePods(ctx context.Context, like *corev1.Pod, mutation admissionv1.Mutation, isMutated func(*corev1.Pod) bool) func(context.Context) {
	ginkgo.GinkgoHelper()
	fail, equivalent := admissionv1.Fail, admissionv1.Equivalent
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy: &fail, ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy:   &equivalent,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: newPods}},
			},
			Mutations: []admissionv1.Mutation{mutation},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: s.Namespace, MatchResources: s.only(),
		},
	}
	return s.enforce(ctx, func() bool {
		probe, err := s.probe(ctx, like)
		return err == nil && isMutated(probe)
	}, policy, binding)
}

// RefusePods lets the API server refuse each new Pod of the story's namespace with these words. It returns once it does,
// and ends with what it returns, or with the story.
func (s *Story) RefusePods(ctx context.Context, like *corev1.Pod, words string) (end func(context.Context)) {
	ginkgo.GinkgoHelper()
	policy := refusal(s.Namespace, newPods, admissionv1.Validation{Expression: "false", Message: words})
	binding := refusalIn(s.Namespace, map[string]string{corev1.LabelMetadataName: s.Namespace})
	return s.enforce(ctx, func() bool {
		_, err := s.probe(ctx, like)
		return err != nil
	}, policy, binding)
}

// WantLabel lets the API server refuse each object that an operator makes in the story's namespace without a label. Its
// words are "objects need the label <label>".
func (s *Story) WantLabel(ctx context.Context, label string) {
	ginkgo.GinkgoHelper()
	rule := func(group string, resources ...string) admissionv1.RuleWithOperations {
		return admissionv1.RuleWithOperations{Operations: newPods.Operations,
			Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources}}
	}
	policy := refusal(s.Namespace, rule("", "pods", "persistentvolumeclaims", "secrets", "services"), admissionv1.Validation{
		Expression: fmt.Sprintf("has(object.metadata.labels) && %q in object.metadata.labels", label), Message: "objects need the label " + label,
	})
	for _, more := range []admissionv1.RuleWithOperations{rule("batch", "jobs"), rule("policy", "poddisruptionbudgets")} {
		policy.Spec.MatchConstraints.ResourceRules = append(policy.Spec.MatchConstraints.ResourceRules, admissionv1.NamedRuleWithOperations{RuleWithOperations: more})
	}
	binding := refusalIn(s.Namespace, map[string]string{corev1.LabelMetadataName: s.Namespace})
	s.enforce(ctx, func() bool {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "probe"}}
		return s.Client.Create(ctx, secret, client.DryRunAll) != nil
	}, policy, binding)
}

// The range of IDs that HandOutIDs gives to the story's namespace.
const (
	FirstID = 1000650000
	LastID  = 1000659999
)

// HandOutIDs lets the API server go by what OpenShift's constraint restricted-v2 says of users and groups: new Pods of the
// story's namespace get those of its range where they name none, and are refused where they name others. Like is a Pod that
// names none.
func (s *Story) HandOutIDs(ctx context.Context, like *corev1.Pod) {
	ginkgo.GinkgoHelper()
	const given = `Object{spec: Object.spec{securityContext: Object.spec.securityContext{
		runAsUser: object.spec.?securityContext.runAsUser.orValue(%[1]d), fsGroup: object.spec.?securityContext.fsGroup.orValue(%[1]d)}}}`
	s.ChangePods(ctx, like, fmt.Sprintf(given, FirstID), func(pod *corev1.Pod) bool {
		return pod.Spec.SecurityContext.RunAsUser != nil && *pod.Spec.SecurityContext.RunAsUser == FirstID
	})
	const inRange = `[object.spec.?securityContext.runAsUser.orValue(0), object.spec.?securityContext.fsGroup.orValue(0)].all(x, x >= %d && x <= %d)`
	policy := refusal(s.Namespace, newPods, admissionv1.Validation{Expression: fmt.Sprintf(inRange, FirstID, LastID),
		Message: fmt.Sprintf("runAsUser and fsGroup must be in the range %d-%d", FirstID, LastID)})
	outside := like.DeepCopy()
	outside.Spec.SecurityContext.RunAsUser = new(int64(65532))
	s.enforce(ctx, func() bool {
		_, err := s.probe(ctx, outside)
		return err != nil
	}, policy, refusalIn(s.Namespace, map[string]string{corev1.LabelMetadataName: s.Namespace}))
}

// Admits asks the API server whether it would take a Pod like this in the story's namespace.
func (s *Story) Admits(ctx context.Context, like *corev1.Pod) (*corev1.Pod, error) {
	return s.probe(ctx, like)
}

// Overlay is the Pod of the operator as an overlay of config has it.
func (w *World) Overlay(ctx context.Context, name string) *corev1.Pod {
	ginkgo.GinkgoHelper()
	for document := range strings.SplitSeq(w.kubectl(ctx, "kustomize", filepath.Join(project, "config", name)), "\n---\n") {
		if strings.Contains(document, "\nkind: Deployment\n") {
			deployment := &appsv1.Deployment{}
			gomega.Expect(yaml.Unmarshal([]byte(document), deployment)).To(gomega.Succeed())
			return &corev1.Pod{Spec: deployment.Spec.Template.Spec}
		}
	}
	ginkgo.Fail("config/" + name + " has no Deployment")
	return nil
}

// only is the story's own namespace.
func (s *Story) only() *admissionv1.MatchResources {
	return &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace},
	}}
}

// enforce creates a policy and its binding, and waits until the API server goes by them.
func (s *Story) enforce(ctx context.Context, isInForce func() bool, policy, binding client.Object) (end func(context.Context)) {
	ginkgo.GinkgoHelper()
	gomega.Expect(isInForce()).To(gomega.BeFalse(), "it is so without the policy")
	for _, object := range []client.Object{policy, binding} {
		gomega.Expect(s.Client.Create(ctx, object)).To(gomega.Succeed())
		ginkgo.DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(s.Client.Delete(ctx, object)) })
	}
	gomega.Eventually(ctx, isInForce).WithTimeout(time.Minute).Should(gomega.BeTrue(), "the policy is in force")
	return func(ctx context.Context) {
		ginkgo.GinkgoHelper()
		for _, object := range []client.Object{binding, policy} {
			gomega.Expect(s.Client.Delete(ctx, object)).To(gomega.Succeed())
		}
		gomega.Eventually(ctx, isInForce).WithTimeout(time.Minute).Should(gomega.BeFalse(), "the policy is gone")
	}
}

// probe is what the API server would make of a Pod like this, which it is not asked to keep.
func (s *Story) probe(ctx context.Context, like *corev1.Pod) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "probe"}, Spec: *like.Spec.DeepCopy()}
	pod.Spec.NodeName = ""
	return pod, s.Client.Create(ctx, pod, client.DryRunAll)
}
