package access

import (
	"fmt"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// A cluster may have 1,000 of them. What they cost once they are settled does not grow with their number.
func TestManySettledClientsCauseNoWriteAndOneQuestionForAll(t *testing.T) {
	count := 200 / needs.Stride(4)
	names, objects := make([]string, count), make([]client.Object, count)
	for i := range count {
		names[i] = fmt.Sprintf("app-%d", i)
		objects[i] = aClient(names[i], i)
		if i%10 == 0 {
			objects[i] = aClient(names[i], i, withPassword)
		}
	}
	w := newWorld(t, objects...)
	look := func(times int) {
		for range times {
			for _, name := range names {
				_, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key(name)})
				must(t, err)
			}
		}
	}
	look(enough)
	for _, name := range names {
		w.is(name, accessplan.ReasonGranted, "")
	}
	w.now = w.now.Add(authLifetime + 1)
	look(1) // each asks for its own once more, since others were made after it
	writes, asked := len(w.writes), len(w.network.Calls())
	w.now = w.now.Add(authLifetime + 1)
	look(3)
	if got := w.writes[writes:]; len(got) > 0 {
		t.Errorf("it writes %v", got)
	}
	if got := w.network.Calls()[asked:]; len(got) != 1 || got[0].Method != "Authentication" {
		t.Errorf("etcd is asked %v", got)
	}
}
