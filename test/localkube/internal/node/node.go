package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/cache"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/images"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/pki"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/proc"
)

const containerdTimeout = time.Minute

// Directories are hard-wired in a kubelet or in containerd, besides /run. A node gets its own over each; on the machine
// they only have to exist.
var Directories = []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/containers"}

// Runner starts and stops nodes.
type Runner struct {
	Paths    layout.Paths
	Cache    *cache.Cache
	Families layout.Families
	// Domain is the DNS domain of Services.
	Domain string
}

// Create makes everything a node has on disk: configuration, credentials, images.
func (r Runner) Create(ca *pki.CA, n layout.Node) error {
	if err := r.configure(ca, n); err != nil {
		return err
	}
	return r.Cache.CopyTemplate(r.Paths.Node(n.Name).Containerd())
}

// Boot starts containerd, which makes the node's mounts and cgroups, and waits until it serves. What a real node keeps
// in memory only is gone. Images that were loaded while the node was down are imported.
func (r Runner) Boot(ctx context.Context, n layout.Node) error {
	dirs := r.Paths.Node(n.Name)
	if err := os.RemoveAll(dirs.Run()); err != nil {
		return fmt.Errorf("emptying /run of %s: %w", n.Name, err)
	}
	if err := os.MkdirAll(dirs.ContainerdState(), 0o711); err != nil {
		return fmt.Errorf("making /run of %s: %w", n.Name, err)
	}
	script, err := mountScript(dirs)
	if err != nil {
		return err
	}
	_, err = proc.Start(r.Paths, proc.Daemon{
		Host: n.Name, Name: "containerd", Boots: true, Prepare: script,
		Args: []string{"containerd", "--config", dirs.Config("containerd.toml")},
	})
	if err != nil {
		return err
	}
	if err := images.WaitRuntimeReady(ctx, dirs.ContainerdSocket(), containerdTimeout); err != nil {
		return fmt.Errorf("on %s, see %s: %w", n.Name, r.Paths.Log(n.Name, "containerd"), err)
	}
	return r.importArchives(ctx, n.Name)
}

// mountScript makes mounts propagate within the node, as on a machine run by systemd, and puts the node's own
// directories over those that programs have hard-wired.
func mountScript(dirs layout.NodePaths) (string, error) {
	script := "mount --make-rshared /\n"
	for _, d := range append([]string{"/run"}, Directories...) {
		own := dirs.Run()
		switch d {
		case "/run":
		case "/var/lib/kubelet":
			own = dirs.Kubelet()
		default:
			own = filepath.Join(dirs.Root, "over", d)
		}
		if err := os.MkdirAll(own, 0o755); err != nil {
			return "", fmt.Errorf("making what goes over %s: %w", d, err)
		}
		script += fmt.Sprintf("mount --bind %s %s\n", own, d)
	}
	return script, nil
}

// Join starts the kubelet and kube-proxy of a node whose containerd serves.
func (r Runner) Join(n layout.Node) error {
	booted := proc.PID(r.Paths, n.Name, "containerd")
	if booted == 0 {
		return fmt.Errorf("containerd of %s has ended, see %s", n.Name, r.Paths.Log(n.Name, "containerd"))
	}
	dirs := r.Paths.Node(n.Name)
	_, err := proc.Start(r.Paths, proc.Daemon{
		Host: n.Name, Name: "kubelet", Joins: booted,
		Args: []string{
			r.Cache.Binary("kubelet"),
			"--config=" + dirs.Config("kubelet.yaml"),
			"--kubeconfig=" + filepath.Join(r.Paths.PKI(), "kubelet-"+n.Name+".kubeconfig"),
			"--root-dir=" + dirs.Kubelet(),
			"--hostname-override=" + n.Name,
			"--node-ip=" + strings.Join(n.IPs, ","),
			fmt.Sprintf("--node-labels=topology.kubernetes.io/zone=zone-%d", n.Ordinal),
		},
	})
	if err != nil {
		return err
	}
	return r.StartProxy(n.Name, n.Name, booted)
}

// Kill is a loss of power: everything on the node ends at once, disks stay.
func (r Runner) Kill(name string) error { return proc.KillHost(r.Paths, name) }

// importArchives imports what is in the archive directory and was not imported on this node before.
func (r Runner) importArchives(ctx context.Context, name string) error {
	archives, err := filepath.Glob(filepath.Join(r.Paths.Archives(), "*.tar"))
	if err != nil {
		return err
	}
	sort.Strings(archives)
	for _, a := range archives {
		if err := r.Import(ctx, name, a); err != nil {
			return err
		}
	}
	return nil
}

// Import imports an archive on a node, once.
func (r Runner) Import(ctx context.Context, name, archive string) error {
	dirs := r.Paths.Node(name)
	done := filepath.Join(dirs.Imported(), filepath.Base(archive))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := images.Import(ctx, dirs.ContainerdSocket(), archive); err != nil {
		return fmt.Errorf("on %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(done), 0o755); err != nil {
		return fmt.Errorf("noting an import on %s: %w", name, err)
	}
	return os.WriteFile(done, nil, 0o644)
}
