package etcdutil

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestIDsPrintAsEtcdPrintsThem(t *testing.T) {
	for text, id := range map[string]ID{"0": 0, "a": 10, "8e9e05c52164694d": 0x8e9e05c52164694d, "ffffffffffffffff": math.MaxUint64} {
		if id.String() != text {
			t.Errorf("%d prints as %s, want %s", uint64(id), id, text)
		}
		if got, err := ParseID(text); err != nil || got != id {
			t.Errorf("%s parses as %s, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0x1", "-1", "+1", "g", "10000000000000000", " 1", "1_0"} {
		if id, err := ParseID(bad); err == nil {
			t.Errorf("%q parses as %s", bad, id)
		}
	}
}

func TestAMemberIsStartedByItsClientURLsAlone(t *testing.T) {
	if (Member{Name: "demo-0", PeerURLs: []string{"http://a:2380"}}).Started() {
		t.Error("a member of a bootstrap has a name before it ever started")
	}
	if !(Member{ClientURLs: []string{"http://a:2379"}}).Started() {
		t.Error("a member with client URLs has started")
	}
}

func TestOrdinalsAreThoseOfMemberName(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 123456789} {
		if got, ok := Ordinal("demo", MemberName("demo", n)); !ok || got != n {
			t.Errorf("%d came back as %d, %v", n, got, ok)
		}
	}
	for _, bad := range []string{"", "demo", "demo-", "demo--1", "demo-01", "demo-+1", "demo-1a", "demo-1-2", "demos-1", "other-1", "demo-1234567890"} {
		if n, ok := Ordinal("demo", bad); ok {
			t.Errorf("%q is the name at %d", bad, n)
		}
	}
}

func TestNamesSortByOrdinalAndStrangersLast(t *testing.T) {
	names := []string{"other-1", "demo-10", "demo-9", "alien", "demo-0"}
	SortNames("demo", names)
	if want := []string{"demo-0", "demo-9", "demo-10", "alien", "other-1"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func FuzzOrdinalAcceptsOnlyWhatMemberNameMakes(f *testing.F) {
	for _, seed := range []string{"demo-0", "demo-00", "demo-٣", "a-1-2", "-0"} {
		f.Add("demo", seed)
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, cluster, name string) {
		if n, ok := Ordinal(cluster, name); ok && MemberName(cluster, n) != name {
			t.Errorf("Ordinal(%q, %q) is %d", cluster, name, n)
		}
	})
}

func FuzzIDsParseBackToThemselves(f *testing.F) {
	f.Add("8e9e05c52164694d")
	f.Add("00A")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err == nil && id.String() != strings.ToLower(strings.TrimLeft(text[:len(text)-1], "0")+text[len(text)-1:]) {
			t.Errorf("%q parses as %s", text, id)
		}
	})
}
