package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when each test looks.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// objects are those of a file.
func objects(t *testing.T, name string) []client.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	scheme := newScheme()
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []client.Object
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, document)
		}
		all = append(all, object.(client.Object))
	}
	return all
}

// sessionOf is a session with an API server that has these objects, and answers through the functions.
func sessionOf(all []client.Object, funcs interceptor.Funcs) *session {
	objects := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(all...).WithInterceptorFuncs(funcs).WithReturnManagedFields().Build()
	return &session{
		WithWatch: objects, namespace: "prod", now: func() time.Time { return noon },
		logs: func(_ context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(pod.Name + " " + o.Container + " wrote this\n")), nil
		},
	}
}

// result is what a command printed, and its exit code.
type result struct {
	out, errOut string
	code        int
}

// plugin runs a command with a session.
func plugin(t *testing.T, s *session, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, program{
		connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil }, out: &out, errOut: &errOut,
	})
	everyCommandNamesItsNamespace(t, out.String()+errOut.String())
	return result{out.String(), errOut.String(), code}
}

// ofOneNamespace are the commands of kubectl in a reply that are about something in a namespace.
var ofOneNamespace = regexp.MustCompile("`kubectl (?:etcd-steward (?:status|plan|restore|maintain|resume|wake|unfence|connect)|wait|get|describe|annotate|delete) [^`]*`")

// everyCommandNamesItsNamespace holds for all that a command prints: a reply is copied as it is.
func everyCommandNamesItsNamespace(t *testing.T, printed string) {
	t.Helper()
	for _, command := range ofOneNamespace.FindAllString(printed, -1) {
		command = strings.Join(strings.Fields(command), " ") // YAML breaks long lines
		isOfAll := strings.Contains(command, " -A") || strings.Contains(command, " --all") ||
			strings.HasSuffix(command, " CLUSTER`") || command == "`kubectl get etcdrestore`" // how a command is used
		if !isOfAll && !strings.Contains(command, " -n ") {
			t.Errorf("%s names no namespace", command)
		}
	}
}

// missingRight is what RBAC answers.
func missingRight(verb string, r schema.GroupResource) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: r.Group, Resource: strings.Split(r.Resource, "/")[0]}, "",
		fmt.Errorf("User %q cannot %s resource %q in API group %q in the namespace %q", "ann", verb, r.Resource, r.Group, "prod"))
}

// refusing forbids a verb of some kinds, as RBAC does.
func refusing(verb string, resources ...schema.GroupResource) interceptor.Funcs {
	refused := func(object runtime.Object) error {
		kind, err := apiutil.GVKForObject(object, newScheme())
		if err != nil {
			return err
		}
		for _, r := range resources {
			plural, _ := meta.UnsafeGuessKindToResource(kind.GroupVersion().WithKind(strings.TrimSuffix(kind.Kind, "List")))
			if plural.GroupResource() == r {
				return missingRight(verb, r)
			}
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
			if err := refused(object); err != nil && verb == "get" {
				return err
			}
			return c.Get(ctx, key, object, o...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if err := refused(list); err != nil && verb == "list" {
				return err
			}
			return c.List(ctx, list, o...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			if err := refused(object); err != nil && verb == "create" {
				return err
			}
			return c.Create(ctx, object, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, o ...client.PatchOption) error {
			if err := refused(object); err != nil && verb == "patch" {
				return err
			}
			return c.Patch(ctx, object, patch, o...)
		},
	}
}
