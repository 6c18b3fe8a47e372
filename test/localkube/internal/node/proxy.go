package node

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

// proxyConfig leaves the limits of connection tracking alone: they are the machine's.
const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: %s
hostnameOverride: %s
clientConnection:
  kubeconfig: %s
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
nftables:
  minSyncPeriod: 200ms
`

// StartProxy starts a kube-proxy on a host under the name of a node, whose address it takes for its own. Joins is the
// process that booted the host, or 0.
func StartProxy(paths layout.Paths, c *cache.Cache, host, nodeName string, joins int) error {
	config := filepath.Join(paths.Root, "kube-proxy-"+host+".yaml")
	kubeconfig := filepath.Join(paths.PKI(), "kube-proxy.kubeconfig")
	text := fmt.Sprintf(proxyConfig, layout.PodsCIDR, nodeName, kubeconfig)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return fmt.Errorf("configuring kube-proxy on %s: %w", host, err)
	}
	_, err := proc.Start(paths, proc.Daemon{
		Host: host, Name: "kube-proxy", Joins: joins,
		Args: []string{c.Binary("kube-proxy"), "--config=" + config},
	})
	return err
}
