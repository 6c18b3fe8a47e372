package resources

import (
	"reflect"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestRecordsComeBackAsTheyWereWritten(t *testing.T) {
	for _, want := range []BirthRecord{
		{Incarnation: "ab", Counter: 0, Token: "t", Names: []string{"demo-0"}, Origin: OriginFresh},
		{Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0"}, Origin: OriginBackup, Backup: &BackupOrigin{
			Hash: "h", Key: "a/snapshot.db", SHA256: "s", SizeBytes: 32, Revision: 7, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16},
			AuthEnabled: true, Alarms: "NOSPACE"}},
		{Incarnation: "ab", Counter: 3, Token: "t", Names: []string{"demo-0", "demo-1"}, ClusterID: 0xfedcba9876543210, Void: true, Origin: "restore/x"},
	} {
		if got, err := DecodeBirth(EncodeBirth(want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
	want := MemberRecord{ClusterID: 1, MemberID: 0xffffffffffffffff, Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}
	if got, err := DecodeMember(EncodeMember(want)); err != nil || got != want {
		t.Errorf("%+v came back as %+v, %v", want, got, err)
	}
}

func TestARecordOfTheFutureIsRead(t *testing.T) {
	birth, err := DecodeBirth(`{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"fresh","later":{"x":[1]}}`)
	if err != nil || birth.Counter != 1 {
		t.Errorf("%+v, %v", birth, err)
	}
	member, err := DecodeMember(`{"clusterID":"1","memberID":"2","version":"3.6.16","trying":"3.7.3"}`)
	if err != nil || member.MemberID != 2 {
		t.Errorf("%+v, %v", member, err)
	}
}

func TestABrokenRecordIsNeverTakenForNone(t *testing.T) {
	for _, text := range []string{
		"", "{}", "null", "x", `{"incarnation":"ab"}`,
		`{"counter":1,"token":"t","names":["demo-0"],"origin":"fresh"}`,
		`{"incarnation":"ab","counter":-1,"token":"t","names":["demo-0"],"origin":"fresh"}`,
		`{"incarnation":"ab","counter":1,"names":["demo-0"],"origin":"fresh"}`,
		`{"incarnation":"ab","counter":1,"token":"t","names":[],"origin":"fresh"}`,
		`{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"]}`,
		`{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"fresh","clusterID":"0"}`,
		`{"incarnation":"ab","counter":1,"token":"t","names":["demo-0"],"origin":"fresh","clusterID":"xyz"}`,
	} {
		if got, err := DecodeBirth(text); err == nil {
			t.Errorf("birth %q was read as %+v", text, got)
		}
	}
	for _, text := range []string{
		"{}", "null", "x", `{"clusterID":"1"}`, `{"clusterID":"1","memberID":"0","version":"3.6.16"}`,
		`{"clusterID":"1","memberID":"2","version":""}`, `{"clusterID":"","memberID":"2","version":"3.6.16"}`,
	} {
		if got, err := DecodeMember(text); err == nil {
			t.Errorf("member %q was read as %+v", text, got)
		}
	}
	if got, err := DecodeMember(""); err != nil || got != (MemberRecord{}) {
		t.Errorf("no record was read as %+v, %v", got, err)
	}
}
