package apply

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// server is a real API server, named by E2E_KUBECONFIG, with a namespace and a cluster of its own. Whatever else runs
// there leaves these alone: an operator takes no step of a DryRun, and no scheduler finds a node for the Pods.
type server struct {
	client  ctrlclient.Client
	cluster *v1alpha1.EtcdCluster
}

func newServer(t *testing.T) *server {
	t.Helper()
	path := needs.Variable(t, "E2E_KUBECONFIG", "Without a cluster nothing is tried on a real API server.")
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := ctrlclient.New(config, ctrlclient.Options{Scheme: testScheme()})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "apply-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Delete(context.Background(), namespace) }) // the context of the test is over by then
	// Pods are admitted once the namespace has its service account; whoever makes it first, it is there.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
	if err := client.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	s := &server{client: client, cluster: demo()}
	s.cluster.Namespace, s.cluster.UID = namespace.Name, ""
	s.cluster.Spec.Mode = v1alpha1.ModeDryRun
	s.cluster.Spec.Pod = &v1alpha1.PodSpec{NodeSelector: map[string]string{"example.com/node": "none"}}
	err = client.Create(t.Context(), s.cluster)
	// the definition is not installed, and so nothing looks for the owner
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		s.cluster.UID, err = "uid-of-demo", nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) do(t *testing.T, change changes.Change) error {
	t.Helper()
	applier := &Applier{Client: s.client, Live: s.client, Now: time.Now, Operator: operator}
	return step{Applier: applier, cluster: s.cluster, view: bootstrapped()}.carryOut(t.Context(), change)
}

// mustDo tries again as the reconciler would when somebody else wrote at the same moment.
func (s *server) mustDo(t *testing.T, change changes.Change) {
	t.Helper()
	err := s.do(t, change)
	for range 50 {
		if !isLater(err, LaterConflict) {
			break
		}
		err = s.do(t, change)
	}
	if err != nil {
		t.Fatalf("%s: %v", changes.KindOf(change), err)
	}
}

func get[T ctrlclient.Object](t *testing.T, s *server, name string, into T) T {
	t.Helper()
	if err := s.client.Get(t.Context(), ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: name},
		into); err != nil {
		t.Fatal(err)
	}
	return into
}

func (s *server) bootstrapped(t *testing.T) *server {
	t.Helper()
	s.mustDo(t, begin())
	s.mustDo(t, bootstrap(s.cluster))
	return s
}

func TestARealServerTakesABootstrapUnderRestrictedTwice(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	before := get(t, s, "demo-0", &corev1.Pod{})
	s.bootstrapped(t)
	after := get(t, s, "demo-0", &corev1.Pod{})
	if before.UID != after.UID || before.Generation != after.Generation ||
		!maps.Equal(before.Annotations, after.Annotations) {
		t.Errorf("the second birth changed a Pod: %+v to %+v", before.ObjectMeta, after.ObjectMeta)
	}
	if drift := resources.ServiceDrift(get(t, s, "demo", &corev1.Service{}),
		resources.BuildClientService(s.cluster)); drift != "" {
		t.Errorf("a new client Service is not as wanted: %s", drift)
	}
	if drift := resources.ServiceDrift(get(t, s, "demo-peers", &corev1.Service{}),
		resources.PeerServiceShape(s.cluster)); drift != "" {
		t.Errorf("a new peer Service is not as wanted: %s", drift)
	}
}

func TestARealServerTakesPodsInAUserNamespaceWithStrictGroups(t *testing.T) {
	s := newServer(t)
	s.cluster.Spec.Pod.HostUsers = new(false)
	s.cluster.Spec.Pod.SecurityContext = &v1alpha1.PodSecurityContext{
		SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyStrict}
	pod := get(t, s.bootstrapped(t), "demo-0", &corev1.Pod{}).Spec
	if pod.HostUsers == nil || *pod.HostUsers ||
		*pod.SecurityContext.SupplementalGroupsPolicy != corev1.SupplementalGroupsPolicyStrict {
		t.Errorf("it was stored with hostUsers %v and %+v", pod.HostUsers, pod.SecurityContext)
	}
}

