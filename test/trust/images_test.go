package trust

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byDigest is an image whose bytes are known, with the tag that people read.
var byDigest = regexp.MustCompile(`^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)

func TestEachBaseImageIsNamedByItsDigest(t *testing.T) {
	found := 0
	for _, path := range files(t) {
		name := filepath.Base(path)
		if name != "Dockerfile" && !strings.HasSuffix(name, ".Dockerfile") {
			continue
		}
		found++
		for _, image := range unpinned(read(t, path)) {
			t.Errorf("%s: want name:tag@sha256: and 64 hex digits: %s", path, image)
		}
	}
	if found < 2 {
		t.Errorf("only %d Dockerfiles were found", found)
	}
	text := "FROM --platform=$BUILDPLATFORM golang:1.26 AS build\nfrom scratch\nCOPY --from=build /x /\nCOPY --chown=1 --from=busybox:1 /x /\n"
	if got := unpinned(text); !slices.Equal(got, []string{"golang:1.26", "busybox:1"}) {
		t.Errorf("a base by its tag alone is not seen: %v", got)
	}
}

// unpinned lists the images of a Dockerfile that have no digest. A stage above and scratch are none.
func unpinned(dockerfile string) []string {
	var all []string
	own := map[string]bool{"scratch": true}
	for line := range strings.Lines(dockerfile) {
		for _, image := range sources(strings.Fields(line)) {
			if !own[image] && !byDigest.MatchString(image) {
				all = append(all, image)
			}
		}
		if fields := strings.Fields(line); len(fields) > 3 && strings.EqualFold(fields[len(fields)-2], "AS") {
			own[fields[len(fields)-1]] = true
		}
	}
	return all
}

// sources are the images that an instruction takes something from.
func sources(instruction []string) []string {
	if len(instruction) == 0 {
		return nil
	}
	var flagged, plain []string
	for _, word := range instruction[1:] {
		if image, isSource := strings.CutPrefix(word, "--from="); isSource {
			flagged = append(flagged, image)
		} else if !strings.HasPrefix(word, "--") {
			plain = append(plain, word)
		}
	}
	if strings.EqualFold(instruction[0], "FROM") && len(plain) > 0 {
		return plain[:1]
	}
	return flagged
}
