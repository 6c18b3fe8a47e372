package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// countsPods reads a refusal of a quota that counts Pods.
var countsPods = regexp.MustCompile(`limited: (\S+,)?(count/)?pods=`)

// ofLimitRange reads a refusal that comes of a LimitRange: one of its own, or that of a Pod whose request is above the
// limit that it gave the Pod (kubernetes/kubernetes:plugin/pkg/admission/limitranger/admission.go,
// kubernetes/kubernetes:pkg/apis/core/validation/validation.go).
var ofLimitRange = regexp.MustCompile(`(maximum|minimum) \S+ usage per |limit to request ratio per |` +
	`must be less than or equal to \S+ limit of `)

// withRemedy adds to what Kubernetes refused what a person can do about it in this namespace.
func (s step) withRemedy(err error) error {
	var refused Rejected
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Reason == RejectedQuota:
		refused.Message = strings.Replace(refused.Message, quotaRemedy, s.moreQuota(refused.Message), 1)
		return refused
	case ofLimitRange.MatchString(refused.Message):
		return refused.and(fmt.Sprintf("A LimitRange of the namespace asks for that: kubectl describe limitrange -n "+
			"%s shows it. Change it, or what the spec asks for. Members that run meet it as well once they restart: "+
			"drain no node before that.", s.cluster.Namespace))
	}
	return err
}

// moreQuota says what a person does about a quota, and how many Pods one that counts them has to let in.
func (s step) moreQuota(refusal string) string {
	says := fmt.Sprintf("%s: kubectl describe quota -n %s shows what is used.", strings.TrimSuffix(quotaRemedy, "."),
		s.cluster.Namespace)
	size, voters := s.view.Desired.Size, len(s.view.Current.Voters())
	if size == 0 || !countsPods.MatchString(refusal) {
		return says
	}
	says += fmt.Sprintf(" The cluster needs room for %d Pods: %d members, one that joins before another one leaves, "+
		"and one task such as a backup.", size+2, size)
	if 0 < voters && voters < size {
		says += fmt.Sprintf(" Or put spec.size back to %d.", voters)
	}
	return says
}

// namingBudgets adds to a refusal for several disruption budgets which ones they are: Kubernetes names none.
func (s step) namingBudgets(ctx context.Context, pod labels.Set, err error) error {
	var refused Rejected
	if !errors.As(err, &refused) || refused.Reason != RejectedBudgets {
		return err
	}
	own, namespace := resources.Budget(s.cluster.Name), s.cluster.Namespace
	others := s.otherBudgets(ctx, pod)
	if len(others) == 0 {
		return refused.and(fmt.Sprintf("kubectl get pdb -n %s lists them: delete each that selects this Pod beside "+
			"%s, which is the operator's.", namespace, own))
	}
	return refused.and(fmt.Sprintf("The operator's own is %[1]s/%[2]s, and the Pod is also selected by %[1]s/%[3]s. "+
		"Have that one select other Pods, or delete it: kubectl delete pdb %[4]s -n %[1]s.", namespace, own,
		strings.Join(others, ", "+namespace+"/"), strings.Join(others, " ")))
}

// otherBudgets are the budgets that select a Pod beside the operator's own; none where they cannot be read.
func (s step) otherBudgets(ctx context.Context, pod labels.Set) []string {
	var all policyv1.PodDisruptionBudgetList
	if s.Live.List(ctx, &all, ctrlclient.InNamespace(s.cluster.Namespace)) != nil {
		return nil
	}
	var others []string
	for _, budget := range all.Items {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(pod) && budget.Name != resources.Budget(s.cluster.Name) {
			others = append(others, budget.Name)
		}
	}
	return others
}
