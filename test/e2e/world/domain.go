package world

import (
	"context"
	"encoding/json"
	"net"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Domain is the DNS domain of Services, as the kubelets tell it to Pods.
func (w *World) Domain(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	nodes, err := w.Nodes(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	said := w.kubectl(ctx, "get", "--raw", "/api/v1/nodes/"+nodes[0]+"/proxy/configz")
	var config struct {
		Kubelet struct {
			ClusterDomain string `json:"clusterDomain"`
		} `json:"kubeletconfig"`
	}
	gomega.Expect(json.Unmarshal([]byte(said), &config)).To(gomega.Succeed(), said)
	gomega.Expect(config.Kubelet.ClusterDomain).NotTo(gomega.BeEmpty(), said)
	return config.Kubelet.ClusterDomain
}

// ServiceNames looks names of Services up where Pods do.
var ServiceNames = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(dnsAddress, "53"))
}}
