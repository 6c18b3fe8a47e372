// Package cache builds, once for each version, everything that does not depend on a running localkube: binaries from Go
// modules, images from binaries, and a containerd root that has the images already.
package cache

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
)

// modules holds for each target a go.mod that requires it as a tool, and its go.sum, so that a build is the same on
// every machine. They cannot be named go.mod here: a directory with a go.mod is not embedded.
//
//go:embed modules/*.mod modules/*.sum
var modules embed.FS

// KubernetesVersion is what `kubectl version` says of server and client, unless another minor is chosen.
const KubernetesVersion = "1.37.2"

// kubernetesVersions are those that can be chosen by their minor: what docs/support.md promises.
var kubernetesVersions = []string{"1.34.4", "1.35.4", "1.36.3", KubernetesVersion}

// resizerVersion is that of kubernetes-csi/external-resizer.
const resizerVersion = "2.3.0"

const controlPlaneEtcd = "3.6.16"

// etcdVersions are all that nodes have images of, unless some are chosen.
var etcdVersions = []string{"3.5.21", "3.5.35", "3.6.16", "3.7.3"}

// nextEtcd is the pre-release of etcd that the operator accepts. It is built and loaded where it is chosen by its name.
const nextEtcd = "3.8.0-alpha.0"

// Target is what one Go module is built for.
type Target struct {
	// Module names the files under modules/.
	Module string
	// Directory, under bin/, carries the version.
	Directory string
	Packages  []string
	LDFlags   string
	// Rename gives the binary that go names by the first its proper name, the second.
	Rename [2]string
}

// Choose limits the versions of etcd to a list of them, with commas in between, and the control plane's.
func (c *Cache) Choose(list string) error {
	chosen, all := strings.Split(list, ","), append(slices.Clone(etcdVersions), nextEtcd)
	for _, v := range chosen {
		if !slices.Contains(all, v) {
			return fmt.Errorf("localkube has no etcd %q, only %s", v, strings.Join(all, ", "))
		}
	}
	c.EtcdVersions = nil
	for _, v := range all {
		if v == controlPlaneEtcd || slices.Contains(chosen, v) {
			c.EtcdVersions = append(c.EtcdVersions, v)
		}
	}
	return nil
}

// ChooseKubernetes takes the one version of a minor.
func (c *Cache) ChooseKubernetes(minor string) error {
	minors := make([]string, len(kubernetesVersions))
	for i, v := range kubernetesVersions {
		minors[i] = minorOf(v)
		if minors[i] == minor {
			c.Kubernetes = v
			return nil
		}
	}
	return fmt.Errorf("localkube has no Kubernetes %q, only %s", minor, strings.Join(minors, ", "))
}

func minorOf(version string) string { return version[:strings.LastIndex(version, ".")] }

func (c *Cache) targets() []Target {
	return append([]Target{kubernetesTarget(c.kubernetes())}, c.etcdTargets()...)
}

func (c *Cache) etcdTargets() []Target {
	var all []Target
	for _, v := range c.EtcdVersions {
		all = append(all, etcdTarget(v))
	}
	return all
}

func (c *Cache) kubernetes() string { return cmp.Or(c.Kubernetes, KubernetesVersion) }

func kubernetesTarget(version string) Target {
	var packages []string
	for _, c := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet",
	} {
		packages = append(packages, "k8s.io/kubernetes/cmd/"+c)
	}
	return Target{
		Module: "kubernetes-" + minorOf(version), Directory: "kubernetes-" + version,
		Packages: packages, LDFlags: versionFlags(version),
	}
}

// versionFlags stamp the version as kubernetes/kubernetes:hack/lib/version.sh does; without them a server calls itself v0.0.0.
func versionFlags(version string) string {
	parts := strings.Split(version, ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=v%s", pkg, version),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, parts[0]),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, parts[1]),
			fmt.Sprintf("-X %s.gitTreeState=clean", pkg))
	}
	return strings.Join(flags, " ")
}

// resizerTarget is not among those that `up` needs: it is built when the CSI driver is asked for.
func resizerTarget() Target {
	return Target{
		Module: "external-resizer", Directory: "external-resizer-" + resizerVersion,
		Packages: []string{"github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer"},
	}
}

func etcdTarget(version string) Target {
	return Target{
		Module: "etcd-" + version, Directory: "etcd-" + version,
		Packages: []string{"go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3"},
		Rename:   [2]string{"server", "etcd"},
	}
}
