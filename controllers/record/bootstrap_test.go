package record

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What releases wrote, text for text. These lines are never edited: there are clusters that look like them.
const (
	v01Fresh = `{"incarnation":"a1b2c3d4","counter":1,"token":"token","names":["demo-0","demo-1"],"clusterID":"fedcba9876543210","origin":"fresh",` +
		`"begun":true,"volumes":{"demo-0":"uid-0","demo-1":"uid-1"},"promised":"demo-2","next":3}`
	v01Voided    = `{"incarnation":"a1b2c3d4","counter":0,"token":"token","names":["demo-0"],"void":true,"origin":"fresh"}`
	beforeBackup = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"backup","backup":{"hash":"h","key":"a/snapshot.db",` +
		`"sha256":"s","sizeBytes":32,"revision":7,"version":"3.6.16","authEnabled":true,"alarms":"NOSPACE"}}`
	beforeSurvivor = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-3"],"clusterID":"1","origin":"survivor",` +
		`"backup":{"hash":"uid-old","revision":5,"version":"3.6.16"},"next":6,"coming":{"incarnation":"cd","counter":2,"token":"t2",` +
		`"names":["demo-4","demo-5"],"source":"Backup","origin":{"hash":"h","key":"a/snapshot.db","sha256":"s","revision":7,"version":"3.6.16"},` +
		`"bump":1000,"restore":"uid-hash"},"past":[{"incarnation":"99","voters":["demo-0","demo-1"]},{"incarnation":"aa","restore":"uid-older"}],` +
		`"restore":"uid-old","laid":2}`
	beforeOfSurvivor = `{"incarnation":"ab","counter":0,"token":"t","names":["demo-0"],"clusterID":"1","origin":"fresh","next":1,` +
		`"coming":{"incarnation":"cd","counter":1,"token":"t2","names":["demo-1"],"source":"Survivor","survivor":"demo-0",` +
		`"origin":{"hash":"uid-hash","revision":5,"version":"3.6.16"},"bump":0,"restore":"uid-hash"},"laid":1}`
	beforeOfNothing = `{"incarnation":"ab","counter":0,"token":"t","names":["demo-0"],"clusterID":"1","origin":"fresh","next":1,` +
		`"coming":{"incarnation":"cd","counter":1,"token":"t2","names":["demo-1"],"source":"Empty","bump":0,"restore":"uid-hash"},"laid":1}`
	// this release is the first to begin with a snapshot that no manifest speaks of
	fromForeign = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"backup","backup":{"hash":"h","key":"legacy/demo.db",` +
		`"sha256":"s","sizeBytes":32,"revision":7,"version":"3.6.0","foreign":true}}`
	// Since a record says how many newer backups were passed over.
	passedOver = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"backup","backup":{"hash":"h","key":"a/snapshot.db",` +
		`"sha256":"s","revision":7,"version":"3.6.16","passedOver":2}}`
	// Since a record says how much of a backup is in use.
	inUse = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"backup","backup":{"hash":"h","key":"a/snapshot.db",` +
		`"sha256":"s","sizeBytes":4128,"inUseBytes":4096,"revision":7,"version":"3.6.16"}}`
	// Since a record says how far revisions had come.
	servedBefore = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-3"],"clusterID":"1","origin":"backup","backup":{"hash":"h",` +
		`"key":"a/snapshot.db","sha256":"s","revision":7,"version":"3.6.16"},"next":4,"restore":"uid-hash","laid":1,"served":2000000007}`
	// Since a cluster can sleep.
	asleep = `{"incarnation":"ab","counter":0,"token":"t","names":["demo-0"],"clusterID":"1","origin":"fresh","next":1,"asleep":true}`
	// Since the spec turns authentication on.
	withAuth = `{"incarnation":"ab","counter":0,"token":"t","names":["demo-0"],"clusterID":"1","origin":"fresh","next":1,"auth":true}`
	// Since a cluster can go back from an incarnation that never served.
	wentBack = `{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"clusterID":"1","origin":"fresh","next":2,` +
		`"past":[{"incarnation":"cd","restore":"uid-hash","voters":["demo-1"],"back":"uid-back"}],"laid":1,"served":1000000007}`
)

var v3616 = etcdutil.Version{Major: 3, Minor: 6, Patch: 16}

func backedUp() Origin {
	return Origin{Hash: "h", Key: "a/snapshot.db", SHA256: "s", Revision: 7, Version: v3616}
}

