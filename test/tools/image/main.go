// Command image writes a docker-archive of static binaries, with no Docker and no registry.
//
//	image -out bin/etcd-steward-image.tar -tag ghcr.io/etcdsteward/etcd-steward:dev -entrypoint /manager /manager=bin/image/manager
//
// The same binaries give the same bytes: files are sorted, owned by root, and dated 1970.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options is what the command line asks for.
type options struct {
	out        string // where the archive goes
	tag        string // the name under which a node will know the image
	arch       string // GOARCH of the binaries
	entrypoint string // path of the program that the image starts
	version    string // for the labels
	revision   string // for the labels
	files      []file // sorted by path in the image
}

// file is one program in the image.
type file struct {
	target string // absolute path in the image
	source string // path on this machine
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	img, err := build(o)
	if err != nil {
		return err
	}
	return write(o, img)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "where to write the docker-archive")
	flags.StringVar(&o.tag, "tag", "", "name and tag of the image")
	flags.StringVar(&o.arch, "arch", "amd64", "GOARCH of the binaries")
	flags.StringVar(&o.entrypoint, "entrypoint", "", "program to start; one of the files")
	flags.StringVar(&o.version, "version", "dev", "for org.opencontainers.image.version")
	flags.StringVar(&o.revision, "revision", "", "for org.opencontainers.image.revision")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for _, arg := range flags.Args() {
		target, source, ok := strings.Cut(arg, "=")
		if !ok || !path.IsAbs(target) || source == "" {
			return o, fmt.Errorf("%q is not /path/in/image=file", arg)
		}
		o.files = append(o.files, file{target: path.Clean(target), source: filepath.Clean(source)})
	}
	slices.SortFunc(o.files, func(a, b file) int { return strings.Compare(a.target, b.target) })
	return o, o.validate()
}

func (o options) validate() error {
	if o.out == "" || o.tag == "" {
		return errors.New("-out and -tag are needed")
	}
	if !slices.ContainsFunc(o.files, func(f file) bool { return f.target == o.entrypoint }) {
		return fmt.Errorf("the entrypoint %q is none of the files", o.entrypoint)
	}
	return nil
}