func TestARealServerRefusesToPatchAnotherOfTheSameName(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	pod, volume := get(t, s, "demo-0", &corev1.Pod{}), get(t, s, "demo-0", &corev1.PersistentVolumeClaim{})
	seal := changes.SealPods{Pods: []changes.Seal{{Pod: facts.PodRef{Name: "demo-0", UID: "an-earlier-one"}, Role: v1alpha1.RoleVoter}}}
	if err := s.do(t, seal); !errors.Is(err, ErrStale) {
		t.Errorf("sealing another Pod: %v", err)
	}
	records := changes.RecordMembers{Members: []changes.MemberRecord{{Name: "demo-0", VolumeUID: "an-earlier-one",
		Record: recorded()}}}
	if err := s.do(t, records); !errors.Is(err, ErrStale) {
		t.Errorf("recording on another volume: %v", err)
	}
	gone := changes.SealPods{Pods: []changes.Seal{{Pod: facts.PodRef{Name: "demo-9", UID: "x"}}}}
	if err := s.do(t, gone); !errors.Is(err, ErrStale) {
		t.Errorf("sealing a Pod that is gone: %v", err)
	}
	if after := get(t, s, "demo-0", &corev1.Pod{}); !maps.Equal(after.Annotations, pod.Annotations) ||
		!maps.Equal(after.Labels, pod.Labels) {
		t.Error("the Pod was changed")
	}
	if after := get(t, s, "demo-0",
		&corev1.PersistentVolumeClaim{}); after.Annotations[v1alpha1.AnnotationRecord] != "" {
		t.Error("the volume was changed")
	}
	seal.Pods[0].Pod.UID = string(pod.UID)
	records.Members[0].VolumeUID = string(volume.UID)
	s.mustDo(t, seal)
	s.mustDo(t, records)
	sealed := get(t, s, "demo-0", &corev1.Pod{})
	if resources.FlagsOf(s.cluster, "demo-0", sealed.Annotations) != resources.StartSealed ||
		sealed.Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
		t.Errorf("sealed: %v, %v", sealed.Annotations, sealed.Labels)
	}
}

