package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const scheduleDefinitionFile = "../../config/crd/bases/etcdsteward.dev_etcdbackupschedules.yaml"

// smallestSchedule is the smallest schedule that a user would write.
const smallestSchedule = `
apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdBackupSchedule
metadata: {name: nightly, namespace: default}
spec: {clusterRef: {name: demo}, schedule: "0 3 * * *", store: {volume: {claimName: backups}}}
`

func schedule(t testing.TB, changes ...string) *unstructured.Unstructured {
	t.Helper()
	return layered(t, smallestSchedule, changes...)
}

func newScheduleGate(t testing.TB) *gate {
	t.Helper()
	return gateOf(t, readDefinitionFrom(t, scheduleDefinitionFile))
}

func TestSchedulesThatAUserMayAskForAreAdmitted(t *testing.T) {
	g := newScheduleGate(t)
	for name, change := range map[string]string{
		"the smallest":       "",
		"lists and ranges":   "spec: {schedule: '*/15 1-5,22 1,15 JAN-MAR ?'}",
		"a word":             "spec: {schedule: '@daily'}",
		"every ninety":       "spec: {schedule: '@every 1h30m'}",
		"a zone":             "spec: {timeZone: Europe/Berlin}",
		"a zone of three":    "spec: {timeZone: America/Argentina/Buenos_Aires}",
		"a zone with a plus": "spec: {timeZone: Etc/GMT+5}",
		"suspended":          "spec: {suspend: true}",
		"deadlines":          "spec: {startingDeadline: 30m, deadline: 2h}",
		"not to be proven":   "spec: {verify: false}",
		"all rules":          "spec: {retention: {keepLast: 7, keepDaily: 14, keepWeekly: 1000, keepWithin: 720h}}",
		"one rule":           "spec: {retention: {keepWithin: 1m}}",
		"test restores":      "spec: {testRestore: {schedule: '0 5 * * 0'}}",
		"the longest name":   "metadata: {name: " + strings.Repeat("n", 49) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			if errs := g.create(t, schedule(t, change)); len(errs) > 0 {
				t.Errorf("it is refused: %v", errs.ToAggregate())
			}
		})
	}
}

// refusedSchedules are wrong values with where the error is and what it says.
var refusedSchedules = []struct{ name, change, field, says string }{
	{"a name with a dot", "metadata: {name: a.b}", "<nil>", `metadata.name is "a.b"; it must be at most 49 characters`},
	{"a name too long for those of its backups", "metadata: {name: " + strings.Repeat("n", 50) + "}", "<nil>", "it must be at most 49 characters"},
	{"no schedule", "spec: {schedule: ''}", "spec.schedule", `spec.schedule is ""; it must have five fields`},
	{"four fields", "spec: {schedule: '0 3 * *'}", "spec.schedule", `spec.schedule is "0 3 * *"; it must have five fields`},
	{"six fields", "spec: {schedule: '0 0 3 * * *'}", "spec.schedule", `it must have five fields (minute, hour,`},
	{"a time zone in the schedule", "spec: {schedule: 'TZ=UTC 0 3 * * *'}", "spec.schedule", `spec.schedule is "TZ=UTC 0 3 * * *"; it must name no time zone: put it into spec.timeZone`},
	{"a time zone of cron's in the schedule", "spec: {schedule: 'CRON_TZ=UTC 0 3 * * *'}", "spec.schedule", `it must name no time zone`},
	{"the zone of the node", "spec: {timeZone: Local}", "spec.timeZone", `spec.timeZone is "Local"; it must be the name of a time zone, such as Europe/Berlin`},
	{"a path for a zone", "spec: {timeZone: ../etc/passwd}", "spec.timeZone", `spec.timeZone is "../etc/passwd"; it must be`},
	{"no zone", "spec: {timeZone: ''}", "spec.timeZone", `spec.timeZone is ""; it must be`},
	{"a starting deadline too short", "spec: {startingDeadline: 10s}", "spec.startingDeadline", `spec.startingDeadline is "10s"; it must be a time from 1m to 8760h, such as 30m`},
	{"a starting deadline that is a number", "spec: {startingDeadline: '600'}", "spec.startingDeadline", `spec.startingDeadline is "600"; it must be a time`},
	{"a deadline too long", "spec: {deadline: 169h}", "spec.deadline", `spec.deadline is "169h"; it must be a time from 1m to 168h, such as 90m`},
	{"names deeper than eight", "spec: {largestDepth: 9}", "spec.largestDepth", `spec.largestDepth is 9; it must be from 0 to 8`},
	{"a cluster that cannot be", "spec: {clusterRef: {name: Demo}}", "spec.clusterRef.name", `spec.clusterRef.name is "Demo"`},
	{"a retention without a rule", "spec: {retention: {}}", "spec.retention", "spec.retention must have at least one of keepLast, keepDaily, keepWeekly and keepWithin"},
	{"a retention that keeps none", "spec: {retention: {keepLast: 0}}", "spec.retention.keepLast", "should be greater than or equal to 1"},
	{"a retention of too many days", "spec: {retention: {keepDaily: 1001}}", "spec.retention.keepDaily", "should be less than or equal to 1000"},
	{"a retention of less than no week", "spec: {retention: {keepWeekly: -1}}", "spec.retention.keepWeekly", "should be greater than or equal to 1"},
	{"a retention of a moment", "spec: {retention: {keepWithin: 1s}}", "spec.retention.keepWithin", `spec.retention.keepWithin is "1s"; it must be a time from 1m to 87600h, such as 720h`},
	{"test restores at no time", "spec: {testRestore: {schedule: ''}}", "spec.testRestore.schedule", `spec.testRestore.schedule is ""; it must have five fields`},
	{"test restores in a zone of their own", "spec: {testRestore: {schedule: 'TZ=UTC 0 3 * * *'}}", "spec.testRestore.schedule", `it must name no time zone: put it into spec.timeZone`},
	{"two stores", "spec: {store: {s3: {bucket: etcd-backups}}}", "spec.store", "store must have exactly one of"},
}

