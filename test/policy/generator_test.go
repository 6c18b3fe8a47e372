package policy

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

var (
	seedOfTries = flag.Uint64("seed", 1, "the seed of what a thief of the token tries")
	onlyTry     = flag.Uint64("try", 0, "play only this try of the seed, and say what became of it")
)

// triesInFull are those of a full run. The plain test plays a part of them, in some seconds.
const triesInFull, triesInPart = 120_000, 4_000

// base is an object of a kind that the roles let the operator write.
type base struct {
	name   string
	object client.Object
	isOurs bool
}

// try is one request that a thief makes, told so that it can be told again: what it begins with, and what is changed.
type try struct {
	number  uint64
	pair    string // the verb and the resource
	base    base
	where   place
	changes []change1
}

// change1 is a change with what chance says to it.
type change1 struct {
	change danger
	seed   uint64
}

func (c change1) chance() *rand.Rand { return rand.New(rand.NewPCG(c.seed, 1)) }

func (y try) String() string {
	said := make([]string, 0, len(y.changes))
	for _, c := range y.changes {
		said = append(said, c.change.name)
	}
	return fmt.Sprintf("-seed=%d -try=%d: %s, beginning with %s in %s, changed by: %s", *seedOfTries, y.number, y.pair, y.base.name,
		y.where.name, strings.Join(said, "; "))
}

// request is the try as it is asked. A change that does not fit leaves it as it was.
func (y try) request() tried {
	verb, resource, _ := strings.Cut(y.pair, " ")
	_, subresource, _ := strings.Cut(resource, "/")
	object := y.base.object.DeepCopyObject().(client.Object)
	if y.where.name != "" {
		object.SetNamespace(y.where.name)
	}
	t := tried{Request: Request{Object: object, Subresource: subresource}, place: y.where, isOurs: y.base.isOurs}
	switch verb {
	case "create":
		t.Operation = admission.Create
	case "patch":
		t.Operation, t.Old = admission.Update, object.DeepCopyObject().(client.Object)
	case "delete":
		t.Operation, t.Old, t.Object = admission.Delete, object, nil
		t.Options = &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	}
	for _, c := range y.changes {
		c.change.do(c.chance(), &t)
	}
	return t
}

// without are the same try with one change less each.
func (y try) without() []try {
	var all []try
	for i := range y.changes {
		fewer := y
		fewer.changes = slices.Delete(slices.Clone(y.changes), i, i+1)
		all = append(all, fewer)
	}
	return all
}

// bases are what a request of a kind begins with, by the resource: what the operator builds, such objects as people
// left them, and objects of others.
func bases(t *testing.T) map[string][]base {
	t.Helper()
	all := map[string][]base{}
	add := func(name string, object client.Object, isOurs bool) {
		asked, err := create(object).attributes()
		if err != nil {
			t.Fatal(err)
		}
		resource := asked.GetResource().Resource
		all[resource] = append(all[resource], base{name, object, isOurs})
	}
	built := builtObjects(t)
	for _, name := range slices.Sorted(maps.Keys(built)) {
		add(name, built[name], true)
	}
	written := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: "etcd-steward"}}
	for _, object := range []client.Object{member(t), job(), secret(), volume(), service(), budget(), networkPolicy(), certificateRequest()} {
		kind := fmt.Sprintf("%T", object)
		bare := object.DeepCopyObject().(client.Object)
		bare.SetLabels(nil)
		bare.SetOwnerReferences(nil)
		bare.SetManagedFields(written)
		add(kind+" that lost its labels and its owner", bare, true)
		other := object.DeepCopyObject().(client.Object)
		other.SetName("web-0")
		other.SetLabels(map[string]string{"app": "web", v1alpha1.LabelManagedBy: "Helm"})
		other.SetOwnerReferences(nil)
		other.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "helm"}})
		add(kind+" of another", other, false)
		owned := other.DeepCopyObject().(client.Object)
		owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "a", Controller: new(true)}})
		add(kind+" that a StatefulSet owns", owned, false)
	}
	add("a Service that a person gave an external name", like(service(), func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "db.example.com"
	}), true)
	add("a Service that a person turned to other Pods", like(service(), func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} }), true)
	add("a Service that a person gave addresses", like(service(), func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"10.0.0.1"} }), true)
	add("a NetworkPolicy that a person turned to all Pods", like(networkPolicy(), func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} }), true)
	add("a budget that a person turned to all Pods", like(budget(), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }), true)
	add("a Job that waits", like(job(), func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), true)
	add("a request to an issuer", certificateRequest(), true)
	add("a claim that is bound", like(volume(), func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeName = "pv-1" }), true)
	add("a backup of a schedule", backup(map[string]string{v1alpha1.LabelSchedule: "nightly"}, "demo"), true)
	add("a backup that a person made", backup(nil, "demo"), false)
	add("a schedule", schedule(7), false)
	add("a client", access(), false)
	for _, name := range []string{"demo-0", "demo-12", "web-0"} {
		add("the eviction of "+name, evict(name).Object, true)
	}
	all["pods/eviction"], all["pods/resize"] = all["evictions"], all["pods"]
	return all
}