func TestARealServerPutsDriftRightAndLeavesWhatIsNotOurs(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	client, peers := get(t, s, "demo", &corev1.Service{}), get(t, s, "demo-peers", &corev1.Service{})
	for _, service := range []*corev1.Service{client, peers} {
		before := service.DeepCopy()
		service.Labels = map[string]string{"team": "storage"}
		service.Annotations = merged(service.Annotations, map[string]string{"example.com/note": "kept"})
		service.Spec.Selector = map[string]string{"app": "other"}
		service.Spec.PublishNotReadyAddresses = !service.Spec.PublishNotReadyAddresses
		service.Spec.Ports[0].Name, service.Spec.Ports[0].TargetPort.StrVal = "former", "other"
		if err := s.client.Patch(t.Context(), service, ctrlclient.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	s.mustDo(t, changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"},
		{Kind: "Service", Name: "demo-peers"}}})
	client, peers = get(t, s, "demo", &corev1.Service{}), get(t, s, "demo-peers", &corev1.Service{})
	if drift := resources.ServiceDrift(client, resources.BuildClientService(s.cluster)); drift != "" {
		t.Errorf("client Service: %s", drift)
	}
	if drift := resources.ServiceDrift(peers, resources.PeerServiceShape(s.cluster)); drift != "" {
		t.Errorf("peer Service: %s", drift)
	}
	if client.Labels["team"] != "storage" || client.Annotations["example.com/note"] != "kept" ||
		peers.Annotations[v1alpha1.AnnotationBootstrap] == "" {
		t.Errorf("what is not ours was taken away: %v, %v, %v", client.Labels, client.Annotations, peers.Annotations)
	}
	before := client.ResourceVersion
	s.mustDo(t, changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"}}})
	if get(t, s, "demo", &corev1.Service{}).ResourceVersion != before {
		t.Error("a Service as wanted was written")
	}
}

// A server of one family refuses the other by name, and one of both gives and takes the second. Either way the spec put
// back heals all that was asked for.
func TestARealServerGivesServicesTheFamiliesThatItHas(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	had := get(t, s, "demo", &corev1.Service{}).Spec.IPFamilies
	other := corev1.IPv6Protocol
	if had[0] == other {
		other = corev1.IPv4Protocol
	}
	s.refusesFamily(t, "Service demo has "+string(had[0])+" first", other, "demo")
	if len(had) == 1 {
		s.refusesFamily(t, "not configured on this cluster", other, "demo-peers")
		s.cluster.Spec.Service = &v1alpha1.ServiceSpec{IPFamilyPolicy: corev1.IPFamilyPolicyRequireDualStack}
		if err := s.do(t, services("demo")); !isRejected(err, RejectedInvalid) ||
			!strings.Contains(err.Error(), "not configured for dual-stack") {
			t.Errorf("two families of one: %v", err)
		}
	} else {
		s.expectFamilies(t, v1alpha1.ServiceSpec{IPFamilyPolicy: corev1.IPFamilyPolicySingleStack}, had[:1])
		s.expectFamilies(t, v1alpha1.ServiceSpec{IPFamilies: had[:1]}, had)
		s.expectFamilies(t, v1alpha1.ServiceSpec{IPFamilyPolicy: corev1.IPFamilyPolicyRequireDualStack}, had)
		s.cluster.Spec.Service = &v1alpha1.ServiceSpec{IPFamilies: []corev1.IPFamily{other}}
		s.mustDo(t, services("demo-peers"))
		if got := get(t, s, "demo-peers", &corev1.Service{}).Spec.IPFamilies; !slices.Equal(got, []corev1.IPFamily{other, had[0]}) {
			t.Errorf("names lead to %v, want %s first", got, other)
		}
		s.expectFamilies(t, v1alpha1.ServiceSpec{IPFamilies: had}, had)
	}
	s.expectFamilies(t, v1alpha1.ServiceSpec{}, had)
}

// The Service was created with what then leaves the spec: to leave it out of what is applied would leave it there.
func TestARealServerTakesFromAServiceWhatLeftTheSpecAndNothingOfOthers(t *testing.T) {
	s := newServer(t)
	ours := v1alpha1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Labels: map[string]string{"team": "storage"},
		LoadBalancerSourceRanges: []string{"203.0.113.0/24"}, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
	}
	s.cluster.Spec.Service = &ours
	s.bootstrapped(t)
	s.mustDo(t, services("demo"))
	client := s.expectAccess(t, ours)
	if client.Labels["team"] != "storage" || client.Spec.HealthCheckNodePort == 0 {
		t.Fatalf("it was made with %v and the port %d", client.Labels, client.Spec.HealthCheckNodePort)
	}
	balanced := v1alpha1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	if client = s.expectAccess(t, balanced); client.Labels["team"] != "" || client.Annotations[v1alpha1.AnnotationDressed] != "" {
		t.Errorf("it keeps %v and %v", client.Labels, client.Annotations)
	}
	before := client.DeepCopy()
	client.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	client.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	client.Spec.PublishNotReadyAddresses = true // this is put right
	if err := s.client.Patch(t.Context(), client, ctrlclient.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	byOthers := balanced
	byOthers.LoadBalancerSourceRanges, byOthers.ExternalTrafficPolicy = client.Spec.LoadBalancerSourceRanges, client.Spec.ExternalTrafficPolicy
	s.cluster.Spec.Service = &balanced
	s.mustDo(t, services("demo"))
	client = get(t, s, "demo", &corev1.Service{})
	if client.Spec.PublishNotReadyAddresses || !slices.Equal(client.Spec.LoadBalancerSourceRanges, byOthers.LoadBalancerSourceRanges) ||
		client.Spec.ExternalTrafficPolicy != byOthers.ExternalTrafficPolicy {
		t.Errorf("of what others set it has %v and %s", client.Spec.LoadBalancerSourceRanges, client.Spec.ExternalTrafficPolicy)
	}
	s.expectAccess(t, ours)
	s.expectAccess(t, v1alpha1.ServiceSpec{})
	s.expectAccess(t, v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal})
	s.expectAccess(t, v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort})
}

