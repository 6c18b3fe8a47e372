package etcdutil

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestAVersionIsToldWhatItIsOpenToAndWhichPatchEndsIt(t *testing.T) {
	for _, row := range []struct {
		version, fixed string
		first          string // advisory; all that were told later follow
		count          int
	}{
		{"3.5.14", "3.5.34", "CVE-2026-33343", 8},
		{"3.5.28", "3.5.34", "CVE-2026-44283", 6},
		{"3.5.32", "3.5.34", "GHSA-xg4h-6gfc-h4m8", 4},
		{"3.5.33", "3.5.34", "GHSA-w67g-5rqw-f597 (gorilla/websocket)", 2},
		{"3.5.34", "0.0.0", "", 0},
		{"3.6.8", "3.6.15", "CVE-2026-33343", 8},
		{"3.6.11", "3.6.15", "GHSA-3wh4-j44w-pg92", 5},
		{"3.6.14", "3.6.15", "GHSA-w67g-5rqw-f597 (gorilla/websocket)", 2},
		{"3.6.15", "0.0.0", "", 0},
		{"3.7.0", "3.7.2", "GHSA-xg4h-6gfc-h4m8", 3},
		{"3.7.1", "3.7.2", "CVE-2026-56852 (golang.org/x/text)", 1},
		{"3.7.2", "0.0.0", "", 0},
		{"3.8.0", "0.0.0", "", 0},
	} {
		ids, fixed := Vulnerabilities(version(t, row.version))
		if len(ids) != row.count || fixed.String() != row.fixed || row.count > 0 && ids[0] != row.first {
			t.Errorf("%s: %v, fixed in %s", row.version, ids, fixed)
		}
	}
}

func TestEveryVulnerabilityHasASourceAndNoWaypointIsOpenToOne(t *testing.T) {
	for _, known := range vulnerabilities {
		if known.id == "" || known.source == "" || len(known.fixed) == 0 {
			t.Errorf("%+v", known)
		}
	}
	for _, m := range knownMinors {
		if ids, _ := Vulnerabilities(m.waypoint); len(ids) > 0 {
			t.Errorf("members go to %s, which is open to %v", m.waypoint, ids)
		}
	}
}

func TestThePageOnSecurityNamesTheFloorOfEachMinor(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range knownMinors {
		_, fixed := Vulnerabilities(release(m.major, m.minor, 0))
		if want := fmt.Sprintf("%s before %s", m.waypoint.MinorString(), fixed); !strings.Contains(string(page), want) {
			t.Errorf("SECURITY.md lacks %q", want)
		}
	}
}
