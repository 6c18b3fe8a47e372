package apply

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// rehearse answers the creation of a Pod that is not to be stored: admission first, the clash of names last.
func (w *world) rehearse(ctx context.Context, pod *corev1.Pod) error {
	return w.call(false, "rehearse "+pod.Name, func() error {
		if w.admission != nil {
			if err := w.admission(pod); err != nil {
				return err
			}
		}
		if err := w.inner.Get(ctx, ctrlclient.ObjectKeyFromObject(pod), &corev1.Pod{}); err == nil {
			return apierrors.NewAlreadyExists(pods, pod.Name)
		}
		return nil
	})
}

func (w *world) rehearseClaim(claim *corev1.PersistentVolumeClaim) error {
	return w.call(false, "rehearse the volume "+claim.Name, func() error {
		if w.claimAdmission != nil {
			return w.claimAdmission(claim)
		}
		return nil
	})
}

func successor(c *v1alpha1.EtcdCluster) changes.Start {
	return changes.Start{Name: "demo-0", Flags: facts.FlagsSealed, Settings: settings(c), Role: v1alpha1.RoleVoter}
}

// stopping are the changes that lead to a Pod of demo-0 being replaced by one of these settings.
func stopping(t *testing.T, w *world, c *v1alpha1.EtcdCluster) []changes.Change {
	return []changes.Change{
		changes.EvictPod{Pod: ref(w.pod(t, "demo-0")), Successor: successor(c)},
		changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-0", UID: string(w.volume(t, "demo-0").UID)}},
			Settings: settings(c), Rehearse: true},
	}
}

func TestNothingIsStoppedForAPodThatWouldNotBeAdmitted(t *testing.T) {
	const full = "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"
	unsupported := apierrors.NewBadRequest(`admission webhook "policy.example.com" does not support dry run`)
	for name, row := range map[string]struct {
		answer error
		reason string // empty: it would be admitted, or nobody can tell
	}{
		"all is well":                        {nil, ""},
		"a webhook cannot be rehearsed with": {unsupported, ""},
		"a quota counts the old Pod too":     {forbidden(full), ""},
		"a quota was lowered": {forbidden("exceeded quota: small, requested: pods=1, used: pods=3, " +
			"limited: pods=2"), RejectedQuota},
		"a quota wants limits": {forbidden("failed quota: small: must specify limits.memory for: etcd"),
			RejectedQuota},
		"Pod Security was tightened": {forbidden(`violates PodSecurity "restricted:latest"`), RejectedPodSecurity},
		"a webhook denies it": {forbidden(`admission webhook "policy.example.com" denied the request: no`),
			RejectedAdmission},
		"the params of a policy are gone": {forbidden("ValidatingAdmissionPolicy 'of-others' with binding 'of-others' denied " +
			"request: failed to configure binding: no params found"), RejectedAdmission},
		"an API server does not understand a policy": {status(http.StatusUnprocessableEntity, "ValidatingAdmissionPolicy 'restricted-pods' "+
			"with binding 'restricted-pods' denied request: expression 'x' resulted in error: compilation error"), RejectedAdmission},
		"a webhook adds what a policy refuses": {forbidden("ValidatingAdmissionPolicy 'restricted-pods' with binding " +
			"'restricted-pods' denied request: pods prod/demo-0 has a container that is privileged: proxy"), RejectedAdmission},
		"a webhook is down": {status(http.StatusInternalServerError, `failed calling webhook "x"`),
			RejectedAdmission},
		"a LimitRange forbids it": {forbidden("maximum memory usage per Container is 100Mi, but limit is 1Gi"),
			RejectedForbidden},
		"the Pod is invalid": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "demo-0", nil), RejectedInvalid},
	} {
		for i := range 2 {
			w := newWorld(t, demo())
			wholeCluster(t, w)
			w.admission = func(*corev1.Pod) error { return row.answer }
			change := stopping(t, w, w.cluster)[i]
			look, looks := looking(bootstrapped())
			err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look)
			switch {
			// the planner of that look does not ask for it
			case row.reason == "" && (!errors.Is(err, ErrStale) || *looks != 1):
				t.Errorf("%s, %s: %v after %d looks", name, changes.KindOf(change), err, *looks)
			case row.reason != "" && (!isRejected(err, row.reason) || *looks != 0):
				t.Errorf("%s, %s: %v after %d looks", name, changes.KindOf(change), err, *looks)
			}
			if w.writes != 0 || !slices.Contains(w.calls, "rehearse demo-0") {
				t.Errorf("%s, %s: %d writes in %q", name, changes.KindOf(change), w.writes, w.calls)
			}
		}
	}
}

