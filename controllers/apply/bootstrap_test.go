package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func (w *world) bootstrap(t *testing.T) record.Bootstrap {
	t.Helper()
	r, err := record.DecodeBootstrap(w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOfTwoBootstrapsOneWinsAndTheOtherReadsIt(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	second := begin()
	second.Incarnation, second.Token, second.Names = "other", "other", []string{"demo-0"}
	w.mustDo(t, bootstrapped(), second)
	if got := w.bootstrap(t); got.Incarnation != incarnation || len(got.Names) != 3 {
		t.Errorf("the second overwrote the first: %+v", got)
	}
}

func TestAClaimIsMovedFromTheInstallThatWasSeenAndFromNoOther(t *testing.T) {
	w := newWorld(t, demo())
	others := bootstrapped()
	w.mustDo(t, others, begin())
	before := w.service(t, "demo-peers").Annotations
	if err := w.do(t, others, changes.TakeOver{From: "other/etcd-steward"}); !errors.Is(err, ErrStale) ||
		!maps.Equal(w.service(t, "demo-peers").Annotations, before) {
		t.Errorf("%v: %v", err, w.service(t, "demo-peers").Annotations)
	}
	service := w.service(t, "demo-peers")
	service.Annotations[v1alpha1.AnnotationOperator] = "other/etcd-steward"
	if err := w.inner.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	w.mustDo(t, others, changes.TakeOver{From: "other/etcd-steward"})
	after := w.service(t, "demo-peers").Annotations
	if after[v1alpha1.AnnotationOperator] != operator ||
		after[v1alpha1.AnnotationTakenOver] != now.Format(time.RFC3339) ||
		after[v1alpha1.AnnotationBootstrap] != before[v1alpha1.AnnotationBootstrap] {
		t.Errorf("%v", after)
	}
}

// living is what is seen of a cluster that lives, whose peer Service is gone, and whose data names an install.
func living(install string) Seen {
	v := bootstrapped()
	v.Current.Members = []facts.Replica{{Name: "demo-0", Volume: &facts.Volume{UID: "volume", Record: record.Member{
		ClusterID: 0xc, MemberID: 0xa, VolumeUID: "volume"}}}}
	v.ClaimedBy, v.DataClaim, v.Current.Bootstrap = "", install, record.Bootstrap{}
	return v
}

func TestALostRecordThatAnotherInstallWritesAnewIsDatedAsATakeOver(t *testing.T) {
	for name, row := range map[string]struct {
		seen  Seen
		dated bool
	}{
		"by the install that the data names": {living(operator), false},
		"by another one":                     {living("other/etcd-steward"), true},
		"where the data names none":          {living(""), true},
		"a cluster that does not live yet":   {bootstrapped(), false},
	} {
		for _, isThere := range []bool{false, true} {
			w := newWorld(t, demo())
			if isThere { // it lost what the operator wrote on it
				w.mustDo(t, bootstrapped(), begin())
				service := w.service(t, "demo-peers")
				w.edit(t, service, func() { service.Annotations = nil })
			}
			w.mustDo(t, row.seen, begin())
			annotations := w.service(t, "demo-peers").Annotations
			want := ""
			if row.dated {
				want = now.Format(time.RFC3339)
			}
			if annotations[v1alpha1.AnnotationTakenOver] != want || annotations[v1alpha1.AnnotationOperator] != operator {
				t.Errorf("%s, %v: %v", name, isThere, annotations)
			}
		}
	}
}

func TestTheBootstrapRecordMovesInOneDirectionOnly(t *testing.T) {
	next := changes.NextBootstrap{Voided: incarnation,
		BeginBootstrap: changes.BeginBootstrap{Incarnation: "next", Counter: 1, Token: "t", Names: []string{"demo-0"}}}
	for name, row := range map[string]struct{ before, change changes.Change }{
		"voiding another incarnation": {nil, changes.VoidBootstrap{Incarnation: "other"}},
		"voiding a birth that a cluster came of": {changes.RecordBootstrap{ClusterID: 0xc},
			changes.VoidBootstrap{Incarnation: incarnation}},
		"a cluster coming of a voided birth": {changes.VoidBootstrap{Incarnation: incarnation},
			changes.RecordBootstrap{ClusterID: 0xc}},
		"another cluster coming of the same birth": {changes.RecordBootstrap{ClusterID: 0xc},
			changes.RecordBootstrap{ClusterID: 0xd}},
		"the next birth before this one is voided": {nil, next},
	} {
		w := newWorld(t, demo())
		w.mustDo(t, bootstrapped(), begin())
		if row.before != nil {
			w.mustDo(t, bootstrapped(), row.before)
		}
		before := w.bootstrap(t)
		if err := w.do(t, bootstrapped(), row.change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
		if after := w.bootstrap(t); after.Encode() != before.Encode() {
			t.Errorf("%s: %+v became %+v", name, before, after)
		}
	}
}

func TestAClusterIsNotWrittenIntoAnIncarnationThatItDidNotComeOf(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	heldUp := bootstrapped()
	heldUp.Current.Bootstrap.Incarnation = "0a2b3c4d" // what was looked at before the next incarnation began
	if err := w.do(t, heldUp, changes.RecordBootstrap{ClusterID: 0xc}); !errors.Is(err, ErrStale) ||
		w.bootstrap(t).ClusterID != 0 {
		t.Errorf("%v: %+v", err, w.bootstrap(t))
	}
	w.mustDo(t, bootstrapped(), changes.RecordBootstrap{ClusterID: 0xd})
	if got := w.bootstrap(t).ClusterID; got != 0xd {
		t.Errorf("the cluster of this incarnation is %s", got)
	}
}

func TestABootstrapRecordThatCannotBeReadIsNotWrittenOver(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	service := w.service(t, "demo-peers")
	w.edit(t, service, func() { service.Annotations[v1alpha1.AnnotationBootstrap] = "{" })
	for _, change := range []changes.Change{changes.RecordBootstrap{ClusterID: 1},
		changes.VoidBootstrap{Incarnation: incarnation}} {
		if err := w.do(t, bootstrapped(), change); !isRejected(err, RejectedUnreadable) {
			t.Errorf("%s: %v", changes.KindOf(change), err)
		}
	}
	w.mustDo(t, bootstrapped(), begin())
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap]; got != "{" {
		t.Errorf("it became %s", got)
	}
}

func TestNoPodOfABootstrapIsMadeBeforeAllThatItStartsWithIsThere(t *testing.T) {
	for _, refused := range []string{"create demo-2 *v1.PersistentVolumeClaim", "create demo-1-tls *v1.Secret",
		"create demo-ca-peer *v1.Secret", "create demo-members *v1.NetworkPolicy", "create demo *v1.Service",
		"create demo-client-tls *v1.Secret", "patch demo-peers *v1.Service"} {
		t.Run(refused, func(t *testing.T) {
			c := demo()
			c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{}
			w := newWorld(t, c)
			w.mustDo(t, bootstrapped(), begin())
			refuse := func(verb string, object ctrlclient.Object) error {
				if fmt.Sprintf("%s %s %T", verb, object.GetName(), object) == refused {
					return errors.New("it is refused")
				}
				return nil
			}
			w.client = interceptor.NewClient(w.client, interceptor.Funcs{
				Create: func(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object,
					opts ...ctrlclient.CreateOption) error {
					if err := refuse("create", object); err != nil {
						return err
					}
					return c.Create(ctx, object, opts...)
				},
				Patch: func(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object,
					patch ctrlclient.Patch, opts ...ctrlclient.PatchOption) error {
					if err := refuse("patch", object); err != nil {
						return err
					}
					return c.Patch(ctx, object, patch, opts...)
				},
			})
			change := bootstrap(c)
			change.Objects = append(change.Objects, facts.Object{Kind: resources.KindPolicy,
				Name: resources.NetworkPolicy(c.Name), State: facts.ObjectAbsent})
			if err := w.do(t, unmade(), change); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("it says %v", err)
			}
			for _, name := range begin().Names {
				w.isGone(t, &corev1.Pod{}, name)
			}
		})
	}
}

// TestABootstrapStaysWithinItsWrites counts what the objects of three members cost; recording, sealing and the status
// come on top, within 36 in all.
func TestABootstrapStaysWithinItsWrites(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.writes = 0
	again := newWorld(t, demo())
	again.mustDo(t, bootstrapped(), begin())
	again.mustDo(t, bootstrapped(), bootstrap(again.cluster))
	again.mustDo(t, bootstrapped(), changes.SetBudget{MinAvailable: 2})
	if again.writes != 1+1+4+3+3+1+3+1 {
		t.Errorf("%d writes: %q", again.writes, again.calls)
	}
}

func TestNoPodIsBootstrappedIntoABootstrapThatIsNotItsOwn(t *testing.T) {
	start := bootstrap(demo()).Pods[0]
	for name, edit := range map[string]func(*Seen){
		"it was given up":        func(v *Seen) { v.Current.Bootstrap.Void = true },
		"it is not written down": func(v *Seen) { v.Current.Bootstrap = record.Bootstrap{} },
		"it has other members":   func(v *Seen) { v.Current.Bootstrap.Names = []string{"demo-1"} },
	} {
		w := newWorld(t, demo())
		view := bootstrapped()
		edit(&view)
		if err := w.do(t, view, changes.Bootstrap{Pods: []changes.Start{start}}); !errors.Is(err, ErrStale) ||
			w.writes != 0 {
			t.Errorf("%s: %v, %d writes", name, err, w.writes)
		}
	}
}

func TestAPodIsNotMadeFromFlagsThatCouldHurt(t *testing.T) {
	c := demo()
	c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	for name, start := range map[string]changes.Start{
		"no flags":               {Name: "demo-0", Flags: facts.FlagsNone},
		"a join with nobody":     {Name: "demo-3", Flags: facts.FlagsJoin, Initial: initial(c, "demo-3")},
		"a join without itself":  {Name: "demo-3", Flags: facts.FlagsJoin, Initial: initial(c, "demo-0", "demo-1")},
		"a birth without itself": {Name: "demo-0", Flags: facts.FlagsBootstrap, Initial: initial(c, "demo-1")},
		"a role before the seal": {Name: "demo-3", Flags: facts.FlagsJoin, Initial: initial(c, "demo-0", "demo-3"),
			Role: v1alpha1.RoleVoter},
		"no choices": {Name: "demo-0", Flags: facts.FlagsSealed, Settings: facts.Settings{Inputs: "{}"}},
	} {
		w := newWorld(t, c)
		if start.Settings.IsZero() {
			start.Settings = settings(c)
		}
		if err := w.do(t, bootstrapped(), changes.StartPods{Pods: []changes.Start{start}}); err == nil || w.writes != 0 {
			t.Errorf("%s: %v, %d writes", name, err, w.writes)
		}
	}
}

func TestAPodWaitsForTheSecretThatItMounts(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	start := changes.StartPods{Pods: []changes.Start{{Name: "demo-3", Flags: facts.FlagsSealed,
		Settings: settings(w.cluster)}}}
	if err := w.do(t, bootstrapped(), start); !isLater(err, LaterMissing) || w.writes != 0 {
		t.Errorf("%v, %d writes", err, w.writes)
	}
	half := w.secret(t, "demo-0-tls")
	w.edit(t, half, func() { delete(half.Data, resources.KeyPeerCA) })
	start.Pods[0].Name = "demo-0"
	if err := w.do(t, bootstrapped(), start); !isLater(err, LaterMissing) {
		t.Errorf("half a Secret: %v", err)
	}
}

func TestAPodIsMadeOnTheIncarnationOfItsVolume(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0"))}})
	view := bootstrapped()
	view.Current.Members = []facts.Replica{{Name: "demo-0", Volume: &facts.Volume{Incarnation: "restored"}}}
	w.mustDo(t, view,
		changes.StartPods{Pods: []changes.Start{{Name: "demo-0", Flags: facts.FlagsSealed,
			Settings: settings(w.cluster)}}})
	args := strings.Join(w.pod(t, "demo-0").Spec.Containers[0].Args, " ")
	if !strings.Contains(args, "--data-dir=/var/lib/etcd/restored/demo-0 ") {
		t.Errorf("it starts with %s", args)
	}
}

func TestTheBootstrapRecordSaysOnWhichVolumesTheFirstMembersAreBootstrappedBeforeTheirPodsAre(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	record := w.bootstrap(t)
	if !record.Begun || record.NextOrdinal != len(record.Names) {
		t.Fatalf("the birth is not said to have begun: %+v", record)
	}
	for _, name := range record.Names {
		if claim := read(t, w, name, &corev1.PersistentVolumeClaim{}); record.Volumes[name] != string(claim.GetUID()) {
			t.Errorf("%s is born on %q, the record says %q", name, claim.GetUID(), record.Volumes[name])
		}
	}
	if slices.Index(w.calls, "patch *v1.Service demo-peers") > slices.IndexFunc(w.calls, func(call string) bool {
		return strings.HasPrefix(call, "create *v1.Pod")
	}) {
		t.Errorf("a Pod came first: %q", w.calls)
	}
}

func TestANameIsPromisedOnceAndItsPromiseEndsWithTheMember(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	prepare := changes.PrepareMember{Volume: changes.NewVolume{Name: "demo-3", Bytes: 1 << 30,
		Settings: settings(w.cluster)},
		Secret: true}
	w.mustDo(t, begun(), prepare)
	w.mustDo(t, begun(), prepare)
	if record := w.bootstrap(t); record.Promised != "demo-3" || record.NextOrdinal != 4 {
		t.Fatalf("after the promise: %+v", record)
	}
	prepare.Volume.Name = "demo-2"
	if err := w.do(t, begun(), prepare); !errors.Is(err, ErrStale) {
		t.Errorf("a name of the past was promised: %v", err)
	}
}
