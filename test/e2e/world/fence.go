package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

const fenceName = "stories-with-own-operator"

// Fence keeps the installed operator from writing to namespaces of stories that bring their own, so that those stories
// can run beside all others. It is the API server that refuses; to the operator it is a namespace without rights. It
// returns once a write of the operator was really refused, and Unfence takes it away.
func (w *World) Fence(ctx context.Context) error {
	for _, object := range []client.Object{fencePolicy(), fenceBinding()} {
		if err := w.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("making the fence: %w", err)
		}
	}
	c, err := w.as(operatorUser)
	if err != nil {
		return err
	}
	probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fence-", Labels: map[string]string{LabelOwnOperator: "true"}}}
	if err := w.Client.Create(ctx, probe); err != nil {
		return fmt.Errorf("making a namespace to try the fence in: %w", err)
	}
	defer func() { _ = w.Client.Delete(context.WithoutCancel(ctx), probe) }()
	gomega.Eventually(ctx, func() error {
		service := &corev1.Service{ObjectMeta: asOfOperator(probe.Name, "probe"), Spec: corev1.ServiceSpec{
			ClusterIP: "None", Selector: resources.MemberSelector("none")}}
		return c.Create(ctx, service, client.DryRunAll)
	}).WithTimeout(time.Minute).Should(gomega.MatchError(apierrors.IsInvalid, "refused by the fence"))
	return nil
}

// Unfence takes the fence away, unless stories of somebody else still stand behind it.
func (w *World) Unfence(ctx context.Context) error {
	fenced := &corev1.NamespaceList{}
	if err := w.Client.List(ctx, fenced, client.MatchingLabels{LabelOwnOperator: "true"}); err != nil {
		return fmt.Errorf("looking for stories behind the fence: %w", err)
	}
	if slices.ContainsFunc(fenced.Items, func(n corev1.Namespace) bool { return n.DeletionTimestamp == nil }) {
		return nil
	}
	for _, object := range []client.Object{fenceBinding(), fencePolicy()} {
		if err := client.IgnoreNotFound(w.Client.Delete(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}

const operatorUser = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorName

// asOfOperator is the metadata of an object that config/policy lets the operator create.
func asOfOperator(namespace, name string) metav1.ObjectMeta {
	owner := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EtcdCluster", Name: "none", UID: "none",
		Controller: new(true)}
	return metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{owner},
		Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}}
}

// as is a client that the API server takes for somebody else's.
func (w *World) as(user string) (client.Client, error) {
	config := rest.CopyConfig(w.Config)
	config.Impersonate.UserName = user
	c, err := client.New(config, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting as %s: %w", user, err)
	}
	return c, nil
}

func fencePolicy() *admissionv1.ValidatingAdmissionPolicy {
	return refusal(fenceName, admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
	}, admissionv1.Validation{
		Expression: "request.userInfo.username != '" + operatorUser + "'",
		Message:    "this story brings an operator of its own",
	})
}

func fenceBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return refusalIn(fenceName, map[string]string{LabelOwnOperator: "true"})
}

// refusal lets the API server refuse what does not pass, in namespaces that refusalIn chooses.
func refusal(name string, what admissionv1.RuleWithOperations, passes admissionv1.Validation) *admissionv1.ValidatingAdmissionPolicy {
	fail, equivalent := admissionv1.Fail, admissionv1.Equivalent
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy:   &equivalent,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: what}},
			},
			Validations: []admissionv1.Validation{passes},
		},
	}
}

func refusalIn(name string, namespaces map[string]string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources:    &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: namespaces}},
		},
	}
}