func TestNoPodIsRehearsedForAMemberThatAPersonFences(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.admission = func(*corev1.Pod) error { return forbidden("exceeded quota: small") }
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0")), Fences: true}); err != nil ||
		slices.Contains(w.calls, "rehearse demo-0") {
		t.Errorf("%v in %q", err, w.calls)
	}
}

func TestARehearsalThatFailsSaysWhatHelpsAndThatNothingWasStopped(t *testing.T) {
	const lowered = "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=0"
	const same = " Nothing was stopped for it."
	const changed = same + " To leave the members as they are, "
	whole, moving := newWorld(t, demo()), newWorld(t, demo())
	wholeCluster(t, whole)
	begunNext(t, moving)
	moving.mustDo(t, restoring(t, moving), prepareNext(moving.cluster))
	move := switchOver()
	move.Successors = []changes.Start{{Name: "demo-3", Flags: facts.FlagsSealed, Settings: settings(moving.cluster)}}
	seenOlder := bootstrapped()
	seenOlder.Current.Members = []facts.Replica{{Name: "demo-0", Pod: &facts.Pod{Settings: facts.Settings{
		Inputs: `{"version":"3.6.15"}`}}}}
	for _, row := range []struct {
		world  *world
		seen   Seen
		change changes.Change
		tail   string
	}{
		{whole, seenOlder, stopping(t, whole, whole.cluster)[0], changed + "put spec.version back to 3.6.15."},
		{whole, seenOlder, stopping(t, whole, whole.cluster)[1], changed + "put spec.version back to 3.6.15."},
		{whole, bootstrapped(), stopping(t, whole, whole.cluster)[1], changed + "undo the change of the spec."},
		{moving, restoring(t, moving), move, same},
		{whole, bootstrapped(), replacing(whole.cluster),
			" demo-0 stays a member until Kubernetes admits demo-3: make room, or change what refuses it." + same},
	} {
		for text, remedy := range map[string]string{
			lowered: "limited: pods=0. Raise the ResourceQuota: kubectl describe quota -n prod shows what is used.",
			`admission webhook "policy.example.com" denied the request: no`: "no. Have that policy or webhook admit it.",
		} {
			row.world.admission = func(*corev1.Pod) error { return forbidden(text) }
			look, _ := looking(row.seen)
			err := row.world.applier().Apply(t.Context(), row.world.cluster, row.seen, row.change, look)
			if err == nil || !strings.HasSuffix(err.Error(), remedy+row.tail) {
				t.Errorf("%s: %v", changes.KindOf(row.change), err)
			}
		}
	}
}

func TestAMemberWhosePodIsRefusedIsToldNotToBeReplaced(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0"))}})
	refusing := w.applier()
	refusing.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(context.Context, ctrlclient.WithWatch, ctrlclient.Object, ...ctrlclient.CreateOption) error {
			return forbidden("exceeded quota: small")
		}})
	err := step{Applier: refusing, cluster: w.cluster, view: w.trusting(t, bootstrapped())}.carryOut(t.Context(),
		changes.StartPods{Pods: []changes.Start{successor(w.cluster)}})
	const want = "Raise the ResourceQuota. The operator does not replace demo-0 meanwhile: a new member may meet the same."
	if !isRejected(err, RejectedQuota) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("it is told as %v", err)
	}
}

func TestWhatIsRehearsedIsThePodThatIsMadeLater(t *testing.T) {
	changed := demo()
	changed.Spec.Version = "3.6.15"
	w := newWorld(t, changed)
	wholeCluster(t, w)
	w.mustDo(t, bootstrapped(), changes.LabelRole{Pod: ref(w.pod(t, "demo-0")), Role: v1alpha1.RoleVoter})
	var (
		mu        sync.Mutex
		rehearsed []*corev1.Pod
	)
	w.admission = func(pod *corev1.Pod) error {
		mu.Lock()
		defer mu.Unlock()
		rehearsed = append(rehearsed, pod.DeepCopy())
		return nil
	}
	look, _ := looking(bootstrapped())
	for _, change := range stopping(t, w, changed) {
		if err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", changes.KindOf(change), err)
		}
	}
	w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0"))}})
	w.mustDo(t, bootstrapped(), changes.StartPods{Pods: []changes.Start{successor(changed)}})
	made := w.pod(t, "demo-0")
	if len(rehearsed) != 2 {
		t.Fatalf("%d rehearsals", len(rehearsed))
	}
	for _, pod := range rehearsed {
		pod.ResourceVersion, pod.UID = made.ResourceVersion, made.UID
		if got, want := encoded(t, pod), encoded(t, made); got != want {
			t.Errorf("rehearsed was\n%s\nmade is\n%s", got, want)
		}
	}
	if resources.FlagsOf(w.cluster, "demo-0", made.Annotations) != resources.StartSealed ||
		made.Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
		t.Errorf("%v, %v", made.Annotations, made.Labels)
	}
}

