package policy

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// server is a real API server with config/default in it, and a namespace of the test's own. Nothing that is asked of it
// as the operator is stored.
type server struct {
	admin, operator client.Client
	namespace       string
}

func newServer(t *testing.T) *server {
	t.Helper()
	path := needs.Variable(t, "E2E_KUBECONFIG", "Without a cluster nothing is tried on a real API server.")
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = Operator
	as.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	s := &server{}
	for config, into := range map[*rest.Config]*client.Client{config: &s.admin, as: &s.operator} {
		if *into, err = client.New(config, client.Options{Scheme: known()}); err != nil {
			t.Fatal(err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "policy-"}}
	if err := s.admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.admin.Delete(context.Background(), namespace) })
	s.namespace = namespace.Name
	s.installRequests(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}
	if err := s.admin.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return s
}

// installRequests has the server know CertificateRequests, whose policy would have nothing to judge. They stay.
func (s *server) installRequests(t *testing.T) {
	t.Helper()
	file, err := os.ReadFile("../issuing/certificaterequests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(file, &definition.Object); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Create(t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return s.admin.List(ctx, &resources.CertificateRequestList{}, client.InNamespace(s.namespace)) == nil, nil
	})
	if err != nil {
		t.Fatalf("the server does not know CertificateRequests: %v", err)
	}
}

// ask makes the request as the operator, after an administrator has made what was there before.
func (s *server) ask(t *testing.T, r Request) error {
	t.Helper()
	ctx, old, object := t.Context(), s.here(r.Old), s.here(r.Object)
	if r.Operation == admission.Create && r.Subresource == "" {
		return s.operator.Create(ctx, object, client.DryRunAll)
	}
	if r.Subresource == "eviction" {
		old = s.here(like(member(t), func(p *corev1.Pod) { p.Name = r.Object.GetName() }))
	}
	if r.Operation == admission.Update && !slices.EqualFunc(old.GetOwnerReferences(), object.GetOwnerReferences(), isSame) {
		old.SetFinalizers([]string{"e2e.etcdsteward.dev/held"}) // the garbage collector asks for its deletion at once
	} else {
		old.SetOwnerReferences(nil)
	}
	if err := s.admin.Create(ctx, old); err != nil {
		t.Fatal(err)
	}
	defer s.remove(old)
	if r.Operation == admission.Delete {
		given := &client.DeleteOptions{DryRun: []string{metav1.DryRunAll}, PropagationPolicy: new(metav1.DeletePropagationBackground)}
		if r.Options != nil {
			given.PropagationPolicy, given.GracePeriodSeconds = r.Options.PropagationPolicy, r.Options.GracePeriodSeconds
		}
		return s.operator.Delete(ctx, old.DeepCopyObject().(client.Object), given)
	}
	if r.Subresource == "eviction" {
		return s.operator.SubResource("eviction").Create(ctx, old, &policyv1.Eviction{
			DeleteOptions: r.Object.(*policyv1.Eviction).DeleteOptions}, client.DryRunAll)
	}
	after := old.DeepCopyObject().(client.Object)
	after.SetLabels(object.GetLabels())
	after.SetFinalizers(append(after.GetFinalizers(), object.GetFinalizers()...))
	if len(old.GetFinalizers()) > 0 {
		after.SetOwnerReferences(object.GetOwnerReferences())
	}
	switch wanted := object.(type) {
	case *corev1.Service:
		spec := &after.(*corev1.Service).Spec
		spec.Type, spec.ExternalName, spec.ExternalIPs = wanted.Spec.Type, wanted.Spec.ExternalName, wanted.Spec.ExternalIPs
		spec.Selector = wanted.Spec.Selector
	case *batchv1.Job:
		after.(*batchv1.Job).Spec.Template.Annotations = wanted.Spec.Template.Annotations
	case *policyv1.PodDisruptionBudget:
		after.(*policyv1.PodDisruptionBudget).Spec = wanted.Spec
	case *networkingv1.NetworkPolicy:
		after.(*networkingv1.NetworkPolicy).Spec = wanted.Spec
	case *corev1.PersistentVolumeClaim:
		after.(*corev1.PersistentVolumeClaim).Spec.VolumeName = wanted.Spec.VolumeName
	case *v1alpha1.EtcdBackup:
		after.(*v1alpha1.EtcdBackup).Spec = wanted.Spec
	case *v1alpha1.EtcdClient:
		after.(*v1alpha1.EtcdClient).Spec = wanted.Spec
	case *v1alpha1.EtcdBackupSchedule:
		after.(*v1alpha1.EtcdBackupSchedule).Spec = wanted.Spec
	}
	if pod, ok := after.(*corev1.Pod); ok && r.Subresource == "resize" {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]
		return s.operator.SubResource("resize").Patch(ctx, pod, client.StrategicMergeFrom(old), client.DryRunAll)
	}
	return s.operator.Patch(ctx, after, client.MergeFrom(old), client.DryRunAll)
}

