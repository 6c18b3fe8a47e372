package record

import (
	"errors"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// v01Member is what v0.1 wrote on a volume. It is never edited.
const v01Member = `{"clusterID":"1","memberID":"ffffffffffffffff","version":"3.6.16"}`

func member() Member {
	return Member{ClusterID: 1, MemberID: 0xffffffffffffffff, Version: v3616}
}

func TestWhatAReleaseBeforeWroteOfAMemberIsReadAsItIs(t *testing.T) {
	got, err := DecodeMember(v01Member)
	if err != nil || got != member() {
		t.Errorf("%+v, %v", got, err)
	}
	expectOnlyForm(t, v01Member, got.Encode())
}

func TestAMembersRecordNamesTheVolumeOnWhichItAnswered(t *testing.T) {
	now := member().Answered(1, 0xffffffffffffffff, v3616, "uid-of-volume", "")
	const want = `{"clusterID":"1","memberID":"ffffffffffffffff","version":"3.6.16","volumeUID":"uid-of-volume","recordVersion":1,"leastReader":1}`
	if text := now.Encode(); text != want {
		t.Errorf("it is %s", text)
	}
	if got, err := DecodeMember(want); err != nil || got != now || got.VolumeUID != "uid-of-volume" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAMembersRecordSaysHowFarRevisionsHadCome(t *testing.T) {
	now := member()
	now.Began = 1000000007
	const want = `{"clusterID":"1","memberID":"ffffffffffffffff","version":"3.6.16","began":1000000007,"recordVersion":1,"leastReader":1}`
	if text := now.Encode(); text != want {
		t.Errorf("it is %s", text)
	}
	if got, err := DecodeMember(want); err != nil || got != now {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARecordFollowsTheMemberThatAnswers(t *testing.T) {
	newer, err := DecodeMember(`{"clusterID":"1","memberID":"2","version":"3.6.16","volumeUID":"a","recordVersion":4,"leastReader":1,"trying":"3.7.3"}`)
	if err != nil {
		t.Fatal(err)
	}
	next := v3616
	next.Patch++
	for name, row := range map[string]struct {
		now  Member
		want string
	}{
		"what a newer release wrote of it stays": {newer.Answered(1, 2, next, "", ""),
			`{"clusterID":"1","memberID":"2","version":"3.6.17","volumeUID":"a","recordVersion":4,"leastReader":1,"trying":"3.7.3"}`},
		"it lives on another volume by now": {newer.Answered(1, 2, v3616, "b", ""),
			`{"clusterID":"1","memberID":"2","version":"3.6.16","volumeUID":"b","recordVersion":4,"leastReader":1,"trying":"3.7.3"}`},
		"nothing of another member stays": {newer.Answered(1, 3, v3616, "", ""),
			`{"clusterID":"1","memberID":"3","version":"3.6.16","recordVersion":1,"leastReader":1}`},
		"nothing of another cluster stays": {newer.Answered(2, 2, v3616, "", ""),
			`{"clusterID":"2","memberID":"2","version":"3.6.16","recordVersion":1,"leastReader":1}`},
	} {
		if got := row.now.Encode(); got != row.want {
			t.Errorf("%s: it is %s", name, got)
		}
	}
	if same := newer.Answered(1, 2, v3616, "a", ""); same != newer {
		t.Errorf("nothing is new, and it became %+v", same)
	}
}

func TestTheMarkOfAMemberInItsLogEndsWithTheVersionThatRan(t *testing.T) {
	marked := member()
	marked.LogMark = LogMark{Pods: "a,b", Snapshots: 1, Applied: 2}
	const want = `{"clusterID":"1","memberID":"ffffffffffffffff","version":"3.6.16",` +
		`"logMark":{"pods":"a,b","snapshots":1,"applied":2},"recordVersion":1,"leastReader":1}`
	if text := marked.Encode(); text != want {
		t.Errorf("it is %s", text)
	}
	if got, err := DecodeMember(want); err != nil || got.LogMark != marked.LogMark {
		t.Errorf("%+v, %v", got, err)
	}
	next := v3616
	next.Minor++
	for version, isKept := range map[etcdutil.Version]bool{v3616: true, next: false} {
		if now := marked.Answered(1, member().MemberID, version, "", ""); (now.LogMark == marked.LogMark) != isKept {
			t.Errorf("as %s it says %+v", version, now.LogMark)
		}
	}
}

func TestTheIndexOfAClusterVersionMovesWithItAndWhereAnotherWasSeenSince(t *testing.T) {
	v36, v37 := etcdutil.Version{Major: 3, Minor: 6}, etcdutil.Version{Major: 3, Minor: 7}
	m := member().InCluster(v36, 100, 0)
	for _, row := range []struct {
		name               string
		version            etcdutil.Version
		applied, elsewhere uint64
		want               uint64
	}{
		{"the same is written once", v36, 200, 50, 100},
		{"another one is written with its index", v37, 200, 50, 200},
		{"the same again, where another one was seen since", v36, 300, 200, 300},
		{"a member that lags behind that knows no better", v36, 150, 200, 100},
		{"one that says nothing changes nothing", etcdutil.Version{}, 300, 200, 100},
	} {
		if got := m.InCluster(row.version, row.applied, row.elsewhere).ClusterVersionAt; got != row.want {
			t.Errorf("%s: %d, not %d", row.name, got, row.want)
		}
	}
}

func TestAMembersRecordThatIsBrokenIsNeverTakenForNone(t *testing.T) {
	for _, text := range []string{
		"{}", "null", "x", `{"clusterID":"1"}`, `{"clusterID":"1","memberID":"0","version":"3.6.16"}`,
		`{"clusterID":"1","memberID":"2","version":""}`, `{"clusterID":"1","memberID":"2"}`, `{"clusterID":"","memberID":"2","version":"3.6.16"}`,
	} {
		if got, err := DecodeMember(text); err == nil || got != (Member{}) {
			t.Errorf("%q was read as %+v, %v", text, got, err)
		}
	}
	if got, err := DecodeMember(""); err != nil || !got.IsZero() {
		t.Errorf("no record was read as %+v, %v", got, err)
	}
	if _, err := DecodeMember(`{"leastReader":2}`); !errors.As(err, new(TooNew)) {
		t.Errorf("a record that this release may not read: %v", err)
	}
}