func TestAClusterMovesOnlyToMembersThatWouldBeAdmitted(t *testing.T) {
	for name, row := range map[string]struct {
		answer error
		reason string // empty: it would be admitted, or nobody can tell
	}{
		"all is well": {nil, ""},
		"a quota counts who is to be stopped": {forbidden("exceeded quota: small, requested: pods=1, used: pods=3, " +
			"limited: pods=3"), ""},
		"a quota has no room for it ever": {forbidden("exceeded quota: small, requested: pods=4, used: pods=3, " +
			"limited: pods=3"), RejectedQuota},
		"a webhook denies it": {forbidden(`admission webhook "policy.example.com" denied the request: no`),
			RejectedAdmission},
		"Pod Security was tightened": {forbidden(`violates PodSecurity "restricted:latest"`), RejectedPodSecurity},
	} {
		w := newWorld(t, demo())
		begunNext(t, w)
		w.mustDo(t, restoring(t, w), prepareNext(w.cluster))
		var incarnation string
		w.admission = func(pod *corev1.Pod) error { incarnation = pod.Labels[v1alpha1.LabelIncarnation]; return row.answer }
		change := switchOver()
		change.Successors = []changes.Start{{Name: "demo-3", Flags: facts.FlagsSealed, Settings: settings(w.cluster)}}
		before := w.writes
		look, looks := looking(restoring(t, w))
		seen := restoring(t, w)
		seen.Current.Members = []facts.Replica{{Name: "demo-0"}, {Name: "demo-1"}, {Name: "demo-2"}}
		err := w.applier().Apply(t.Context(), w.cluster, seen, change, look)
		switch {
		// the planner of that look does not ask for it
		case row.reason == "" && (!errors.Is(err, ErrStale) || *looks != 1):
			t.Errorf("%s: %v after %d looks", name, err, *looks)
		case row.reason != "" && (!isRejected(err, row.reason) || *looks != 0):
			t.Errorf("%s: %v after %d looks", name, err, *looks)
		}
		if incarnation != restoredIncarnation || w.writes != before {
			t.Errorf("%s: a Pod of the incarnation %q was rehearsed, with %d writes", name, incarnation, w.writes-before)
		}
	}
}

func TestAClusterDoesNotMoveToMembersOfWhichOnlySomeWouldFit(t *testing.T) {
	limited := func(pod *corev1.Pod) error { // as a LimitRange does
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		return nil
	}
	full := func(*corev1.Pod) error {
		return forbidden("exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2")
	}
	for name, row := range map[string]struct {
		admission func(*corev1.Pod) error
		hard      corev1.ResourceList
		isStuck   bool // an old Pod is
		fits      bool
	}{
		"room for both": {nil, corev1.ResourceList{"pods": resource.MustParse("2")}, false, true},
		"room for one": {nil, corev1.ResourceList{"pods": resource.MustParse("1")}, false,
			false},
		"room for both with a LimitRange": {limited,
			corev1.ResourceList{"limits.memory": resource.MustParse("2Gi")}, false, true},
		"room for one with a LimitRange": {limited,
			corev1.ResourceList{"limits.memory": resource.MustParse("1Gi")}, false, false},
		"room that those who go leave": {full, corev1.ResourceList{"services": resource.MustParse("9")},
			false, true},
		"room that one who is stuck does not": {full, corev1.ResourceList{"services": resource.MustParse("9")},
			true, false},
	} {
		w := newWorld(t, demo())
		begunNext(t, w)
		w.mustDo(t, restoring(t, w), prepareNext(w.cluster))
		small := quota("small", row.hard)
		if _, counts := row.hard["pods"]; counts {
			small.Status.Used["pods"] = resource.MustParse("2")
		}
		w.put(t, small)
		seen := restoring(t, w)
		seen.Current.Members = []facts.Replica{{Name: "demo-0"}, {Name: "demo-1"}}
		if old := w.pod(t, "demo-1"); row.isStuck {
			w.edit(t, old, func() { old.Finalizers = []string{"example.com/held"} })
			w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(old)}})
		}
		w.admission = row.admission
		change := switchOver()
		for _, name := range []string{"demo-3", "demo-4"} {
			change.Successors = append(change.Successors,
				changes.Start{Name: name, Flags: facts.FlagsSealed, Settings: settings(w.cluster)})
		}
		look, _ := looking(seen)
		err := w.applier().Apply(t.Context(), w.cluster, seen, change, look)
		if row.fits && !errors.Is(err, ErrStale) || !row.fits && !isRejected(err, RejectedQuota) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoMemberIsStoppedWhoseSecretIsGone(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.mustDo(t, bootstrapped(), changes.DeleteSecret{Name: "demo-0"})
	look, looks := looking(bootstrapped())
	for _, change := range stopping(t, w, w.cluster) {
		if err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look); !isLater(err, LaterMissing) ||
			*looks != 0 {
			t.Errorf("%s: %v after %d looks", changes.KindOf(change), err, *looks)
		}
	}
}

