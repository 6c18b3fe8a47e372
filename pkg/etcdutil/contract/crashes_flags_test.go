package contract

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// with starts a newborn single member with further arguments.
func with(reason etcdutil.ExitReason, name string, args ...string) crash {
	return crash{name, reason, func(p *play, w *realWorld) string {
		for _, arg := range args {
			w.extra = append(w.extra, strings.ReplaceAll(arg, "$ROOT", w.root))
		}
		p.start(fresh("a", "a"))
		return "a"
	}}
}

var flagCrashes = []crash{
	with(etcdutil.ExitBadFlag, "a flag that etcd does not know", "--no-such-flag=1"),
	with(etcdutil.ExitBadFlag, "a flag with a bad value", "--snapshot-count=many"),
	with(etcdutil.ExitBadFlag, "a flag with a value that contradicts another", "--election-timeout=1"),
	with(etcdutil.ExitBadFlag, "a gate that etcd does not know", "--feature-gates=NoSuchGate=true"),
	with(etcdutil.ExitBadFlag, "a log level that is none", "--log-level=loud"),
	{"a log format that is none", etcdutil.ExitBadFlag, func(p *play, w *realWorld) string {
		if !etcdutil.KnownFlag(w.version(), "log-format") {
			return ""
		}
		return with("", "", "--log-format=verse").cause(p, w)
	}},
	with(etcdutil.ExitBadFlag, "a compaction mode that is none", "--auto-compaction-mode=sometimes"),
	with(etcdutil.ExitBadFlag, "a cipher that is none", "--cipher-suites=ROT13"),
	with(etcdutil.ExitBadFlag, "no state, as from a stripped annotation", "--initial-cluster-state="),
	with(etcdutil.ExitStaleFlags, "no list, as from a stripped annotation", "--initial-cluster="),
	{"a variable beside its flag", etcdutil.ExitBadFlag, func(p *play, w *realWorld) string {
		w.env = []string{"ETCD_NAME=b"}
		p.start(fresh("a", "a"))
		return "a"
	}},
	with(etcdutil.ExitTLS, "a certificate that is not there",
		"--listen-client-urls=https://127.0.0.1:0", "--cert-file=$ROOT/none.crt", "--key-file=$ROOT/none.key"),
	with(etcdutil.ExitTLS, "a peer certificate that is not there",
		"--peer-cert-file=$ROOT/none.crt", "--peer-key-file=$ROOT/none.key", "--listen-peer-urls=https://127.0.0.1:0"),
	with(etcdutil.ExitTLS, "https without a certificate", "--listen-client-urls=https://127.0.0.1:0"),
	{"a certificate that is none", etcdutil.ExitTLS, func(p *play, w *realWorld) string {
		for _, name := range []string{"bad.crt", "bad.key"} {
			if err := os.WriteFile(filepath.Join(w.root, name), []byte("no PEM"), 0o600); err != nil {
				p.Fatal(err)
			}
		}
		return with("", "", "--listen-client-urls=https://127.0.0.1:0", "--cert-file=$ROOT/bad.crt", "--key-file=$ROOT/bad.key").cause(p, w)
	}},
	{"an authority that is none", etcdutil.ExitTLS, func(p *play, w *realWorld) string {
		if err := os.WriteFile(filepath.Join(w.root, "ca.crt"), []byte("no PEM"), 0o600); err != nil {
			p.Fatal(err)
		}
		return with("", "", "--listen-peer-urls=https://127.0.0.1:0", "--peer-trusted-ca-file=$ROOT/ca.crt", "--peer-client-cert-auth=true",
			"--peer-cert-file=$ROOT/ca.crt", "--peer-key-file=$ROOT/ca.crt").cause(p, w)
	}},
	with(etcdutil.ExitAddress, "an address of another machine", "--listen-client-urls=http://192.0.2.1:2379"),
	with(etcdutil.ExitAddress, "a metrics address of another machine", "--listen-metrics-urls=http://192.0.2.1:2381"),
	{"a volume with no room for the WAL", etcdutil.ExitDiskFull, func(p *play, w *realWorld) string {
		return fullDisk(p, w, "30m")
	}},
	{"a volume with no room at all", etcdutil.ExitDiskFull, func(p *play, w *realWorld) string {
		return fullDisk(p, w, "8k")
	}},
}

// readOnlyDisk starts a member again over its data in a file system that takes no writes, in a mount namespace of its
// own.
func readOnlyDisk(p *play, w *realWorld) string {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Getuid() != 0 || exec.Command(unshare, "-m", "true").Run() != nil {
		return ""
	}
	w.binary, w.wrapped = unshare, []string{"-m", "/bin/sh", "-c",
		"/bin/mount --bind $0 $0 && /bin/mount -o remount,bind,ro $0 && exec \"$@\"", filepath.Join(w.root, "a"), w.binary}
	p.start(sealed("a"))
	return "a"
}

// fullDisk runs a newborn over a file system of a size, in a mount namespace of its own that ends with it.
func fullDisk(p *play, w *realWorld, size string) string {
	namespaces := "-m"
	if os.Geteuid() != 0 {
		namespaces = "-rm" // root in there, which may mount
	}
	if err := exec.Command("unshare", namespaces, "true").Run(); err != nil {
		needs.Missing(w.t, "no file system can be mounted in a namespace of its own: "+err.Error())
	}
	w.binary, w.wrapped = "unshare", []string{namespaces, "/bin/sh", "-c",
		"mkdir -p $0 && /bin/mount -t tmpfs -o size=" + size + " none $0 && exec \"$@\"", filepath.Join(w.root, "a"), w.binary}
	p.start(fresh("a", "a"))
	return "a"
}
