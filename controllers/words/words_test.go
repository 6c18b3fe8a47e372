package words

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnotherPersonsWordsAreOneLineAndBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("long ", 1000), strings.Repeat("ü", 5000), "bad \xff byte\n\nand lines"} {
		got := Bounded(text)
		if len(got) > Longest+len("…") || strings.Contains(got, "\n") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %.60q", len(got), got)
		}
	}
}

func TestOnlyAWordCanBeAReason(t *testing.T) {
	for word, want := range map[string]bool{"StoreFull": true, "": false, "storeFull": false, "Store full": false, strings.Repeat("A", 65): false} {
		if IsReason(word) != want {
			t.Errorf("%q: want %v", word, want)
		}
	}
}

func TestTextsThatDifferInNumbersAndAddressesAreAlikeAndThoseOfAnotherCauseAreNot(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"exceeded quota: q, requested: pods=1, used: pods=3", "exceeded quota: q, requested: pods=1, used: pods=12", true},
		{"used: requests.memory=512Mi, limited: 1Gi", "used: requests.memory=1Gi, limited: 1536Mi", true},
		{"exceeded quota: q, requested: pods=1", "exceeded quota: q, requested: requests.memory=1Gi", false},
		{"dial tcp 10.0.0.1:443: i/o timeout", "dial tcp 10.0.0.12:6443: i/o timeout", true},
		{"read tcp 10.0.0.1:40001->10.0.0.2:443: reset", "read tcp 10.0.0.1:40777->10.0.0.2:443: reset", true},
		{"dial tcp [fd00::a]:443: i/o timeout", "dial tcp [fd00:10:96::b]:443: i/o timeout", true},
		{"no route to fd00::a", "no route to fd00:10::b", true},
		{"UID in precondition: b5f1c8aa-0c5e-4a36-9a3e-0b6c7e4d2f11", "UID in precondition: 0c6f1c8a-0c5e-4a36-9a3e-0b6c7e4d2f12", true},
		{"not before 2026-05-01T12:00:00Z, in 1m30.5s", "not before 2026-05-01T12:01:31.5Z, in 9s", true},
		{"[b] wants a team [a] wants an owner", "[a] wants an owner [b] wants a team", true},
		{"creating Pod demo-0: refused", "creating Pod demo-1: refused", false},
		{`policy "limits-v1" denied`, `policy "limits-v2" denied`, false},
		{"policy A denied", "policy B denied", false},
		{"failed calling webhook: i/o timeout", "admission webhook denied the request", false},
	} {
		if Alike(row.a, row.b) != row.want {
			t.Errorf("%q and %q: want %v, compared %q and %q", row.a, row.b, row.want, lasting(row.a), lasting(row.b))
		}
	}
}

func TestAConditionKeepsItsTimeUntilItsStatusTurns(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 999, time.UTC)
	first := Since(at, 0, []metav1.Condition{Condition("Ready", metav1.ConditionFalse, "A", "a")}, nil)
	later := Since(at.Add(time.Hour), 0, []metav1.Condition{Condition("Ready", metav1.ConditionFalse, "B", "b")}, first)
	turned := Since(at.Add(time.Hour), 0, []metav1.Condition{Condition("Ready", metav1.ConditionTrue, "B", "b")}, first)
	if !later[0].LastTransitionTime.Equal(&first[0].LastTransitionTime) || turned[0].LastTransitionTime.Equal(&first[0].LastTransitionTime) {
		t.Errorf("%v %v %v", first, later, turned)
	}
	if ReasonOf(later, "Ready") != "B" || ReasonOf(later, "Other") != "" {
		t.Errorf("%v", later)
	}
	if TimeOrNil(time.Time{}) != nil || !TimeOrNil(at).Time.Equal(at) || Format(at) != "2026-05-01T12:00:00Z" {
		t.Error("a time is not what it was")
	}
}