// tries makes what a thief may try, of the writes that the roles give and a policy limits.
type tries struct {
	pairs []string
	bases map[string][]base
}

func newTries(t *testing.T) *tries {
	t.Helper()
	limited := map[string]bool{}
	for _, r := range rights {
		for _, pair := range r.pairs() {
			limited[pair] = limited[pair] || !r.isOpen()
		}
	}
	pairs := slices.DeleteFunc(given(t), func(pair string) bool { return !limited[pair] })
	slices.Sort(pairs)
	pairs = slices.Compact(pairs)
	for range len(pairs) / 4 { // most that can be wrong is in Pods
		pairs = append(pairs, "create pods", "create jobs")
	}
	return &tries{pairs: pairs, bases: bases(t)}
}

// at is a try by its number. It begins with a write, and rarely with an object of others, which nearly nothing gets
// past.
func (s *tries) at(number uint64) try {
	chance := rand.New(rand.NewPCG(*seedOfTries, number))
	pair := s.pairs[chance.IntN(len(s.pairs))]
	_, resource, _ := strings.Cut(pair, " ")
	settings := s.bases[resource]
	from := settings[chance.IntN(len(settings))]
	for again := 0; again < 2 && len(settings) > 3 && !from.isOurs; again++ {
		from = settings[chance.IntN(len(settings))]
	}
	y := try{number: number, pair: pair, base: from, where: places[chance.IntN(len(places))]}
	for want, tried := 1+chance.IntN(4)*chance.IntN(2), 0; len(y.changes) < want && tried < 200; tried++ {
		next := change1{dangers()[chance.IntN(len(dangers()))], chance.Uint64()}
		if asked := y.request(); next.change.do(next.chance(), &asked) {
			y.changes = append(y.changes, next)
		}
	}
	return y
}

// gotPast reports that no policy refuses a try that does harm, and names the harm.
func gotPast(t *testing.T, harmOf func(tried) []string, y try) []string {
	t.Helper()
	asked := y.request()
	done := harmOf(asked)
	if len(done) == 0 || Ask(t.Context(), asked.Request) != nil {
		return nil
	}
	return done
}

// shrunk takes away each change without which a try gets past as well.
func shrunk(t *testing.T, harmOf func(tried) []string, y try) try {
	t.Helper()
	for _, fewer := range y.without() {
		if len(gotPast(t, harmOf, fewer)) > 0 {
			return shrunk(t, harmOf, fewer)
		}
	}
	return y
}

var refusal = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'.* denied request: \S+ \S+ (.{0,60})`)

// TestNothingThatAThiefTriesDoesHarmThatTheTableDoesNotName makes requests by chance. What harm is, harm_test.go says
// by what Kubernetes does, and not the policies.
func TestNothingThatAThiefTriesDoesHarmThatTheTableDoesNotName(t *testing.T) {
	all, harmOf, count := newTries(t), judge(t), uint64(triesInPart)
	if needs.IsFull() {
		count = triesInFull
	}
	first := uint64(1)
	if *onlyTry > 0 {
		first, count = *onlyTry, *onlyTry
	}
	refused, strict, passed, told := map[string]int{}, map[string]int{}, 0, map[string]int{}
	begun := time.Now()
	for number := first; number <= count; number++ {
		y := all.at(number)
		asked := y.request()
		done, err := harmOf(asked), Ask(t.Context(), asked.Request)
		switch {
		case err == nil && len(done) > 0:
			least := shrunk(t, harmOf, y)
			for _, name := range gotPast(t, harmOf, least) {
				if told[name+least.pair]++; told[name+least.pair] == 1 {
					t.Errorf("it %s\n\t%s", name, least)
				}
			}
		case err == nil:
			passed++
		case len(done) == 0:
			if said := refusal.FindStringSubmatch(err.Error()); said != nil {
				strict[said[1]+": "+said[2]]++
			} else {
				t.Errorf("%s\n\tis refused by no policy: %v", y, err)
			}
		}
		if err != nil {
			for _, name := range done {
				refused[name]++
			}
		}
		if *onlyTry > 0 {
			t.Logf("%s\n\tharm: %q\n\trefused: %v", y, done, err)
		}
	}
	if *onlyTry > 0 {
		return
	}
	t.Logf("%d tries in %s, %d of them let and harmless; refused by harm: %v", count, time.Since(begun).Round(time.Second), passed, refused)
	t.Logf("refused though nothing is known against it: %v", strict)
	least := int(count) / 2000
	for _, h := range harms {
		if refused[h.name] < least && told[h.name] == 0 {
			t.Errorf("only %d tries that each %s were refused: change the generator until there are %d", refused[h.name], h.name, least)
		}
	}
	for _, reason := range podSecurityReasons {
		if refused["Pod Security restricted: "+reason] < least {
			t.Errorf("only %d tries of %q: change the generator until there are %d", refused["Pod Security restricted: "+reason], reason, least)
		}
	}
	if passed < int(count)/20 {
		t.Errorf("only %d of %d tries passed: nothing is learned from those that each policy refuses", passed, count)
	}
}
