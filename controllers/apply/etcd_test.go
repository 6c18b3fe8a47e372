package apply

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// node runs the container of a Pod as the kubelet would, but for paths and ports, which are this test's own.
type node struct {
	binaries string
	replace  *strings.Replacer
	metrics  string
	data     string
}

// TestEtcdRunsAsThePodSays starts real etcd of each minor by the arguments and the environment of the Pods that are
// made.
func TestEtcdRunsAsThePodSays(t *testing.T) {
	root := needs.Etcd(t)
	for _, version := range []string{"3.5.35", "3.6.16", "3.7.3"} {
		for _, mode := range []v1alpha1.TLSMode{v1alpha1.TLSManaged, v1alpha1.TLSDisabled} {
			t.Run(version+" "+string(mode), func(t *testing.T) {
				c := demo()
				c.Spec = v1alpha1.EtcdClusterSpec{Size: 1, Version: version, TLS: &v1alpha1.TLSSpec{Mode: mode}}
				liveAndSeal(t, c, filepath.Join(root, version))
			})
		}
	}
}

// liveAndSeal gives bootstrap, uses etcdctl as in the Pod, and then starts again: stripped, sealed with data, sealed
// without.
func liveAndSeal(t *testing.T, c *v1alpha1.EtcdCluster, binaries string) {
	w := newWorld(t, c)
	w.mustDo(t, oneBootstrapped(), changes.BeginBootstrap{Incarnation: incarnation, Token: "t", Names: []string{"demo-0"}})
	change := changes.Bootstrap{Pods: []changes.Start{{Name: "demo-0", Flags: facts.FlagsBootstrap,
		Initial: initial(c, "demo-0"), Settings: settings(c)}}}
	if c.Spec.IsTLS() {
		change.Objects, change.Secrets = bootstrap(c).Objects, []string{"demo-0"}
	}
	w.mustDo(t, oneBootstrapped(), change)
	n := newNode(t, w, binaries)

	pod := w.pod(t, "demo-0")
	stop := n.serve(t, pod)
	n.askAsAPerson(t, pod)
	if log := stop(); strings.Contains(log, "unrecognized environment variable") ||
		strings.Contains(log, "deprecated") && strings.Contains(log, "flag") {
		t.Errorf("etcd minds how it was started:\n%s", log)
	}

	stripped := pod.DeepCopy()
	stripped.Annotations = nil
	if log := n.end(t, stripped); !strings.Contains(log, "initial-cluster-state") {
		t.Errorf("with its annotations stripped etcd ended by:\n%s", log)
	}
	w.mustDo(t, oneBootstrapped(), changes.SealPods{Pods: []changes.Seal{{Pod: ref(pod),
		Role: v1alpha1.RoleVoter}}})
	sealed := w.pod(t, "demo-0")
	n.serve(t, sealed)()
	if err := os.RemoveAll(n.data); err != nil {
		t.Fatal(err)
	}
	if log := n.end(t, sealed); etcdutil.Classify(1, log) != etcdutil.ExitDataEmpty {
		t.Errorf("sealed and with no data etcd ended by:\n%s", log)
	}
}

// askAsAPerson runs etcdctl with what people type in a member. Its own endpoint is 127.0.0.1:2379, which this machine
// may use for something else: the test names the same address with the port that stands for 2379.
func (n *node) askAsAPerson(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if n.variables(pod)["ETCDCTL_ENDPOINTS"] != "" {
		t.Error("etcdctl has another endpoint than its own, and ends where --endpoints is given as well")
	}
	own, saved := n.replace.Replace("127.0.0.1:2379"), filepath.Join(filepath.Dir(n.data), "saved.db")
	for _, row := range []struct{ typed, want string }{
		{"--endpoints=" + own + " endpoint health", own + " is healthy"},
		{"--endpoints=" + scheme(pod) + "://" + own + " endpoint health", own + " is healthy"},
		{"endpoint status --endpoints=" + strings.Replace(own, "127.0.0.1", "localhost", 1), "kB"},
		{"member list --endpoints=" + own, "demo-0"},
		{"alarm list --endpoints=" + own, ""},
		{"snapshot save " + saved + " --endpoints=" + own, "Snapshot saved at " + saved},
	} {
		out, err := n.command(pod, "etcdctl", strings.Fields(row.typed)...).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(row.want)) || bytes.Contains(out, []byte(`"level":"warn"`)) {
			t.Errorf("etcdctl %s: %v\n%s", row.typed, err, out)
		}
	}
}

