package backupplan

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// statusOf is the status when all that is to be recorded is recorded.
func statusOf(o Observation) v1alpha1.EtcdBackupStatus {
	d := Next(o)
	if recorded, ok := d.Change.(RecordOutcome); ok {
		o.Record.Outcome = &recorded.Outcome
		d = Next(o)
	}
	return Status(o, d, "demo-backup-1", v1alpha1.EtcdBackupStatus{})
}

func TestConditionsOfABackup(t *testing.T) {
	for _, row := range []struct {
		name                       string
		o                          Observation
		complete, failed, verified string
	}{
		{"one that waits", seen(func(o *Observation) { o.Cluster = Cluster{} }), "False ClusterNotFound", "", "False NotYet"},
		{"one that runs", seen(recordedJob, with(attempt(StepRuns))), "False Running", "", "False NotYet"},
		{"one that runs and is not to be proven", seen(unproven, recordedJob, with(attempt(StepRuns))), "False Running", "", "False NotAsked"},
		{"one that is proven", seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded())), "True Verified", "", "True HashesAgree"},
		{"one of the only voter that is proven", seen(compared(byItself)), "True Verified", "", "True HashesAgree"},
		{"one that no other voter confirms", seen(compared(byNoOther)), "True NoWitness", "", "False NoWitness"},
		{"one that an older agent compared with itself", seen(compared(byOldItself)), "True NoWitness", "", "False NoWitness"},
		{"one that no other voter confirms, and that is not to be proven", seen(compared(byNoOther), unproven), "True Stored", "", "False NotAsked"},
		{"one that is stored", seen(unproven, complete, with(attempt(StepDone).succeeded())), "True Stored", "", "False NotAsked"},
		{"one that failed", seen(gaveUp("x"), with(attempt(StepBroken).broken(refusedByStore))),
			"False CredentialsRefused", "True CredentialsRefused", "False NotProven"},
		{"one that was stored and could not be proven", seen(gaveUp("x"), with(attempt(StepDone, StepDone, StepDone, StepBroken).broken(
			`{"reason":"KeysDiffer","message":"The restored copy differs."}`))), "False KeysDiffer", "True KeysDiffer", "False NotProven"},
	} {
		t.Run(row.name, func(t *testing.T) {
			status := statusOf(row.o)
			for kind, want := range map[string]string{
				v1alpha1.BackupComplete: row.complete, v1alpha1.BackupFailed: row.failed, v1alpha1.BackupVerified: row.verified,
			} {
				got := ""
				if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
					got = string(c.Status) + " " + c.Reason
					if c.Message == "" {
						t.Errorf("%s has no sentence", kind)
					}
				}
				if got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
		})
	}
}

func TestTheStatusTellsWhatTheManifestSays(t *testing.T) {
	for name, o := range map[string]Observation{
		"while it is being proven": seen(recordedJob, with(attempt(StepDone, StepRuns, StepWaits, StepWaits))),
		"when it is proven":        seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded())),
		"when it was not proven":   seen(gaveUp("x"), with(attempt(StepDone, StepDone, StepBroken, StepWaits).broken("no"))),
	} {
		s := statusOf(o)
		if s.Revision != 42 || s.TotalKeys != 7 || s.SizeBytes != 20512 || s.Member != "demo-1" || s.EtcdVersion != "3.6.16" || s.ClusterID != "cdf8" ||
			!strings.HasSuffix(s.Key, "/snapshot.db") || len(s.SHA256) != 64 || s.StartedAt == nil || s.JobName != "demo-backup-1" {
			t.Errorf("%s: %+v", name, s)
		}
		if isDone := name == "when it is proven"; (s.CompletedAt != nil) != isDone || (s.VerifiedAt != nil) != isDone {
			t.Errorf("%s: completed %v, verified %v", name, s.CompletedAt, s.VerifiedAt)
		}
	}
}

func TestTheStatusNamesTheWitnessOrWhoDidNotTestify(t *testing.T) {
	for name, row := range map[string]struct {
		keysHash, witness, verified string
		isVerified                  bool
	}{
		"another member": {`{"hash":1,"member":"demo-2"}`, "demo-2", "demo-2", true},
		"the only voter": {byItself, "demo-1", "only voting member", true},
		"none":           {byNoOther, "", "member demo-2 does not answer", false},
	} {
		o := seen(compared(row.keysHash))
		s := statusOf(o)
		verified := meta.FindStatusCondition(s.Conditions, v1alpha1.BackupVerified)
		if s.Witness != row.witness || s.CompletedAt == nil || (s.VerifiedAt != nil) != row.isVerified ||
			!strings.Contains(verified.Message, row.verified) {
			t.Errorf("%s: witness %q, verified at %v: %s", name, s.Witness, s.VerifiedAt, verified.Message)
		}
		recorded := Next(o).Change.(RecordOutcome).Outcome
		restored := OutcomeOf(s)
		if restored == nil || restored.Reason != recorded.Reason || restored.Facts.Witness != recorded.Facts.Witness ||
			restored.VerifiedAt.IsZero() != recorded.VerifiedAt.IsZero() {
			t.Errorf("%s: put back from the status it is %+v, and was %+v", name, restored, recorded)
		}
	}
}

