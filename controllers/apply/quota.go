package apply

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// overQuota reads the figures of a refusal, each list like cpu=100m,pods=1
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go).
var overQuota = regexp.MustCompile(`exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)`)

// exchange is who takes whose place. ResourceQuotas count both as long as the old ones are there.
type exchange struct {
	old, successors      []*corev1.Pod
	oldClaims, newClaims []*corev1.PersistentVolumeClaim
}

// held is what a quota counts for all of them.
func held(pods []*corev1.Pod, claims []*corev1.PersistentVolumeClaim, name corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, pod := range pods {
		sum.Add(heldBy(pod, name))
	}
	for _, claim := range claims {
		sum.Add(heldByClaim(claim, name))
	}
	return sum
}

// isCountedAlike reports whether quotas count all of these Pods or none: one that is for a priority class counts no Pod
// of another.
func (e exchange) isCountedAlike() bool {
	for _, old := range e.old {
		class, isKnown := classOf(old)
		if !isKnown || slices.ContainsFunc(e.successors, func(successor *corev1.Pod) bool {
			return successor.Spec.PriorityClassName != class
		}) {
			return false
		}
	}
	return true
}

// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=list

// rehearseQuotas judges a refusal for a quota by what there is room for once the old Pods are gone. Kubernetes names
// the first quota that is exceeded and none after it, so all others are looked at here; who may not read them learns of
// one at a time.
func (s step) rehearseQuotas(ctx context.Context, e exchange, successor, refusal string) error {
	named := overQuota.FindStringSubmatch(refusal)
	exceeded, err := s.exceededBeside(ctx, named[1], e)
	if err != nil {
		return err
	}
	if !e.isCountedAlike() || !e.fits(refusal) {
		exceeded = append([]string{named[0]}, exceeded...)
	}
	return rejectedBy(exceeded, "Kubernetes would refuse "+successor)
}

// rejectedBy is nil without quotas that are exceeded.
func rejectedBy(exceeded []string, doing string) error {
	if len(exceeded) == 0 {
		return nil
	}
	return rejected(RejectedQuota, quotaRemedy)(words.Bounded(doing + ": " + strings.Join(exceeded, "; ")))
}

// exceededBeside says of the other quotas of the namespace which ones the successors do not fit into once the old Pods
// are gone. Those that are for some Pods only are left to Kubernetes, which knows for which.
func (s step) exceededBeside(ctx context.Context, named string, e exchange) ([]string, error) {
	var quotas corev1.ResourceQuotaList
	err := s.Live.List(ctx, &quotas, ctrlclient.InNamespace(s.cluster.Namespace))
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the quotas of %s: %w", s.cluster.Namespace, err)
	}
	var exceeded []string
	for _, q := range quotas.Items {
		if q.Name == named || len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		if figures := e.overBy(q.Status); figures != "" {
			exceeded = append(exceeded, fmt.Sprintf("exceeded quota: %s, %s", q.Name, figures))
		}
	}
	slices.Sort(exceeded)
	return exceeded, nil
}

// overBy are the figures of what would be exceeded, as Kubernetes words them, or "".
func (e exchange) overBy(q corev1.ResourceQuotaStatus) string {
	var requested, used, limited []string
	for name, limit := range q.Hard {
		wanted, before := held(e.successors, e.newClaims, name), q.Used[name]
		after := before.DeepCopy()
		after.Sub(held(e.old, e.oldClaims, name))
		after.Add(wanted)
		if wanted.IsZero() || after.Cmp(limit) <= 0 {
			continue
		}
		requested = append(requested, fmt.Sprintf("%s=%s", name, wanted.String()))
		used = append(used, fmt.Sprintf("%s=%s", name, before.String()))
		limited = append(limited, fmt.Sprintf("%s=%s", name, limit.String()))
	}
	if len(requested) == 0 {
		return ""
	}
	list := func(amounts []string) string { return strings.Join(slices.Sorted(slices.Values(amounts)), ",") }
	return fmt.Sprintf("requested: %s, used: %s, limited: %s", list(requested), list(used), list(limited))
}

// fits reports whether Pods that a quota refuses fit once the old Pods are gone, by the figures of the refusal, which
// are of one of them: members ask for the same. Figures that cannot be read do not fit.
func (e exchange) fits(refusal string) bool {
	figures := overQuota.FindStringSubmatch(refusal)
	if figures == nil {
		return false
	}
	requested, used, limited := readAmounts(figures[2]), readAmounts(figures[3]), readAmounts(figures[4])
	for name, limit := range limited {
		before, isUsed := used[name]
		wanted, isRequested := requested[name]
		if !isUsed || !isRequested {
			return false
		}
		before.Sub(held(e.old, e.oldClaims, name))
		for range len(e.successors) + min(1, len(e.newClaims)) {
			before.Add(wanted)
		}
		if len(e.newClaims) > 1 {
			before.Add(held(nil, e.newClaims[1:], name))
		}
		if before.Cmp(limit) > 0 {
			return false
		}
	}
	return len(limited) > 0
}

// readAmounts returns nil when something in the list is no amount.
func readAmounts(list string) corev1.ResourceList {
	amounts := corev1.ResourceList{}
	for part := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(part, "=")
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil
		}
		amounts[corev1.ResourceName(name)] = amount
	}
	return amounts
}

// heldBy is what a quota counts for a Pod (kubernetes/kubernetes:pkg/quota/v1/evaluator/core/pods.go). One that ended
// holds nothing but its name.
func heldBy(pod *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	switch {
	case name == "count/pods":
		return one
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return resource.Quantity{}
	case name == corev1.ResourcePods:
		return one
	}
	options := podresources.PodResourcesOptions{UseStatusResources: true}
	if limit, ok := strings.CutPrefix(string(name), "limits."); ok {
		return podresources.PodLimits(pod, options)[corev1.ResourceName(limit)]
	}
	request := strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return podresources.PodRequests(pod, options)[corev1.ResourceName(request)]
}

// heldByClaim is what a quota counts for a claim, by itself and with those of its StorageClass
// (kubernetes/kubernetes:pkg/quota/v1/evaluator/core/persistent_volume_claims.go).
func heldByClaim(claim *corev1.PersistentVolumeClaim, name corev1.ResourceName) resource.Quantity {
	if claim.Spec.StorageClassName != nil {
		class := *claim.Spec.StorageClassName + ".storageclass.storage.k8s.io/"
		name = corev1.ResourceName(strings.TrimPrefix(string(name), class))
	}
	switch {
	case name == corev1.ResourcePersistentVolumeClaims || name == "count/persistentvolumeclaims":
		return *resource.NewQuantity(1, resource.DecimalSI)
	case name == corev1.ResourceRequestsStorage:
		return claim.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	return resource.Quantity{}
}

// classOf is the priority class that a Pod was made with; Kubernetes may have set another one.
func classOf(pod *corev1.Pod) (class string, isKnown bool) {
	made, err := resources.DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return "", false
	}
	if made.Pod != nil {
		class = made.Pod.PriorityClassName
	}
	return class, true
}
