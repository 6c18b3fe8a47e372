package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	digestA = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	digestB = "sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

func TestFlagsSayWhereImagesComeFrom(t *testing.T) {
	o, err := parseOptions([]string{"--etcd-repository=mirror.example.com:5000/etcd", "--etcd-digest=3.6.16=" + digestA,
		"--etcd-digest", "3.7.3=" + digestB, "--etcd-digest=3.6.16=" + digestA, "--image-pull-secret=mirror",
		"--image-pull-secret=other", "--image-pull-secret=mirror"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"3.6.16": digestA, "3.7.3": digestB}
	if o.images.Repository != "mirror.example.com:5000/etcd" || !maps.Equal(o.images.Digests, want) ||
		!slices.Equal(o.images.PullSecrets, []string{"mirror", "other"}) {
		t.Errorf("%+v", o.images)
	}
}

func TestTheLastRepositoryCountsAndNoneIsTheDefault(t *testing.T) {
	for given, want := range map[string]string{"": "", "--etcd-repository=a/etcd --etcd-repository=": "",
		"--etcd-repository=a/etcd --etcd-repository=b/etcd": "b/etcd"} {
		if o, err := parseOptions(strings.Fields(given)); err != nil || o.images.Repository != want {
			t.Errorf("%q: %q, %v", given, o.images.Repository, err)
		}
	}
}

func TestAnImageFlagThatIsWrongIsRefusedByItsNameAndWhatItMustBe(t *testing.T) {
	for given, must := range map[string]string{
		"--etcd-repository=mirror.example.com/etcd:v3.6.16":                    "without tag and digest",
		"--etcd-repository=https://mirror":                                     "without tag and digest",
		"--etcd-repository=Mirror/ETCD":                                        "without tag and digest",
		"--etcd-digest=v3.6.16=" + digestA:                                     "a version and a digest",
		"--etcd-digest=3.6=" + digestA:                                         "a version and a digest",
		"--etcd-digest=3.6.16":                                                 "a version and a digest",
		"--etcd-digest=3.6.16=sha256:0123":                                     "a version and a digest",
		"--etcd-digest=3.6.16=" + digestA + " --etcd-digest=3.6.16=" + digestB: "one digest for each version",
		"--image-pull-secret=My_Secret":                                        "the name of a Secret",
		"--image-pull-secret=":                                                 "the name of a Secret",
	} {
		_, err := parseOptions(strings.Fields(given))
		flag, _, _ := strings.Cut(strings.TrimPrefix(given, "--"), "=")
		if err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), must) {
			t.Errorf("%s: %v", given, err)
		}
	}
}
