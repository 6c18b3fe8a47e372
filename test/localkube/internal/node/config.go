// Package node runs the nodes: each is a containerd, a kubelet and a kube-proxy on a host of its own, with mounts and
// cgroups of its own, so that everything a node started is gone when its processes are.
package node

import (
	"bytes"
	"embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/host"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/registry"
)

//go:embed config/*
var configFiles embed.FS

var configs = template.Must(template.ParseFS(configFiles, "config/*"))

// values are what the templates under config/ may use.
type values struct {
	layout.Node

	Dirs        layout.NodePaths
	PauseImage  string
	CNIPlugins  string
	DNS         string
	Domain      string
	Ranges      string // from which Pods get their addresses, and
	Routes      string // the ways out of a Pod, as JSON
	CA          string
	Certificate string
	Key         string
	Kubeconfig  string
	Registry    string // the host and port of localkube's own
}

// configure writes the configuration files of a node and its credentials.
func (r Runner) configure(ca *pki.CA, n layout.Node) error {
	dirs := r.Paths.Node(n.Name)
	for _, d := range []string{dirs.Config("cni"), r.hostsDir(dirs), dirs.Run(), dirs.Kubelet(), dirs.Volumes(), dirs.PodLogs(), dirs.Containerd()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("making the directories of %s: %w", n.Name, err)
		}
	}
	subject := pki.Subject{User: "system:node:" + n.Name, Groups: []string{"system:nodes"}}
	if err := ca.Kubeconfig("kubelet-"+n.Name, subject, r.Families.APIServerURL()); err != nil {
		return err
	}
	if err := ca.Issue("serving-"+n.Name, subject, append([]string{n.Name}, n.IPs...)...); err != nil {
		return err
	}
	v := values{
		Node: n, Dirs: dirs, PauseImage: cache.PauseImage, CNIPlugins: host.CNIPlugins,
		DNS: r.Families[0].DNSService, Domain: r.Domain, Ranges: ranges(n), Routes: routes(r.Families),
		Registry:    r.registry(),
		CA:          ca.File("ca", "crt"),
		Certificate: ca.File("serving-"+n.Name, "crt"), Key: ca.File("serving-"+n.Name, "key"),
	}
	for _, file := range []string{"containerd.toml", "kubelet.yaml", "cni.conflist", "resolv.conf"} {
		if err := render(file, destination(dirs, file), v); err != nil {
			return err
		}
	}
	return render("hosts.toml", filepath.Join(r.hostsDir(dirs), "hosts.toml"), v)
}

func (r Runner) registry() string { return net.JoinHostPort(r.Families[0].ControlPlane, registry.Port) }

// hostsDir is where containerd looks for what it has to know of the registry.
func (r Runner) hostsDir(dirs layout.NodePaths) string {
	return filepath.Join(dirs.Config("certs.d"), r.registry())
}

// ranges has a Pod get one address of each.
func ranges(n layout.Node) string {
	sets := make([]string, len(n.PodCIDRs))
	for i, subnet := range n.PodCIDRs {
		sets[i] = fmt.Sprintf("[{ %q: %q }]", "subnet", subnet)
	}
	return "[" + strings.Join(sets, ", ") + "]"
}

func routes(families layout.Families) string {
	ways := make([]string, len(families))
	for i, f := range families {
		ways[i] = fmt.Sprintf("{ %q: %q }", "dst", f.Any)
	}
	return "[" + strings.Join(ways, ", ") + "]"
}

func destination(dirs layout.NodePaths, file string) string {
	if file == "cni.conflist" {
		return dirs.Config(filepath.Join("cni", file))
	}
	return dirs.Config(file)
}

func render(file, to string, v values) error {
	var out bytes.Buffer
	if err := configs.ExecuteTemplate(&out, file, v); err != nil {
		return fmt.Errorf("rendering %s: %w", file, err)
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
