package record

import (
	"reflect"
	"testing"
)

// written is what releases wrote, and a text that none did.
var written = []string{v01Fresh, v01Voided, beforeBackup, beforeSurvivor, beforeOfSurvivor, beforeOfNothing, fromForeign, passedOver,
	servedBefore, wentBack, v01Member, `{"clusterID":"1","memberID":"2","version":"3.6.16","recordVersion":4,"leastReader":1,"trying":"3.7.3"}`,
	`{"incarnation":"ab","names":["demo-0"],"origin":"fresh"}`, `{"incarnation":"ab"`, `null`, ``}

func FuzzABootstrapRecordThatIsReadIsWrittenAsItWas(f *testing.F) {
	for _, text := range append(written, `{"incarnation":"ab","token":"t","names":["demo-0"],"origin":"fresh","later":{"a":[1,"<"]},"Later":2}`) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := DecodeBootstrap(text)
		if err != nil {
			if !reflect.DeepEqual(first, Bootstrap{}) {
				t.Errorf("%q is refused, and yet read as %+v", text, first)
			}
			return
		}
		if first.Incarnation == "" || first.Token == "" || len(first.Names) == 0 {
			t.Errorf("%q passes for a record: %+v", text, first)
		}
		again, err := DecodeBootstrap(first.Encode())
		if err != nil || again.Encode() != first.Encode() {
			t.Errorf("%q became %q: %v", first.Encode(), again.Encode(), err)
		}
	})
}

func FuzzAMembersRecordThatIsReadIsWrittenAsItWas(f *testing.F) {
	for _, text := range written {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := DecodeMember(text)
		if err != nil || text == "" {
			if first != (Member{}) {
				t.Errorf("%q is no record, and yet read as %+v", text, first)
			}
			return
		}
		if first.ClusterID == 0 || first.MemberID == 0 || first.Version.IsZero() {
			t.Errorf("%q passes for a record: %+v", text, first)
		}
		again, err := DecodeMember(first.Encode())
		if err != nil || again != first {
			t.Errorf("%+v became %+v: %v", first, again, err)
		}
	})
}
