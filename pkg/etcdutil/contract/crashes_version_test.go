package contract

import (
	"path/filepath"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// versionCrashes start the version under test over the data, or beside the members, of another.
var versionCrashes = []crash{
	{"older than its data", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		newer := w.bootstrappedNewer(p)
		if newer == "" {
			return ""
		}
		minor := newer[:strings.LastIndex(newer, ".")]
		p.until("the storage has the newer version", func() bool { return p.status("a").StorageVersion == minor+".0" })
		p.stop("a")
		p.start(sealed("a"))
		return "a"
	}},
	{"older than its cluster, before the storage followed", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		if w.bootstrappedNewer(p) == "" {
			return ""
		}
		p.stop("a")
		p.start(sealed("a"))
		return "a"
	}},
	{"two minors older than its data", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		if w.release != "3.5.35" {
			return ""
		}
		w.as("3.7.3", func() { p.grown("a") })
		p.start(sealed("a"))
		return "a"
	}},
	{"joining members that are newer", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		if w.bootstrappedNewer(p) == "" {
			return ""
		}
		p.add("a", "b")
		p.start(joining("b", "a", "b"))
		return "b"
	}},
	{"two minors newer than its data", etcdutil.ExitVersionSkipped, func(p *play, w *realWorld) string {
		if w.release != "3.7.3" {
			return ""
		}
		w.as("3.5.35", func() { p.grown("a") })
		p.start(sealed("a"))
		return "a"
	}},
}

// bootstrappedNewer has a member serve in the next minor, with the version under test to follow. It is empty for the
// newest.
func (w *realWorld) bootstrappedNewer(p *play) string {
	newer := map[string]string{"3.5.35": "3.6.16", "3.6.16": "3.7.3"}[w.release]
	if newer != "" {
		w.as(newer, func() { p.startAll("a") })
	}
	return newer
}

// as has another release do something, which may not know how the one under test is told to log.
func (w *realWorld) as(release string, do func()) {
	own, logging := w.binary, w.logging
	w.binary, w.logging = filepath.Join(binaries(w.t, release), "etcd"), nil
	do()
	w.binary, w.logging = own, logging
}

func (w *realWorld) version() etcdutil.Version {
	v, err := etcdutil.ParseVersion(w.release)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}
