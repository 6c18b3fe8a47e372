package world

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Withheld are volumes and Secrets that the story's own operator may not write to: the API server refuses. An operator can
// then be killed between any two of its writes, however close they are.
type Withheld struct {
	story *Story
	names []string
}

// Withhold withholds objects, and returns once a write of the operator to each of them was really refused.
func (s *Story) Withhold(ctx context.Context, objects ...client.Object) *Withheld {
	ginkgo.GinkgoHelper()
	w := &Withheld{story: s}
	for _, object := range objects {
		w.names = append(w.names, object.GetName())
	}
	policy := refusal(s.Namespace, admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumeclaims", "secrets"}},
	}, w.validation())
	binding := refusalIn(s.Namespace, map[string]string{corev1.LabelMetadataName: s.Namespace})
	for _, object := range []client.Object{policy, binding} {
		gomega.Expect(s.Client.Create(ctx, object)).To(gomega.Succeed())
		ginkgo.DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(s.Client.Delete(ctx, object)) })
	}
	operator, err := s.as(s.operatorUser())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, object := range objects {
		gomega.Eventually(ctx, func() error {
			probe := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"e2e.etcdsteward.dev/probe":"true"}}}`))
			return operator.Patch(ctx, object.DeepCopyObject().(client.Object), probe, client.DryRunAll)
		}).WithTimeout(time.Minute).Should(gomega.MatchError(apierrors.IsInvalid, "withheld"), object.GetName())
	}
	return w
}

// Release lets the operator write to one of them.
func (w *Withheld) Release(ctx context.Context, name string) {
	ginkgo.GinkgoHelper()
	var rest []string
	for _, other := range w.names {
		if other != name {
			rest = append(rest, other)
		}
	}
	gomega.Expect(rest).To(gomega.HaveLen(len(w.names)-1), "%s is not withheld", name)
	w.names = rest
	validations, err := json.Marshal([]admissionv1.Validation{w.validation()})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	policy.Name = w.story.Namespace
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"validations":%s}}`, validations))
	gomega.Expect(w.story.Client.Patch(ctx, policy, patch)).To(gomega.Succeed())
}

// validation lets everybody else write, and the operator to what is not withheld.
func (w *Withheld) validation() admissionv1.Validation {
	return admissionv1.Validation{
		Expression: fmt.Sprintf("request.userInfo.username != '%s' || !(request.name in ['%s'])", w.story.operatorUser(), strings.Join(w.names, "', '")),
		Message:    "this story withholds it",
	}
}

// operatorUser is whom the API server takes the story's own operator for.
func (s *Story) operatorUser() string { return "system:serviceaccount:" + s.Namespace + ":operator" }
