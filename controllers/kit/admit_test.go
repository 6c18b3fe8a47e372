package kit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// asked is a request about a cluster; before has generation 0 where there is none.
func asked(t *testing.T, before, now int64, change ...func(*v1alpha1.EtcdCluster)) admission.Request {
	t.Helper()
	raw := func(generation int64, change ...func(*v1alpha1.EtcdCluster)) runtime.RawExtension {
		c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", Generation: generation}}
		for _, do := range change {
			do(c)
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: text}
	}
	request := admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: raw(now, change...)}
	if before > 0 {
		request.Operation, request.OldObject = admissionv1.Update, raw(before)
	}
	return admission.Request{AdmissionRequest: request}
}

func answers(t *testing.T, request admission.Request, admit Admit[*v1alpha1.EtcdCluster], watches ...string) admission.Response {
	t.Helper()
	return served(t, NewWebhook(nil), admit, watches...).Handle(t.Context(), request)
}

func served(t testing.TB, webhook *Webhook, admit Admit[*v1alpha1.EtcdCluster],
	watches ...string) admits[v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster] {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return admits[v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster]{
		decoder: admission.NewDecoder(scheme), kind: schema.GroupKind{Group: v1alpha1.Group, Kind: "EtcdCluster"}, admit: admit, watches: watches,
		webhook: webhook,
	}
}

func TestARefusalNamesTheFieldAndWarningsAreToldBesideIt(t *testing.T) {
	response := answers(t, asked(t, 0, 1), func(_ context.Context, _ MayGet, before, now *v1alpha1.EtcdCluster) (Said, error) {
		if before != nil || now.Name != "demo" {
			t.Errorf("asked about %v, %v", before, now)
		}
		return Said{Warnings: []string{"beware"}, Refusals: field.ErrorList{
			field.Invalid(field.NewPath("spec", "size"), 2, "spec.size is 2; it must be odd")}}, nil
	})
	if response.Allowed || response.Result.Code != http.StatusUnprocessableEntity || len(response.Warnings) != 1 {
		t.Fatalf("%+v", response)
	}
	if causes := response.Result.Details.Causes; len(causes) != 1 || causes[0].Field != "spec.size" {
		t.Errorf("%+v", causes)
	}
	if said := response.Result.Message; !strings.Contains(said, `"demo" is invalid: spec.size`) || !strings.Contains(said, "must be odd") {
		t.Error(said)
	}
}

func TestWhatCannotBeLookedAtIsAcceptedAndThatIsSaid(t *testing.T) {
	garbage := asked(t, 0, 1)
	garbage.Object.Raw = []byte(`{"spec": "of a later release"}`)
	for name, row := range map[string]struct {
		request admission.Request
		admit   Admit[*v1alpha1.EtcdCluster]
	}{
		"an API server that is away": {asked(t, 0, 1), func(context.Context, MayGet, *v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster) (Said, error) {
			return Said{}, errors.New("away")
		}},
		"an object that cannot be read": {garbage, nil},
		"a bug":                         {asked(t, 1, 2), nil},
	} {
		response := answers(t, row.request, row.admit)
		if !response.Allowed || len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], "could not look at") {
			t.Errorf("%s: %+v", name, response)
		}
	}
}

func TestWhatKeepsItsSpecAndWhatIsBeingDeletedIsNotAskedAbout(t *testing.T) {
	gone := func(c *v1alpha1.EtcdCluster) { now := metav1.Now(); c.DeletionTimestamp = &now }
	for name, row := range map[string]struct {
		request admission.Request
		want    int
	}{
		"a new label":             {asked(t, 2, 2), 0},
		"another spec":            {asked(t, 2, 3), 1},
		"a Scale, which has none": {scaled(asked(t, 2, 3)), 1},
		"a finalizer that leaves": {asked(t, 2, 3, gone), 0},
	} {
		times := 0
		response := answers(t, row.request, func(context.Context, MayGet, *v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster) (Said, error) {
			times++
			return Said{}, nil
		})
		if times != row.want || !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%s: asked %d times, and answered %+v", name, times, response)
		}
	}
}

// scaled is a request about objects without a generation.
func scaled(request admission.Request) admission.Request {
	bare := []byte(`{"metadata": {"name": "demo"}}`)
	request.Object.Raw, request.OldObject.Raw = bare, bare
	return request
}

func TestOnlyWhatAChangeMakesWrongIsRefused(t *testing.T) {
	at := field.NewPath("spec", "version")
	old := field.ErrorList{field.Invalid(at, "3.4.0", "too old")}
	if got := NewRefusals(old, field.ErrorList{field.Invalid(at, "3.4.0", "too old")}); len(got) > 0 {
		t.Errorf("what was stored like that cannot be changed any more: %v", got)
	}
	if got := NewRefusals(old, field.ErrorList{field.Invalid(at, "3.3.0", "much too old")}); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := NewRefusals(nil, old); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestOnlyNamespacesThatTheOperatorLooksAfterAreSpokenOf(t *testing.T) {
	for name, row := range map[string]struct {
		watches []string
		want    int
	}{"all": {nil, 1}, "its own among others": {[]string{"office", "shop"}, 1}, "others": {[]string{"office"}, 0}} {
		times := 0
		request := asked(t, 0, 1)
		request.Namespace = "shop"
		response := answers(t, request, func(context.Context, MayGet, *v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster) (Said, error) {
			times++
			return Said{}, nil
		}, row.watches...)
		if times != row.want || !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%s: asked %d times, and answered %+v", name, times, response)
		}
	}
}
