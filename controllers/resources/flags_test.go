package resources

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestAPodSaysWithWhichFlagsItStartsNext(t *testing.T) {
	c := cluster()
	for _, start := range []PodStart{atBootstrap(c), joining(c), sealed(c)} {
		pod := mustPod(t, c, start)
		if got := FlagsOf(c, start.Name, pod.Annotations); got != start.Flags {
			t.Errorf("a Pod made with %s says %s", start.Flags, got)
		}
		if pod.Labels[v1alpha1.LabelRole] != start.Role {
			t.Errorf("a Pod made with %s has role %q", start.Flags, pod.Labels[v1alpha1.LabelRole])
		}
	}
}

func TestFlagsThatTheOperatorDidNotWriteAreNone(t *testing.T) {
	c := cluster()
	own := "demo-0=https://demo-0.demo-peers.prod.svc:2380"
	other := "demo-1=https://demo-1.demo-peers.prod.svc:2380"
	for name, annotations := range map[string]map[string]string{
		"stripped":            nil,
		"comparison stripped": {v1alpha1.AnnotationInitialState: "existing", v1alpha1.AnnotationInitialCluster: own, v1alpha1.AnnotationRenderer: "2"},
		"neither compared nor not": {
			v1alpha1.AnnotationInitialState: "existing", v1alpha1.AnnotationInitialCluster: own, v1alpha1.AnnotationInitialCompare: "maybe",
		},
		"state stripped":            {v1alpha1.AnnotationInitialCluster: own},
		"list stripped":             {v1alpha1.AnnotationInitialState: "existing"},
		"another member's list":     {v1alpha1.AnnotationInitialState: "existing", v1alpha1.AnnotationInitialCluster: other},
		"birth without itself":      {v1alpha1.AnnotationInitialState: "new", v1alpha1.AnnotationInitialCluster: other},
		"a state that etcd has not": {v1alpha1.AnnotationInitialState: "sealed", v1alpha1.AnnotationInitialCluster: own},
		"its name at another URL":   {v1alpha1.AnnotationInitialState: "new", v1alpha1.AnnotationInitialCluster: "demo-0=http://evil:2380"},
	} {
		if got := FlagsOf(c, "demo-0", annotations); got != StartNone {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestASealedPodOfAnEarlierReleaseCompares(t *testing.T) {
	c := cluster()
	annotations := mustPod(t, c, sealed(c)).Annotations
	annotations[v1alpha1.AnnotationInitialCompare] = "true"
	if got := FlagsOf(c, "demo-0", annotations); got != StartComparing {
		t.Errorf("it is %s", got)
	}
	delete(annotations, v1alpha1.AnnotationInitialCompare)
	annotations[v1alpha1.AnnotationRenderer] = "1"
	if got := FlagsOf(c, "demo-0", annotations); got != StartComparing {
		t.Errorf("of the first renderer it is %s", got)
	}
}

func TestNoPodComparesByItself(t *testing.T) {
	c := cluster()
	for _, start := range []PodStart{atBootstrap(c), joining(c), sealed(c)} {
		if got := mustPod(t, c, start).Annotations[v1alpha1.AnnotationInitialCompare]; got != "false" {
			t.Errorf("a Pod made with %s has %q", start.Flags, got)
		}
	}
}

func TestAtSizeOneABootstrapIsNoSeal(t *testing.T) {
	c := cluster()
	list := urls(c, "demo-0")
	bootstrap := InitialAnnotations(c, "demo-0", etcdutil.TransportTLS, StartBootstrap, list)
	seal := InitialAnnotations(c, "demo-0", etcdutil.TransportTLS, StartSealed, nil)
	if FlagsOf(c, "demo-0", bootstrap) != StartBootstrap || FlagsOf(c, "demo-0", seal) != StartSealed {
		t.Errorf("birth %v, seal %v", bootstrap, seal)
	}
}
