package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/controlplane"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/csi"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/provisioner"
)

// StartCSI starts the CSI driver on a localkube that is up, and makes its classes. One that runs whole stays.
func (c *Cluster) StartCSI(ctx context.Context) error {
	state, err := c.readState()
	if err != nil {
		return err
	}
	if state.CSI && c.checkDaemons(state) == nil {
		return nil
	}
	if err := c.Cache.FillDriver(ctx); err != nil {
		return err
	}
	manifest, err := renderManifest("csi.yaml", state.Families[0])
	if err != nil {
		return err
	}
	if err := c.apply(ctx, manifest); err != nil {
		return err
	}
	state.CSI = true
	if err := c.writeState(state); err != nil {
		return err
	}
	if err := c.startDriver(state); err != nil {
		return err
	}
	api, err := newAPI(c.Paths, state.Families)
	if err != nil {
		return err
	}
	for _, n := range c.joined(state) {
		if err := poll(ctx, n.Name+" to have the CSI driver", func(ctx context.Context) error {
			return api.checkDriver(ctx, n.Name)
		}); err != nil {
			return fmt.Errorf("%w, see %s", err, c.Paths.Log(n.Name, "csi-node"))
		}
	}
	c.say("volumes that grow: csi-expandable, csi-offline, csi-infeasible, csi-fixed")
	return errors.Join(c.ended(layout.ControlPlane, planeDriver)...)
}

// startDriver starts what of it does not run. A node that is down gets its part when it starts.
func (c *Cluster) startDriver(state State) error {
	plane := controlplane.ControlPlane{Paths: c.Paths, Cache: c.Cache, Families: state.Families, Nodes: state.nodes(),
		Domain: state.Domain}
	if len(c.ended(layout.ControlPlane, planeDriver)) > 0 {
		if err := plane.StartDriver(); err != nil {
			return err
		}
	}
	var errs []error
	for _, n := range c.joined(state) {
		if len(c.ended(n.Name, nodeDriver)) > 0 {
			errs = append(errs, c.runner().StartDriver(n))
		}
	}
	return errors.Join(errs...)
}

// joined are the nodes that run.
func (c *Cluster) joined(state State) []layout.Node {
	var nodes []layout.Node
	for _, n := range state.nodes() {
		if len(c.ended(n.Name, nodeDaemons)) == 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// checkDriver returns an error while the kubelet of a node has not accepted the driver.
func (a *api) checkDriver(ctx context.Context, node string) error {
	body, err := a.get(ctx, "/apis/storage.k8s.io/v1/csinodes/"+node)
	if err != nil {
		return err
	}
	var has struct {
		Spec struct {
			Drivers []struct {
				Name string `json:"name"`
			} `json:"drivers"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(body, &has); err != nil {
		return fmt.Errorf("reading the drivers of %s: %w", node, err)
	}
	for _, d := range has.Spec.Drivers {
		if d.Name == csi.Name {
			return nil
		}
	}
	return fmt.Errorf("%s has not registered", csi.Name)
}

// RunCSIController gives claims their volumes, and answers the resizer, until ctx ends.
func (c *Cluster) RunCSIController(ctx context.Context, kubeconfig string) error {
	volumes, err := c.expandable()
	if err != nil {
		return err
	}
	client, err := provisioner.Client(kubeconfig)
	if err != nil {
		return err
	}
	go provisioner.Run(ctx, client, csi.Name, csi.Claims{Volumes: volumes, Client: client})
	return csi.RunController(ctx, volumes, c.Paths.ResizerSocket())
}

// RunCSINode answers the kubelet of a node until ctx ends.
func (c *Cluster) RunCSINode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	dirs := c.Paths.Node(n.Name)
	own := csi.Volumes{n.Name: dirs.Expandable()}
	return csi.RunNode(ctx, csi.Node{Name: n.Name, Volumes: own, Mounts: csi.Kernel{}}, dirs.Kubelet())
}

func (c *Cluster) expandable() (csi.Volumes, error) {
	nodes, err := c.nodes()
	if err != nil {
		return nil, err
	}
	volumes := csi.Volumes{}
	for _, n := range nodes {
		volumes[n.Name] = c.Paths.Node(n.Name).Expandable()
	}
	return volumes, nil
}
