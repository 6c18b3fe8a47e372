// Package policy is the part of a Kubernetes API server that goes by ValidatingAdmissionPolicies: its own code, fed with
// config/policy. Tests ask it what the operator may write.
package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	policies "github.com/etcdsteward/etcd-steward/config/policy"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Operator is the account of config/default.
const Operator = "system:serviceaccount:etcd-steward-system:etcd-steward-controller-manager"

// Unrestricted is a namespace whose administrator lets webhooks add to Pods what they like. All others have no labels.
const Unrestricted = "unrestricted"

// Named is a namespace whose annotation names the accounts that tasks may run as, and with their tokens for clouds.
const Named = "named"

// Request is a write that an account asks for.
type Request struct {
	User        string // the operator when empty
	Operation   admission.Operation
	Object, Old client.Object
	Subresource string
	Options     *metav1.DeleteOptions // of a deletion; with all dependents when nil
}

// Ask gives what the policies have against a request, as an API server says it; nil when they let it pass.
func Ask(ctx context.Context, r Request) error {
	plugin, err := opened()
	if err != nil {
		return err
	}
	attributes, err := r.attributes()
	if err != nil {
		return err
	}
	return plugin.Validate(ctx, attributes, interfaces())
}

func interfaces() admission.ObjectInterfaces { return admission.NewObjectInterfacesFromScheme(known()) }

func (r Request) attributes() (admission.Attributes, error) {
	about := r.Object
	if r.Old != nil {
		about = r.Old
	}
	kind, err := apiutil.GVKForObject(about, known())
	if err != nil {
		return nil, fmt.Errorf("asking about %T: %w", about, err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	if r.Subresource == "eviction" { // the only one whose object is of another kind than its resource
		resource = corev1.SchemeGroupVersion.WithResource("pods")
	}
	name := r.User
	if name == "" {
		name = Operator
	}
	return admission.NewAttributesRecord(versioned(r.Object, kind), versioned(r.Old, kind), kind, about.GetNamespace(),
		about.GetName(), resource, r.Subresource, r.Operation, r.options(), false, &user.DefaultInfo{Name: name}), nil
}

func (r Request) options() kube.Object {
	switch {
	case r.Operation != admission.Delete:
		return nil
	case r.Options == nil:
		return &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	}
	return r.Options
}

// versioned is an object as it is handed to policies; nothing where there is none.
func versioned(object client.Object, kind schema.GroupVersionKind) kube.Object {
	if object == nil {
		return nil
	}
	object = object.DeepCopyObject().(client.Object)
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object
}

// known has every kind that the operator writes.
var known = sync.OnceValue(func() *kube.Scheme {
	all := kube.NewScheme()
	for _, add := range []func(*kube.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, resources.AddCertManager} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	return all
})

// opened reads and compiles the policies once. They stay for the time of the process.
var opened = sync.OnceValues(func() (*validating.Plugin, error) {
	objects, err := read()
	if err != nil {
		return nil, err
	}
	return open(objects)
})

// open begins to go by these policies, in the namespaces of the tests.
func open(objects []kube.Object) (*validating.Plugin, error) {
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Unrestricted,
		Labels: map[string]string{"etcdsteward.dev/unrestricted-pods": ""}}})
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Named,
		Annotations: map[string]string{"etcdsteward.dev/task-accounts": "etcd-backup, default"}}})
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespacePublic,
		Labels: map[string]string{"etcdsteward.dev/clusters-allowed": ""}}})
	for _, name := range []string{"default", "kube-node-lease", "kube-system", "prod", "shop", "team"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	plugin, err := validating.NewPlugin(nil)
	if err != nil {
		return nil, err
	}
	clientset := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(clientset, 0)
	plugin.SetExternalKubeClientSet(clientset)
	plugin.SetExternalKubeInformerFactory(factory)
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace) // of params
	plugin.SetRESTMapper(kinds)
	plugin.SetDynamicClient(dynamicfake.NewSimpleDynamicClient(known()))
	plugin.SetDrainedNotification(make(chan struct{}))
	plugin.SetUnconditionalAuthorizer(authorizerfactory.NewAlwaysDenyAuthorizer())
	if err := plugin.ValidateInitialization(); err != nil {
		return nil, fmt.Errorf("starting what goes by policies: %w", err)
	}
	factory.Start(nil)
	for range 12 { // two minutes, on a machine that is busy
		if plugin.WaitForReady() {
			return plugin, nil
		}
	}
	return nil, errors.New("what goes by policies did not start")
}

// read gives the policies and bindings of config/policy.
func read() ([]kube.Object, error) {
	files, err := fs.Glob(policies.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var objects []kube.Object
	for _, file := range files {
		text, err := policies.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			object, err := decoded(document)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			if object != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

func decoded(document string) (kube.Object, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
		return nil, err
	}
	switch kind.Kind {
	case "ValidatingAdmissionPolicy":
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		err := yaml.UnmarshalStrict([]byte(document), policy)
		withDefaults(policy.Spec.MatchConstraints)
		return policy, err
	case "ValidatingAdmissionPolicyBinding":
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		return binding, yaml.UnmarshalStrict([]byte(document), binding)
	}
	return nil, nil
}

// withDefaults fills in what an API server does when it stores a policy.
func withDefaults(match *admissionv1.MatchResources) {
	match.MatchPolicy, match.ObjectSelector = new(admissionv1.Equivalent), &metav1.LabelSelector{}
	if match.NamespaceSelector == nil {
		match.NamespaceSelector = &metav1.LabelSelector{}
	}
	for i := range match.ResourceRules {
		match.ResourceRules[i].Scope = new(admissionv1.AllScopes)
	}
}
