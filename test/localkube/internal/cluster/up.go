package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/controlplane"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/host"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/network"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/node"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
)

// defaultNodes are enough for a quorum that survives the loss of one.
const defaultNodes = 3

// Up starts a localkube of so many nodes and of these families of addresses from a full cache; 0 and none stand for
// what is up, or the defaults. One that is up and whole stays, unless a fresh one is asked for, and gets the images
// that it lacks. All else that an earlier run left is removed first.
func (c *Cluster) Up(ctx context.Context, count int, families layout.Families, fresh bool) error {
	if err := network.Check(families); err != nil {
		return err
	}
	if count < 0 || count > layout.MaxNodes {
		return fmt.Errorf("a localkube has 1 to %d nodes, not %d", layout.MaxNodes, count)
	}
	if state, isUp := c.running(ctx); isUp && !fresh {
		if err := state.checkIs(c.asked(count, families)); err != nil {
			return err
		}
		c.say("it is up already")
		return c.addEtcd(ctx, state)
	}
	if c.isLeftOver() {
		c.say("removing what an earlier run left")
		if err := c.Down(); err != nil {
			return err
		}
	}
	c.Domain = cmp.Or(c.Domain, layout.Domain)
	if len(families) == 0 {
		families = layout.Families{layout.IPv4}
	}
	return c.start(ctx, cmp.Or(count, defaultNodes), families)
}

// asked is what was asked for; what is empty there is as it is.
func (c *Cluster) asked(count int, families layout.Families) State {
	return State{Nodes: count, Families: families, Domain: c.Domain, Kubernetes: c.Cache.Kubernetes,
		FeatureGates: c.FeatureGates, RuntimeConfig: c.RuntimeConfig}
}

// checkIs returns an error if another localkube is asked for than the one that is up.
func (s State) checkIs(asked State) error {
	const first = ": `localkube down` first, or `up --fresh`"
	if asked.Nodes != 0 && asked.Nodes != s.Nodes {
		return fmt.Errorf("it is up with %d nodes"+first, s.Nodes)
	}
	if has := s.Families.Names(); len(asked.Families) > 0 && !slices.Equal(asked.Families.Names(), has) {
		return fmt.Errorf("it is up with %s"+first, strings.Join(has, " before "))
	}
	if has := cmp.Or(s.Kubernetes, cache.KubernetesVersion); asked.Kubernetes != "" && asked.Kubernetes != has {
		return fmt.Errorf("it is up with Kubernetes %s"+first, has)
	}
	if asked.Domain != "" && asked.Domain != s.Domain {
		return fmt.Errorf("it is up with the domain %s"+first, s.Domain)
	}
	if asked.FeatureGates != "" && asked.FeatureGates != s.FeatureGates {
		return fmt.Errorf("it is up with the feature gates %q"+first, s.FeatureGates)
	}
	if asked.RuntimeConfig != "" && asked.RuntimeConfig != s.RuntimeConfig {
		return fmt.Errorf("it is up with the runtime config %q"+first, s.RuntimeConfig)
	}
	return nil
}

// running returns the state of the localkube that is up and whole, if there is one.
func (c *Cluster) running(ctx context.Context) (State, bool) {
	state, err := c.readState()
	if err != nil || !state.Ready || c.checkDaemons(state) != nil {
		return state, false
	}
	api, err := newAPI(c.Paths, state.Families)
	if err != nil {
		return state, false
	}
	ready, err := api.readyNodes(ctx)
	return state, err == nil && len(ready) >= state.Nodes
}

// AddEtcd has every node know the images of the cache's versions, which are there.
func (c *Cluster) AddEtcd(ctx context.Context) error {
	state, isUp := c.running(ctx)
	if !isUp {
		return errors.New("no localkube is up: images go to its nodes")
	}
	return c.addEtcd(ctx, state)
}