func TestSchedulesThatAreWrongAreRefusedWithASentence(t *testing.T) {
	g := newScheduleGate(t)
	for _, row := range refusedSchedules {
		t.Run(row.name, func(t *testing.T) {
			saysOnce(t, "the schema", g.create(t, schedule(t, row.change)), row.field, row.says)
		})
	}
}

func TestAScheduleMayChangeEverythingButItsCluster(t *testing.T) {
	g := newScheduleGate(t)
	for _, change := range []string{
		"spec: {schedule: '@hourly'}", "spec: {timeZone: Europe/Berlin}", "spec: {suspend: true}", "spec: {store: {volume: {claimName: other}}}", "spec: {verify: false}",
	} {
		if errs := g.update(t, schedule(t, change), schedule(t)); len(errs) > 0 {
			t.Errorf("%s is refused: %v", change, errs.ToAggregate())
		}
	}
	errs := g.update(t, schedule(t, "spec: {clusterRef: {name: other}}"), schedule(t))
	saysOnce(t, "the schema", errs, "spec.clusterRef", "spec.clusterRef cannot change: create another EtcdBackupSchedule for another cluster")
}

func TestEachSampleOfAScheduleIsAdmitted(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/etcdbackupschedule*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("looking for the samples: found %d, error %v", len(files), err)
	}
	g := newScheduleGate(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(toJSON(t, string(text))); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace("default")
		if errs := g.create(t, object); object.GetKind() != "EtcdBackupSchedule" || len(errs) > 0 {
			t.Errorf("%s: a %s, and the schema says: %v", file, object.GetKind(), errs.ToAggregate())
		}
	}
}

func TestNoRuleOfASchedulesSchemaCouldBeTakenAwayUnnoticed(t *testing.T) {
	eachRuleIsNeeded(t, scheduleDefinitionFile, 15, isScheduleRuleNoticed)
}

// isScheduleRuleNoticed reports whether some row misses its sentence. The store is that of an EtcdBackup, and so are its rows.
func isScheduleRuleNoticed(t *testing.T, g *gate) bool {
	t.Helper()
	misses := func(says string, changes ...string) bool {
		return !strings.Contains(errsText(g.create(t, schedule(t, changes...))), says)
	}
	for _, row := range refusedSchedules {
		if misses(row.says, row.change) {
			return true
		}
	}
	for _, row := range refusedBackups {
		if strings.HasPrefix(row.field, "spec.store") && misses(row.says, row.change) {
			return true
		}
	}
	for _, row := range refusedTasks {
		if misses(row.says, row.change) {
			return true
		}
	}
	for _, row := range refusedBuckets {
		if misses(row.says, toS3, s3(row.field, row.value)) {
			return true
		}
	}
	for store, change := range map[string]string{"s3": toS3, "gcs": toGCS, "azure": toAzure} {
		for _, field := range []string{"credentialsSecretRef", "caSecretRef"} {
			if misses("it must be the name of a Secret of this namespace", change, "spec: {store: {"+store+": {"+field+": {name: other/secret}}}}") {
				return true
			}
		}
	}
	return len(g.update(t, schedule(t, "spec: {clusterRef: {name: other}}"), schedule(t))) == 0
}