func TestWhatAReleaseBeforeWroteIsReadAsItIs(t *testing.T) {
	full := backedUp()
	full.SizeBytes, full.AuthEnabled, full.Alarms = 32, true, "NOSPACE"
	ofSurvivor := Origin{Hash: "uid-hash", Revision: 5, Version: v3616}
	ab := Bootstrap{Incarnation: "ab", Token: "t", Names: []string{"demo-0"}, ClusterID: 1, NextOrdinal: 1, LastCounter: 1}
	withNext := func(n Next) Bootstrap {
		b := ab
		n.Incarnation, n.Counter, n.Token, n.Names, n.Restore = "cd", 1, "t2", []string{"demo-1"}, "uid-hash"
		b.Next = n
		return b
	}
	for text, want := range map[string]Bootstrap{
		v01Fresh: {Incarnation: "a1b2c3d4", Counter: 1, Token: "token", Names: []string{"demo-0", "demo-1"}, ClusterID: 0xfedcba9876543210,
			Begun: true, Volumes: map[string]string{"demo-0": "uid-0", "demo-1": "uid-1"}, Promised: "demo-2", NextOrdinal: 3},
		asleep:       {Incarnation: "ab", Token: "t", Names: []string{"demo-0"}, ClusterID: 1, NextOrdinal: 1, Asleep: true},
		withAuth:     {Incarnation: "ab", Token: "t", Names: []string{"demo-0"}, ClusterID: 1, NextOrdinal: 1, Auth: true},
		v01Voided:    {Incarnation: "a1b2c3d4", Token: "token", Names: []string{"demo-0"}, Void: true},
		beforeBackup: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: full},
		beforeSurvivor: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-3"}, ClusterID: 1, NextOrdinal: 6, LastCounter: 2,
			Restore: "uid-old", Origin: Origin{Hash: "uid-old", Revision: 5, Version: v3616},
			Next: Next{Incarnation: "cd", Counter: 2, Token: "t2", Names: []string{"demo-4", "demo-5"}, Source: SourceBackup, Origin: backedUp(),
				Bump: 1000, Restore: "uid-hash"},
			Former: []Former{{Incarnation: "99", Voters: []string{"demo-0", "demo-1"}}, {Incarnation: "aa", Restore: "uid-older"}}},
		fromForeign: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: Origin{Hash: "h", Key: "legacy/demo.db",
			SHA256: "s", SizeBytes: 32, Revision: 7, Version: etcdutil.Version{Major: 3, Minor: 6}, Foreign: true}},
		inUse: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: Origin{Hash: "h", Key: "a/snapshot.db",
			SHA256: "s", SizeBytes: 4128, InUseBytes: 4096, Revision: 7, Version: v3616}},
		beforeOfSurvivor: withNext(Next{Source: SourceSurvivor, Survivor: "demo-0", Origin: ofSurvivor}),
		beforeOfNothing:  withNext(Next{Source: SourceEmpty}),
		servedBefore: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-3"}, ClusterID: 1, NextOrdinal: 4, LastCounter: 1,
			Restore: "uid-hash", Origin: backedUp(), Served: 2000000007},
		wentBack: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, ClusterID: 1, NextOrdinal: 2, LastCounter: 1,
			Served: 1000000007, Former: []Former{{Incarnation: "cd", Restore: "uid-hash", Voters: []string{"demo-1"}, Back: "uid-back"}}},
		passedOver: {Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: Origin{Hash: "h",
			Key: "a/snapshot.db", SHA256: "s", Revision: 7, Version: v3616, PassedOver: 2}},
	} {
		got, err := DecodeBootstrap(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nwas read as %+v, %v\nwant         %+v", text, got, err, want)
		}
		expectOnlyForm(t, text, got.Encode())
	}
}

// expectOnlyForm proves that a record is written with the names and values that the release before knows, and nothing
// but its form beside them.
func expectOnlyForm(t *testing.T, before, after string) {
	t.Helper()
	want, got := fieldsOf(t, before), fieldsOf(t, after)
	want["recordVersion"], want["leastReader"] = 1.0, 1.0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nis written as\n%s", before, after)
	}
}

func fieldsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// edited is a text with one field changed, at a path of names.
func edited(t *testing.T, text, path string, value any) string {
	t.Helper()
	fields := fieldsOf(t, text)
	at := fields
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if list, isList := at[name].([]any); isList {
			next, ok = list[0].(map[string]any), true
		}
		if !ok {
			t.Fatalf("%s has no %s", text, name)
		}
		at = next
	}
	last := names[len(names)-1]
	if at[last] = value; value == nil {
		delete(at, last)
	}
	return JSON(fields)
}

func TestARecordThatIsHalfWrittenIsNeverTakenForNoneNorForAnEmptyOne(t *testing.T) {
	broken := map[string]string{"nothing": "", "an empty object": "{}", "null": "null", "no JSON": "x", "a list": "[]"}
	for path, value := range map[string]any{
		"incarnation": nil, "token": nil, "names": nil, "origin": nil, "counter": -1, "next": -1, "laid": -1, "clusterID": "0",
		"backup": nil, "backup.hash": nil, "backup.version": nil, "backup.revision": "x",
		"coming.incarnation": nil, "coming.token": nil, "coming.names": nil, "coming.restore": nil, "coming.counter": -1, "coming.bump": -1,
		"coming.source": "Clone", "coming.origin": nil, "coming.origin.key": nil, "coming.origin.sha256": nil, "coming.survivor": "demo-3",
		"past.incarnation": nil,
	} {
		broken[path] = edited(t, beforeSurvivor, path, value)
	}
	broken["an empty list of names"] = edited(t, beforeSurvivor, "names", []string{})
	broken["an ID that is none"] = edited(t, beforeSurvivor, "clusterID", "xyz")
	broken["data of a cluster that began empty"] = edited(t, beforeSurvivor, "origin", "fresh")
	broken["an origin that is not known"] = edited(t, v01Fresh, "origin", "restore/x")
	broken["a backup without a sum"] = edited(t, beforeBackup, "backup.sha256", nil)
	broken["a backup that it lacks"] = edited(t, beforeBackup, "backup", nil)
	broken["a survivor without a name"] = edited(t, beforeOfSurvivor, "coming.survivor", nil)
	broken["data that comes of nothing"] = edited(t, beforeOfSurvivor, "coming.source", "Empty")
	broken["an empty next incarnation"] = edited(t, beforeOfNothing, "coming", map[string]any{})
	for name, text := range broken {
		if got, err := DecodeBootstrap(text); err == nil || !reflect.DeepEqual(got, Bootstrap{}) {
			t.Errorf("%s: %s was read as %+v, %v", name, text, got, err)
		}
	}
}