// addEtcd loads the images of versions that the localkube was not started with: `make demo` needs one, tests need all.
func (c *Cluster) addEtcd(ctx context.Context, state State) error {
	work, err := os.MkdirTemp("", "localkube-")
	if err != nil {
		return fmt.Errorf("making a directory for images: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, version := range c.Cache.EtcdVersions {
		if slices.Contains(state.EtcdVersions, version) {
			continue
		}
		archive, err := c.Cache.WriteEtcd(work, version)
		if err != nil {
			return err
		}
		if err := c.Load(ctx, archive); err != nil {
			return err
		}
		c.say("added the image of etcd %s, which it was not started with", version)
		state.EtcdVersions = append(state.EtcdVersions, version)
		if err := c.writeState(state); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) start(ctx context.Context, count int, families layout.Families) error {
	state, err := c.begin(ctx, count, families)
	if err != nil {
		return err
	}
	nodes := state.nodes()
	plane, err := c.startHosts(families, nodes)
	if err != nil {
		return err
	}
	// Nodes boot while the API server starts: neither needs the other yet, and both wait most of the time.
	if err := errors.Join(c.boot(ctx, nodes, func() error { return c.startAPI(ctx, plane) })...); err != nil {
		return err
	}
	if err := c.startRest(ctx, state, plane); err != nil {
		return err
	}
	state.Ready = true
	return c.writeState(state)
}

// begin notes all that has to be undone before it is done.
func (c *Cluster) begin(ctx context.Context, count int, families layout.Families) (State, error) {
	state := c.asked(count, families)
	state.Kubernetes = cmp.Or(c.Cache.Kubernetes, cache.KubernetesVersion)
	state.EtcdVersions, state.KernelSettings = c.Cache.EtcdVersions, host.ReadSettings()
	for _, d := range node.Directories {
		if !isThere(d) {
			state.MadeDirectories = append(state.MadeDirectories, d)
		}
	}
	if err := c.writeState(state); err != nil {
		return state, err
	}
	if err := host.MakeDirs(state.MadeDirectories); err != nil {
		return state, err
	}
	return state, c.keepDataInMemory(ctx)
}

// keepDataInMemory does so where there is plenty of it. All members wait for one disk of this machine, and one that
// stands still for seconds while it writes or frees something else looks like a fault of every cluster.
func (c *Cluster) keepDataInMemory(ctx context.Context) error {
	if c.OnDisk {
		c.say("data on disk")
		return nil
	}
	hasPlenty, err := host.HasPlentyOfMemory()
	if err != nil || !hasPlenty {
		c.say("data on disk: little memory is available")
		return err
	}
	if err := host.DiskInMemory(ctx, c.Paths.Memory(), c.Paths.Data()); err != nil {
		return err
	}
	c.say("data in memory")
	return nil
}

func (c *Cluster) startHosts(families layout.Families, nodes []layout.Node) (controlplane.ControlPlane, error) {
	plane := controlplane.ControlPlane{Paths: c.Paths, Cache: c.Cache, Families: families, Nodes: nodes, Domain: c.Domain,
		FeatureGates: c.FeatureGates, RuntimeConfig: c.RuntimeConfig}
	if err := network.Up(families, nodes); err != nil {
		return plane, err
	}
	c.say("network of %d hosts", len(nodes)+1)
	ca, err := pki.NewCA(c.Paths.PKI())
	if err != nil {
		return plane, err
	}
	if err := plane.Configure(ca); err != nil {
		return plane, err
	}
	if err := plane.StartAPI(); err != nil {
		return plane, err
	}
	for _, n := range nodes {
		if err := c.runner().Create(ca, n); err != nil {
			return plane, err
		}
	}
	c.say("credentials, configuration and images")
	return plane, nil
}

// boot boots all nodes and does one more thing, all at once.
func (c *Cluster) boot(ctx context.Context, nodes []layout.Node, also func() error) []error {
	errs := make([]error, len(nodes)+1)
	var wg sync.WaitGroup
	wg.Go(func() { errs[len(nodes)] = also() })
	for i, n := range nodes {
		wg.Go(func() { errs[i] = c.runner().Boot(ctx, n) })
	}
	wg.Wait()
	return errs
}

func (c *Cluster) startAPI(ctx context.Context, plane controlplane.ControlPlane) error {
	api, err := newAPI(plane.Paths, plane.Families)
	if err != nil {
		return err
	}
	if err := api.waitReady(ctx, c.Paths); err != nil {
		return fmt.Errorf("%w, see %s", err, c.Paths.Log(layout.ControlPlane, "kube-apiserver"))
	}
	c.say("API server serves")
	return plane.StartControllers()
}

func (c *Cluster) startRest(ctx context.Context, state State, plane controlplane.ControlPlane) error {
	for _, n := range plane.Nodes {
		if err := c.runner().Join(n); err != nil {
			return err
		}
	}
	if err := c.addAddons(ctx, plane); err != nil {
		return err
	}
	c.say("DNS and volumes are set up")
	api, err := newAPI(plane.Paths, plane.Families)
	if err != nil {
		return err
	}
	if err := api.waitNodes(ctx, len(plane.Nodes)); err != nil {
		return fmt.Errorf("%w, see %s", err, c.Paths.Log("node-*", "kubelet"))
	}
	c.say("%d nodes are Ready", len(plane.Nodes))
	if err := waitDNS(ctx, plane.Families[0].DNSService, c.Domain); err != nil {
		return fmt.Errorf("%w, see %s", err, c.Paths.Log(layout.ControlPlane, "coredns"))
	}
	c.say("DNS answers")
	return c.checkDaemons(state)
}
