package cluster

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os/exec"
	"text/template"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/controlplane"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/csi"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/provisioner"
)

//go:embed manifests/*
var manifestFiles embed.FS

// addAddons makes cluster DNS and the default storage class.
func (c *Cluster) addAddons(ctx context.Context, plane controlplane.ControlPlane) error {
	base, err := renderManifest("base.yaml", plane.Families[0])
	if err != nil {
		return err
	}
	if err := poll(ctx, "the addons to be accepted", func(ctx context.Context) error { return c.apply(ctx, base) }); err != nil {
		return err
	}
	return plane.StartProvisioner()
}

func renderManifest(name string, family layout.Family) ([]byte, error) {
	t, err := template.ParseFS(manifestFiles, "manifests/"+name)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest %s: %w", name, err)
	}
	var out bytes.Buffer
	values := map[string]string{
		"DNSService": family.DNSService, "ControlPlane": family.ControlPlane, "Family": family.Name, "Provisioner": provisioner.Name,
		"Driver": csi.Name,
	}
	if err := t.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("rendering the manifest %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// Provision gives claims their volumes until ctx ends.
func (c *Cluster) Provision(ctx context.Context, kubeconfig string) error {
	state, err := c.readState()
	if err != nil {
		return err
	}
	roots := provisioner.Roots{}
	for _, n := range state.nodes() {
		roots[n.Name] = c.Paths.Node(n.Name).Volumes()
	}
	client, err := provisioner.Client(kubeconfig)
	if err != nil {
		return err
	}
	provisioner.Run(ctx, client, provisioner.Name, roots)
	return nil
}

// Kubectl is a kubectl of the server's version, as the administrator.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--kubeconfig=" + c.Paths.Kubeconfig()}, args...)
	return exec.CommandContext(ctx, c.Cache.Binary("kubectl"), args...)
}

func (c *Cluster) apply(ctx context.Context, manifest []byte) error {
	cmd := c.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-")
	cmd.Stdin = bytes.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
