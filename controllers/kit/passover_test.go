package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// review is what the API server sends about a cluster that was applied a few times.
func review(t testing.TB, namespace string) []byte {
	t.Helper()
	cluster := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Generation: 1, Annotations: map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat(`{"spec":{"size":3}}`, 50)}}}
	for range 3 {
		cluster.ManagedFields = append(cluster.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + strings.Repeat(`"f:size":{},`, 50) + `"f:version":{}}}`)})
	}
	object, err := json.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	kind := metav1.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: "EtcdCluster"}
	resource := metav1.GroupVersionResource{Group: v1alpha1.Group, Version: "v1alpha1", Resource: "etcdclusters"}
	request := &admissionv1.AdmissionRequest{UID: types.UID("705ab4f5-6393-11e8-b7cc-42010a800002"), Kind: kind, Resource: resource,
		RequestKind: &kind, RequestResource: &resource, Name: "demo", Namespace: namespace, Operation: admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{Username: "ann", Groups: []string{"devs"}}}
	request.Object.Raw, request.OldObject.Raw = object, object
	body, err := json.Marshal(admissionv1.AdmissionReview{Request: request,
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// inFront are the handler that is served, and the one behind it that decodes all; within the bound comes nothing.
func inFront(t testing.TB, watches ...string) (front, behind http.Handler) {
	webhook := NewWebhook(nil)
	webhook.rate.SetBurst(0)
	a := served(t, webhook, nil, watches...)
	behind = &admission.Webhook{Handler: a}
	return passesOver[v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster]{a, behind}, behind
}

func post(handler http.Handler, body []byte) string {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Body.String()
}

func TestARequestThatIsPassedOverIsAnsweredFromItsFirstBytesAndInTheSameWords(t *testing.T) {
	front, behind := inFront(t)
	whole := review(t, "shop")
	want := post(behind, whole)
	if !strings.Contains(want, "is asked about more objects than") || !strings.Contains(want, `"uid":"705ab4f5-`) {
		t.Fatal(want)
	}
	if got := post(front, whole); got != want {
		t.Errorf("%s\nwhere all is decoded: %s", got, want)
	}
	if got := post(front, whole[:bytes.Index(whole, []byte(`"oldObject"`))]); got != want {
		t.Errorf("more is read than the answer needs: %s", got)
	}
}

func TestARequestOfAnotherShapeOrNamespaceIsAnsweredAsBefore(t *testing.T) {
	whole := string(review(t, "shop"))
	uid := `"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",`
	for name, body := range map[string]string{
		"the uid comes last": strings.Replace(strings.Replace(whole, uid, "", 1), `"options":null`, uid+`"options":null`, 1),
		"an older review":    strings.Replace(whole, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
		"no review":          `[`,
		"nothing":            ``,
		"no uid":             strings.Replace(whole, uid, "", 1),
	} {
		if name == "the uid comes last" && strings.Index(body, uid) < headSize {
			t.Fatal("the uid is near the front")
		}
		front, behind := inFront(t)
		if got, want := post(front, []byte(body)), post(behind, []byte(body)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	front, behind := inFront(t, "office")
	if got, want := post(front, []byte(whole)), post(behind, []byte(whole)); got != want || strings.Contains(got, "warnings") {
		t.Errorf("a namespace of another install: %s, want %s", got, want)
	}
}

func BenchmarkARequestThatIsPassedOver(b *testing.B) {
	front, behind := inFront(b)
	body := review(b, "shop")
	for name, handler := range map[string]http.Handler{"from the first bytes": front, "all is decoded": behind} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				post(handler, body)
			}
		})
	}
}
