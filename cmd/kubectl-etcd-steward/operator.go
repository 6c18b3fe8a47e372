package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// leaseName is what the replicas of each install of the operator elect their leader by, in the install's namespace.
const leaseName = "manager.etcdsteward.dev"

// An operator whose Lease was not renewed for goneAfter is gone: another install takes it for gone then. A Lease that
// its holder gave back as it stopped is taken by the next replica within goneAfterRelease, if there is one.
const (
	goneAfter        = 2 * time.Minute
	goneAfterRelease = 15 * time.Second
)

// What is known of the operator that looks after a cluster.
const (
	operatorRuns    = "Running"
	operatorGone    = "Gone"
	operatorUnknown = "Unknown"
)

// operatorView is the install of the operator that looks after a cluster. What the status says is as old as its last
// pass.
type operatorView struct {
	Name      string       `json:"name,omitempty"` // namespace/name
	State     string       `json:"state"`
	RenewedAt *metav1.Time `json:"leaseRenewedAt,omitempty"`
	Message   string       `json:"message"`
}

func (o operatorView) namespace() string {
	namespace, _, _ := strings.Cut(o.Name, "/")
	return namespace
}

// operator finds the install that looks after a cluster, by the peer Service, and whether it runs, by its Lease.
func (s *session) operator(ctx context.Context, cluster string) operatorView {
	var services corev1.ServiceList
	err := s.list(ctx, s.namespace, &services, client.MatchingLabels{v1alpha1.LabelInstance: cluster})
	if err != nil {
		return operatorView{State: operatorUnknown, Message: "Which operator looks after the cluster cannot be read: " +
			err.Error()}
	}
	name := ""
	for _, service := range services.Items {
		if keeper := service.Annotations[v1alpha1.AnnotationOperator]; keeper != "" {
			name = keeper
		}
	}
	if name == "" {
		return operatorView{State: operatorUnknown, Message: "No operator has begun with this cluster. " +
			"Look whether one runs and looks after this namespace."}
	}
	return s.judge(ctx, operatorView{Name: name})
}

// judge reads the Lease of an install.
func (s *session) judge(ctx context.Context, o operatorView) operatorView {
	var lease coordinationv1.Lease
	err := s.get(ctx, client.ObjectKey{Namespace: o.namespace(), Name: leaseName}, &lease)
	switch {
	case apierrors.IsNotFound(err):
		o.State, o.Message = operatorGone, o.Name+" does not run: it has no Lease. Start it again."
		return o
	case err != nil:
		o.State, o.Message = operatorUnknown, "Whether "+o.Name+" runs cannot be read: "+err.Error()
		return o
	}
	renewed := renewedAt(&lease)
	o.RenewedAt = &renewed
	holder, silence := lease.Spec.HolderIdentity, s.now().Sub(renewed.Time)
	isReleased := holder == nil || *holder == ""
	switch {
	case isReleased && silence >= goneAfterRelease:
		o.State, o.Message = operatorGone, fmt.Sprintf(
			"%s does not run: it stopped %s, and no replica has taken over. Look at its Pods: kubectl get pods -n %s",
			o.Name, ago(renewed.Time, s.now()), o.namespace())
		return o
	case silence >= goneAfter:
		o.State, o.Message = operatorGone, fmt.Sprintf(
			"%s does not run: its Lease was last renewed %s. Start it again.", o.Name, ago(renewed.Time, s.now()))
		return o
	}
	o.State, o.Message = operatorRuns, o.Name+" runs."
	return o
}

// renewedAt is when the API server last took a renewal. It dates that by its own clock, which is right where that of
// the operator's machine is not.
func renewedAt(lease *coordinationv1.Lease) metav1.Time {
	var newest metav1.Time
	for _, entry := range lease.ManagedFields {
		if entry.Time != nil && newest.Before(entry.Time) {
			newest = *entry.Time
		}
	}
	if newest.IsZero() && lease.Spec.RenewTime != nil {
		newest = metav1.NewTime(lease.Spec.RenewTime.Time)
	}
	return newest
}
