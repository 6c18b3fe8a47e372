package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

// program is one that is released: in the operator's image, or in an archive for each platform.
type program struct {
	dir     string
	archive string // its name in an archive of its own; empty for one in the image
}

// programs are all of them.
var programs = []program{
	{dir: "cmd/manager"},
	{dir: "cmd/agent"},
	{dir: "cmd/kubectl-etcd-steward", archive: "kubectl-etcd_steward"}, // kubectl finds etcd-steward by this name
}

// platform is what a program runs on.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// nodes are the platforms of the image, and desks those of archives.
var (
	nodes = []platform{{"linux", "amd64"}, {"linux", "arm64"}}
	desks = append(slices.Clone(nodes), platform{"darwin", "amd64"}, platform{"darwin", "arm64"}, platform{"windows", "amd64"})
)

func (p program) platforms() []platform {
	if p.archive != "" {
		return desks
	}
	return nodes
}

func (p program) name() string { return filepath.Base(p.dir) }

// extension is what the platform wants at the end of a program's name.
func (p platform) extension() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// binary is where a program lies once it is built.
func (r release) binary(p program, on platform) string {
	return filepath.Join(r.work, on.String(), p.name()+on.extension())
}

// build writes the image, the archives and the SBOMs, and prints the digest of the image. What an earlier release left
// goes first, because checksums cover all that is there.
func (r release) build() error {
	if err := r.sweep(); err != nil {
		return err
	}
	for _, on := range desks {
		if err := r.compile(on); err != nil {
			return err
		}
	}
	for _, p := range programs {
		for _, on := range p.platforms() {
			if err := r.describe(p, on); err != nil {
				return err
			}
			if err := r.archive(p, on); err != nil {
				return err
			}
		}
	}
	return r.writeImage()
}

// sweep leaves empty directories, for what is released and for what it is made from.
func (r release) sweep() error {
	for _, directory := range []string{r.out, r.work} {
		if err := os.RemoveAll(directory); err != nil {
			return fmt.Errorf("removing an earlier release: %w", err)
		}
		if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // for all
			return fmt.Errorf("making a directory: %w", err)
		}
	}
	return nil
}

// compile builds all programs for one platform, for the oldest processors of it. What a user set for Go does not count.
func (r release) compile(on platform) error {
	args := []string{"build", "-C", r.root, "-trimpath", "-buildvcs=false", "-ldflags", r.ldflags, "-o",
		filepath.Join(r.work, on.String()) + string(filepath.Separator)}
	count := len(args)
	for _, p := range programs {
		if slices.Contains(p.platforms(), on) {
			args = append(args, "./"+p.dir)
		}
	}
	if len(args) == count {
		return nil
	}
	fmt.Fprintln(os.Stderr, "building for", on)
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "GOOS="+on.os, "GOARCH="+on.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building for %s: %w\n%s", on, err, out)
	}
	return nil
}

// archive packs a program for people's own machines, with its license.
func (r release) archive(p program, on platform) error {
	if p.archive == "" {
		return nil
	}
	archive, err := pack.TarGz([]pack.File{
		{Target: p.archive + on.extension(), Source: r.binary(p, on), Mode: pack.Program},
		{Target: "LICENSE", Source: filepath.Join(r.root, "LICENSE"), Mode: pack.Document},
	}, r.created)
	if err != nil {
		return fmt.Errorf("packing %s for %s: %w", p.name(), on, err)
	}
	return r.write(fmt.Sprintf("%s_%s_%s.tar.gz", p.name(), r.version, on), archive)
}

// writeImage writes the layout of the operator's image, as a directory and as one file.
func (r release) writeImage() error {
	var images []pack.Image
	for _, on := range nodes {
		image := pack.Image{Arch: on.arch, Entrypoint: "/manager", Version: r.version, Revision: r.revision,
			Created: r.created, Compression: gzip.BestCompression}
		for _, p := range programs {
			if p.archive == "" {
				image.Files = append(image.Files, pack.File{Target: "/" + p.name(), Source: r.binary(p, on), Mode: pack.Program})
			}
		}
		images = append(images, image)
	}
	index, err := pack.Index(images)
	if err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	directory := filepath.Join(r.out, imageLayout)
	digest, err := pack.WriteIndex(directory, r.image, r.version, index)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	fmt.Println(digest)
	files, err := pack.Below(directory, "")
	if err != nil {
		return fmt.Errorf("packing the image: %w", err)
	}
	archive, err := pack.Tar(files, r.created)
	if err != nil {
		return fmt.Errorf("packing the image: %w", err)
	}
	return r.write(strings.Join([]string{"etcd-steward", r.version, "image.tar"}, "_"), archive)
}
