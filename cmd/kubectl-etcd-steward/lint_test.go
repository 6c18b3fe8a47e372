package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const soundCluster = `apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdCluster
metadata: {name: demo}
spec: {size: 3, version: 3.6.16}
`

const service = `apiVersion: v1
kind: Service
metadata: {name: shop}
`

func TestEachSampleLintsClean(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("samples: %v: %v", files, err)
	}
	got := plugin(t, nil, append([]string{"lint", "--strict"}, files...)...)
	if got.code != 0 || !strings.Contains(got.out, " Findings: 0.\n") {
		t.Errorf("got %+v", got)
	}
}

func TestWhatWouldBeRefusedIsFoundWithItsFieldAndTheRemedy(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a rule of the schema": {strings.Replace(soundCluster, "size: 3", "size: 4", 1),
			"-:1: spec.size: spec.size is 4; it must be 1, 3, 5 or 7"},
		"a type": {strings.Replace(soundCluster, "size: 3", "size: three", 1), "-:1: spec.size: Invalid value: \"string\""},
		"an enumeration": {strings.Replace(soundCluster, "size: 3", "size: 3, mode: Dry", 1),
			`-:1: spec.mode: Unsupported value: "Dry": supported values: "Enforce", "DryRun"`},
		"a field that is not there": {strings.Replace(soundCluster, "size: 3", "size: 3, replicas: 3", 1),
			"-:1: spec.replicas: there is no such field. `kubectl explain etcdcluster` lists the fields"},
		"a version that does not exist": {strings.Replace(soundCluster, "3.6.16", "3.4.1", 1), "-:1: spec.version: "},
		"a required field":              {strings.Replace(soundCluster, "size: 3, ", "", 1), "-:1: spec.size: Required value"},
		"a name":                        {strings.Replace(soundCluster, "name: demo", "name: Demo", 1), "-:1: metadata.name: "},
		"a version of the API":          {strings.Replace(soundCluster, "v1alpha1", "v1", 1), "-:1: apiVersion: it is etcdsteward.dev/v1; it must be etcdsteward.dev/v1alpha1"},
		"a kind":                        {strings.Replace(soundCluster, "EtcdCluster", "Etcd", 1), "-:1: kind: Etcd is no kind of etcd-steward; it must be one of EtcdBackup, "},
		"a key that is there twice":     {soundCluster + "spec: {size: 5, version: 3.6.16}\n", "-:1: it cannot be read: "},
		"no object":                     {"- one\n- two\n", "-:1: it is no object of Kubernetes: it needs apiVersion and kind"},
		"a later document":              {"# first\n---\n" + service + "---\n" + strings.Replace(soundCluster, "size: 3", "size: 4", 1), "-:2: spec.size: spec.size is 4"},
		"an item of a List": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n" +
			"- {apiVersion: etcdsteward.dev/v1alpha1, kind: EtcdCluster, metadata: {name: demo}, spec: {size: 4, version: 3.6.16}}\n",
			"-:1.2: spec.size: spec.size is 4"},
		"times of a schedule": {"apiVersion: etcdsteward.dev/v1alpha1\nkind: EtcdBackupSchedule\nmetadata: {name: nightly}\n" +
			"spec: {schedule: '0 0 30 2 *', clusterRef: {name: demo}, store: {volume: {claimName: backups}}}\n", "-:1: spec.schedule: "},
		"a restore": {"apiVersion: etcdsteward.dev/v1alpha1\nkind: EtcdRestore\nmetadata: {generateName: back-}\n" +
			"spec: {clusterRef: {name: demo}, source: {}}\n", "-:1: spec.source: spec.source must have exactly one of"},
	} {
		got := answering(t, nil, c.text, "lint", "-")
		if got.code != exitFailed || !strings.Contains(got.out, c.want) || strings.Contains(got.out, "\n\n") {
			t.Errorf("%s: want %q, got %+v", name, c.want, got)
		}
	}
}

func TestAFileMayBeNamedAsForKubectl(t *testing.T) {
	const sample = "../../config/samples/etcdcluster.yaml"
	for _, args := range [][]string{{"-f", sample}, {"--filename", sample}, {"-f", sample, "-f", sample}, {"-f", sample, sample}} {
		got := plugin(t, nil, append([]string{"lint"}, args...)...)
		want := fmt.Sprintf("Objects checked: %d, skipped: 0. Findings: 0.\n", strings.Count(strings.Join(args, " "), sample))
		if got.code != 0 || got.out != want {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := plugin(t, nil, "lint"); got.code == 0 || !strings.Contains(got.errOut, "lint FILE, or lint -f FILE") {
		t.Errorf("without a file: %+v", got)
	}
}

func TestAnotherKindIsSkippedWithAWord(t *testing.T) {
	got := answering(t, nil, service+"---\n"+soundCluster, "lint", "-")
	if got.code != 0 || got.out != "Objects checked: 1, skipped: 1. Findings: 0.\n" ||
		got.errOut != "-:1: Service shop is skipped: it is of another project.\n" {
		t.Errorf("got %+v", got)
	}
}

func TestAWarningFailsAsItIsAsked(t *testing.T) {
	text := strings.Replace(soundCluster, "size: 3", "size: 1, etcd: {corruptionChecks: true}", 1)
	const want = "-:1: warning: spec.etcd.corruptionChecks is true, and the only member has no other"
	for _, c := range []struct {
		args []string
		code int
	}{{nil, 0}, {[]string{"--strict"}, exitFailed}} {
		got := answering(t, nil, text, append([]string{"lint", "-"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.out, want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestFindingsArePrintedAsData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(soundCluster, "size: 3", "size: 4", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := plugin(t, nil, "lint", file, "-o", "json")
	var found linting
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.code != exitFailed || len(found.Findings) != 1 ||
		found.Findings[0].File != file || found.Findings[0].Document != "1" || found.Findings[0].Field != "spec.size" {
		t.Errorf("got %+v: %v", got, err)
	}
	if got := plugin(t, nil, "lint", file+".missing"); got.code != exitFailed || !strings.Contains(got.errOut, "reading manifests") {
		t.Errorf("got %+v", got)
	}
}

// applying is an API server that answers a dry run so.
func applying(t *testing.T, answer error) *session {
	t.Helper()
	return sessionOf(nil, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			options := &client.ApplyOptions{}
			options.ApplyOptions(o)
			if len(options.DryRun) != 1 {
				t.Error("the object would be stored")
			}
			return answer
		},
	})
}

func TestTheAPIServerIsAskedWithoutStoringAnything(t *testing.T) {
	clusters := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdclusters"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "etcdsteward.dev", Kind: "EtcdCluster"}, "demo", field.ErrorList{
		field.Forbidden(field.NewPath("spec", "service"), "it is refused here"),
	})
	for _, c := range []struct {
		answer         error
		out, errOut    string
		code, findings int
	}{
		{nil, "Objects checked: 1, skipped: 0. Findings: 0.", "", 0, 0},
		{invalid, "-:1: spec.service: Forbidden: it is refused here", "objects would be refused: findings 1, warnings 0", exitFailed, 1},
		{apierrors.NewBadRequest("no"), "-:1: no", "objects would be refused: findings 1, warnings 0", exitFailed, 1},
		{missingRight("patch", clusters), "", "you may not patch etcdclusters.etcdsteward.dev in namespace prod", exitFailed, 0},
	} {
		got := answering(t, applying(t, c.answer), soundCluster, "lint", "--server", "-")
		if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.errOut, c.errOut) {
			t.Errorf("%v: %+v", c.answer, got)
		}
	}
}
