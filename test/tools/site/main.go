// Site renders the pages of this tree with Hugo, into the directory of their version, and writes the list of all versions that
// are beside it. Then it follows every link inside.
//
//	go run -C test/tools ./site -root $PWD -hugo $PWD/bin/hugo -out $PWD/bin/site -version v1.2.3
//
// A directory that has the sites of earlier releases keeps them: a release adds its own, `v1.2`. What is no release is `main`.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	var s site
	flag.StringVar(&s.root, "root", ".", "the root of the repository")
	flag.StringVar(&s.hugo, "hugo", "bin/hugo", "the program that renders")
	flag.StringVar(&s.out, "out", "bin/site", "the directory of all versions")
	version := flag.String("version", "dev", "the version of the pages, as a release is called")
	flag.Parse()
	s.version, s.ref = versionOf(*version)
	if err := s.make(); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("the pages of %s: open %s\n", s.version, filepath.Join(s.out, s.version, "index.html"))
}

// unreleased is the version of what is no release, and the ref of its files.
const unreleased = "main"

var release = regexp.MustCompile(`^v(\d+\.\d+)\.\d+$`)

// versionOf is the directory of a release, which all patches of a minor share, and the ref by which links name its files.
func versionOf(name string) (version, ref string) {
	if m := release.FindStringSubmatch(name); m != nil {
		return "v" + m[1], name
	}
	return unreleased, unreleased
}

// site is what is rendered, and where to.
type site struct{ root, hugo, out, version, ref string }

// make renders anew what has this version, and leaves the others.
func (s site) make() error {
	to, err := filepath.Abs(filepath.Join(s.out, s.version))
	if err != nil {
		return fmt.Errorf("finding the directory: %w", err)
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("removing what was rendered before: %w", err)
	}
	if err := s.render(to); err != nil {
		return err
	}
	if err := listVersions(s.out); err != nil {
		return err
	}
	broken, err := brokenLinks(to, s.address())
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("links that lead nowhere:\n%s", strings.Join(broken, "\n"))
	}
	return nil
}

// repository is where links to files lead that are no pages.
const repository = "https://github.com/etcdsteward/etcd-steward"

// address finds the files that such links name.
func (s site) address() func(string) string {
	return func(link string) string {
		for _, kind := range []string{"/blob/", "/tree/"} {
			if path, ok := strings.CutPrefix(link, repository+kind+s.ref+"/"); ok {
				path, _, _ = strings.Cut(path, "#")
				return filepath.Join(s.root, path)
			}
		}
		return ""
	}
}

// render leaves nothing in the tree: neither a lock nor a cache.
func (s site) render(to string) error {
	command := exec.Command(s.hugo, "build", "--source", filepath.Join(s.root, "docs", "site"), "--destination", to, "--noBuildLock",
		"--panicOnWarning", "--quiet")
	command.Env = append(os.Environ(), "HUGO_PARAMS_VERSION="+s.version, "HUGO_PARAMS_REF="+s.ref,
		"HUGO_CACHEDIR="+filepath.Join(os.TempDir(), "hugo-cache"), "HUGO_RESOURCEDIR="+filepath.Join(os.TempDir(), "hugo-resources"))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("hugo: %w\n%s", err, out)
	}
	return nil
}
