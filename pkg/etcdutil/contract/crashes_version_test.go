package contract

import (
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// versionCrashes start the version under test over the data, or beside the members, of another.
var versionCrashes = []crash{
	{"older than its data", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		own := w.binary
		newer := map[string]string{"3.5.35": "3.6.16", "3.6.16": "3.7.3"}[w.release]
		if newer == "" {
			return ""
		}
		w.binary = filepath.Join(binaries(w.t, newer), "etcd")
		p.birth("a")
		p.until("the storage has the newer version", func() bool { return p.status("a").StorageVersion != "" })
		p.stop("a")
		w.binary = own
		p.start(sealed("a"))
		return "a"
	}},
	{"two minors older than its data", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		own := w.binary
		if w.release != "3.5.35" {
			return ""
		}
		w.binary = filepath.Join(binaries(w.t, "3.7.3"), "etcd")
		p.grown("a")
		w.binary = own
		p.start(sealed("a"))
		return "a"
	}},
	{"joining members that are newer", etcdutil.ExitVersionTooLow, func(p *play, w *realWorld) string {
		own := w.binary
		newer := map[string]string{"3.5.35": "3.6.16", "3.6.16": "3.7.3"}[w.release]
		if newer == "" {
			return ""
		}
		w.binary = filepath.Join(binaries(w.t, newer), "etcd")
		p.birth("a")
		p.add("a", "b")
		w.binary = own
		p.start(joining("b", "a", "b"))
		return "b"
	}},
	{"two minors newer than its data", etcdutil.ExitVersionSkipped, func(p *play, w *realWorld) string {
		own := w.binary
		if w.release != "3.7.3" {
			return ""
		}
		w.binary = filepath.Join(binaries(w.t, "3.5.35"), "etcd")
		p.grown("a")
		w.binary = own
		p.start(sealed("a"))
		return "a"
	}},
}

func (w *realWorld) version() etcdutil.Version {
	v, err := etcdutil.ParseVersion(w.release)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}
