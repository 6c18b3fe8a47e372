package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// TestMain is etcdctl where a test runs this program as etcdctl.
func TestMain(m *testing.M) {
	if os.Args[0] == etcdctlName {
		ctlv3.MustStart()
		return
	}
	os.Exit(m.Run())
}

func TestEtcdctlIsLedToAMemberThatIsReadyAsTheSharedUser(t *testing.T) {
	_, s := startEtcds(t, v1alpha1.TLSManaged)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("ETCDCTL_ENDPOINTS", "https://elsewhere:2379") // of a person who also uses another cluster
	t.Setenv("ETCDCTL_CACERT", "/no/such/file")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ctl", "demo", "--", "get", "a"}, "a\ndemo-1 for demo-client\n"},
		{[]string{"ctl", "demo", "--member", "demo-0", "--", "get", "a"}, "a\ndemo-0 for demo-client\n"},
		{[]string{"ctl", "demo", "--operator", "--", "get", "a", "--print-value-only"}, "demo-1 for root\n"},
	} {
		if got := plugin(t, s, c.args...); got.code != 0 || got.out != c.want {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
}

func TestEtcdctlReadsWhatAPersonTypesAndItsExitCodeIsPassedOn(t *testing.T) {
	e, s := startEtcds(t, v1alpha1.TLSDisabled)
	var out, errOut bytes.Buffer
	p := program{connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil },
		in: strings.NewReader("of the standard input"), out: &out, errOut: &errOut}
	if code := run(t.Context(), []string{"ctl", "demo", "--", "put", "a"}, p); code != 0 || out.String() != "OK\n" || e.put["a"] != "of the standard input" {
		t.Errorf("exit code %d, %q, %q: put is %v", code, &out, &errOut, e.put)
	}
	if got := plugin(t, s, "ctl", "demo", "--", "put"); got.code != 128 || strings.Contains(got.errOut, "error: running") {
		t.Errorf("etcdctl ends with 128 where arguments are missing: %+v", got)
	}
}

func TestAllMembersAreAskedHowTheyAre(t *testing.T) {
	e, s := startEtcds(t, v1alpha1.TLSManaged)
	for _, args := range [][]string{{"endpoint", "status"}, {"endpoint", "status", "--cluster"}, {"-w", "simple", "endp", "stat"}} {
		got := plugin(t, s, append([]string{"ctl", "demo", "--"}, args...)...)
		for _, member := range []string{"demo-0", "demo-1", "demo-2"} {
			if got.code != 0 || strings.Count(got.out, "/"+member+", ") != 1 {
				t.Errorf("%v: %s is not told once: %+v", args, member, got)
			}
		}
	}
	e.refuse["demo-2"] = errors.New("connection refused")
	got := plugin(t, s, "ctl", "demo", "--", "endpoint", "status", "--command-timeout=1s")
	if !strings.Contains(got.out, "/demo-1, ") || !strings.Contains(got.errOut, "warning: member demo-2 cannot be reached: connection refused") || got.code == 0 {
		t.Errorf("a member that does not answer: %+v", got)
	}
}

func TestTheNextMemberIsAskedWhereOneCannotBeReached(t *testing.T) {
	e, s := startEtcds(t, v1alpha1.TLSManaged)
	e.refuse["demo-1"] = errors.New("connection refused")
	if got := plugin(t, s, "ctl", "demo", "--", "get", "a"); got.code != 0 || !strings.Contains(got.out, "demo-2 for") {
		t.Errorf("got %+v", got)
	}
	e.addresses["demo-2"] = e.addresses["demo-0"] // another member answers there
	got := plugin(t, s, "ctl", "demo", "--member", "demo-2", "--", "get", "a")
	if got.code != exitFailed || !strings.Contains(got.errOut, "demo-2.demo-peers.prod.svc") {
		t.Errorf("a member that shows another name is believed: %+v", got)
	}
}

