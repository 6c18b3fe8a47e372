package admission_test

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const restoreDefinitionFile = "../../config/crd/bases/etcdsteward.dev_etcdrestores.yaml"

// smallestRestore is the smallest restore that a user would write.
const smallestRestore = `
apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdRestore
metadata: {name: back, namespace: default}
spec: {clusterRef: {name: demo}, source: {backupRef: {name: nightly}}}
`

func restore(t testing.TB, changes ...string) *unstructured.Unstructured {
	t.Helper()
	return layered(t, smallestRestore, changes...)
}

// restoreFrom has another source than the smallest restore.
func restoreFrom(t testing.TB, source string) *unstructured.Unstructured {
	t.Helper()
	return restore(t, "spec: {source: {backupRef: null}}", "spec: {source: "+source+"}")
}

func newRestoreGate(t testing.TB) *gate {
	t.Helper()
	return gateOf(t, readDefinitionFrom(t, restoreDefinitionFile))
}

func TestRestoresThatAUserMayAskForAreAdmitted(t *testing.T) {
	g := newRestoreGate(t)
	for name, object := range map[string]*unstructured.Unstructured{
		"the smallest":                  restore(t),
		"an approved one":               restore(t, "spec: {approval: 0123456789abcdef}"),
		"an approval taken back":        restore(t, "spec: {approval: ''}"),
		"no bump":                       restore(t, "spec: {bumpRevision: 0}"),
		"the largest bump":              restore(t, "spec: {bumpRevision: 1000000000000}"),
		"volumes that are to be kept":   restore(t, "spec: {oldVolumes: Keep}"),
		"a snapshot by its key":         restoreFrom(t, "{store: {volume: {claimName: b}}, key: default/demo/u/t/snapshot.db}"),
		"a file of another tool":        restoreFrom(t, "{store: {s3: {bucket: backups}}, key: legacy/demo.db}"),
		"the newest":                    restoreFrom(t, "{store: {s3: {bucket: backups}}, latest: true}"),
		"the newest of another":         restoreFrom(t, "{store: {s3: {bucket: backups}}, latest: true, latestOf: {namespace: prod, name: demo, uid: 0a-1}}"),
		"a survivor":                    restoreFrom(t, "{survivor: {member: demo-1}}"),
		"a survivor of a high number":   restoreFrom(t, "{survivor: {member: a-b-120}}"),
		"nothing":                       restoreFrom(t, "{empty: {}}"),
		"nothing, approved":             layeredOn(t, restoreFrom(t, "{empty: {}}"), "spec: {approval: 0123456789abcdef}"),
		"a name that starts with digit": restore(t, "metadata: {name: 2026-05-01}"),
	} {
		t.Run(name, func(t *testing.T) {
			if errs := g.create(t, object); len(errs) > 0 {
				t.Errorf("the schema refuses it: %v", errs.ToAggregate())
			}
		})
	}
}

func layeredOn(t testing.TB, object *unstructured.Unstructured, change string) *unstructured.Unstructured {
	t.Helper()
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return layered(t, string(text), change)
}

// refusedInPlace are wrong values with where the error is and what it says.
var refusedInPlace = []struct{ name, change, field, says string }{
	{"a name with a dot", "metadata: {name: a.b}", "<nil>", `metadata.name is "a.b"; it must be at most 63 characters`},
	{"a cluster that cannot be", "spec: {clusterRef: {name: other/demo}}", "spec.clusterRef.name", `spec.clusterRef.name is "other/demo"; it must be the name of an EtcdCluster`},
	{"no source", "spec: {source: {backupRef: null}}", "spec.source", "spec.source must have exactly one of backupRef, store, survivor, previous and empty"},
	{"a backup and nothing", "spec: {source: {empty: {}}}", "spec.source", "spec.source must have exactly one of backupRef, store, survivor, previous and empty"},
	{"a backup and what was before", "spec: {source: {previous: {}}}", "spec.source", "spec.source must have exactly one of backupRef, store, survivor, previous and empty"},
	{"two backups", "spec: {source: {store: {volume: {claimName: b}}, latest: true}}", "spec.source", "spec.source must have exactly one of backupRef, store, survivor, previous and empty"},
	{"a store alone", "spec: {source: {backupRef: null, store: {volume: {claimName: b}}}}", "spec.source", "a backup in a store must be named by exactly one of key and latest: true"},
	{"a key without a store", "spec: {source: {key: a/snapshot.db}}", "spec.source", "key and latest name a backup in a store, and there is none: give store as well, or leave them out"},
	{"whose newest, without asking for it", "spec: {source: {backupRef: null, store: {volume: {claimName: b}}, key: a/snapshot.db, latestOf: {name: demo}}}", "spec.source", "latestOf says whose newest backup is meant, and needs latest: true"},
	{"a survivor that is no member", "spec: {source: {backupRef: null, survivor: {member: demo}}}", "spec.source.survivor.member", `spec.source.survivor.member is "demo"; it must be the name of a member, as status.evidence.members of the EtcdCluster has it`},
	{"a survivor with leading zeros", "spec: {source: {backupRef: null, survivor: {member: demo-01}}}", "spec.source.survivor.member", `spec.source.survivor.member is "demo-01"; it must be`},
	{"an approval that is no digest", "spec: {approval: 'yes'}", "spec.approval", `spec.approval is "yes"; it must be the 16 characters of status.evidence.digest of the EtcdCluster`},
	{"an approval in capitals", "spec: {approval: 0123456789ABCDEF}", "spec.approval", "it must be the 16 characters"},
	{"a bump below zero", "spec: {bumpRevision: -1}", "spec.bumpRevision", "spec.bumpRevision must be from 0 to 1000000000000"},
	{"a bump beyond all bounds", "spec: {bumpRevision: 1000000000001}", "spec.bumpRevision", "spec.bumpRevision must be from 0 to 1000000000000"},
	{"a bump of nothing", "spec: {bumpRevision: 1, source: {backupRef: null, empty: {}}}", "spec", "spec.bumpRevision has nothing to raise where spec.source is empty or previous: leave it out"},
	{"a bump of what was before", "spec: {bumpRevision: 1, source: {backupRef: null, previous: {}}}", "spec", "spec.bumpRevision has nothing to raise"},
	{"old volumes to go from the start", "spec: {oldVolumes: Delete}", "spec", "spec.oldVolumes cannot be Delete from the start: leave it out, look at what was restored, and set it then"},
	{"old volumes to go elsewhere", "spec: {oldVolumes: Move}", "spec.oldVolumes", `supported values: "Keep", "Delete"`},
}

