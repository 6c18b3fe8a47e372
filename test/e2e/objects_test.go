package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// key names an object of this story's namespace.
func key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: story.Namespace, Name: name}
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func pvc() *corev1.PersistentVolumeClaim { return &corev1.PersistentVolumeClaim{} }

// uidOf is the UID of an object, and empty when there is none of that name.
func uidOf(ctx context.Context, object client.Object, key client.ObjectKey) types.UID {
	GinkgoHelper()
	err := kube.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	Expect(err).NotTo(HaveOccurred())
	return object.GetUID()
}

// deletePod deletes a Pod as `kubectl delete pod` does, and waits until that very Pod is gone.
func deletePod(ctx context.Context, c *world.Cluster, name string) {
	GinkgoHelper()
	pod, err := c.Pod(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
	awaitPodGone(ctx, c, pod)
}

func awaitPodGone(ctx context.Context, c *world.Cluster, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() types.UID {
		return uidOf(ctx, &corev1.Pod{}, client.ObjectKeyFromObject(pod))
	}).ShouldNot(Equal(pod.UID), "the Pod %s was deleted and is there", pod.Name)
}

// volumes are the UIDs of the members' volumes by name. What is kept of replaced members is none of them.
func volumes(ctx context.Context, c *world.Cluster) map[string]types.UID {
	GinkgoHelper()
	list := &corev1.PersistentVolumeClaimList{}
	Expect(kube.Client.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: c.Name})).To(Succeed())
	uids := map[string]types.UID{}
	for i := range list.Items {
		if list.Items[i].Labels[v1alpha1.LabelKept] == "" {
			uids[list.Items[i].Name] = list.Items[i].UID
		}
	}
	return uids
}

// readyAddresses are the addresses that a Service leads to.
func readyAddresses(ctx context.Context, service string) []string {
	GinkgoHelper()
	slices := &discoveryv1.EndpointSliceList{}
	Expect(kube.Client.List(ctx, slices, client.InNamespace(story.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
	var addresses []string
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses
}

func conditionStatus(holds bool) metav1.ConditionStatus {
	if holds {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