func isSame(a, b metav1.OwnerReference) bool { return a.UID == b.UID }

// remove makes room for another object of that name.
func (s *server) remove(object client.Object) {
	unheld := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	_ = s.admin.Delete(context.Background(), object, client.GracePeriodSeconds(0))
	_ = s.admin.Patch(context.Background(), object, unheld)
}

// here is an object in the server's namespace.
func (s *server) here(object client.Object) client.Object {
	if object == nil {
		return nil
	}
	object = object.DeepCopyObject().(client.Object)
	if object.GetNamespace() != metav1.NamespaceSystem {
		object.SetNamespace(s.namespace)
	}
	object.SetManagedFields(nil)
	if secret, ok := object.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{resources.KeyCert: {}, resources.KeyKey: {}}
	}
	return object
}

// refuses looks for the words of the policies, or for others that make those unnecessary: the role's and the schema's.
func (s *server) refuses(err error, a attempt) bool {
	if err == nil {
		return false
	}
	said := strings.ReplaceAll(a.says, "prod/", s.namespace+"/")
	isAlready := a.already != "" && strings.Contains(err.Error(), a.already)
	hasNoRight := apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot `)
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), said) || isAlready || hasNoRight
}

func TestARealServerLetsTheOperatorsAccountGainNothingBeyondItsWork(t *testing.T) {
	s := newServer(t)
	for _, a := range attempts(t) {
		if err := s.ask(t, a.Request); !s.refuses(err, a) {
			t.Errorf("%s: want %q, got %v", a.name, a.says, err)
		}
	}
}

// Some of these need what this server may lack, such as a class of priority. That is not what is asked.
func TestARealServerLetsEveryObjectPassThatIsBuilt(t *testing.T) {
	s, taken := newServer(t), 0
	for name, object := range builtObjects(t) {
		err := s.ask(t, create(object))
		if err == nil {
			taken++
		} else if strings.Contains(err.Error(), "ValidatingAdmissionPolicy") || strings.Contains(err.Error(), `" cannot `) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if taken < 40 {
		t.Errorf("only %d objects were taken", taken)
	}
}

func TestARealServerLetsTheOperatorDressWhatLostAllLabels(t *testing.T) {
	s := newServer(t)
	claim := s.here(volume()).(*corev1.PersistentVolumeClaim)
	if err := s.operator.Create(t.Context(), claim, client.FieldOwner("etcd-steward")); err != nil {
		t.Fatal(err)
	}
	bare := claim.DeepCopy()
	bare.Labels, bare.Annotations = nil, nil
	if err := s.admin.Patch(t.Context(), bare, client.MergeFrom(claim)); err != nil {
		t.Fatal(err)
	}
	claim.ResourceVersion = bare.ResourceVersion
	if err := s.operator.Patch(t.Context(), claim, client.MergeFrom(bare), client.FieldOwner("etcd-steward")); err != nil {
		t.Errorf("labels that were lost: %v", err)
	}
}