func TestSettingsOfAMemberThatDoesNotRunAreNotRehearsed(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.failing(0, false)
	change := stopping(t, w, w.cluster)[1].(changes.WriteSettings)
	change.Rehearse = false
	look, _ := looking(bootstrapped())
	if err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), change, look); !errors.Is(err, ErrStale) ||
		len(w.calls) != 0 {
		t.Errorf("%v after %q", err, w.calls)
	}
}

func TestAQuotaThatCountsTheOldPodTooIsNoObstacleByItsOwnFigures(t *testing.T) {
	for _, row := range []struct {
		figures string
		fits    bool
	}{
		{"requested: pods=1, used: pods=3, limited: pods=3", true},
		{"requested: pods=1, used: pods=4, limited: pods=3", false},
		{"requested: count/pods=1, used: count/pods=3, limited: count/pods=3", true},
		{"requested: cpu=100m, used: cpu=300m, limited: cpu=300m", true},
		{"requested: requests.cpu=200m, used: requests.cpu=300m, limited: requests.cpu=300m", false},
		{"requested: requests.cpu=200m, used: requests.cpu=300m, limited: requests.cpu=400m", true},
		{"requested: memory=512Mi,pods=1, used: memory=1536Mi,pods=3, limited: memory=1536Mi,pods=3", true},
		{"requested: memory=513Mi,pods=1, used: memory=1536Mi,pods=3, limited: memory=1536Mi,pods=3", false},
		{"requested: limits.memory=1Gi, used: limits.memory=3Gi, limited: limits.memory=3Gi", true},
		{"requested: limits.cpu=1, used: limits.cpu=3, limited: limits.cpu=3", false}, // the old Pod has none
		{"requested: requests.ephemeral-storage=1Gi, used: requests.ephemeral-storage=0, limited: " +
			"requests.ephemeral-storage=1Mi", false},
		{"requested: pods=many, used: pods=3, limited: pods=3", false},
		{"requested: cpu=1, used: pods=3, limited: pods=3", false},
		{"requested: pods=1, used: pods=3", false},
	} {
		if got := alone(oldPod(t)).fits(`pods "demo-0" is forbidden: exceeded quota: small, ` +
			row.figures); got != row.fits {
			t.Errorf("%s: fits %v", row.figures, got)
		}
	}
	if alone(oldPod(t)).fits("violates PodSecurity") {
		t.Error("a refusal without figures fits")
	}
	ended := oldPod(t)
	ended.Status.Phase = corev1.PodFailed
	if alone(ended).fits("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3") {
		t.Error("a Pod that ended is counted")
	}
}

func TestOfSeveralQuotasEachIsConsideredAndNamed(t *testing.T) {
	const full = "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"
	const over = "exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=3"
	large := demo()
	large.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
		Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: "2", corev1.ResourceMemory: "4Gi"},
	}}
	tight := corev1.ResourceList{"requests.cpu": resource.MustParse("1"), "requests.memory": resource.MustParse("1Gi"),
		"services": resource.MustParse("0")}
	for _, row := range []struct {
		name   string
		quotas []*corev1.ResourceQuota
		denied bool
		answer string
		says   []string // of the refusal; none when the Pod would be admitted
	}{
		{"one that is just full", nil, false, full, nil},
		{"one that is just full, and nobody may look at others", []*corev1.ResourceQuota{quota("tight", tight)},
			true, full, nil},
		{"one that is just full, and one with room",
			[]*corev1.ResourceQuota{quota("wide", corev1.ResourceList{"requests.cpu": resource.MustParse("20")})},
			false, full, nil},
		{"one that is just full, and one that is exceeded in two things",
			[]*corev1.ResourceQuota{quota("tight", tight)}, false, full,
			[]string{"exceeded quota: tight, requested: requests.cpu=2,requests.memory=4Gi, used: " +
				"requests.cpu=0,requests.memory=0, limited: requests.cpu=1,requests.memory=1Gi"}},
		{"two that are exceeded", []*corev1.ResourceQuota{quota("small", tight), quota("tight", tight)}, false,
			over, []string{"exceeded quota: small, requested: pods=1", "; exceeded quota: tight"}},
		{"one for Pods of another kind is left to Kubernetes", []*corev1.ResourceQuota{scoped(quota("tight", tight))},
			false, full, nil},
	} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		for _, q := range row.quotas {
			w.put(t, q)
		}
		w.admission = func(*corev1.Pod) error { return forbidden(row.answer) }
		applier := w.applier()
		if row.denied {
			applier.Live = blindToQuotas{w.client}
		}
		look, _ := looking(bootstrapped())
		err := applier.Apply(t.Context(), large, bootstrapped(), stopping(t, w, large)[0], look)
		if len(row.says) == 0 && !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, part := range row.says {
			if !isRejected(err, RejectedQuota) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, without %q", row.name, err, part)
			}
		}
	}
}

