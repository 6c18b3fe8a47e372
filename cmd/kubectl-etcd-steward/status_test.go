package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// golden compares what was printed with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; if that is wanted, run go test . -update and read the file as a user would:\n%s", path, got)
	}
}

func TestThePageOfEachState(t *testing.T) {
	for name, code := range map[string]int{
		"healthy": 0, "degraded": 0, "rolling": 0, "stalled": 0,
		"new": exitNotAvailable, "creating": exitNotAvailable, "quorum-lost": exitNotAvailable, "operator-gone": exitNotAvailable,
	} {
		t.Run(name, func(t *testing.T) {
			got := plugin(t, sessionOf(objects(t, name), interceptor.Funcs{}), "status", "demo")
			if got.code != code || got.errOut != "" {
				t.Errorf("exit code %d, want %d: %s", got.code, code, got.errOut)
			}
			golden(t, name+".txt", got.out)
		})
	}
}

func TestTheSameIsPrintedAsData(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	asJSON := plugin(t, s, "status", "demo", "-o", "json")
	golden(t, "healthy.json", asJSON.out)
	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal([]byte(asJSON.out), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(plugin(t, s, "status", "demo", "-o", "yaml").out), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if len(fromJSON) < 10 || len(fromYAML) != len(fromJSON) {
		t.Errorf("JSON has %d fields, YAML %d", len(fromJSON), len(fromYAML))
	}
	refused := plugin(t, s, "status", "demo", "-o", "wide")
	if want := `error: --output is "wide"; it must be text, json or yaml`; refused.code != exitFailed ||
		strings.TrimSpace(refused.errOut) != want {
		t.Errorf("got %d %q, want %q", refused.code, refused.errOut, want)
	}
}

func TestOfTheLargestPrefixesThePageHasFiveAndTheDataAll(t *testing.T) {
	all := objects(t, "healthy")
	for _, o := range all {
		if b, ok := o.(*v1alpha1.EtcdBackup); ok {
			b.Status.Largest = nil
			for i := range 7 {
				b.Status.Largest = append(b.Status.Largest, v1alpha1.KeyPrefix{Prefix: fmt.Sprintf("kind-%d/", i), Keys: 1, Bytes: 7 << 30, Revisions: 2})
			}
		}
	}
	s := sessionOf(all, interceptor.Funcs{})
	page, data := plugin(t, s, "status", "demo").out, plugin(t, s, "status", "demo", "-o", "json").out
	if strings.Count(page, " takes 7Gi (keys: 1, stored revisions: 2).\n") != 5 || strings.Count(data, `"prefix": "kind-`) != 7 {
		t.Errorf("%s\n%s", page, data)
	}
}

func TestAnOperatorWithoutALeaseIsGone(t *testing.T) {
	all := slices.DeleteFunc(objects(t, "healthy"), func(o client.Object) bool { return o.GetName() == leaseName })
	got := plugin(t, sessionOf(all, interceptor.Funcs{}), "status", "demo")
	const want = "Gone. etcd-steward-system/etcd-steward does not run: it has no Lease."
	if got.code != exitNotAvailable || !strings.Contains(got.out, want) {
		t.Errorf("exit code %d, want %d and %q: %s", got.code, exitNotAvailable, want, got.out)
	}
}

func TestAnOperatorThatGaveItsLeaseBackIsGoneAsSoonAsNoOtherReplicaTakesIt(t *testing.T) {
	for after, want := range map[time.Duration]string{
		5 * time.Second:  "Running. etcd-steward-system/etcd-steward runs.",
		20 * time.Second: "Gone. etcd-steward-system/etcd-steward does not run: it stopped 20s ago, and no replica has taken over.",
	} {
		all := objects(t, "healthy")
		for _, o := range all {
			if lease, ok := o.(*coordinationv1.Lease); ok {
				lease.Spec.HolderIdentity = new(string)
				lease.Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(-after)}
			}
		}
		if got := plugin(t, sessionOf(all, interceptor.Funcs{}), "status", "demo"); !strings.Contains(got.out, want) {
			t.Errorf("%s after it stopped: want %q in\n%s", after, want, got.out)
		}
	}
}

// The operator's machine may be wrong about the time. The API server's is that of all ages.
func TestALeaseIsAsOldAsTheAPIServerSays(t *testing.T) {
	all := objects(t, "operator-gone")
	for _, o := range all {
		if o.GetName() == leaseName {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: "coordination.k8s.io/v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1("{}"), Time: &metav1.Time{Time: noon.Add(-time.Second)}}})
		}
	}
	if got := plugin(t, sessionOf(all, interceptor.Funcs{}), "status", "demo"); got.code != 0 {
		t.Errorf("exit code %d, want 0:\n%s", got.code, got.out)
	}
}

func TestTheTimeIsThatOfTheAPIServer(t *testing.T) {
	ahead := time.Now().Add(3 * time.Hour).UTC()
	clock := &serverClock{}
	answer := clock.wrap(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{Header: http.Header{"Date": {ahead.Format(http.TimeFormat)}}}, nil
	}))
	if _, err := answer.RoundTrip(nil); err != nil {
		t.Fatal(err)
	}
	if off := clock.now().Sub(ahead).Abs(); off > time.Minute {
		t.Errorf("%s off", off)
	}
}

func TestAPersonWhoMayReadTheClusterAloneSeesItAndReadsWhatIsMissing(t *testing.T) {
	for _, missing := range []struct {
		verb     string
		resource schema.GroupResource
		want     string
	}{
		{"list", schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdbackups"},
			"Unknown. EtcdBackups cannot be read: you may not list etcdbackups.etcdsteward.dev in namespace prod."},
		{"list", schema.GroupResource{Resource: "services"},
			"Unknown. Which operator looks after the cluster cannot be read: you may not list services in namespace prod."},
		{"get", schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
			"Unknown. Whether etcd-steward-system/etcd-steward runs cannot be read: " +
				"you may not get leases.coordination.k8s.io in namespace etcd-steward-system."},
	} {
		got := plugin(t, sessionOf(objects(t, "healthy"), refusing(missing.verb, missing.resource)), "status", "demo")
		if got.code != 0 || !strings.Contains(got.out, missing.want) || !strings.Contains(got.out, "Healthy.") {
			t.Errorf("without %s of %s: exit code %d, want %q in:\n%s", missing.verb, missing.resource, got.code, missing.want, got.out)
		}
	}
}
