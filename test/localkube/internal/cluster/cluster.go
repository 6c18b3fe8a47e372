// Package cluster brings a whole localkube up and down, and does to it what tests ask for.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/node"
)

// Cluster is the one localkube of this machine, running or not.
type Cluster struct {
	Paths layout.Paths
	Cache *cache.Cache
	// Domain is the DNS domain of Services that is asked for; empty for that which is up, or layout.Domain.
	Domain string
	// FeatureGates and RuntimeConfig are asked for of the control plane; empty for those of what is up, or the defaults.
	FeatureGates, RuntimeConfig string
	// Progress gets a line for each step, with the seconds since Began.
	Progress io.Writer
	Began    time.Time
	// OnDisk keeps the nodes' data on this machine's disk even where there is plenty of memory.
	OnDisk bool
}

// ErrNotUp says that there is nothing to do it to.
var ErrNotUp = errors.New("localkube is not up: start it with `localkube up`")

// State is what `down` has to know even if `up` was killed, so it is written before anything is started.
type State struct {
	Nodes int `json:"nodes"`
	// Domain is the DNS domain of Services.
	Domain string `json:"domain"`
	// Families of addresses. An earlier localkube wrote down none, and had IPv4.
	Families layout.Families `json:"ipFamilies,omitempty"`
	// Ready says that `up` went through to its end.
	Ready bool `json:"ready"`
	// CSI says that the driver of volumes that grow is started on every node.
	CSI bool `json:"csi,omitempty"`
	// Kubernetes is its version. An earlier localkube wrote down none, and had the only one.
	Kubernetes string `json:"kubernetes,omitempty"`
	// FeatureGates and RuntimeConfig are what the control plane was started with beside Kubernetes' defaults.
	FeatureGates  string `json:"featureGates,omitempty"`
	RuntimeConfig string `json:"runtimeConfig,omitempty"`
	// EtcdVersions are those that all nodes have images of.
	EtcdVersions []string `json:"etcdVersions,omitempty"`
	// MadeDirectories were not on this machine before.
	MadeDirectories []string `json:"madeDirectories,omitempty"`
	// KernelSettings are as they were before.
	KernelSettings map[string]string `json:"kernelSettings,omitempty"`
}

func (c *Cluster) readState() (State, error) {
	var s State
	data, err := os.ReadFile(c.Paths.State())
	if errors.Is(err, fs.ErrNotExist) {
		return s, ErrNotUp
	}
	if err != nil {
		return s, fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("reading the state %s: %w", c.Paths.State(), err)
	}
	if len(s.Families) == 0 {
		s.Families = layout.Families{layout.IPv4}
	}
	return s, nil
}

// Follow takes the programs of the Kubernetes that there is, until `down`: its nodes and its kubectl are of one version.
func (c *Cluster) Follow() {
	if state, err := c.readState(); err == nil { // every command that needs the state reports what is wrong with it
		c.Cache.Kubernetes = state.Kubernetes
	}
}

func (s State) nodes() []layout.Node { return s.Families.Nodes(s.Nodes) }

func (c *Cluster) writeState(s State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	if err := os.MkdirAll(c.Paths.Root, 0o755); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	tmp := c.Paths.State() + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.Rename(tmp, c.Paths.State()); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// nodes returns the nodes of the running localkube.
func (c *Cluster) nodes() ([]layout.Node, error) {
	s, err := c.readState()
	if err != nil {
		return nil, err
	}
	return s.nodes(), nil
}

// node finds a node by its name.
func (c *Cluster) node(name string) (layout.Node, error) {
	nodes, err := c.nodes()
	if err != nil {
		return layout.Node{}, err
	}
	for _, n := range nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return layout.Node{}, fmt.Errorf("there is no node %q, only node-1 to node-%d", name, len(nodes))
}

func (c *Cluster) runner() node.Runner {
	state, _ := c.readState() // families are asked for only of one that is up
	return node.Runner{Paths: c.Paths, Cache: c.Cache, Families: state.Families, Domain: c.Domain}
}

func (c *Cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Progress, "%5.1fs  %s\n", time.Since(c.Began).Seconds(), fmt.Sprintf(format, args...))
}

// Volumes is the directory of this machine in which a node has its local-path volumes.
func (c *Cluster) Volumes(name string) (string, error) {
	n, err := c.node(name)
	if err != nil {
		return "", err
	}
	return filepath.Clean(c.Paths.Node(n.Name).Volumes()), nil
}
