package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// etcdctlName is the name under which this program is etcdctl.
const etcdctlName = "etcdctl"

// reachedWithin is how long a member gets to take a connection.
const reachedWithin = 10 * time.Second

// reach opens connections to members of one cluster. See docs/decisions/0055.
type reach struct {
	session *session
	cluster *v1alpha1.EtcdCluster
	secure  *tls.Config // nil without TLS
}

// member is a connection to the etcd of a Pod, which has shown that it is the one of this name.
func (r reach) member(ctx context.Context, pod string) (net.Conn, error) {
	conn, err := r.session.dial(ctx, client.ObjectKey{Namespace: r.cluster.Namespace, Name: pod})
	if err != nil {
		return nil, fmt.Errorf("member %s cannot be reached: %w", pod, explain(err, r.cluster.Namespace))
	}
	if r.secure == nil {
		return conn, nil
	}
	secure := r.secure.Clone()
	secure.ServerName = etcdutil.PeerHost(pod, r.cluster.Name, r.cluster.Namespace)
	secured := tls.Client(conn, secure)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("member %s cannot be reached: %w", pod, err)
	}
	return secured, nil
}

// choose is all of these Pods, or the first that can be reached. etcdctl itself would only say that time ran out.
func (r reach) choose(ctx context.Context, pods []corev1.Pod, all bool, errOut io.Writer) ([]corev1.Pod, error) {
	var failed []error
	for i := range pods {
		ctx, cancel := context.WithTimeout(ctx, reachedWithin)
		conn, err := r.member(ctx, pods[i].Name)
		cancel()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		conn.Close()
		if !all {
			return pods[i : i+1], nil
		}
	}
	if len(failed) == len(pods) {
		return nil, failed[0]
	}
	for _, err := range failed {
		fmt.Fprintln(errOut, "warning:", err)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

// sockets are files in a directory of this person alone, one for each member. etcdctl connects to them without TLS, and
// what comes goes on to the member. So no key is on the disk, and no port is open to others on this machine.
type sockets struct {
	directory string
	listeners []net.Listener
	urls      []string
}

func (r reach) open(ctx context.Context, pods []corev1.Pod) (*sockets, error) {
	directory, err := os.MkdirTemp("", "etcdctl-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for sockets: %w", err)
	}
	s := &sockets{directory: directory}
	for _, pod := range pods {
		path := filepath.Join(directory, pod.Name)
		listener, err := net.Listen("unix", path)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("opening a socket: %w. Set TMPDIR to a directory with a short name", err)
		}
		s.listeners, s.urls = append(s.listeners, listener), append(s.urls, "unix://"+path)
		go serve(listener, func() (net.Conn, error) { return r.member(ctx, pod.Name) })
	}
	return s, nil
}

func (s *sockets) close() {
	for _, listener := range s.listeners {
		listener.Close()
	}
	os.RemoveAll(s.directory)
}

// serve leads each caller on, until the listener is closed.
func serve(listener net.Listener, member func() (net.Conn, error)) {
	for {
		caller, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer caller.Close()
			to, err := member()
			if err != nil {
				return // etcdctl tries again, and says in the end that it could not connect
			}
			defer to.Close()
			go func() {
				_, _ = io.Copy(to, caller)
				to.Close()
			}()
			_, _ = io.Copy(caller, to)
		}()
	}
}

// etcdctl runs this program as etcdctl, with the streams of the person. After Ctrl-C it waits until etcdctl has ended.
func (p program) etcdctl(ctx context.Context, args []string) error {
	itself, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding etcdctl, which is a part of this plugin: %w", err)
	}
	c := exec.CommandContext(ctx, itself, args...)
	c.Args[0] = etcdctlName
	c.Env = slices.DeleteFunc(os.Environ(), isOfConnection)
	c.Stdin, c.Stdout, c.Stderr = p.in, p.out, p.errOut
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("running etcdctl: %w", err)
	}
	return nil
}

// isOfConnection tells variables by which a person leads an etcdctl to a cluster. etcdctl would refuse them, or
// connect in another way.
func isOfConnection(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.ContainsFunc(ctlSets, func(flag string) bool {
		return name == "ETCDCTL_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))
	})
}

// codeOf is the exit code of etcdctl.
func codeOf(ended *exec.ExitError) int {
	if code := ended.ExitCode(); code > 0 {
		return code
	}
	return exitInterrupted
}