func TestABackupInAStoreThatKnowsNoConditionsIsProvenAndWarnsOfIt(t *testing.T) {
	for unconditional, o := range map[string]Observation{
		`,"unconditional":true`: seen(compared(`{"hash":1,"member":"demo-2"},"unconditional":true`)), "": seen(compared(`{"hash":1,"member":"demo-2"}`)),
	} {
		outcome := Next(o).Change.(RecordOutcome).Outcome
		o.Record.Outcome = &outcome
		status := Status(o, Next(o), "j", v1alpha1.EtcdBackupStatus{})
		event := Events(Next(o), v1alpha1.EtcdBackupStatus{}, status)[0]
		said := meta.FindStatusCondition(status.Conditions, v1alpha1.BackupComplete).Message
		warns := strings.Contains(said, "knows no conditional writes")
		if isTold := unconditional != ""; warns != isTold || event.Warning != isTold || event.Reason != EventComplete || status.VerifiedAt == nil {
			t.Errorf("%q: verified at %v, %+v: %s", unconditional, status.VerifiedAt, event, said)
		}
	}
}

func TestTheLargestPrefixesAreThoseThatTheAgentTold(t *testing.T) {
	const ofBefore = `{"revision":42,"compactRevision":4,"totalKeys":7,"keysHash":1}`
	// A test of pkg/backup holds that the agent says this.
	text, err := os.ReadFile("../../pkg/backup/testdata/told/compared.json")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.TrimSpace(string(text))
	for name, row := range map[string]struct {
		said string
		want int
	}{
		"an agent that tells them":         {told, 2},
		"one of the release before":        {ofBefore, 0},
		"one whose words were cut off":     {told[:len(told)-20], 0},
		"one that said nothing":            {"", 0},
		"one that says something else":     {`{"largest":"all"}`, 0},
		"one that tells more than is read": {strings.Replace(told, `"keys":5,`, `"keys":5,"value":"hush",`, 1), 2},
	} {
		o := seen(compared(`{"hash":1,"member":"demo-2"}`))
		o.Attempts[0].Steps[3].Message = row.said
		s := statusOf(o)
		if len(s.Largest) != row.want || s.VerifiedAt == nil || s.Revision != 42 {
			t.Errorf("%s: verified at %v, %+v", name, s.VerifiedAt, s.Largest)
		}
		first := v1alpha1.KeyPrefix{Prefix: "/registry/events/", Keys: 5, Bytes: 9000, Revisions: 20}
		if row.want > 0 && !slices.Contains(s.Largest, first) {
			t.Errorf("%s: %+v", name, s.Largest)
		}
		record := Record{Namespace: "prod", Name: "nightly", JobUID: "job-1", Outcome: OutcomeOf(s)}
		o.Record, o.Attempts = record, nil
		if again, err := DecodeRecord(record.Encode(), "prod", "nightly"); err != nil || !reflect.DeepEqual(again, record) ||
			!equality.Semantic.DeepEqual(statusOf(o).Largest, s.Largest) {
			t.Errorf("%s: from the record: %v, %+v", name, err, again.Outcome.Facts)
		}
	}
}

func TestTheClientsOfABackupAreThoseThatTheAgentTold(t *testing.T) {
	text, err := os.ReadFile("../../pkg/backup/testdata/told/compared.json")
	if err != nil {
		t.Fatal(err)
	}
	told := strings.TrimSpace(string(text))
	all := []v1alpha1.ClientUsage{{Name: "shop", User: "shop", Keys: 5, Bytes: 9000, Revisions: 20},
		{Namespace: "team", Name: "cart", User: "team.cart", Bytes: 100, Revisions: 2}}
	for name, row := range map[string]struct {
		said   string
		want   []v1alpha1.ClientUsage
		others int64
	}{
		"an agent that tells them":       {told, all, 3},
		"one of the release before":      {`{"revision":42,"keysHash":1,"largest":[{"prefix":"a/"}]}`, nil, 0},
		"one whose words were cut off":   {told[:len(told)-2], nil, 0},
		"one that tells of another form": {strings.Replace(told, `"shop/shop",5,`, `"shop/shop",`, 1), nil, 0},
		"one with a name of no client":   {strings.Replace(told, "shop/shop", "shop", 1), nil, 0},
		"one with less than no others":   {strings.Replace(told, `"otherClients":3`, `"otherClients":-3`, 1), all, 0},
	} {
		o := seen(compared(`{"hash":1,"member":"demo-2"}`))
		o.Attempts[0].Steps[3].Message = row.said
		s := statusOf(o)
		if !slices.Equal(s.Clients, row.want) || s.OtherClients != row.others || s.VerifiedAt == nil {
			t.Errorf("%s: %+v and %d others", name, s.Clients, s.OtherClients)
		}
		o.Record, o.Attempts = Record{Namespace: "prod", Name: "nightly", JobUID: "job-1", Outcome: OutcomeOf(s)}, nil
		if again := statusOf(o); !slices.Equal(again.Clients, row.want) || again.OtherClients != row.others {
			t.Errorf("%s: from the record %+v", name, again.Clients)
		}
	}
}