// expectAccess puts the Service right until nothing is left to do, which takes two writes at most.
func (s *server) expectAccess(t *testing.T, spec v1alpha1.ServiceSpec) *corev1.Service {
	t.Helper()
	s.cluster.Spec.Service = &spec
	s.mustDo(t, services("demo"))
	s.mustDo(t, services("demo"))
	have := get(t, s, "demo", &corev1.Service{})
	if drift := cmp.Or(resources.ServiceDrift(have, resources.BuildClientService(s.cluster)), resources.MetadataDrift(s.cluster, have)); drift != "" {
		t.Errorf("%+v: %s", spec, drift)
	}
	policy := spec.ExternalTrafficPolicy
	if spec.Type != "" {
		policy = cmp.Or(policy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if !slices.Equal(have.Spec.LoadBalancerSourceRanges, spec.LoadBalancerSourceRanges) || have.Spec.ExternalTrafficPolicy != policy {
		t.Errorf("%+v: it has %v and %s", spec, have.Spec.LoadBalancerSourceRanges, have.Spec.ExternalTrafficPolicy)
	}
	return have
}

func services(names ...string) changes.ApplyObjects {
	var c changes.ApplyObjects
	for _, name := range names {
		c.Objects = append(c.Objects, facts.Object{Kind: "Service", Name: name})
	}
	return c
}

func (s *server) refusesFamily(t *testing.T, says string, family corev1.IPFamily, service string) {
	t.Helper()
	s.cluster.Spec.Service = &v1alpha1.ServiceSpec{IPFamilies: []corev1.IPFamily{family}}
	if err := s.do(t, services(service)); !isRejected(err, RejectedInvalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s as the first family of %s: %v", family, service, err)
	}
}

func (s *server) expectFamilies(t *testing.T, spec v1alpha1.ServiceSpec, wanted []corev1.IPFamily) {
	t.Helper()
	s.cluster.Spec.Service = &spec
	s.mustDo(t, services("demo", "demo-peers"))
	for name, want := range map[string]*corev1.Service{
		"demo": resources.BuildClientService(s.cluster), "demo-peers": resources.PeerServiceShape(s.cluster),
	} {
		have := get(t, s, name, &corev1.Service{})
		if drift := resources.ServiceDrift(have, want); drift != "" {
			t.Errorf("%+v: %s: %s", spec, name, drift)
		}
		if !slices.Equal(have.Spec.IPFamilies, wanted) {
			t.Errorf("%+v: %s has %v, want %v", spec, name, have.Spec.IPFamilies, wanted)
		}
	}
}

func TestARealServerChangesABudgetOnlyFromWhatWasSeen(t *testing.T) {
	s := newServer(t)
	for _, bound := range []int{2, 2, 3, 1, 0, 0} {
		s.mustDo(t, changes.SetBudget{MinAvailable: bound})
	}
	s.mustDo(t, changes.SetBudget{MinAvailable: 2})
	budget := get(t, s, "demo", resources.BuildBudget(s.cluster, 0))
	if resources.BudgetBound(budget) != 2 {
		t.Errorf("the bound is %v", budget.Spec.MinAvailable)
	}
	want := resources.BuildBudget(s.cluster, 1)
	want.ResourceVersion = "1"
	applier := &Applier{Client: s.client, Live: s.client}
	err := step{Applier: applier, cluster: s.cluster}.serverSideApply(t.Context(), budget, want,
		func(map[string]any) {})
	if !isLater(err, LaterConflict) {
		t.Errorf("lowered from another bound: %v", err)
	}
	want.ResourceVersion = ""
	budget.UID = "an-earlier-one"
	err = step{Applier: applier, cluster: s.cluster}.serverSideApply(t.Context(), budget, want, func(map[string]any) {})
	if !errors.Is(err, ErrStale) {
		t.Errorf("applied over another of that name: %v", err)
	}
}

func TestARealServerDeletesNoOtherOfTheSameName(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	pod := get(t, s, "demo-0", &corev1.Pod{})
	s.mustDo(t, changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-0", UID: "an-earlier-one"}}})
	if get(t, s, "demo-0", &corev1.Pod{}).DeletionTimestamp != nil {
		t.Error("another Pod is being deleted")
	}
	for _, precondition := range []ctrlclient.Preconditions{
		{UID: new(types.UID("an-earlier-one")), ResourceVersion: &pod.ResourceVersion},
		{UID: &pod.UID, ResourceVersion: new("1")},
	} {
		if err := s.client.Delete(t.Context(), pod.DeepCopy(), precondition); !apierrors.IsConflict(err) {
			t.Errorf("the server deletes in spite of a precondition: %v", err)
		}
	}
	s.mustDo(t, changes.DeletePods{Pods: []facts.PodRef{ref(pod)}})
	err := s.client.Get(t.Context(), ctrlclient.ObjectKeyFromObject(pod), pod)
	if err == nil && pod.DeletionTimestamp == nil {
		t.Error("the Pod is still there, and not on its way")
	}
	s.mustDo(t, changes.DeleteSecret{Name: "demo-1"})
	s.mustDo(t, changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-2",
		UID: string(get(t, s, "demo-2", &corev1.PersistentVolumeClaim{}).UID)}}})
}