func quota(name string, hard corev1.ResourceList) *corev1.ResourceQuota {
	used := corev1.ResourceList{}
	for resourceName := range hard {
		used[resourceName] = resource.MustParse("0")
	}
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
}

func scoped(q *corev1.ResourceQuota) *corev1.ResourceQuota {
	q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	return q
}

// blindToQuotas is an install whose rights were given before it asked for quotas.
type blindToQuotas struct{ ctrlclient.Reader }

func (r blindToQuotas) List(ctx context.Context, list ctrlclient.ObjectList, opts ...ctrlclient.ListOption) error {
	if _, ok := list.(*corev1.ResourceQuotaList); ok {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "resourcequotas"}, "", nil)
	}
	return r.Reader.List(ctx, list, opts...)
}

func TestAQuotaOfAPriorityClassCountsNoPodOfAnother(t *testing.T) {
	important := demo()
	important.Spec.Pod = &v1alpha1.PodSpec{PriorityClassName: "important"}
	for _, row := range []struct {
		after  *v1alpha1.EtcdCluster
		reason string
	}{{demo(), ""}, {important, RejectedQuota}} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		w.admission = func(*corev1.Pod) error {
			return forbidden("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3")
		}
		look, _ := looking(bootstrapped())
		err := w.applier().Apply(t.Context(), row.after, bootstrapped(), stopping(t, w, row.after)[0], look)
		if row.reason == "" && !errors.Is(err, ErrStale) || row.reason != "" && !isRejected(err, row.reason) {
			t.Errorf("%s: %v", settings(row.after).Inputs, err)
		}
	}
}

// oldPod requests 100m and 512Mi, and is limited to 1Gi.
// alone is a Pod that makes room for one like it.
func alone(old *corev1.Pod) exchange {
	return exchange{old: []*corev1.Pod{old}, successors: []*corev1.Pod{old}}
}

func oldPod(t *testing.T) *corev1.Pod {
	t.Helper()
	c := demo()
	c.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
		Requests: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: "100m", corev1.ResourceMemory: "512Mi"},
		Limits:   map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "1Gi"},
	}}
	pod, err := resources.BuildPod(c,
		resources.PodStart{Name: "demo-0", Flags: resources.StartSealed, Inputs: resources.Inputs(c)})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func encoded(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	text, err := yaml.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestClientsAreLedAwayOnlyForADefragmentationThatKubernetesAdmits(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.mustDo(t, bootstrapped(), changes.LabelRole{Pod: ref(w.pod(t, "demo-0")), Role: v1alpha1.RoleVoter})
	away := changes.LabelRole{Pod: ref(w.pod(t, "demo-0")),
		Before: changes.StartDefrag{Name: "demo-0", ID: 1, Deadline: time.Minute}}
	var rehearsed *corev1.Pod
	w.admission = func(pod *corev1.Pod) error {
		rehearsed = pod.DeepCopy()
		return forbidden("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3")
	}
	look, looks := looking(bootstrapped())
	err := w.applier().Apply(t.Context(), w.cluster, bootstrapped(), away, look)
	if !isRejected(err, RejectedQuota) || *looks != 0 || w.pod(t, "demo-0").Labels[v1alpha1.LabelRole] == "" {
		t.Errorf("refused: %v, after %d looks", err, *looks)
	}
	w.admission = nil
	w.mustDo(t, bootstrapped(), away)
	w.mustDo(t, bootstrapped(), away.Before)
	made := w.pod(t, "demo-0-defragment")
	rehearsed.ResourceVersion, rehearsed.UID = made.ResourceVersion, made.UID
	if got, want := encoded(t, rehearsed), encoded(t, made); got != want {
		t.Errorf("rehearsed was\n%s\nmade is\n%s", got, want)
	}
}
