package main

import (
	"slices"
	"strings"
	"testing"
)

func TestAWrongCallOfASurvivorsStepIsRefusedWithWhatIsWrong(t *testing.T) {
	place := []string{"--volume=" + t.TempDir(), "--incarnation=1a2b3c4d", "--member=demo-3", "--survivor=demo-1"}
	stream := slices.Concat([]string{"stream-survivor", "--endpoints=demo-1=https://demo-1.peers:2379", "--cluster-id=cdf818194e3a8c32", "--bump-revision=5"}, place)
	read := slices.Concat([]string{"read-survivor", "--database=/survivor/ab/demo-1/member/snap/db", "--member-id=8e9e05c52164694d", "--bump-revision=5"}, place)
	activate := slices.Concat([]string{"activate-survivor"}, place)
	for _, good := range [][]string{stream, read, activate} {
		if _, err := parseOptions(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	with := func(args []string, more ...string) []string { return slices.Concat(args, more) }
	for name, tc := range map[string]struct {
		args  []string
		names string
	}{
		"no survivor":            {with(stream, "--survivor="), "survivor"},
		"another's endpoint":     {with(stream, "--endpoints=demo-2=https://h:1"), "one endpoint"},
		"two endpoints":          {with(stream, "--endpoints=demo-1=https://h:1,demo-2=https://h:2"), "one endpoint"},
		"no cluster":             {with(stream, "--cluster-id="), "cluster-id"},
		"a bump below zero":      {with(stream, "--bump-revision=-1"), "bump"},
		"a member by a path":     {with(activate, "--member=../x"), "member"},
		"an endpoint to move in": {with(activate, "--endpoints=demo-1=https://h:1"), "endpoints"},
		"no database":            {with(read, "--database="), "database"},
		"a database by a way":    {with(read, "--database=../db"), "database"},
		"nobody's database":      {with(read, "--member-id="), "member-id"},
		"a member to ask":        {with(stream, "--member-id=1"), "member-id"},
		"an endpoint to read":    {with(read, "--endpoints=demo-1=https://h:1"), "endpoints"},
		"a store":                {with(stream, "--store={}"), "store"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(tc.args); err == nil || !strings.Contains(err.Error(), tc.names) {
				t.Fatalf("got %v, want %q in it", err, tc.names)
			}
		})
	}
}