func TestARealServerPutsOwnershipOnAndOff(t *testing.T) {
	s := newServer(t).bootstrapped(t)
	for _, retain := range []bool{false, true, true} {
		ref := func(kind, name string, object ctrlclient.Object) facts.DataRef {
			return facts.DataRef{Kind: kind, Name: name, UID: string(get(t, s, name, object).GetUID())}
		}
		s.mustDo(t, changes.FollowPolicy{Retain: retain, Items: []facts.DataRef{
			ref(resources.KindVolume, "demo-0", &corev1.PersistentVolumeClaim{}),
			ref(resources.KindSecret, "demo-ca", &corev1.Secret{}),
			ref(resources.KindSecret, "demo-ca-peer", &corev1.Secret{}),
		}})
		for _, object := range []ctrlclient.Object{
			get(t, s, "demo-0", &corev1.PersistentVolumeClaim{}), get(t, s, "demo-ca", &corev1.Secret{}),
			get(t, s, "demo-ca-peer", &corev1.Secret{}),
		} {
			if !resources.FollowsPolicy(object, s.cluster.UID, retain) {
				t.Errorf("retain %v: %s is owned by %v", retain, object.GetName(), object.GetOwnerReferences())
			}
		}
	}
}

func TestARealServersRefusalsAreToldApart(t *testing.T) {
	s := newServer(t)
	pod, err := resources.BuildPod(s.cluster, resources.PodStart{Name: "demo-0", Flags: resources.StartSealed,
		Inputs: resources.Inputs(s.cluster)})
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.HostNetwork = true
	_, err = step{Applier: &Applier{Client: s.client, Live: s.client}, cluster: s.cluster}.create(t.Context(),
		resources.KindPod, pod)
	if !isRejected(err, RejectedPodSecurity) {
		t.Errorf("against Pod Security: %v", err)
	}
	bad := changes.NewVolume{Name: "Not_A_Name", Bytes: 1, Settings: settings(s.cluster)}
	if err := s.do(t, changes.Bootstrap{Volumes: []changes.NewVolume{bad}}); !isRejected(err, RejectedInvalid) {
		t.Errorf("with a bad name: %v", err)
	}
	s.cluster.Namespace = "no-such-namespace"
	if err := s.do(t, begin()); !isLater(err, LaterMissing) {
		t.Errorf("without a namespace: %v", err)
	}
}

func isRejected(err error, reason string) bool {
	var rejection Rejected
	return errors.As(err, &rejection) && rejection.Reason == reason
}

func isLater(err error, reason string) bool {
	var later Later
	return errors.As(err, &later) && later.Reason == reason
}