func scheme(pod *corev1.Pod) string {
	if len(pod.Spec.Containers[0].VolumeMounts) > 1 {
		return etcdutil.SchemeHTTPS
	}
	return etcdutil.SchemeHTTP
}

func oneBootstrapped() Seen {
	v := begun()
	v.Current.Bootstrap.Names = []string{"demo-0"}
	return v
}

func newNode(t *testing.T, w *world, binaries string) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{binaries: binaries, data: filepath.Join(dir, "data"), metrics: needs.FreePort(t)}
	tls := filepath.Join(dir, "tls")
	if err := os.Mkdir(tls, 0o700); err != nil {
		t.Fatal(err)
	}
	if w.cluster.Spec.IsTLS() {
		for key, value := range w.secret(t, "demo-0-tls").Data {
			if err := os.WriteFile(filepath.Join(tls, key), value, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.replace = strings.NewReplacer("/var/lib/etcd", n.data, "/etc/etcd/tls", tls, ":2379", ":"+needs.FreePort(t), ":2380",
		":"+needs.FreePort(t), ":2381", ":"+n.metrics)
	return n
}

// command is a command in the Pod's container, with what the kubelet makes of its variables.
func (n *node) command(pod *corev1.Pod, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(n.binaries, name), args...)
	cmd.Env = []string{}
	for variable, value := range n.variables(pod) {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	return cmd
}

func (n *node) variables(pod *corev1.Pod) map[string]string {
	variables := map[string]string{}
	for _, variable := range pod.Spec.Containers[0].Env {
		value := variable.Value
		if variable.ValueFrom != nil {
			key := strings.TrimSuffix(strings.TrimPrefix(variable.ValueFrom.FieldRef.FieldPath,
				"metadata.annotations['"), "']")
			value = pod.Annotations[key]
		}
		variables[variable.Name] = n.replace.Replace(value)
	}
	return variables
}

func (n *node) etcd(pod *corev1.Pod) *exec.Cmd {
	var args []string
	for _, arg := range pod.Spec.Containers[0].Args {
		arg = n.replace.Replace(arg)
		for variable, value := range n.variables(pod) {
			arg = strings.ReplaceAll(arg, "$("+variable+")", value)
		}
		args = append(args, arg)
	}
	return n.command(pod, pod.Spec.Containers[0].Command[0], args...)
}

// serve starts etcd and waits until the Pod's own probes would pass; the result stops it and gives its log.
func (n *node) serve(t *testing.T, pod *corev1.Pod) func() string {
	t.Helper()
	cmd, log := n.etcd(pod), &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	container := pod.Spec.Containers[0]
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
			func(context.Context) (bool, error) {
				response, err := http.Get("http://localhost:" + n.metrics + probe.HTTPGet.Path)
				if err != nil {
					return false, nil //nolint:nilerr // not listening yet
				}
				return response.StatusCode == http.StatusOK, response.Body.Close()
			})
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("%s never passed: %v\n%s", probe.HTTPGet.Path, err, log)
		}
	}
	return func() string {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it dies by the signal
		return log.String()
	}
}

// end runs etcd until it ends by itself, which must be with an error.
func (n *node) end(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	cmd := n.etcd(pod)
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); err == nil || code < 1 {
		t.Errorf("etcd ended with %d, %v", code, err)
	}
	return string(out)
}
