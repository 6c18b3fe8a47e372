package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/network"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

// Cut pulls the network plug of a host, a node or the control plane.
func (c *Cluster) Cut(name string) error {
	if err := c.checkHost(name); err != nil {
		return err
	}
	return network.Cut(name)
}

// Heal puts the plug back.
func (c *Cluster) Heal(name string) error {
	if err := c.checkHost(name); err != nil {
		return err
	}
	return network.Heal(name)
}

func (c *Cluster) checkHost(name string) error {
	if name == layout.ControlPlane {
		_, err := c.readState()
		return err
	}
	_, err := c.node(name)
	return err
}

// KillNode is a loss of power: all that runs on a node ends at once, its disk stays. The plug is pulled first, or the
// kernel would say goodbye on every connection, which a machine without power does not.
func (c *Cluster) KillNode(name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := network.Cut(n.Name); err != nil {
		return err
	}
	if err := c.runner().Kill(n.Name); err != nil {
		return err
	}
	return network.DropPods(n.Name)
}

// StartNode starts a node again that was killed, or of which a daemon has ended, and plugs it in. What still runs on it
// ends first.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := c.KillNode(n.Name); err != nil {
		return err
	}
	if err := c.runner().Boot(ctx, n); err != nil {
		return err
	}
	if err := network.Heal(n.Name); err != nil {
		return err
	}
	if err := c.runner().Join(n); err != nil {
		return err
	}
	if state, _ := c.readState(); !state.CSI {
		return nil
	}
	return c.runner().StartDriver(n)
}

var (
	planeDaemons = []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns",
		"local-path-provisioner", "registry",
	}
	nodeDaemons = []string{"containerd", "kubelet", "kube-proxy"}

	// What is there besides with the CSI driver.
	planeDriver = []string{"csi-controller", "csi-resizer"}
	nodeDriver  = []string{"csi-node"}
)

// daemons are those that a host should run.
func (s State) daemons(host string) []string {
	all, driver := nodeDaemons, nodeDriver
	if host == layout.ControlPlane {
		all, driver = planeDaemons, planeDriver
	}
	if s.CSI {
		return slices.Concat(all, driver)
	}
	return all
}

// checkDaemons returns an error that names each daemon that should run and does not.
func (c *Cluster) checkDaemons(state State) error {
	errs := c.ended(layout.ControlPlane, state.daemons(layout.ControlPlane))
	for _, n := range state.nodes() {
		errs = append(errs, c.ended(n.Name, state.daemons(n.Name))...)
	}
	return errors.Join(errs...)
}

func (c *Cluster) ended(host string, daemons []string) []error {
	var errs []error
	for _, d := range daemons {
		if proc.PID(c.Paths, host, d) == 0 {
			errs = append(errs, fmt.Errorf("%s on %s does not run, see %s", d, host, c.Paths.Log(host, d)))
		}
	}
	return errs
}
