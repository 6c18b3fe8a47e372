package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// startReal has a real etcd answer for demo-1, which asks callers for certificates.
func (e *etcds) startReal(program string) {
	e.t.Helper()
	dir := e.t.TempDir()
	pair := e.issue(resources.MemberServerLeaf(e.cluster, "demo-1", ""))
	for name, data := range map[string][]byte{"ca": e.ca.CertPEM(), "cert": pair.Cert, "key": pair.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
	clients, peers := "127.0.0.1:"+needs.FreePort(e.t), "http://127.0.0.1:"+needs.FreePort(e.t)
	process := exec.Command(program, "--name=demo-1", "--data-dir="+filepath.Join(dir, "data"),
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=demo-1="+peers,
		"--listen-client-urls=https://"+clients, "--advertise-client-urls=https://"+clients, "--unsafe-no-fsync=true",
		"--log-level=error", "--bcrypt-cost=4", "--client-cert-auth=true", "--trusted-ca-file="+filepath.Join(dir, "ca"),
		"--cert-file="+filepath.Join(dir, "cert"), "--key-file="+filepath.Join(dir, "key"))
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	e.addresses["demo-1"] = clients
}

// A member takes the common name of the certificate that the plugin shows for the user, though etcdctl shows none.
func TestARealEtcdTakesTheCertificateOfThePluginForTheUser(t *testing.T) {
	root := needs.Etcd(t)
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			e, s := startEtcds(t, v1alpha1.TLSManaged)
			e.startReal(filepath.Join(root, version, "etcd"))
			ctl := func(args ...string) result {
				return plugin(t, s, append([]string{"ctl", "demo", "--member", "demo-1"}, args...)...)
			}
			for range 100 { // until it serves
				if got := ctl("--", "put", "a", "b", "--command-timeout=1s"); got.code == 0 {
					break
				}
			}
			saved := filepath.Join(t.TempDir(), "demo.db")
			for _, c := range []struct{ args, want string }{
				{"-- get a", "a\nb\n"},
				{"-- snapshot save " + saved, "Snapshot saved"},
				{"-- user add root --no-password", "User root created"},
				{"-- user grant-role root root", "Role root is granted"},
				{"-- user add demo-client --no-password", "User demo-client created"},
				{"-- user add ann:secret", "User ann created"},
				{"--yes -- auth enable", "Authentication Enabled"},
				{"-- get a", "permission denied"},
				{"--operator -- get a", "a\nb\n"},
				{"--operator -- user grant-role demo-client root", "Role root is granted"},
				{"-- get a", "a\nb\n"},
				{"-- --user=ann:secret --command-timeout=1m get a", "permission denied"},
				{"--operator -- auth status", "Authentication Status: true"},
			} {
				if got := ctl(strings.Fields(c.args)...); !strings.Contains(got.out+got.errOut, c.want) {
					t.Errorf("%s: want %q: %+v", c.args, c.want, got)
				}
			}
			if got := plugin(t, s, "access", "demo", "--operator").out; !strings.Contains(got, "  ann          <none>  people") {
				t.Errorf("access does not show who is in a real etcd:\n%s", got)
			}
			if got := plugin(t, s, "access", "demo").out; !strings.Contains(got, "\n  demo-client  root    all who have the Secret demo-client-tls") {
				t.Errorf("the shared user does not see the same:\n%s", got)
			}
			if got := ctl("--operator", "--", "user", "revoke-role", "demo-client", "root"); got.code != 0 {
				t.Errorf("%+v", got)
			}
			if got := plugin(t, s, "access", "demo").out; !strings.Contains(got, "etcd does not let the user demo-client read users and roles") {
				t.Errorf("a user without the role root:\n%s", got)
			}
			if file, err := os.Stat(saved); err != nil || file.Size() == 0 {
				t.Errorf("the snapshot is %v: %v", file, err)
			}
		})
	}
}
