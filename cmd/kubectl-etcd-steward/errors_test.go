package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAClusterThatIsNotThereIsAnsweredWithThoseThatAre(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	for _, command := range []string{"status", "report", "backup", "restart", "defragment", "maintain", "hibernate", "wake",
		"members", "events", "logs", "certificates"} {
		got := plugin(t, s, command, "dmeo")
		const want = "there is no EtcdCluster dmeo in namespace prod. The namespace has: demo"
		if got.code != exitFailed || !strings.Contains(got.errOut, want) {
			t.Errorf("%s: exit code %d, want %q: %s", command, got.code, want, got.errOut)
		}
	}
	s.namespace = "empty"
	if got := plugin(t, s, "status", "demo"); !strings.Contains(got.errOut, "namespace empty, and no other one in this namespace") {
		t.Errorf("a namespace without clusters: %s", got.errOut)
	}
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	clusters := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdclusters"}
	backups := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdbackups"}
	for _, c := range []struct {
		args     []string
		verb     string
		resource schema.GroupResource
	}{
		{[]string{"status", "demo"}, "get", clusters},
		{[]string{"report", "demo"}, "get", clusters},
		{[]string{"restart", "demo"}, "patch", clusters},
		{[]string{"backup", "demo", "--store", "{volume: {claimName: backups}}"}, "create", backups},
		{[]string{"status", "dmeo"}, "list", clusters},
		{[]string{"status", "--all"}, "list", clusters},
		{[]string{"status", "demo", "--watch"}, "list", clusters},
		{[]string{"members", "demo"}, "get", clusters},
		{[]string{"events", "demo"}, "list", schema.GroupResource{Resource: "events"}},
		{[]string{"logs", "demo"}, "list", schema.GroupResource{Resource: "pods"}},
		{[]string{"backup", "ls", "demo"}, "list", backups},
	} {
		got := plugin(t, sessionOf(objects(t, "healthy"), refusing(c.verb, c.resource)), c.args...)
		want := "you may not " + c.verb + " " + c.resource.String() + " in namespace prod"
		if got.code != exitFailed || !strings.Contains(got.errOut, want) {
			t.Errorf("%v: exit code %d, want %q: %s", c.args, got.code, want, got.errOut)
		}
	}
}

// A policy forbids too, and knows best why.
func TestTheRefusalOfAPolicyIsPassedOn(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "etcdbackups"}, "one", errors.New("exceeded quota: few"))
		},
	})
	got := plugin(t, s, "backup", "demo", "--store", demoStore)
	if got.code != exitFailed || !strings.Contains(got.errOut, "exceeded quota: few") || strings.Contains(got.errOut, "you may not") {
		t.Errorf("got %+v", got)
	}
}

func TestACommandAsksForTheNameOfOneCluster(t *testing.T) {
	got := plugin(t, nil, "status")
	const want = "kubectl etcd-steward status takes the name of one EtcdCluster, and got 0 names"
	if got.code != exitFailed || !strings.Contains(got.errOut, want) {
		t.Errorf("exit code %d, want %q: %s", got.code, want, got.errOut)
	}
}

// An API server on this machine, with the real client.
func TestAKubernetesWithoutTheDefinitionsIsToldFromOneWithoutTheCluster(t *testing.T) {
	const groups = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[` +
		`{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
		case "/apis":
			_, _ = w.Write([]byte(groups))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	t.Setenv("KUBECONFIG", "/dev/null")
	flags := genericclioptions.NewConfigFlags(false)
	*flags.APIServer, *flags.Namespace = server.URL, "prod"
	s, err := connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	got := plugin(t, s, "status", "demo")
	const want = "the custom resource definitions of etcd-steward are not installed"
	if got.code != exitFailed || !strings.Contains(got.errOut, want) {
		t.Errorf("exit code %d, want %q: %s", got.code, want, got.errOut)
	}
}
