package cache

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/images"
)

const (
	// PauseImage holds the namespaces of a Pod.
	PauseImage = "registry.k8s.io/pause:3.10"
	// BusyboxImage has a shell and the usual small programs, for tests.
	BusyboxImage = "docker.io/library/busybox:1.35.0"
)

const standardPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// EtcdImage is the name under which etcd publishes a version.
func EtcdImage(version string) string { return "gcr.io/etcd-development/etcd:v" + version }

// etcdMirror is the other name under which it does.
func etcdMirror(version string) string { return "quay.io/coreos/etcd:v" + version }

// mislabelled are names that promise a version and lead to another image: of an older etcd, or of none at all.
var mislabelled = map[string][]string{
	"3.5.21":     {"mislabelled.test/etcd:v3.5.35"},
	"3.5.35":     {"mislabelled.test/etcd:v3.6.16"},
	BusyboxImage: {"mislabelled.test/busybox:v3.6.16"},
}

// holed are the names of a version in repositories that lack one of these each: without-3.6.16.test/etcd has all
// others.
func holed(version string) []string {
	var names []string
	for _, lacking := range []string{"3.5.35", "3.6.16", "3.7.3"} {
		if lacking != version {
			names = append(names, "without-"+lacking+".test/etcd:v"+version)
		}
	}
	return names
}

// WriteEtcd writes the image of one version into a directory and returns the file.
func (c *Cache) WriteEtcd(dir, version string) (string, error) {
	file := filepath.Join(dir, "etcd-"+version+".tar")
	return file, images.Write(file, c.etcdImage(version))
}

// WriteReleasedEtcd does so under the name by which etcd publishes the version, and no other.
func (c *Cache) WriteReleasedEtcd(dir, version string) (string, error) {
	file, image := filepath.Join(dir, "released-"+version+".tar"), c.etcdImage(version)
	image.Also = nil
	return file, images.Write(file, image)
}

// imageList returns every image that each node has from the start. busybox is the static one of this machine.
func (c *Cache) imageList() ([]images.Image, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("finding busybox: %w", err)
	}
	applets, err := appletLinks(busybox)
	if err != nil {
		return nil, err
	}
	list := []images.Image{
		{
			// It does what pause does, which is nothing. Nobody reaps zombies: Pods that share a process namespace
			// are not what this is for.
			Reference: PauseImage, Files: map[string]string{"bin/busybox": busybox},
			Entrypoint: []string{"/bin/busybox", "sleep", "2147483647"},
		},
		{
			Reference: BusyboxImage, Also: mislabelled[BusyboxImage],
			Files: map[string]string{"bin/busybox": busybox}, Links: applets,
			Cmd: []string{"sh"}, Env: []string{standardPath},
		},
	}
	for _, v := range c.EtcdVersions {
		list = append(list, c.etcdImage(v))
		if v == "3.6.16" {
			list = append(list, c.withoutEtcdutl(v))
		}
	}
	return list, nil
}

// withoutEtcdutl is an image of etcd as that of Kubernetes was (etcd-io/etcd#13764).
func (c *Cache) withoutEtcdutl(version string) images.Image {
	image := c.etcdImage(version)
	image.Reference, image.Also = "mislabelled.test/no-etcdutl:v"+version, nil
	delete(image.Files, "usr/local/bin/etcdutl")
	return image
}

// etcdImage is restored out as etcd-io/etcd:Dockerfile lays it out, without a shell.
func (c *Cache) etcdImage(version string) images.Image {
	dir := c.targetDir(etcdTarget(version))
	files := map[string]string{}
	for _, program := range []string{"etcd", "etcdctl", "etcdutl"} {
		files["usr/local/bin/"+program] = filepath.Join(dir, program)
	}
	return images.Image{
		Reference: EtcdImage(version),
		Also:      slices.Concat([]string{etcdMirror(version)}, mislabelled[version], holed(version)),
		Files:     files, Directories: []string{"var/etcd", "var/lib/etcd"},
		Cmd: []string{"/usr/local/bin/etcd"}, Env: []string{standardPath}, WorkingDir: "/var/lib/etcd",
	}
}

func appletLinks(busybox string) (map[string]string, error) {
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("asking busybox for its applets: %w", err)
	}
	links := map[string]string{}
	for _, applet := range bytes.Fields(out) {
		if string(applet) != "busybox" {
			links["bin/"+string(applet)] = "busybox"
		}
	}
	return links, nil
}

// writeImages writes all images into a directory and returns the files.
func (c *Cache) writeImages(ctx context.Context, dir string) ([]string, error) {
	list, err := c.imageList()
	if err != nil {
		return nil, err
	}
	var files []string
	for i, image := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.tar", i))
		if err := images.Write(file, image); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
