package manifests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// text is a file of the repository.
func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestThePROJECTFileNamesEachKind(t *testing.T) {
	files, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("definitions of four kinds: %v, %v", files, err)
	}
	project := text(t, "PROJECT")
	for _, file := range files {
		kind := regexp.MustCompile(`(?m)^    kind: (\w+)$`).FindStringSubmatch(text(t, strings.TrimPrefix(file, "../../../")))
		if len(kind) < 2 || !strings.Contains(project, "\n  kind: "+kind[1]+"\n") {
			t.Errorf("%s: PROJECT does not name %v", file, kind)
		}
	}
}

// A Prometheus with arbitraryFSAccessThroughSMs.deny refuses what names one of its files.
func TestNothingThatIsInstalledNamesAFileOfPrometheus(t *testing.T) {
	err := filepath.WalkDir("../../../config", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for _, field := range []string{"bearerTokenFile", "caFile", "certFile", "keyFile", "credentialsFile"} {
			if strings.Contains(text(t, strings.TrimPrefix(path, "../../../")), field+":") {
				t.Errorf("%s has %s", path, field)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
