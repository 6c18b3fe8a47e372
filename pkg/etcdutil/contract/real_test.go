package contract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// binaries is the directory of one release's programs, or the test is skipped.
func binaries(t testing.TB, version string) string {
	t.Helper()
	dir := filepath.Join(needs.Etcd(t), version)
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err != nil {
		t.Fatalf("ETCD_BINARIES is set and has no etcd %s: %v", version, err)
	}
	return dir
}

// moment is how long a scenario waits between two looks at real processes.
const moment = 200 * time.Millisecond

// realWorld plays scenarios on real processes. Every member has a loopback address of its own, so no port can be taken.
type realWorld struct {
	t         testing.TB
	binary    string
	root      string
	addresses map[string]string
	processes map[string]*process
	clients   map[string]client.Client
	release   string
	users     *users // who clients are, where they say so by a certificate; else connections are plain

	// What a crash needs beside the usual.
	extra      []string // further arguments for every member
	logging    []string // those that say how it logs
	env        []string
	wrapped    []string // arguments before those of etcd, when binary is a wrapper
	credential *syscall.Credential
}

// process is one run of etcd.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
}

func newRealWorld(t testing.TB, version string) *realWorld {
	w := &realWorld{
		t:         t,
		binary:    filepath.Join(binaries(t, version), "etcd"),
		root:      t.TempDir(),
		release:   version,
		addresses: map[string]string{},
		processes: map[string]*process{},
		clients:   map[string]client.Client{},
	}
	t.Cleanup(w.close)
	return w
}

func (w *realWorld) close() {
	for _, c := range w.clients {
		_ = c.Close()
	}
	for name := range w.processes {
		w.kill(name)
	}
}

// loopback counts the addresses given out; with the test's own process ID they are unlikely to meet another run's.
var loopback atomic.Uint32

func (w *realWorld) host(name string) string {
	if w.addresses[name] == "" {
		n := loopback.Add(1)
		w.addresses[name] = fmt.Sprintf("127.%d.%d.%d", 10+os.Getpid()%200, n/250, 1+n%250)
	}
	return w.addresses[name]
}

func (w *realWorld) peerURL(name string) string { return "http://" + w.host(name) + ":2380" }
func (w *realWorld) address(name string) string { return w.host(name) + ":2379" }
func (w *realWorld) pass()                      { time.Sleep(moment) }
func (w *realWorld) now() time.Time             { return time.Now() }

// args are those of a member. Data need not survive the machine. Elections take etcd's own second: on a busy machine a
// shorter one is held without a cause.
func (w *realWorld) args(l launch) []string {
	url := w.users.scheme() + "://" + w.address(l.name)
	return append([]string{
		"--name=" + l.name,
		"--data-dir=" + filepath.Join(w.root, l.dir),
		"--listen-peer-urls=" + w.peerURL(l.name),
		"--initial-advertise-peer-urls=" + w.peerURL(l.name),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--initial-cluster=" + l.initialCluster(w),
		"--initial-cluster-state=" + l.state,
		"--initial-cluster-token=" + l.token,
		"--unsafe-no-fsync=true",
	}, slices.Concat(w.users.args(), w.logging, w.extra)...)
}

func (w *realWorld) start(l launch) {
	own := w.binary
	if l.version != "" {
		w.binary = filepath.Join(binaries(w.t, l.version), "etcd")
	}
	w.run(l.name, w.args(l)...)
	w.binary = own
}

// run starts a process whose output goes to a file, stdout and stderr as one, as a container's log has them.
func (w *realWorld) run(name string, args ...string) {
	w.t.Helper()
	path := filepath.Join(w.root, name+".log")
	log, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: exec.Command(w.binary, slices.Concat(w.wrapped, args)...), log: path, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, w.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: w.credential}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	w.processes[name] = p
}

func (w *realWorld) stop(name string) {
	_ = w.processes[name].cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-w.processes[name].done:
	case <-time.After(patience):
		w.kill(name)
	}
}

func (w *realWorld) kill(name string) {
	_ = w.processes[name].cmd.Process.Kill()
	<-w.processes[name].done
}

func (w *realWorld) ended(name string) bool {
	select {
	case <-w.processes[name].done:
		return true
	default:
		return false
	}
}

func (w *realWorld) exit(name string) exit {
	w.t.Helper()
	p := w.processes[name]
	select {
	case <-p.done:
	case <-time.After(patience):
		w.t.Fatalf("%s still runs; it says:\n%s", name, w.tail(name))
	}
	return exit{code: p.cmd.ProcessState.ExitCode(), message: w.tail(name), log: w.output(name)}
}

// tail is what the kubelet keeps of a failed container's log: the last 80 lines of it, and of these the last 2048 bytes
// (kubernetes/kubernetes:pkg/kubelet/container/runtime.go MaxContainerTerminationMessageLog…).
func (w *realWorld) tail(name string) string {
	w.t.Helper()
	lines := strings.SplitAfter(w.output(name), "\n")
	kept := strings.Join(lines[max(0, len(lines)-81):], "")
	return kept[max(0, len(kept)-2048):]
}

// output is all that a process has printed.
func (w *realWorld) output(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.processes[name].log)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *realWorld) wipe(dir string) {
	if err := os.RemoveAll(filepath.Join(w.root, dir)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *realWorld) copy(from, to string) {
	if err := os.CopyFS(filepath.Join(w.root, to), os.DirFS(filepath.Join(w.root, from))); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w.root, to), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

func (w *realWorld) dial(name string) client.Client {
	if w.clients[name] == nil {
		c, err := dial.EtcdDialer{}.Dial(w.endpoint(name, client.RootUser))
		if err != nil {
			w.t.Fatal(err)
		}
		w.clients[name] = c
	}
	return w.clients[name]
}

// realValue is what put writes: long enough to be found again in a database file.
const realValue = "a-value-that-is-found-again"

// put writes with a client of its own, since the operator's does not write keys. It waits for etcd's own answer: a
// write that is given up too early may be done all the same, and then a second one follows.
func (w *realWorld) put(name string) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.address(name)}, Logger: zap.NewNop(), MaxUnaryRetries: 1})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = c.Put(ctx, "key", realValue)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("putting a key through %s: %w", name, err)
	}
	return err
}

func TestRealEtcdKeepsTheContract(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			binaries(t, version)
			for _, s := range scenarios {
				if !plays(version, s.name) {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.playReal(t, version)
				})
			}
		})
	}
}

func (s scenario) playReal(t *testing.T, version string) {
	w := newRealWorld(t, version)
	t.Cleanup(func() {
		if t.Failed() {
			w.explain()
		}
	})
	s.play(&play{TB: t, world: w})
}

// explain prints the last words of every process of a failed scenario.
func (w *realWorld) explain() {
	for name := range w.processes {
		w.t.Logf("%s at %s said last:\n%s", name, w.host(name), w.tail(name))
	}
}
