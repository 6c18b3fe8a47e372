package resources

import (
	"reflect"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// twice is a record of a cluster that was restored once and is to be restored again.
func twice(edit func(*LifeRecord)) BirthRecord {
	version := etcdutil.Version{Major: 3, Minor: 6, Patch: 16}
	life := &LifeRecord{
		Incarnation: "cd", Counter: 2, Token: "t2", Names: []string{"demo-4", "demo-5"}, Source: LifeFromBackup, Bump: 1000, Restore: "uid-hash",
		Backup: &BackupOrigin{Hash: "h", Key: "a/snapshot.db", SHA256: "s", SizeBytes: 32, Revision: 7, Version: version},
	}
	edit(life)
	return BirthRecord{
		Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-3"}, ClusterID: 1, Origin: OriginSurvivor, Next: 6, Laid: 2, Restore: "uid-old",
		Backup: &BackupOrigin{Hash: "uid-old", Revision: 5, Version: version}, Coming: life,
		Past: []PastRecord{{Incarnation: "99", Voters: []string{"demo-0", "demo-1"}}, {Incarnation: "aa", Restore: "uid-older"}},
	}
}

func ofSurvivor(l *LifeRecord) {
	l.Source, l.Survivor, l.Backup.Key, l.Backup.SHA256 = LifeFromSurvivor, "demo-3", "", ""
}
func ofNothing(l *LifeRecord) { l.Source, l.Backup = LifeFromNothing, nil }

func TestLivesThatAreLaidAndThatEndedComeBackAsTheyWereWritten(t *testing.T) {
	for _, edit := range []func(*LifeRecord){func(*LifeRecord) {}, ofSurvivor, ofNothing} {
		want := twice(edit)
		if got, err := DecodeBirth(EncodeBirth(want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
}

func TestARecordOfNoRestoreIsWrittenAsItAlwaysWas(t *testing.T) {
	const want = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"fresh","next":1}`
	got := EncodeBirth(BirthRecord{Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: OriginFresh, Next: 1})
	if got != want {
		t.Errorf("it is %s", got)
	}
}

func TestALifeThatIsHalfWrittenIsNeverTakenForNone(t *testing.T) {
	for name, edit := range map[string]func(*LifeRecord){
		"no incarnation":              func(l *LifeRecord) { l.Incarnation = "" },
		"no token":                    func(l *LifeRecord) { l.Token = "" },
		"no members":                  func(l *LifeRecord) { l.Names = nil },
		"nobody's wish":               func(l *LifeRecord) { l.Restore = "" },
		"a counter below zero":        func(l *LifeRecord) { l.Counter = -1 },
		"a bump below zero":           func(l *LifeRecord) { l.Bump = -1 },
		"a source of another release": func(l *LifeRecord) { l.Source = "Clone" },
		"a backup that it lacks":      func(l *LifeRecord) { l.Backup = nil },
		"a backup without a key":      func(l *LifeRecord) { l.Backup.Key = "" },
		"a survivor without a name":   func(l *LifeRecord) { ofSurvivor(l); l.Survivor = "" },
		"a survivor of a backup":      func(l *LifeRecord) { l.Survivor = "demo-3" },
		"data that comes of nothing":  func(l *LifeRecord) { l.Source = LifeFromNothing },
	} {
		if got, err := DecodeBirth(EncodeBirth(twice(edit))); err == nil {
			t.Errorf("%s: it was read as %+v", name, got.Coming)
		}
	}
	past := twice(func(*LifeRecord) {})
	past.Past[0].Incarnation = ""
	if _, err := DecodeBirth(EncodeBirth(past)); err == nil {
		t.Error("a life that ended and has no name was read")
	}
	text := EncodeBirth(twice(func(*LifeRecord) {}))
	if _, err := DecodeBirth(strings.Replace(text, `"origin":"survivor"`, `"origin":"fresh"`, 1)); err == nil {
		t.Error("data of a cluster that began empty was read")
	}
}
