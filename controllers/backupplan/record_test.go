package backupplan

import (
	"reflect"
	"strings"
	"testing"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	facts, err := factsOf(attempt(StepDone))
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []Record{
		{Namespace: "prod", Name: "nightly"},
		{Namespace: "prod", Name: "nightly", JobUID: "job-1"},
		{Namespace: "prod", Name: "nightly", JobUID: "job-1", Outcome: &Outcome{Reason: ReasonJobDeleted, Message: "gone", FinishedAt: now}},
		{Namespace: "prod", Name: "nightly", JobUID: "job-1", Outcome: &Outcome{
			Complete: true, Reason: ReasonVerified, Message: "all is well", FinishedAt: now, VerifiedAt: now, Facts: &facts,
		}},
	} {
		got, err := DecodeRecord(record.Encode(), "prod", "nightly")
		if err != nil || !reflect.DeepEqual(got, record) {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, got, record)
		}
	}
}

func TestARecordThatIsNoneIsAnErrorAndNeverEmpty(t *testing.T) {
	whole := Record{Namespace: "prod", Name: "nightly", JobUID: "job-1"}.Encode()
	for _, text := range []string{
		"{", "null x", "{}", `"text"`, whole + whole, whole[:len(whole)-1], `{"name":"nightly"}`,
		`{"namespace":"prod","name":"nightly","outcome":{}}`,
		`{"namespace":"prod","name":"nightly","outcome":{"complete":true,"reason":"Verified","finishedAt":"2026-05-01T12:00:00Z"}}`,
		`{"namespace":"prod","name":"nightly","outcome":{"reason":"no word","finishedAt":"2026-05-01T12:00:00Z"}}`,
	} {
		if got, err := DecodeRecord(text, "prod", "nightly"); err == nil {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

func TestARecordThatWasCopiedToAnotherBackupSaysNothingThere(t *testing.T) {
	text := Record{Namespace: "prod", Name: "nightly", JobUID: "job-1"}.Encode()
	for _, other := range [][2]string{{"prod", "weekly"}, {"test", "nightly"}} {
		got, err := DecodeRecord(text, other[0], other[1])
		if err != nil || got.JobUID != "" || got.Name != other[1] {
			t.Errorf("for %v: %+v, %v", other, got, err)
		}
	}
}

func TestFieldsOfANewerOperatorArePassedOver(t *testing.T) {
	text := strings.Replace(Record{Namespace: "prod", Name: "nightly", JobUID: "job-1"}.Encode(), "{", `{"newer":1,`, 1)
	if got, err := DecodeRecord(text, "prod", "nightly"); err != nil || got.JobUID != "job-1" {
		t.Errorf("%+v, %v", got, err)
	}
}
