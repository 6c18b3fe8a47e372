package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"
)

// A null would be refused by the schema, where the field is a time.
func TestAStepWithoutATimeSaysNothingOfIt(t *testing.T) {
	text, err := json.Marshal(EtcdClusterStatus{NextStep: &NextStep{Rule: "Settled", Verdict: "Settled", Reason: "Settled"}})
	if err != nil {
		t.Fatalf("encoding a status: %v", err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("the status holds a null: %s", text)
	}
}
