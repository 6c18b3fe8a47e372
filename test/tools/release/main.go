// Command release writes what a release has, from the commit that is checked out. The Makefile calls it twice:
//
//	release build  -version v1.2.3 …  # programs, image, archives and SBOMs; prints the digest of the image
//	release finish -version v1.2.3 …  # chart, bundle for OLM and checksums; prints how to publish and to sign
//
// In between, the Makefile writes what has the digest in it. The same commit gives the same bytes in every directory.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what the command line asks for.
type release struct {
	root     string    // of the repository
	work     string    // for what is built on the way
	out      string    // where all that is published goes
	version  string    // with a leading v
	revision string    // the commit
	created  time.Time // of the commit
	ldflags  string    // of go build
	image    string    // repository of the operator's image
	chart    string    // repository of the chart
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say build or finish")
	}
	r, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	switch args[0] {
	case "build":
		return r.build()
	case "finish":
		return r.finish(os.Stdout)
	}
	return fmt.Errorf("%q is neither build nor finish", args[0])
}

func parse(command string, args []string) (release, error) {
	var r release
	var seconds int64
	flags := flag.NewFlagSet("release "+command, flag.ContinueOnError)
	flags.StringVar(&r.root, "root", "", "the root of the repository")
	flags.StringVar(&r.work, "work", "", "where to build")
	flags.StringVar(&r.out, "out", "", "where to write the release")
	flags.StringVar(&r.version, "version", "", "the version, such as v1.2.3")
	flags.StringVar(&r.revision, "revision", "", "the commit")
	flags.Int64Var(&seconds, "created", 0, "when the commit was made, in seconds since 1970")
	flags.StringVar(&r.ldflags, "ldflags", "", "-ldflags of go build")
	flags.StringVar(&r.image, "image", "", "repository of the operator's image")
	flags.StringVar(&r.chart, "chart", "", "repository of the chart")
	if err := flags.Parse(args); err != nil {
		return r, fmt.Errorf("reading the flags: %w", err)
	}
	r.created = time.Unix(seconds, 0).UTC()
	return r, r.validate()
}

func (r release) validate() error {
	// A registry has no tag with a plus in it, so there is no build metadata.
	if semver.Canonical(r.version) != r.version || r.version == "" {
		return fmt.Errorf("VERSION is %q, and a release has one such as v1.2.3 or v1.2.3-rc.1: "+
			"make release VERSION=v1.2.3", r.version)
	}
	if r.revision == "" || r.created.Unix() <= 0 {
		return errors.New("it is not known which commit this is: build in a git clone, or set REVISION and SOURCE_DATE_EPOCH")
	}
	for _, given := range []string{r.root, r.work, r.out, r.image, r.chart} {
		if given == "" {
			return errors.New("-root, -work, -out, -image and -chart are needed")
		}
	}
	return nil
}

// write puts one file of the release in place.
func (r release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), content, 0o644); err != nil { //nolint:gosec // for all
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
