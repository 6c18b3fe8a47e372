package apply

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// effect is one change, the world it is made in, and what holds afterwards.
type effect struct {
	name    string
	cluster func(*v1alpha1.EtcdCluster)
	world   func(*testing.T, *world)
	view    func(*testing.T, *world) Seen
	change  func(*testing.T, *world) changes.Change
	holds   func(*testing.T, *world)
	// again is how many writes the change makes when it is already so.
	again int
}

func (e effect) begin(t *testing.T) *world {
	t.Helper()
	c := demo()
	if e.cluster != nil {
		e.cluster(c)
	}
	w := newWorld(t, c)
	if e.world != nil {
		e.world(t, w)
	}
	return w
}

func (e effect) look(t *testing.T, w *world) Seen {
	if e.view != nil {
		return e.view(t, w)
	}
	return bootstrapped()
}

func TestEachEffectTriedTwiceSucceedsTwice(t *testing.T) {
	for _, e := range effects() {
		t.Run(e.name, func(t *testing.T) {
			w := e.begin(t)
			change := e.change(t, w)
			w.mustDo(t, e.look(t, w), change)
			e.holds(t, w)
			before := w.writes
			if before == 0 {
				t.Fatal("nothing was written the first time")
			}
			w.mustDo(t, e.look(t, w), change)
			e.holds(t, w)
			if got := w.writes - before; got != e.again {
				t.Errorf("%d writes the second time, want %d: %q", got, e.again, w.calls)
			}
		})
	}
}

// TestAFailureAtAnyCallIsMendedByTryingAgain cuts each effect off at each of its calls, before and after the call took
// effect, and then tries again.
func TestAFailureAtAnyCallIsMendedByTryingAgain(t *testing.T) {
	for _, e := range effects() {
		t.Run(e.name, func(t *testing.T) {
			whole := e.begin(t)
			change := e.change(t, whole)
			whole.failing(0, false)
			whole.mustDo(t, e.look(t, whole), change)
			for n := 1; n <= len(whole.calls); n += needs.Stride(3) {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("call %d, after %v", n, after), func(t *testing.T) {
						w := e.begin(t)
						change := e.change(t, w)
						w.failing(n, after)
						if err := w.do(t, e.look(t, w), change); err == nil {
							t.Errorf("the failure of %q was passed over", w.calls)
						}
						w.failing(0, false)
						w.mustDo(t, e.look(t, w), change)
						e.holds(t, w)
					})
				}
			}
		})
	}
}

func effects() []effect {
	all := append(bootstrapEffects(), objectEffects()...)
	return append(append(all, memberEffects()...), inPlaceEffects()...)
}

func bootstrapEffects() []effect {
	withService := func(t *testing.T, w *world) { w.mustDo(t, bootstrapped(), begin()) }
	bootstrapIs := func(want func(record.Bootstrap) bool) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			service := w.service(t, "demo-peers")
			got, err := record.DecodeBootstrap(service.Annotations[v1alpha1.AnnotationBootstrap])
			if err != nil || !want(got) || service.Annotations[v1alpha1.AnnotationOperator] != operator {
				t.Errorf("the bootstrap record is %+v of %v, %v", got, service.Annotations, err)
			}
		}
	}
	always := func(c changes.Change) func(*testing.T, *world) changes.Change {
		return func(*testing.T, *world) changes.Change { return c }
	}
	return []effect{
		{
			name: "begin birth", change: always(begin()), again: 1,
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Incarnation == incarnation && len(r.Names) == 3 && !r.Void
			}),
		},
		{
			name: "write a stripped bootstrap record anew", change: always(begin()), again: 1,
			world: func(t *testing.T, w *world) {
				service := resources.PeerServiceShape(w.cluster)
				service.Annotations = map[string]string{v1alpha1.AnnotationOperator: operator}
				w.put(t, service)
			},
			holds: bootstrapIs(func(r record.Bootstrap) bool { return r.Incarnation == incarnation }),
		},
		{
			name: "record birth", world: withService, change: always(changes.RecordBootstrap{ClusterID: 0xc}),
			holds: bootstrapIs(func(r record.Bootstrap) bool { return r.ClusterID == 0xc && r.Token == begin().Token }),
		},
		{
			name: "void birth", world: withService, change: always(changes.VoidBootstrap{Incarnation: incarnation}),
			holds: bootstrapIs(func(r record.Bootstrap) bool { return r.Void && r.Incarnation == incarnation }),
		},
		{
			name: "next birth",
			world: func(t *testing.T, w *world) {
				withService(t, w)
				w.mustDo(t, bootstrapped(), changes.VoidBootstrap{Incarnation: incarnation})
			},
			change: always(changes.NextBootstrap{Voided: incarnation, BeginBootstrap: changes.BeginBootstrap{
				Incarnation: "next", Counter: 1, Token: "next-token", Names: []string{"demo-0"},
			}}),
			holds: bootstrapIs(func(r record.Bootstrap) bool {
				return r.Incarnation == "next" && r.Counter == 1 && !r.Void && r.Origin.IsZero()
			}),
		},
		{
			name: "bootstrap", world: withService, again: 14,
			view:   func(*testing.T, *world) Seen { return unmade() },
			change: func(_ *testing.T, w *world) changes.Change { return bootstrap(w.cluster) },
			holds:  holdsBootstrap,
		},
		{
			name: "bootstrap without TLS and volumes", world: withService, again: 4,
			cluster: func(c *v1alpha1.EtcdCluster) {
				c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
				c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
			},
			change: func(_ *testing.T, w *world) changes.Change {
				change := bootstrap(w.cluster)
				change.Secrets, change.Volumes = nil, nil
				return change
			},
			holds: func(t *testing.T, w *world) {
				for _, name := range begin().Names {
					if pod := w.pod(t, name); pod.Spec.Volumes[0].EmptyDir == nil {
						t.Errorf("%s has %+v", name, pod.Spec.Volumes)
					}
				}
			},
		},
	}
}

func holdsBootstrap(t *testing.T, w *world) {
	t.Helper()
	for _, name := range begin().Names {
		pod, volume := w.pod(t, name), w.volume(t, name)
		if resources.FlagsOf(w.cluster, name, pod.Annotations) != resources.StartBootstrap ||
			pod.Labels[v1alpha1.LabelRole] != "" {
			t.Errorf("%s starts by %v with labels %v", name, pod.Annotations, pod.Labels)
		}
		if volume.Labels[v1alpha1.LabelIncarnation] != incarnation ||
			volume.Annotations[v1alpha1.AnnotationInputs] != settings(w.cluster).Inputs {
			t.Errorf("volume %s has %v and %v", name, volume.Labels, volume.Annotations)
		}
		holdsCertificates(t, w, resources.MemberSecret(name), resources.MemberCertificates(w.cluster, name, ""))
	}
	for _, name := range []string{"demo-client-tls", "demo-operator-tls"} {
		holdsCertificates(t, w, name, resources.Certificates(w.cluster, name))
	}
	if service := w.service(t, "demo"); service.Spec.Selector[v1alpha1.LabelRole] != v1alpha1.RoleVoter ||
		len(service.OwnerReferences) != 1 {
		t.Errorf("client Service %+v", service)
	}
	if ca := w.secret(t, "demo-ca"); len(ca.OwnerReferences) != 0 ||
		ca.Type != corev1.SecretTypeTLS {
		t.Errorf("the authority has owners %v and type %s", ca.OwnerReferences, ca.Type)
	}
}
