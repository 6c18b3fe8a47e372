package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDomainOfTheClusterIsTheOneThatNamesOfServicesAreCompletedWith(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a Pod's":                {"search ops.svc.example.internal svc.example.internal example.internal lan\nnameserver 10.96.0.10\noptions ndots:5\n", "example.internal"},
		"with a dot at the end":  {"search ops.svc.cluster.local. svc.cluster.local. cluster.local.\n", "cluster.local"},
		"a namespace called svc": {"search svc.svc.example.internal svc.example.internal example.internal\n", "svc.example.internal"},
		"the last list counts":   {"search svc.former.internal\nsearch svc.example.internal\n", "example.internal"},
		"a machine's":            {"search lan\nnameserver 192.168.1.1\n", ""},
		"a comment":              {"# search svc.example.internal\n", ""},
		"no domain at all":       {"search svc. svc.Not_A_Name\n", ""},
		"empty":                  {"", ""},
	} {
		if got := searchedDomain(tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("search svc.example.internal\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := findDomain(file); got != "example.internal" {
		t.Errorf("%q", got)
	}
	if got := findDomain(file + ".none"); got != "" {
		t.Errorf("without a file: %q", got)
	}
}

func TestADomainThatIsNoneIsRefusedByTheNameOfItsFlag(t *testing.T) {
	for given, want := range map[string]string{"": "", "example.internal": "example.internal",
		"example.internal.": "example.internal", "corp": "corp"} {
		o, err := parseOptions([]string{"--cluster-domain=" + given})
		if err != nil || o.clusterDomain != want {
			t.Errorf("%q: %q, %v", given, o.clusterDomain, err)
		}
	}
	for _, given := range []string{"Example.Internal", "a..b", "-a.b", "svc example", strings.Repeat("a.", 130) + "a"} {
		if _, err := parseOptions([]string{"--cluster-domain=" + given}); err == nil ||
			!strings.Contains(err.Error(), "--cluster-domain") {
			t.Errorf("%q: %v", given, err)
		}
	}
}
