package apply

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
)

// rewritten puts another text of the bootstrap record on the peer Service, as another release would have written it.
func (w *world) rewritten(t *testing.T, edit func(string) string) string {
	t.Helper()
	service := w.service(t, "demo-peers")
	before := service.Annotations[v1alpha1.AnnotationBootstrap]
	text := edit(before)
	if text == before {
		t.Fatalf("%s stays as it is", text)
	}
	service.Annotations[v1alpha1.AnnotationBootstrap] = text
	if err := w.inner.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return text
}

func withoutForm(text string) string {
	return strings.Replace(text, `,"recordVersion":1,"leastReader":1`, "", 1)
}

func TestARecordOfTheReleaseBeforeIsNotWrittenForItsFormAlone(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	old := w.rewritten(t, withoutForm)
	w.mustDo(t, bootstrapped(), changes.NextBootstrap{Voided: "an earlier one", BeginBootstrap: begin()})
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap]; got != old {
		t.Errorf("%s became %s", old, got)
	}
	w.mustDo(t, bootstrapped(), changes.RecordBootstrap{ClusterID: 0xc})
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap]; !strings.Contains(got,
		`"recordVersion":1`) {
		t.Errorf("it is written anyway, and does not say how: %s", got)
	}
}

func TestWhatANewerReleaseWroteIntoTheRecordOutlivesAChange(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	w.rewritten(t, func(text string) string {
		return strings.Replace(text, `{"incarnation"`, `{"later":[1],"incarnation"`, 1)
	})
	w.mustDo(t, bootstrapped(), changes.RecordBootstrap{ClusterID: 0xc})
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap]; !strings.Contains(got, `"later":[1]`) ||
		w.bootstrap(t).ClusterID != 0xc {
		t.Errorf("it is %s", got)
	}
}

func TestARecordThatOnlyANewerReleaseMayReadIsNotChanged(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	newer := w.rewritten(t, func(text string) string {
		return strings.Replace(text, `"leastReader":1`,
			`"leastReader":2`, 1)
	})
	if err := w.do(t, bootstrapped(), changes.RecordBootstrap{ClusterID: 0xc}); !isRejected(err, RejectedUnreadable) {
		t.Errorf("%v", err)
	}
	if got := w.service(t, "demo-peers").Annotations[v1alpha1.AnnotationBootstrap]; got != newer {
		t.Errorf("%s became %s", newer, got)
	}
}
