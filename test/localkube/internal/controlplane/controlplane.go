// Package controlplane runs the one host that is no node: etcd, the API server, its controllers, DNS and the volume
// provisioner, all as processes, so that they are there before the first Pod and need none.
package controlplane

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/node"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

//go:embed config/*
var configFiles embed.FS

var configs = template.Must(template.ParseFS(configFiles, "config/*"))

// Users are the components that talk to the API server, and who they are there. Kubernetes has roles for most of them;
// the others get theirs with the addons.
var Users = map[string]pki.Subject{
	"admin":                   {User: "kubernetes-admin", Groups: []string{"system:masters"}},
	"kube-apiserver-kubelet":  {User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
	"kube-controller-manager": {User: "system:kube-controller-manager"},
	"kube-scheduler":          {User: "system:kube-scheduler"},
	"kube-proxy":              {User: "system:kube-proxy"},
	"coredns":                 {User: "system:coredns"},
	"local-path-provisioner":  {User: "system:local-path-provisioner"},
	"csi":                     {User: "system:localkube-csi"},
}

// ControlPlane starts the control plane.
type ControlPlane struct {
	Paths    layout.Paths
	Cache    *cache.Cache
	Families layout.Families
	Nodes    []layout.Node
	// Domain is the DNS domain of Services.
	Domain string
	// FeatureGates and RuntimeConfig are values of the flags of that name; empty: Kubernetes' own defaults.
	FeatureGates, RuntimeConfig string
}

// Runner starts and stops the nodes of this control plane.
func (c ControlPlane) Runner() node.Runner {
	return node.Runner{Paths: c.Paths, Cache: c.Cache, Families: c.Families, Domain: c.Domain}
}

// Configure writes credentials and configuration files.
func (c ControlPlane) Configure(ca *pki.CA) error {
	for name, subject := range Users {
		if err := ca.Kubeconfig(name, subject, c.Families.APIServerURL()); err != nil {
			return err
		}
	}
	if err := ca.Issue("service-accounts", pki.Subject{User: "service-accounts"}); err != nil {
		return err
	}
	if err := ca.Issue("front-proxy-client", pki.Subject{User: "front-proxy-client"}); err != nil {
		return err
	}
	if err := ca.Issue("registry", pki.Subject{User: "registry"}, c.Families.ControlPlanes()...); err != nil {
		return err
	}
	hosts := append(slices.Concat(c.Families.ControlPlanes(), c.Families.APIServices()), "127.0.0.1",
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+c.Domain)
	if err := ca.Issue("kube-apiserver", pki.Subject{User: "kube-apiserver"}, hosts...); err != nil {
		return err
	}
	for name, data := range map[string]any{
		"audit-policy.yaml": nil,
		"Corefile": map[string]string{
			"Addresses": strings.Join(c.Families.ControlPlanes(), " "), "Kubeconfig": ca.File("coredns", "kubeconfig"),
			"Domain": c.Domain,
		},
	} {
		if err := c.render(name, data); err != nil {
			return err
		}
	}
	return c.exportAdmin(ca)
}

// exportAdmin puts the administrator's kubeconfig where people look for it.
func (c ControlPlane) exportAdmin(ca *pki.CA) error {
	data, err := os.ReadFile(ca.File("admin", "kubeconfig"))
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	if err := os.WriteFile(c.Paths.Kubeconfig(), data, 0o600); err != nil {
		return fmt.Errorf("writing the administrator's kubeconfig: %w", err)
	}
	return nil
}

func (c ControlPlane) render(name string, data any) error {
	var out bytes.Buffer
	if err := configs.ExecuteTemplate(&out, name, data); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	return c.WriteFile(name, out.Bytes())
}

// WriteFile writes a configuration file of the control plane.
func (c ControlPlane) WriteFile(name string, data []byte) error {
	if err := os.MkdirAll(c.Paths.ControlPlane(), 0o755); err != nil {
		return fmt.Errorf("making the control plane's directory: %w", err)
	}
	if err := os.WriteFile(c.File(name), data, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// File is the path of a file of the control plane.
func (c ControlPlane) File(name string) string { return filepath.Join(c.Paths.ControlPlane(), name) }

func (c ControlPlane) credential(name, extension string) string {
	return filepath.Join(c.Paths.PKI(), name+"."+extension)
}

// StartAPI starts etcd and the API server, which waits for etcd by itself.
func (c ControlPlane) StartAPI() error {
	if err := c.start("etcd", c.Cache.Etcd(), c.etcdArgs()...); err != nil {
		return err
	}
	return c.start("kube-apiserver", c.Cache.Binary("kube-apiserver"), c.apiServerArgs()...)
}

// StartControllers starts all that needs a serving API.
func (c ControlPlane) StartControllers() error {
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		args := c.controllerManagerArgs()
		if component == "kube-scheduler" {
			args = c.schedulerArgs()
		}
		if err := c.start(component, c.Cache.Binary(component), args...); err != nil {
			return err
		}
	}
	if err := c.startSelf("coredns", "dns", c.File("Corefile")); err != nil {
		return err
	}
	if err := c.startRegistry(); err != nil {
		return err
	}
	// kube-proxy insists on a node to be on, and webhooks are reached from here as from any other.
	return c.Runner().StartProxy(layout.ControlPlane, c.Nodes[0].Name, 0)
}

// StartProvisioner starts what gives claims their volumes.
func (c ControlPlane) StartProvisioner() error {
	return c.startSelf("local-path-provisioner", "provision", c.credential("local-path-provisioner", "kubeconfig"))
}

// StartDriver starts the CSI driver's part that is on no node, and the resizer that Kubernetes publishes. That tries
// again sooner than it would by itself: a story waits for it.
func (c ControlPlane) StartDriver() error {
	kubeconfig := c.credential("csi", "kubeconfig")
	if err := c.startSelf("csi-controller", "csi-controller", kubeconfig); err != nil {
		return err
	}
	return c.start("csi-resizer", c.Cache.Resizer(), "--csi-address="+c.Paths.ResizerSocket(),
		"--kubeconfig="+kubeconfig, "--retry-interval-max=10s", "-v=2")
}

// startRegistry starts the registry, which is empty. It keeps images on the disk of the machine.
func (c ControlPlane) startRegistry() error {
	return c.startSelf("registry", append([]string{"serve-images", c.Paths.Registry(), c.credential("registry", "crt"),
		c.credential("registry", "key")}, c.Families.ControlPlanes()...)...)
}

// startSelf starts a command of this program itself.
func (c ControlPlane) startSelf(name string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return c.start(name, self, args...)
}

func (c ControlPlane) start(name, binary string, args ...string) error {
	_, err := proc.Start(c.Paths, proc.Daemon{
		Host: layout.ControlPlane, Name: name, Args: append([]string{binary}, args...),
	})
	return err
}