func TestARecordThatAnOlderReleaseMayNotReadIsRefusedInAnyForm(t *testing.T) {
	for _, text := range []string{
		edited(t, v01Fresh, "leastReader", Version+1),
		`{"recordVersion":9,"leastReader":2,"incarnation":{"name":"a1"},"names":"demo-0"}`,
	} {
		got, err := DecodeBootstrap(text)
		var tooNew TooNew
		if !errors.As(err, &tooNew) || tooNew.LeastReader != 2 || !reflect.DeepEqual(got, Bootstrap{}) {
			t.Errorf("%s was read as %+v, %v", text, got, err)
		}
	}
}

// later is a record of a newer release that this one may read: it has a field more in each of its objects.
func later(t *testing.T) string {
	t.Helper()
	text := edited(t, edited(t, beforeSurvivor, "recordVersion", 7), "leastReader", 1)
	for path, value := range map[string]any{
		"quarantine": map[string]any{"x": []any{1.0}}, "backup.proven": true, "coming.owner": "a <b> & c", "coming.origin.parts": 3.0, "past.ended": "2030",
	} {
		text = edited(t, text, path, value)
	}
	return text
}

func TestFieldsThatThisReleaseDoesNotKnowAreWrittenBackAsTheyWere(t *testing.T) {
	text := later(t)
	b, err := DecodeBootstrap(text)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Promise("ab", "demo-6", 6) {
		t.Fatal("the record is another one")
	}
	want := fieldsOf(t, edited(t, edited(t, text, "promised", "demo-6"), "next", 7))
	if got := fieldsOf(t, b.Encode()); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %v\nwant  %v", got, want)
	}
}

func TestFieldsThatThisReleaseDoesNotKnowOutliveASwitchOver(t *testing.T) {
	text := later(t)
	b, err := DecodeBootstrap(text)
	if err != nil || !b.SwitchOver("ab", "cd", nil, nil) {
		t.Fatal(err)
	}
	before, after := fieldsOf(t, text), fieldsOf(t, b.Encode())
	next := before["coming"].(map[string]any)
	for name, pair := range map[string][2]any{
		"of the record": {after["quarantine"], before["quarantine"]}, "of its data": {after["backup"], next["origin"]},
		"of a former incarnation": {after["past"].([]any)[0], before["past"].([]any)[0]}, "its form": {after["recordVersion"], 7.0},
	} {
		if pair[1] == nil || !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v became %v", name, pair[1], pair[0])
		}
	}
}

func TestAFieldInOtherLettersIsKnown(t *testing.T) {
	b, err := DecodeBootstrap(strings.Replace(v01Voided, `"token"`, `"Token"`, 1))
	if err != nil || b.Token != "token" || b.rest != "" {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestTheFirstOrdinalIsThatOfTheCurrentIncarnation(t *testing.T) {
	for want, b := range map[int]Bootstrap{
		4: {Names: []string{"demo-5", "demo-4"}, NextOrdinal: 9}, 3: {Names: []string{"other-0"}, NextOrdinal: 3},
	} {
		if got := b.FirstOrdinal("demo"); got != want {
			t.Errorf("%+v: %d, want %d", b, got, want)
		}
	}
}

func TestEachFieldOfARecordIsInWhatReleasesWrote(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range []string{v01Fresh, v01Voided, beforeBackup, beforeSurvivor, beforeOfSurvivor, fromForeign, passedOver, inUse, servedBefore,
		wentBack, asleep, withAuth} {
		maps.Copy(seen, namesIn(fieldsOf(t, text)))
	}
	for _, known := range []any{Bootstrap{}, Next{}, Former{}, Origin{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(known)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.IsExported() && !seen[name] {
				t.Errorf("no text above has %s of %T: name the release that wrote it first", name, known)
			}
		}
	}
}

func namesIn(fields map[string]any) map[string]bool {
	names := map[string]bool{}
	for name, value := range fields {
		names[name] = true
		list, _ := value.([]any)
		for _, item := range append(list, value) {
			if object, ok := item.(map[string]any); ok {
				maps.Copy(names, namesIn(object))
			}
		}
	}
	return names
}
