package admission_test

import "testing"

func TestTheSmallestClusterIsAdmitted(t *testing.T) {
	g := newGate(t)
	if errs := g.create(t, cluster(t)); len(errs) > 0 {
		t.Errorf("the smallest cluster is refused: %v", errs.ToAggregate())
	}
}
