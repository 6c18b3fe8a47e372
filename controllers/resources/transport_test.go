package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func reachedBy(t *testing.T, transport etcdutil.Transport) *corev1.Pod {
	t.Helper()
	c := cluster()
	start := sealed(c)
	start.Inputs.TLS = transport
	return mustPod(t, c, start)
}

func TestAPodListensAsItsTransportSaysAndSaysSoAgain(t *testing.T) {
	for _, row := range []struct {
		transport      etcdutil.Transport
		peers, clients string
	}{
		{etcdutil.TransportPlain, "http://[::]:2380", "http://[::]:2379"},
		{etcdutil.TransportPrepared, "http://[::]:2380", "http://[::]:2379,https://[::]:2379"},
		{etcdutil.TransportPermissive, "https://[::]:2380", "http://[::]:2379,https://[::]:2379"},
		{etcdutil.TransportTLS, "https://[::]:2380", "https://[::]:2379"},
	} {
		pod := reachedBy(t, row.transport)
		args := pod.Spec.Containers[0].Args
		if !slices.Contains(args, "--listen-peer-urls="+row.peers) || !slices.Contains(args, "--listen-client-urls="+row.clients) {
			t.Errorf("%q listens by %v", row.transport, args)
		}
		hasFiles := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--peer-trusted-ca-file=") })
		if hasFiles != row.transport.HasCertificates() {
			t.Errorf("%q has certificates: %v", row.transport, hasFiles)
		}
		if got, isSaid := TransportOf(pod); !isSaid || got != row.transport {
			t.Errorf("a Pod made with %q says %q, %v", row.transport, got, isSaid)
		}
		if got := FlagsOf(cluster(), pod.Name, pod.Annotations); got != StartSealed {
			t.Errorf("a Pod made with %q, in a cluster with TLS, says that it starts %s", row.transport, got)
		}
	}
	if _, isSaid := TransportOf(&corev1.Pod{}); isSaid {
		t.Error("a Pod without etcd says how it is reached")
	}
}

func TestTasksConnectWithTLSOnlyWhereEachMemberTakesIt(t *testing.T) {
	plain, prepared := *reachedBy(t, etcdutil.TransportPlain), *reachedBy(t, etcdutil.TransportPrepared)
	if got := AllTakeTLS([]corev1.Pod{prepared, plain}); got == nil || *got {
		t.Error("a member takes none, and tasks would ask for it")
	}
	if got := AllTakeTLS([]corev1.Pod{prepared}); got == nil || !*got {
		t.Error("all take it, and tasks would not ask for it")
	}
	if AllTakeTLS([]corev1.Pod{{}}) != nil {
		t.Error("nothing is said, and yet it is known")
	}
	c := cluster()
	if got := ReachedWith(c, false); got.Spec.IsTLS() || !c.Spec.IsTLS() || ReachedWith(c, true) != c {
		t.Error("the cluster was changed in place, or not at all")
	}
}

// A release that restarted members for this would find other text on their Pods.
func TestTheModesOfEarlierReleasesAreWrittenDownAsBefore(t *testing.T) {
	for mode, want := range map[v1alpha1.TLSMode]string{"": "", v1alpha1.TLSManaged: "", v1alpha1.TLSDisabled: `"tls":"Disabled"`,
		v1alpha1.TLSPermissive: `"tls":"Permissive"`} {
		c := cluster()
		c.Spec.TLS = &v1alpha1.TLSSpec{Mode: mode}
		if text := Inputs(c).Canonical(); !strings.Contains(text, want) || want == "" && strings.Contains(text, `"tls"`) {
			t.Errorf("%q is written as %s", mode, text)
		}
	}
}
