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