// An earlier release did not write down who the witness was.
func TestARecordThatNamesNoWitnessStaysVerified(t *testing.T) {
	o := seen(recordedJob)
	text := `{"namespace":"prod","name":"nightly","jobUID":"job-1","outcome":{"complete":true,"reason":"Verified",` +
		`"message":"The backup is in the store.","finishedAt":"2026-05-01T12:00:00Z","verifiedAt":"2026-05-01T12:00:00Z",` +
		`"facts":{"key":"k","clusterID":"c","member":"demo-1","etcdVersion":"3.6.16","revision":4,"totalKeys":1,` +
		`"sizeBytes":5,"sha256":"6","startedAt":"2026-05-01T11:59:00Z"}}}`
	var err error
	if o.Record, err = DecodeRecord(text, "prod", "nightly"); err != nil {
		t.Fatal(err)
	}
	s := statusOf(o)
	verified := meta.FindStatusCondition(s.Conditions, v1alpha1.BackupVerified)
	if verified.Status != metav1.ConditionTrue || s.VerifiedAt == nil || strings.Contains(verified.Message, "  ") {
		t.Errorf("%+v", verified)
	}
}

func TestProgressIsShownAndNothingElseOfAStepThatSaysNone(t *testing.T) {
	a := attempt(StepRuns)
	a.Progress = &Progress{Bytes: 5, Total: 10}
	s := statusOf(seen(recordedJob, with(a)))
	if s.BytesTransferred == nil || *s.BytesTransferred != 5 || s.BytesTotal == nil || *s.BytesTotal != 10 {
		t.Errorf("%+v", s)
	}
	if s := statusOf(seen(recordedJob, with(attempt(StepRuns)))); s.BytesTransferred != nil || s.BytesTotal != nil {
		t.Errorf("%+v", s)
	}
}

func TestAConditionKeepsItsTimeUntilItTurnsAndARepeatedLookChangesNothing(t *testing.T) {
	o := seen(recordedJob, with(attempt(StepRuns)))
	first := Status(o, Next(o), "j", v1alpha1.EtcdBackupStatus{})
	o.Now = o.Now.Add(time.Minute)
	second := Status(o, Next(o), "j", first)
	if !equality.Semantic.DeepEqual(first, second) {
		t.Errorf("%+v\n%+v", first, second)
	}
	done := seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded()))
	done.Now = now.Add(time.Hour)
	outcome := Next(done).Change.(RecordOutcome).Outcome
	done.Record.Outcome = &outcome
	third := Status(done, Next(done), "j", second)
	if c := meta.FindStatusCondition(third.Conditions, v1alpha1.BackupComplete); !c.LastTransitionTime.Equal(new(metav1.NewTime(now.Add(time.Hour)))) {
		t.Errorf("turned at %s", c.LastTransitionTime)
	}
}

func TestEventsTellOnceWhatBecameDifferent(t *testing.T) {
	running := seen(recordedJob, with(attempt(StepRuns)))
	held := seen(recordedJob, with(attempt().troubled(facts.ReasonNotMounted, `secret "s3" not found`)))
	old := Status(running, Next(running), "j", v1alpha1.EtcdBackupStatus{})
	if got := Events(Next(running), v1alpha1.EtcdBackupStatus{}, old); len(got) != 1 || got[0].Reason != EventStarted {
		t.Errorf("a backup that begins: %+v", got)
	}
	heldUp := Status(held, Next(held), "j", old)
	if got := Events(Next(held), old, heldUp); len(got) != 1 || got[0].Reason != EventHeldUp || !got[0].Warning {
		t.Errorf("a backup that is held up: %+v", got)
	}
	if got := Events(Next(held), heldUp, heldUp); len(got) != 0 {
		t.Errorf("a backup that is still held up: %+v", got)
	}
	unconfirmed := seen(compared(byNoOther))
	outcome := Next(unconfirmed).Change.(RecordOutcome).Outcome
	unconfirmed.Record.Outcome = &outcome
	if got := Events(Next(unconfirmed), old, Status(unconfirmed, Next(unconfirmed), "j", old)); len(got) != 1 ||
		got[0].Reason != EventComplete || !got[0].Warning {
		t.Errorf("a backup that no other voter confirms: %+v", got)
	}
	for reason, o := range map[string]Observation{
		EventComplete: seen(complete, with(attempt(StepDone, StepDone, StepDone, StepDone).succeeded())),
		EventFailed:   seen(gaveUp("x"), with(attempt(StepBroken).broken(refusedByStore))),
	} {
		outcome := Next(o).Change.(RecordOutcome).Outcome
		o.Record.Outcome = &outcome
		status := Status(o, Next(o), "j", old)
		if got := Events(Next(o), old, status); len(got) != 1 || got[0].Reason != reason || got[0].Note == "" {
			t.Errorf("a backup that ends: %+v", got)
		}
		if got := Events(Next(o), status, status); len(got) != 0 {
			t.Errorf("a backup that has ended: %+v", got)
		}
	}
}
