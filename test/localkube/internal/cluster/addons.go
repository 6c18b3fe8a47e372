package cluster

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"text/template"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/controlplane"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

//go:embed manifests/*
var manifestFiles embed.FS

// addAddons makes cluster DNS and the default storage class.
func (c *Cluster) addAddons(ctx context.Context, plane controlplane.ControlPlane) error {
	base, err := renderManifest("base.yaml")
	if err != nil {
		return err
	}
	if err := poll(ctx, "the addons to be accepted", func(ctx context.Context) error { return c.apply(ctx, base) }); err != nil {
		return err
	}
	helper, err := renderManifest("helper-pod.yaml")
	if err != nil {
		return err
	}
	config, err := c.provisionerConfig(plane.Nodes)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"helper-pod.yaml": helper, "local-path.json": config} {
		if err := plane.WriteFile(name, data); err != nil {
			return err
		}
	}
	return plane.StartProvisioner(plane.File("local-path.json"), plane.File("helper-pod.yaml"))
}

func renderManifest(name string) ([]byte, error) {
	t, err := template.ParseFS(manifestFiles, "manifests/"+name)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest %s: %w", name, err)
	}
	var out bytes.Buffer
	values := map[string]string{
		"DNSServiceIP": layout.DNSServiceIP, "ControlPlaneIP": layout.ControlPlaneIP, "BusyboxImage": cache.BusyboxImage,
	}
	if err := t.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("rendering the manifest %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// provisionerConfig gives each node a directory of its own: all nodes see the same disk.
func (c *Cluster) provisionerConfig(nodes []layout.Node) ([]byte, error) {
	type path struct {
		Node  string   `json:"node"`
		Paths []string `json:"paths"`
	}
	var paths []path
	for _, n := range nodes {
		paths = append(paths, path{Node: n.Name, Paths: []string{c.Paths.Node(n.Name).Volumes()}})
	}
	data, err := json.Marshal(map[string]any{"nodePathMap": paths})
	if err != nil {
		return nil, fmt.Errorf("configuring the provisioner: %w", err)
	}
	return data, nil
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
