package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// StartDriver starts the CSI driver of a node, among its mounts.
func (r Runner) StartDriver(n layout.Node) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	_, err = proc.Start(r.Paths, proc.Daemon{
		Host: n.Name, Name: "csi-node", Joins: proc.PID(r.Paths, n.Name, "containerd"), Args: []string{self, "csi-node", n.Name},
	})
	return err
}

// StartProxy starts a kube-proxy on a host under the name of a node, whose address it takes for its own. Joins is the
// process that booted the host, or 0.
func (r Runner) StartProxy(host, nodeName string, joins int) error {
	config := filepath.Join(r.Paths.Root, "kube-proxy-"+host+".yaml")
	kubeconfig := filepath.Join(r.Paths.PKI(), "kube-proxy.kubeconfig")
	text := fmt.Sprintf(proxyConfig, strings.Join(r.Families.Pods(), ","), nodeName, kubeconfig)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return fmt.Errorf("configuring kube-proxy on %s: %w", host, err)
	}
	_, err := proc.Start(r.Paths, proc.Daemon{
		Host: host, Name: "kube-proxy", Joins: joins,
		Args: []string{r.Cache.Binary("kube-proxy"), "--config=" + config},
	})
	return err
}
