package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// How members are reached while the mode of TLS changes: see docs/decisions/0057.

// transportOf goes by the flags of a Pod. What it says of itself may have been changed since it was made.
func transportOf(pod *corev1.Pod, says facts.Settings) etcdutil.Transport {
	if transport, isSaid := resources.TransportOf(pod); isSaid {
		return transport
	}
	return says.Transport
}

// reached has members made as the next step to the mode of the spec asks. The first members of another incarnation
// begin in that mode, or as they were prepared.
func reached(desired facts.Desired, seen facts.Observation) facts.Desired {
	desired.TLS = seen.Current.KeepsCertificates(desired.Transport) || seen.Next.KeepsCertificates(desired.Transport)
	seen.Desired = desired
	next := seen.NextTransport()
	desired.Settings, desired.AtTarget = withTransport(desired.Settings, next), withTransport(desired.AtTarget, next)
	desired.NextSettings = withTransport(desired.NextSettings, seen.Next.NextTransport(desired.Transport))
	return desired
}

func withTransport(settings facts.Settings, transport etcdutil.Transport) facts.Settings {
	in, err := resources.DecodeInputs(settings.Inputs)
	if err != nil || in.TLS == transport {
		return settings // there are none, or the spec is refused for them, or they are so already
	}
	in.TLS = transport
	return settingsIn(in, settings.Version)
}

// withCertificates is the cluster as one with certificates, where it has some that the spec does not ask for any more:
// members have them, or what is left of them has to be deleted. The operator's own go last. An issuer may
// have signed those of clients alone.
func (o *Observer) withCertificates(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	g gathered) *v1alpha1.EtcdCluster {
	if cluster.Spec.IsTLS() {
		return cluster
	}
	has := func(object metav1.Object) bool {
		in, err := resources.DecodeInputs(object.GetAnnotations()[v1alpha1.AnnotationInputs])
		return err == nil && in.TLS.HasCertificates()
	}
	isLeft := slices.ContainsFunc(g.pods, func(pod corev1.Pod) bool { return takesTLS(cluster, &pod) || has(&pod) }) ||
		slices.ContainsFunc(g.volumes, func(volume corev1.PersistentVolumeClaim) bool { return has(&volume) })
	for _, name := range []string{resources.OperatorSecret(cluster.Name), resources.ClientSecret(cluster.Name)} {
		if isLeft {
			break
		}
		secret, err := o.Secrets.GetLeft(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name})
		isLeft = err == nil && resources.IsControlledBy(secret, cluster.UID) // or else it is deleted another time
	}
	return resources.ReachedWith(cluster, isLeft)
}

// accessClients are the EtcdClients of the cluster, where its certificates are to go: each is let in by one.
func (o *Observer) accessClients(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	desired facts.Desired) ([]string, error) {
	if desired.Transport.HasCertificates() || !desired.TLS {
		return nil, nil
	}
	var list v1alpha1.EtcdClientList
	key := client.ObjectKeyFromObject(cluster)
	err := o.Reader.List(ctx, &list)
	if apierrors.IsForbidden(err) { // a person may not look into all namespaces
		err = o.Reader.List(ctx, &list, client.InNamespace(cluster.Namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("listing the EtcdClients of %s: %w", key, err)
	}
	var names []string
	for i := range list.Items {
		switch c := &list.Items[i]; {
		case c.ClusterKey() != key:
		case c.IsFromOutside():
			names = append(names, c.Namespace+"/"+c.Name)
		default:
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
