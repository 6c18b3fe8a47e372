package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/kube/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubetesting "k8s.io/client-go/testing"
)

const namespace = "team"

func TestWhatHasTheLabelAndNoOwnerIsPrunedAndNothingElse(t *testing.T) {
	labelled := func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{labelInstance: "demo"}) }
	cluster := newCluster(t,
		object("ConfigMap", "stray", labelled),
		object("ConfigMap", "guarded", labelled, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{common.AnnotationSyncOptions: "Prune=false"})
		}),
		object("ConfigMap", "owned", labelled, func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}})
		}),
		object("ConfigMap", "unlabelled"),
		object("ConfigMap", "foreign", func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{labelInstance: "other"})
		}),
		object("ConfigMap", "elsewhere", labelled, func(o *unstructured.Unstructured) { o.SetNamespace("other") }),
		object("ConfigMap", "wanted", labelled),
	)
	said, err := cluster.sync(t, map[string]string{"wanted.yaml": manifest("wanted"), "README.md": "no manifest"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ConfigMap guarded PruneSkipped", "ConfigMap stray Pruned", "ConfigMap wanted Synced"}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, not %q", said, want)
	}
	if want := []string{"ConfigMap stray"}; !slices.Equal(cluster.deleted, want) {
		t.Errorf("deleted %q, not %q", cluster.deleted, want)
	}
}

func TestWhatIsTakenOutOfTheDirectoryIsPruned(t *testing.T) {
	cluster := newCluster(t, object("ConfigMap", "wanted", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{labelInstance: "demo"})
	}))
	said, err := cluster.sync(t, nil)
	if want := []string{"ConfigMap wanted Pruned"}; err != nil || !slices.Equal(said, want) {
		t.Errorf("said %q, not %q: %v", said, want, err)
	}
}

func TestAnObjectThatIsRefusedIsAnError(t *testing.T) {
	cluster := newCluster(t)
	cluster.Commands = map[string]kubetest.KubectlOutput{"wanted": {Err: fmt.Errorf("a webhook says no")}}
	_, err := cluster.sync(t, map[string]string{"wanted.yml": manifest("wanted")})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap wanted: a webhook says no") {
		t.Errorf("the error is %v", err)
	}
}

// cluster is a Kubernetes in memory that knows ConfigMaps.
type cluster struct {
	*kubetest.MockKubectlCmd

	host string

	mu      sync.Mutex
	deleted []string
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	client := fake.NewSimpleDynamicClient(scheme.Scheme, objects...)
	list := client.ReactionChain[0]
	client.PrependReactor("list", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
		handled, found, err := list.React(action)
		if handled && err == nil {
			found.(metav1.ListInterface).SetResourceVersion("1") // without one the engine lists for ever
		}
		return handled, found, err
	})
	resource := metav1.APIResource{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{resource}})
	}))
	t.Cleanup(server.Close)
	return &cluster{host: server.URL, MockKubectlCmd: &kubetest.MockKubectlCmd{DynamicClient: client, APIResources: []kube.APIResourceInfo{{
		GroupKind:            schema.GroupKind{Kind: "ConfigMap"},
		GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Meta:                 resource,
	}}}}
}

func (c *cluster) DeleteResource(_ context.Context, _ *rest.Config, gvk schema.GroupVersionKind, name, _ string, _ metav1.DeleteOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleted = append(c.deleted, gvk.Kind+" "+name)
	return nil
}

// sync syncs the application demo with these files, and returns what was printed, without messages.
func (c *cluster) sync(t *testing.T, files map[string]string) ([]string, error) {
	t.Helper()
	app := application{name: "demo", namespace: namespace, directory: t.TempDir()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(app.directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results, err := app.sync(t.Context(), &rest.Config{Host: c.host}, c)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = report(&out, results)
	var said []string
	for text := range strings.Lines(out.String()) {
		var printed line
		if err := json.Unmarshal([]byte(text), &printed); err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprintf("%s %s %s", printed.Kind, printed.Name, printed.Result))
	}
	slices.Sort(said)
	return said, err
}

func object(kind, name string, options ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID(name)) // the engine takes objects of one UID for the same
	for _, option := range options {
		option(o)
	}
	return o
}

func manifest(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}
