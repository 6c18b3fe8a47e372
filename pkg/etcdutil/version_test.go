package etcdutil

import (
	"strings"
	"testing"
)

func version(t testing.TB, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersionsAreThreeNumbers(t *testing.T) {
	for text, want := range map[string]Version{"3.6.16": release(3, 6, 16), "v3.7.0": release(3, 7, 0), "0.0.0": {},
		"v3.8.0-alpha.0": {3, 8, 0, "alpha.0"}, "3.7.0-rc.12": {3, 7, 0, "rc.12"}} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("%s parses as %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"", "v", "3", "3.6", "3.6.16.1", "3.6.x", "3.6.-1", "3.6.+1", "3.06.1", "vv3.6.1", "V3.6.1", "3.6.16-", "3.6.16-rc", "3.6.16-rc.01", "3.6.16-rc.0.1", "3.6.16-dev.0",
		"3.6.16-rc.0+x", "3.6.16-rc.0\n", "3.6-rc.0", "3.6.16+dirty", " 3.6.16", "3.6.16\n",
		"3..1", "3.6.99999", "３.6.1",
	} {
		if v, err := ParseVersion(bad); err == nil {
			t.Errorf("%q parses as %s", bad, v)
		}
	}
}

func TestVersionsCompareByNumberAndNotByText(t *testing.T) {
	ordered := []string{"3.5.9", "3.5.35", "3.6.0-alpha.9", "3.6.0-alpha.10", "3.6.0-beta.0", "3.6.0-rc.1", "3.6.0", "3.6.4",
		"3.6.16", "3.8.0-alpha.0", "3.8.0", "3.10.0", "4.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := version(t, a).Compare(version(t, b))
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s gives %d", a, b, got)
			}
			if version(t, a).AtLeast(version(t, b)) != (i >= j) {
				t.Errorf("AtLeast disagrees for %s and %s", a, b)
			}
		}
	}
	if !version(t, "3.6.1").SameMinor(version(t, "3.6.9")) || version(t, "3.6.1").SameMinor(version(t, "4.6.1")) {
		t.Error("SameMinor is about major and minor")
	}
	if version(t, "3.6.16").MinorString() != "3.6" || !(Version{}).IsZero() || version(t, "3.6.0").IsZero() {
		t.Error("MinorString or IsZero")
	}
}

func FuzzVersionsParseBackToThemselves(f *testing.F) {
	for _, seed := range []string{"3.6.16", "v3.5.0", "3.6.016", "3.6.16-rc.0", "..", "v"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseVersion(text); err == nil && v.String() != strings.TrimPrefix(text, "v") {
			t.Errorf("%q parses as %s", text, v)
		}
	})
}

func TestTiers(t *testing.T) {
	for _, row := range []struct {
		version  string
		tier     Tier
		waypoint string
	}{
		{"3.4.45", TierRefuse, "3.5.35"},
		{"2.3.8", TierRefuse, "3.5.35"},
		{"3.5.0", TierRefuse, "3.5.35"},
		{"3.5.13", TierRefuse, "3.5.35"},
		{"3.5.14", TierWarn, "3.5.35"},
		{"3.5.34", TierWarn, "3.5.35"},
		{"3.5.35", TierFine, "3.5.35"},
		{"3.5.99", TierFine, "3.5.35"},
		{"3.6.0", TierRefuse, "3.6.16"},
		{"3.6.3", TierRefuse, "3.6.16"},
		{"3.6.4", TierWarn, "3.6.16"},
		{"3.6.15", TierWarn, "3.6.16"},
		{"3.6.16", TierFine, "3.6.16"},
		{"3.7.0", TierWarn, "3.7.3"},
		{"3.7.2", TierWarn, "3.7.3"},
		{"3.7.3", TierFine, "3.7.3"},
		{"3.7.40", TierFine, "3.7.3"},
		{"3.7.0-rc.0", TierRefuse, "3.7.3"},
		{"3.7.4-rc.0", TierRefuse, "3.7.3"},
		{"3.8.0-alpha.0", TierWarn, "3.7.3"},
		{"3.8.0-alpha.1", TierRefuse, "3.7.3"},
		{"3.8.0", TierRefuse, "3.7.3"},
		{"3.9.0-alpha.0", TierRefuse, "3.7.3"},
		{"4.5.0", TierRefuse, "3.7.3"},
	} {
		got := Judge(version(t, row.version))
		if got.Tier != row.tier || got.Waypoint.String() != row.waypoint {
			t.Errorf("%s is %s with the waypoint %s, want %s and %s", row.version, got.Tier, got.Waypoint, row.tier, row.waypoint)
		}
		if fine := got.Tier == TierFine; fine != (got.Reason == "") {
			t.Errorf("%s is %s with the reason %q", row.version, got.Tier, got.Reason)
		}
		if got.Reason != "" && (!strings.Contains(got.Reason, row.version) || !strings.HasSuffix(got.Reason, ".")) {
			t.Errorf("the reason for %s is no sentence that names it: %s", row.version, got.Reason)
		}
	}
}

func TestEveryTierHasASourceAndEveryWaypointIsFine(t *testing.T) {
	if len(KnownMinors()) != 3 || KnownMinors()[0] != "3.5" || KnownMinors()[2] != "3.7" {
		t.Errorf("the known minors are %v", KnownMinors())
	}
	for _, m := range knownMinors {
		if m.source == "" || m.why == "" || Judge(m.waypoint).Tier != TierFine {
			t.Errorf("%+v", m)
		}
	}
	for _, d := range refusals {
		if d.source == "" || d.what == "" || Judge(d.fixed).Tier == TierRefuse {
			t.Errorf("%+v", d)
		}
	}
}
