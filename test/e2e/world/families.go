package world

import (
	"context"
	"net/netip"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Families are the families of addresses that this Kubernetes has, in the order in which it prefers them, as its nodes
// have them.
func (w *World) Families(ctx context.Context) []corev1.IPFamily {
	ginkgo.GinkgoHelper()
	nodes := &corev1.NodeList{}
	gomega.Expect(w.Client.List(ctx, nodes)).To(gomega.Succeed())
	var families []corev1.IPFamily
	for _, address := range nodes.Items[0].Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			families = append(families, FamilyOf(address.Address))
		}
	}
	return families
}

// NeedFamilies skips a story on a Kubernetes of other families. localkube has those that it was started with.
func (w *World) NeedFamilies(ctx context.Context, fits func([]corev1.IPFamily) bool, localkube string) {
	ginkgo.GinkgoHelper()
	if !fits(w.Families(ctx)) {
		needs.Unfit(ginkgo.GinkgoT(), "this Kubernetes has other families of addresses: make test-stories GROUP=families FAMILIES="+localkube)
	}
}

// FamilyOf is the family of an address.
func FamilyOf(address string) corev1.IPFamily {
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// FamiliesOf are those of a Pod's addresses.
func FamiliesOf(pod *corev1.Pod) []corev1.IPFamily {
	var families []corev1.IPFamily
	for _, ip := range pod.Status.PodIPs {
		families = append(families, FamilyOf(ip.IP))
	}
	return families
}

// Both says that there are two families.
func Both(families []corev1.IPFamily) bool { return len(families) == 2 }

// OnlyIPv6 says that there is no IPv4.
func OnlyIPv6(families []corev1.IPFamily) bool {
	return slices.Equal(families, []corev1.IPFamily{corev1.IPv6Protocol})
}

// One says that there is one family, whichever.
func One(families []corev1.IPFamily) bool { return len(families) == 1 }