func TestRestoresThatAreWrongAreRefusedWithASentence(t *testing.T) {
	g := newRestoreGate(t)
	for _, row := range refusedInPlace {
		t.Run(row.name, func(t *testing.T) {
			saysOnce(t, "the schema", g.create(t, restore(t, row.change)), row.field, row.says)
		})
	}
	for _, row := range sharedSources() {
		t.Run(row.name, func(t *testing.T) {
			saysOnce(t, "the schema", g.create(t, restoreFrom(t, row.source)), row.field, row.says)
		})
	}
}

type sharedSource struct{ name, source, field, says string }

// sharedSources are the wrong backups of spec.bootstrap.restore, as sources of a restore in place. Which ways there are to
// name one differs.
func sharedSources() []sharedSource {
	var rows []sharedSource
	for _, r := range refusedRestores {
		source, isSource := strings.CutPrefix(r.change, "spec: {bootstrap: {restore: ")
		if below, ok := strings.CutPrefix(r.field, "spec.bootstrap.restore."); isSource && ok {
			rows = append(rows, sharedSource{r.name, strings.TrimSuffix(source, "}}"), "spec.source." + below, r.says})
		}
	}
	return rows
}

// changesInPlace are changes of a restore that is there; an empty sentence says that it is admitted.
var changesInPlace = []struct{ name, after, field, says string }{
	{"another cluster", "spec: {clusterRef: {name: other}}", "spec", "spec.clusterRef cannot change: an EtcdRestore is carried out once; delete this one and create another"},
	{"another backup", "spec: {source: {backupRef: {name: other}}}", "spec", "spec.source cannot change: what was approved is what is restored; delete this one, which cancels it, and create another"},
	{"another way to name it", "spec: {source: {backupRef: null, empty: {}}}", "spec", "spec.source cannot change: what was approved is what is restored"},
	{"another bump", "spec: {bumpRevision: 5}", "spec", "spec.bumpRevision cannot change: what was approved is what is restored"},
	{"an approval", "spec: {approval: 0123456789abcdef}", "", ""},
	{"volumes that may go", "spec: {oldVolumes: Delete}", "", ""},
}

func TestOfARestoreOnlyTheApprovalAndTheOldVolumesCanChange(t *testing.T) {
	g := newRestoreGate(t)
	for _, row := range changesInPlace {
		t.Run(row.name, func(t *testing.T) {
			errs := g.update(t, restore(t, row.after), restore(t))
			if row.says == "" && len(errs) > 0 {
				t.Errorf("it is refused: %v", errs.ToAggregate())
			}
			if row.says != "" {
				saysOnce(t, "the schema", errs, row.field, row.says)
			}
		})
	}
}

func TestNoRuleOfARestoresSchemaCouldBeTakenAwayUnnoticed(t *testing.T) {
	eachRuleIsNeeded(t, restoreDefinitionFile, 20, isRestoreRuleNoticed)
}

// isRestoreRuleNoticed reports whether some row misses its sentence.
func isRestoreRuleNoticed(t *testing.T, g *gate) bool {
	t.Helper()
	for _, row := range refusedInPlace {
		if !strings.Contains(errsText(g.create(t, restore(t, row.change))), row.says) {
			return true
		}
	}
	for _, row := range sharedSources() {
		if !strings.Contains(errsText(g.create(t, restoreFrom(t, row.source))), row.says) {
			return true
		}
	}
	for _, row := range changesInPlace {
		if !strings.Contains(errsText(g.update(t, restore(t, row.after), restore(t))), row.says) {
			return true
		}
	}
	return false
}

func TestTheSampleOfARestoreIsAdmitted(t *testing.T) {
	text, err := os.ReadFile("../../config/samples/etcdrestore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(toJSON(t, string(text))); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace("default")
	if errs := newRestoreGate(t).create(t, object); object.GetKind() != "EtcdRestore" || len(errs) > 0 {
		t.Errorf("a %s, and the schema says: %v", object.GetKind(), errs.ToAggregate())
	}
}
