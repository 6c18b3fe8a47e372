package report

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/describe"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// What follows prints with the code of the API server and of kubectl themselves, with no server: what the golden files hold
// is what a user sees.

// get prints a cluster as kubectl get does, with the columns of the generated definition.
func get(t *testing.T, cluster *v1alpha1.EtcdCluster, wide bool) string {
	t.Helper()
	convertor, err := tableconvertor.New(definition(t).Spec.Versions[0].AdditionalPrinterColumns)
	if err != nil {
		t.Fatal(err)
	}
	table, err := convertor.ConvertToTable(t.Context(), asUnstructured(t, cluster), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printers.NewTablePrinter(printers.PrintOptions{Wide: wide}).PrintObj(table, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func definition(t *testing.T) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile("../../config/crd/bases/etcdsteward.dev_etcdclusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func asUnstructured(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// describeCluster prints a cluster and its events as kubectl describe does.
func describeCluster(t *testing.T, cluster *v1alpha1.EtcdCluster, events []corev1.Event) string {
	t.Helper()
	mapping := &meta.RESTMapping{
		Resource:         v1alpha1.GroupVersion.WithResource("etcdclusters"),
		GroupVersionKind: v1alpha1.GroupVersion.WithKind("EtcdCluster"),
		Scope:            meta.RESTScopeNamespace,
	}
	server := answers{
		"etcdclusters": asUnstructured(t, cluster).Object,
		"events":       corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events},
	}
	config := &rest.Config{Host: "https://cluster.test", Transport: server, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	describer, ok := describe.GenericDescriberFor(mapping, config)
	if !ok {
		t.Fatal("kubectl has no describer for custom resources")
	}
	text, err := describer.Describe(cluster.Namespace, cluster.Name, describe.DescriberSettings{ShowEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answers answers requests by the resource that their path names.
type answers map[string]any

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	for resource, object := range a {
		if !strings.Contains(request.URL.Path, "/"+resource) {
			continue
		}
		body, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		return response(http.StatusOK, body), nil
	}
	return response(http.StatusNotFound, nil), nil
}

func response(code int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}
}
