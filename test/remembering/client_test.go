package remembering

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func pod(name, app string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": app}}}
}

// counted is a client in memory that counts the lists it was asked for.
func counted(asked *int, objects ...client.Object) client.WithWatch {
	return Client(interceptor.NewClient(fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).Build(),
		interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			*asked++
			return c.List(ctx, list, opts...)
		}}))
}

func listed(t *testing.T, kube client.Client, opts ...client.ListOption) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := kube.List(t.Context(), &pods, opts...); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func TestAListIsAskedForOnceUntilSomethingIsWritten(t *testing.T) {
	var asked int
	kube := counted(&asked, pod("a", "x"))
	for range 3 {
		if got := listed(t, kube); len(got) != 1 {
			t.Fatalf("%d Pods", len(got))
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	for what, write := range map[string]func() error{
		"create": func() error { return kube.Create(t.Context(), pod("b", "x")) },
		"update": func() error { return kube.Update(t.Context(), pod("a", "y")) },
		"patch": func() error {
			return kube.Patch(t.Context(), pod("a", "y"), client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"labels":{"app":"z"}}}`)))
		},
		"status": func() error {
			return kube.Status().Patch(t.Context(), pod("a", "y"), client.RawPatch(client.Merge.Type(), []byte(`{"status":{"phase":"Failed"}}`)))
		},
		"a write that fails": func() error { return client.IgnoreNotFound(kube.Delete(t.Context(), pod("none", ""))) },
	} {
		asked = 0
		listed(t, kube)
		before := asked
		if err := write(); err != nil {
			t.Fatal(what, err)
		}
		listed(t, kube)
		if asked != before+1 {
			t.Errorf("%s: asked %d times after it", what, asked-before)
		}
	}
}

func TestAnAnswerIsTheCallersOwn(t *testing.T) {
	var asked int
	kube := counted(&asked, pod("a", "x"))
	listed(t, kube)[0].Labels["app"] = "spoiled"
	var got corev1.Pod
	for range 2 {
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, &got); err != nil {
			t.Fatal(err)
		}
		if seen := listed(t, kube)[0]; seen.Labels["app"] != "x" || got.Labels["app"] != "x" {
			t.Errorf("%v, %v", seen.Labels, got.Labels)
		}
		got.Labels["app"] = "spoiled"
	}
}

func TestEachQuestionHasItsOwnAnswer(t *testing.T) {
	var asked int
	kube := counted(&asked, pod("a", "x"), pod("b", "y"))
	for range 2 {
		if all, some, none := listed(t, kube), listed(t, kube, client.MatchingLabels{"app": "x"}), listed(t, kube, client.InNamespace("other")); len(all) != 2 || len(some) != 1 || len(none) != 0 {
			t.Errorf("%d, %d, %d", len(all), len(some), len(none))
		}
		metadata := metav1.PartialObjectMetadataList{}
		metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		if err := kube.List(t.Context(), &metadata); err != nil || len(metadata.Items) != 2 {
			t.Errorf("%d, %v", len(metadata.Items), err)
		}
		secrets := metav1.PartialObjectMetadataList{}
		secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := kube.List(t.Context(), &secrets); err != nil || len(secrets.Items) != 0 {
			t.Errorf("%d, %v", len(secrets.Items), err)
		}
	}
}
