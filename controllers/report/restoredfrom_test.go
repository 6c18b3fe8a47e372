package report

import (
	"reflect"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var saved = record.Origin{Hash: "h", Key: "shop/demo/snapshot.db", SHA256: "s", SizeBytes: 1056, Revision: 7,
	Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 15}}

// tellings are the events of a change that was made, each with its note.
func tellings(w *scene, change changes.Change) []string {
	in := w.input()
	in.Outcome = Outcome{Change: change, Applied: true}
	var said []string
	for _, e := range changeEvents(in) {
		said = append(said, e.Type()+" "+e.Reason+": "+e.Note)
	}
	return said
}

func TestARestoreIsToldWhenItBeginsAndWhenItIsDone(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Current.Bootstrap.Origin = saved
	first := changes.BeginBootstrap{Names: []string{"demo-0"}, Origin: saved}
	for name, row := range map[string]struct {
		change changes.Change
		want   []string
	}{
		"at its birth": {first, []string{"Normal CreatingCluster", "Normal RestoreStarted"}},
		"at another attempt": {changes.NextBootstrap{BeginBootstrap: first},
			[]string{"Normal CreatingCluster", "Normal RestoreStarted"}},
		"when the members meet": {changes.RecordBootstrap{ClusterID: clusterID},
			[]string{"Normal ClusterCreated", "Normal Restored"}},
	} {
		said := tellings(w, row.change)
		var got []string
		for _, line := range said {
			reason, _, _ := strings.Cut(line, ":")
			got = append(got, reason)
		}
		if !reflect.DeepEqual(got, row.want) || !strings.Contains(said[1], "shop/demo/snapshot.db") ||
			!strings.Contains(said[1], "revision 7") {
			t.Errorf("%s: %q", name, said)
		}
	}
	first.Origin.Alarms = "CORRUPT"
	if said := tellings(w, first); !strings.HasPrefix(said[1], "Warning RestoreStarted") ||
		!strings.Contains(said[1], "raised CORRUPT") {
		t.Errorf("of an alarm that comes back: %q", said)
	}
}

func TestTheStatusSaysWhichBackupAClusterBeganWith(t *testing.T) {
	w := demo(3, begin).settled()
	if got := Status(w.input()).RestoredFrom; got != nil {
		t.Errorf("a cluster that began empty: %+v", got)
	}
	w.o.Current.Bootstrap.Origin = saved
	want := &v1alpha1.RestoredFrom{Key: "shop/demo/snapshot.db", Revision: 7, EtcdVersion: "3.6.15"}
	if got := Status(w.input()).RestoredFrom; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	w.o.Current.Bootstrap.Origin.Foreign = true
	want.Foreign, want.EtcdVersion = true, "3.6"
	if got := Status(w.input()).RestoredFrom; !reflect.DeepEqual(got, want) {
		t.Errorf("of a snapshot without a manifest: %+v, want %+v", got, want)
	}
	w.o.Current.Bootstrap.Origin.PassedOver, want.PassedOver = 2, 2
	if got := Status(w.input()).RestoredFrom; !reflect.DeepEqual(got, want) {
		t.Errorf("where newer ones were passed over: %+v, want %+v", got, want)
	}
}

func TestWhatIsToBeKnownOfARestoredBackupIsToldWhereverTheRestoreIs(t *testing.T) {
	for says, doubt := range map[string]func(*record.Origin){
		"never compared with the members of its cluster":                                           func(o *record.Origin) { o.Foreign = true },
		"that its manifest-key does not vouch for: 2. The operator passed over them. If you":       func(o *record.Origin) { o.PassedOver = 2 },
		"Clients log in as its users: make the user of your clients' certificate if it is missing": func(o *record.Origin) { o.AuthEnabled = true },
	} {
		isToldEverywhere(t, says, doubt)
	}
}

func isToldEverywhere(t *testing.T, says string, doubt func(*record.Origin)) {
	t.Helper()
	w := demo(3, begin).settled()
	doubtful := saved
	doubt(&doubtful)
	for _, origin := range []record.Origin{saved, doubtful} {
		w.o.Current.Bootstrap.Origin = origin
		for _, change := range []changes.Change{changes.BeginBootstrap{Names: []string{"demo-0"}, Origin: origin},
			changes.RecordBootstrap{ClusterID: clusterID}} {
			if line := tellings(w, change)[1]; strings.Contains(line, says) != (origin == doubtful) {
				t.Errorf("%s", line)
			}
		}
	}
	for name, edit := range map[string]func(*scene){
		"laid":  func(w *scene) { w.restoring(3); doubt(&w.o.Current.Bootstrap.Next.Origin) },
		"moved": func(w *scene) { w.moved(); doubt(&w.o.Current.Bootstrap.Origin) },
	} {
		w, r := inPlaceScene()
		edit(w)
		if _, _, message := saysOf(toldOf(t, w, r), v1alpha1.RestorePrepared); !strings.Contains(message, says) {
			t.Errorf("%s: Prepared says %q", name, message)
		}
	}
	w, r := inPlaceScene()
	w.moved()
	w.restored()
	doubt(&w.o.Current.Bootstrap.Origin)
	if _, _, message := saysOf(toldOf(t, w, r), v1alpha1.RestoreComplete); !strings.Contains(message, says) {
		t.Errorf("Complete says %q", message)
	}
}
