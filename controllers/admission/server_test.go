package admission_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// kubeconfigVariable names the cluster that the tests below may use; they are skipped without it.
const kubeconfigVariable = "E2E_KUBECONFIG"

var (
	dryRun      = []string{metav1.DryRunAll}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func TestARealServerSaysTheSame(t *testing.T) {
	server := newServer(t)
	t.Run("accepted", func(t *testing.T) {
		for _, row := range accepted {
			if err := server.create(t, cluster(t, row.change)); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		for name, sample := range samples(t) {
			if err := server.create(t, sample); err != nil {
				t.Errorf("the sample %s: %v", name, err)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for _, row := range refused {
			err := server.create(t, cluster(t, row.change))
			if row.says == "" {
				if err != nil {
					t.Errorf("%s: the schema should not see it: %v", row.name, err)
				}
				continue
			}
			server.says(t, row.name, err, row.schemaField(), row.says)
		}
	})
	t.Run("a field that does not exist", func(t *testing.T) {
		err := server.create(t, cluster(t, "spec: {replicas: 3}"))
		if err == nil || !strings.Contains(err.Error(), `unknown field "spec.replicas"`) {
			t.Errorf("want the unknown field named, got %v", err)
		}
	})
}

func TestARealServerKeepsWhatMayNotChange(t *testing.T) {
	server := newServer(t)
	for _, row := range changes {
		t.Run(row.name, func(t *testing.T) {
			// Paused, so that an operator on that cluster makes nothing of it.
			stored := server.store(t, cluster(t, "spec: {paused: true}", row.before))
			err := server.change(t, stored.GetName(), cluster(t, "spec: {paused: true}", row.after))
			if row.says != "" {
				server.says(t, row.name, err, row.field, row.says)
			} else if err != nil {
				t.Errorf("the change is refused: %v", err)
			}
		})
	}
}

func TestARealServerScalesToOddSizesOnly(t *testing.T) {
	server := newServer(t)
	stored := server.store(t, cluster(t, "spec: {paused: true}"))
	// As the server answered the creation, before anybody looked.
	if got, _, _ := unstructured.NestedInt64(stored.Object, "status", "observedGeneration"); got != -1 {
		t.Errorf("status.observedGeneration starts at %d, want -1", got)
	}
	scale := func(size string) error {
		_, err := server.clusters().Patch(t.Context(), stored.GetName(), types.MergePatchType,
			[]byte(`{"spec":{"replicas":`+size+`}}`), metav1.PatchOptions{DryRun: dryRun}, "scale")
		return err
	}
	if err := scale("5"); err != nil {
		t.Errorf("scaling to 5: %v", err)
	}
	if err := scale("4"); err == nil || !strings.Contains(err.Error(), "spec.size is 4"+evenSize) {
		t.Errorf("scaling to 4: want the reason, got %v", err)
	}
}

// server is a real API server with the definition in it, and a namespace of the test's own.
type server struct {
	client    dynamic.Interface
	namespace string
}

func newServer(t *testing.T) *server {
	t.Helper()
	path := needs.Variable(t, kubeconfigVariable, "Without a cluster nothing is tried on a real API server.")
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatalf("building a client: %v", err)
	}
	s := &server{client: client}
	s.install(t)
	s.makeNamespace(t)
	s.awaitRules(t)
	return s
}

func (s *server) install(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(definitionFile)
	if err != nil {
		t.Fatalf("reading the definition: %v", err)
	}
	definition := &unstructured.Unstructured{}
	if err := definition.UnmarshalJSON(toJSON(t, string(raw))); err != nil {
		t.Fatalf("decoding the definition: %v", err)
	}
	_, err = s.client.Resource(definitions).Apply(t.Context(), definition.GetName(), definition,
		metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	if err != nil {
		t.Fatalf("installing the definition: %v", err)
	}
}

func (s *server) makeNamespace(t *testing.T) {
	t.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "admission-"},
	}}
	made, err := s.client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	s.namespace = made.GetName()
	t.Cleanup(func() {
		if err := s.client.Resource(namespaces).Delete(context.Background(), s.namespace, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting the namespace: %v", err)
		}
	})
}

// awaitRules waits until the server has taken the definition up: a definition is served a moment after it is stored.
func (s *server) awaitRules(t *testing.T) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		last = s.create(t, cluster(t, "spec: {size: 2}"))
		return last != nil && strings.Contains(last.Error(), "spec.size is 2"), nil
	})
	if err != nil {
		t.Fatalf("the definition is not served: %v, %v", err, last)
	}
}

func (s *server) clusters() dynamic.ResourceInterface {
	return s.client.Resource(v1alpha1.GroupVersion.WithResource("etcdclusters")).Namespace(s.namespace)
}

// create asks the server and stores nothing.
func (s *server) create(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	object.SetNamespace(s.namespace)
	_, err := s.clusters().Create(t.Context(), object, metav1.CreateOptions{DryRun: dryRun, FieldValidation: "Strict"})
	return err
}

// store creates the object for real, under a name of its own; it goes with the namespace.
func (s *server) store(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	object.SetNamespace(s.namespace)
	object.SetName("")
	object.SetGenerateName("demo-")
	stored, err := s.clusters().Create(t.Context(), object, metav1.CreateOptions{FieldValidation: "Strict"})
	if err != nil {
		t.Fatalf("storing the object: %v", err)
	}
	return stored
}

// change asks what becomes of the stored object, and stores nothing. An operator may be writing its status meanwhile.
func (s *server) change(t *testing.T, name string, after *unstructured.Unstructured) error {
	t.Helper()
	after.SetName(name)
	after.SetNamespace(s.namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored, err := s.clusters().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading %s again: %w", name, err)
		}
		after.SetResourceVersion(stored.GetResourceVersion())
		_, err = s.clusters().Update(t.Context(), after, metav1.UpdateOptions{DryRun: dryRun, FieldValidation: "Strict"})
		return err
	})
}

func (s *server) says(t *testing.T, row string, err error, at, sentence string) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Errorf("%s: want a refusal, got %v", row, err)
		return
	}
	found := 0
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == at && strings.Contains(cause.Message, sentence) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%s: want once %s: %s\ngot %v", row, at, sentence, err)
	}
}
