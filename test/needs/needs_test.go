package needs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// told is a T that remembers what it was told.
type told []string

func (*told) Helper()       {}
func (t *told) Skip(...any) { *t = append(*t, "skip") }
func (t *told) Fatal(...any) {
	*t = append(*t, "fail")
}

func TestWhatIsMissingSkipsATestForAPersonAndFailsItInCI(t *testing.T) {
	t.Setenv("NOWHERE", "")
	var person, ci, satisfied told
	t.Setenv("CI", "")
	Variable(&person, "NOWHERE", "Set it.")
	t.Setenv("CI", "1")
	Variable(&ci, "NOWHERE", "Set it.")
	t.Setenv("NOWHERE", "here")
	if got := Variable(&satisfied, "NOWHERE", "Set it."); got != "here" || len(satisfied) > 0 {
		t.Errorf("what is set is %q: %v", got, satisfied)
	}
	if !slices.Contains(person, "skip") || slices.Contains(person, "fail") || !slices.Contains(ci, "fail") {
		t.Errorf("a person: %v, CI: %v", person, ci)
	}
}

func TestWhatOnlyAFullRunPlaysIsSkippedWithoutItInCIAsWell(t *testing.T) {
	t.Setenv("CI", "1")
	for full, want := range map[string]told{"": {"skip"}, "1": nil} {
		t.Setenv("FULL", full)
		var gate told
		Full(&gate, "it takes an hour")
		if !slices.Equal(gate, want) || (len(Releases()) == len(AllReleases)) != (full != "") ||
			(Stride(5) == 1) != (full != "") {
			t.Errorf("FULL=%s: %v, with etcd %v, each %dth", full, gate, Releases(), Stride(5))
		}
	}
}

func TestATestThatWantsAProcessOfItsOwnHasOne(t *testing.T) {
	if os.Getenv(again) == "" {
		t.Setenv("OUTSIDE", strconv.Itoa(os.Getpid()))
	}
	Alone(t, func(t *testing.T) {
		if os.Getenv("OUTSIDE") == strconv.Itoa(os.Getpid()) {
			t.Error("it runs in the process of all tests")
		}
	})
}

func TestNoTestSkipsItselfButThroughThisPackage(t *testing.T) {
	skip := regexp.MustCompile(`\bSkip(f|Now)?\(`)
	seen := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return intoThisModule(path)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		seen++
		text, err := os.ReadFile(path)
		if call := skip.Find(text); call != nil {
			t.Errorf("%s calls %s: let it call needs.Missing, which fails in CI", path, call)
		}
		return err
	})
	if err != nil || seen < 100 {
		t.Fatalf("read %d files: %v", seen, err)
	}
}

// intoThisModule leaves out this package, modules of their own, which cannot import it, and what is not in the tree.
func intoThisModule(path string) error {
	const root = "../.."
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	own := path != root && err == nil
	if own || slices.Contains([]string{root + "/.git", root + "/bin", root + "/dist", root + "/test/needs"}, path) {
		return fs.SkipDir
	}
	return nil
}

func TestPermissionsHoldInATestThatNeedsThem(t *testing.T) {
	FilePermissions(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("closed"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(file); !os.IsPermission(err) {
			t.Errorf("a file that its owner closed was read: %v", err)
		}
	})
}

func TestAFileSystemIsMountedInATestThatNeedsOne(t *testing.T) {
	Mounts(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Unmount(dir, 0) }()
		if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 64<<10), 0o600); err == nil {
			t.Error("4 KiB hold 64")
		}
	})
}
