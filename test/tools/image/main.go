// Command image writes a docker-archive of static binaries, with no Docker and no registry.
//
//	image -out bin/etcd-steward-image.tar -tag ghcr.io/etcdsteward/etcd-steward:dev -entrypoint /manager /manager=bin/image/manager
//
// The same binaries give the same bytes: files are sorted, owned by root, and dated 1970.
package main

import (
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options is what the command line asks for.
type options struct {
	out   string // where the archive goes
	tag   string // the name under which a node will know the image
	image pack.Image
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	img, err := o.image.Build()
	if err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	return write(o, img)
}

func parse(args []string) (options, error) {
	// The archive goes to nodes on this machine: speed counts, not size.
	o := options{image: pack.Image{Created: pack.Epoch, Compression: gzip.BestSpeed}}
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "where to write the docker-archive")
	flags.StringVar(&o.tag, "tag", "", "name and tag of the image")
	flags.StringVar(&o.image.Arch, "arch", "amd64", "GOARCH of the binaries")
	flags.StringVar(&o.image.Entrypoint, "entrypoint", "", "program to start; one of the files")
	flags.StringVar(&o.image.Version, "version", "dev", "for org.opencontainers.image.version")
	flags.StringVar(&o.image.Revision, "revision", "", "for org.opencontainers.image.revision")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for _, arg := range flags.Args() {
		target, source, ok := strings.Cut(arg, "=")
		if !ok || !path.IsAbs(target) || source == "" {
			return o, fmt.Errorf("%q is not /path/in/image=file", arg)
		}
		o.image.Files = append(o.image.Files, pack.File{Target: path.Clean(target), Source: source, Mode: pack.Program})
	}
	return o, o.validate()
}

func (o options) validate() error {
	if o.out == "" || o.tag == "" {
		return errors.New("-out and -tag are needed")
	}
	if !slices.ContainsFunc(o.image.Files, func(f pack.File) bool { return f.Target == o.image.Entrypoint }) {
		return fmt.Errorf("the entrypoint %q is none of the files", o.image.Entrypoint)
	}
	return nil
}

// write puts the archive in place in one step, so that no load sees half of it.
func write(o options, img v1.Image) error {
	tag, err := name.NewTag(o.tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("reading the tag %q: %w", o.tag, err)
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return fmt.Errorf("making the directory of %s: %w", o.out, err)
	}
	partial := o.out + ".partial"
	if err := tarball.WriteToFile(partial, tag, img); err != nil {
		return fmt.Errorf("writing %s: %w", partial, err)
	}
	if err := os.Rename(partial, o.out); err != nil {
		return fmt.Errorf("putting the archive in place: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest: %w", err)
	}
	fmt.Printf("%s: %s %s\n", o.out, o.tag, digest)
	return nil
}