func TestWhatTheOperatorDoesByItselfIsRefusedUnlessItIsMeant(t *testing.T) {
	e, s := startEtcds(t, v1alpha1.TLSManaged)
	for typed, want := range map[string]string{
		"member remove 8e9e05c52164694d": "replace MEMBER -n prod`",
		"mem rem 8e9e05c52164694d":       "replace MEMBER -n prod`",
		"--debug member add x":           "set spec.size",
		"--user root:x auth enable":      "Set spec.auth.enabled to true",
		"auth disable":                   "Set spec.auth.enabled to false",
		"alarm disarm":                   "`kubectl etcd-steward status demo -n prod`",
		"-w json defrag":                 "`kubectl etcd-steward defragment demo -n prod`",
		"downgrade enable 3.5":           "Set spec.version",
		"check perf":                     "`kubectl etcd-steward fio`",
		"del --prefix ":                  "`kubectl etcd-steward backup demo -n prod --wait`",
		"--endpoints=x:2379 get a":       "leave out --endpoints",
		"get a --cert x":                 "leave out --cert",
		"get -dexample.com a":            "leave out -d",
		"defrag --cluster":               "leave out --cluster",
	} {
		got := plugin(t, s, append([]string{"ctl", "demo", "--"}, strings.Split(typed, " ")...)...)
		if got.code != exitFailed || !strings.Contains(got.errOut, want) || got.out != "" {
			t.Errorf("%q: want %q: %+v", typed, want, got)
		}
	}
	for _, typed := range []string{"get defrag", "put member remove", "get --prefix ", "put -- del -"} {
		if got := plugin(t, s, append([]string{"ctl", "demo", "--"}, strings.Split(typed, " ")...)...); got.code != 0 {
			t.Errorf("%q is harmless: %+v", typed, got)
		}
	}
	got := plugin(t, s, "ctl", "demo", "--yes", "--", "alarm", "disarm")
	if got.code == 0 || !strings.Contains(got.errOut, "Unimplemented") {
		t.Errorf("--yes does not ask the member, which knows no alarms: %+v", got)
	}
	if len(e.put) != 2 {
		t.Errorf("put is %v", e.put)
	}
}

// All flags for all commands are known: what follows one that takes a value is no word.
func TestEveryFlagThatEtcdctlHasForAllCommandsIsKnown(t *testing.T) {
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), itself, "options")
	c.Args[0] = etcdctlName
	said, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--endpoints") {
		t.Fatalf("%v: %s", err, said)
	}
	harmless := []string{"--hex", "--debug", "--help"}
	for line := range strings.Lines(string(said)) {
		for _, word := range strings.Fields(line) {
			name, _, _ := strings.Cut(strings.TrimSuffix(word, ","), "=")
			if !strings.HasPrefix(name, "-") {
				break
			}
			if known := slices.Concat(ctlSets, ctlTakes, harmless); !slices.Contains(known, name) {
				t.Errorf("etcdctl has a flag %s", name)
			}
		}
	}
}

func TestWhatKeepsEtcdctlFromAMemberIsSaidBeforeItRuns(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods/portforward"}
	for want, c := range map[string]struct {
		change func(*etcds, *session)
		args   []string
	}{
		"you may not create pods/portforward in namespace prod": {func(e *etcds, _ *session) {
			for name := range e.addresses {
				e.refuse[name] = missingRight("create", pods)
			}
		}, nil},
		"you may not get secrets in namespace prod": {func(_ *etcds, s *session) {
			s.WithWatch = interceptor.NewClient(s.WithWatch, refusing("get", schema.GroupResource{Resource: "secrets"}))
		}, nil},
		"you may not list pods in namespace prod": {func(_ *etcds, s *session) {
			s.WithWatch = interceptor.NewClient(s.WithWatch, refusing("list", schema.GroupResource{Resource: "pods"}))
		}, nil},
		"there is no Secret demo-client-tls": {func(e *etcds, s *session) {
			e.cut(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo-client-tls"}})
		}, nil},
		"no member of EtcdCluster demo runs. `kubectl etcd-steward status demo -n prod` says why": {func(e *etcds, s *session) {
			for name := range e.addresses {
				e.cut(s, podOf(name, true))
			}
		}, nil},
		"etcd does not run in member demo-1": {func(e *etcds, s *session) { e.cut(s, podOf("demo-1", true)) },
			[]string{"--member", "demo-1"}},
		"EtcdCluster demo has no member demo-7. It has: demo-0, demo-1, demo-2": {nil, []string{"--member", "demo-7"}},
	} {
		e, s := startEtcds(t, v1alpha1.TLSManaged)
		if c.change != nil {
			c.change(e, s)
		}
		got := plugin(t, s, slices.Concat([]string{"ctl", "demo"}, c.args, []string{"--", "get", "a"})...)
		if got.code != exitFailed || !strings.Contains(got.errOut, want) || strings.Contains(got.errOut, "PRIVATE") {
			t.Errorf("want %q: %+v", want, got)
		}
	}
	for _, args := range [][]string{{"demo", "get", "a"}, {"demo", "--"}, {"--", "get", "a"}, {"demo", "get", "--", "a"}} {
		got := plugin(t, nil, append([]string{"ctl"}, args...)...)
		if got.code != exitFailed || !strings.Contains(got.errOut, "then --, and then what etcdctl takes") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	_, s := startEtcds(t, v1alpha1.TLSDisabled)
	if got := plugin(t, s, "ctl", "demo", "--operator", "--", "get", "a"); !strings.Contains(got.errOut, "leave out --operator") {
		t.Errorf("got %+v", got)
	}
}
