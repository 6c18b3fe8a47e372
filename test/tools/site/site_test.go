package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// rendered is the site of this tree, and of an earlier release beside it.
func rendered(t *testing.T) site {
	t.Helper()
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	s := site{root: absolute, hugo: filepath.Join(absolute, "bin", "hugo"), out: t.TempDir(), version: "v1.10", ref: "v1.10.2"}
	if _, err := exec.LookPath(s.hugo); err != nil {
		if os.Getenv("FULL") != "" {
			t.Fatal("no hugo: make bin/hugo")
		}
		t.Skip("NOT TRIED: there is no hugo; make bin/hugo builds it, and make test-all has it")
	}
	if err := os.MkdirAll(filepath.Join(s.out, "v1.9"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.make(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheSiteHasEachPageInItsMenuAndEveryLinkOfItLeadsSomewhere(t *testing.T) {
	s := rendered(t)
	home := read(t, s.out, "v1.10", "index.html")
	for _, pattern := range []string{"docs/*.md", "docs/reference/*.md"} {
		sources, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(sources) == 0 {
			t.Fatalf("no page is called %s: %v", pattern, err)
		}
		for _, source := range sources {
			name, _ := filepath.Rel(filepath.Join(root, "docs"), strings.TrimSuffix(source, ".md")+".html")
			if name == "README.html" {
				name = "docs.html"
			}
			if !strings.Contains(home, `href="./`+name+`"`) {
				t.Errorf("the menu has no %s", name)
			}
		}
	}
	t.Run("links into the tree name the release", func(t *testing.T) {
		want := `href="https://github.com/etcdsteward/etcd-steward/tree/v1.10.2/config/samples"`
		if !strings.Contains(read(t, s.out, "v1.10", "docs.html"), want) {
			t.Errorf("docs.html has no %s", want)
		}
	})
	t.Run("a page looks like one", func(t *testing.T) {
		backup := read(t, s.out, "v1.10", "backup.html")
		for _, want := range []string{"<title>Backups – etcd-steward</title>", `class="alert warning"`, `<div class="table">`, `href="./restore.html"`,
			`class="highlight"`, `aria-current="page"`} {
			if !strings.Contains(backup, want) {
				t.Errorf("backup.html has no %s", want)
			}
		}
		if strings.Contains(backup, "test run") || strings.Contains(backup, "[!WARNING]") {
			t.Error("backup.html shows what is for the test, or the mark of an alert")
		}
	})
	t.Run("all versions are listed", func(t *testing.T) {
		if got := read(t, s.out, "versions.js"); got != "siteVersions([\"v1.10\",\"v1.9\"]);\n" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("search finds each section at its address", func(t *testing.T) { expectIndex(t, s) })
	t.Run("nothing is left in the tree", func(t *testing.T) {
		for _, name := range []string{".hugo_build.lock", "resources", "public"} {
			if _, err := os.Stat(filepath.Join(root, "docs", "site", name)); err == nil {
				t.Errorf("%s is left in docs/site", name)
			}
		}
	})
}

func expectIndex(t *testing.T, s site) {
	t.Helper()
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(read(t, s.out, "v1.10", "search-index.js")), "searchIndex("), ");")
	type section struct{ Page, Heading, Address, Text string }
	var sections []section
	if err := json.Unmarshal([]byte(text), &sections); err != nil {
		t.Fatal(err)
	}
	pages, err := readPages(filepath.Join(s.out, "v1.10"))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range sections {
		name, anchor, _ := strings.Cut(section.Address, "#")
		p, ok := pages[filepath.Join(s.out, "v1.10", name)]
		if !ok || anchor != "" && !p.anchors[anchor] {
			t.Errorf("%s › %s is not at %s", section.Page, section.Heading, section.Address)
		}
		if section.Page == "" || strings.ContainsAny(section.Heading, "<>#") || strings.Contains(section.Text, "test run:") {
			t.Errorf("no one would look for %+v", section)
		}
	}
	if !slices.ContainsFunc(sections, func(s section) bool {
		return strings.HasPrefix(s.Address, "backup.html#") && strings.Contains(s.Text, "retention protects the")
	}) {
		t.Errorf("the words of backup.md are not in the %d sections", len(sections))
	}
}

func TestPatchesOfAMinorHaveOneSiteAndWhatIsNoReleaseHasTheOneOfMain(t *testing.T) {
	for name, want := range map[string][2]string{
		"v1.2.3":      {"v1.2", "v1.2.3"},
		"v1.10.0":     {"v1.10", "v1.10.0"},
		"v1.2.3-rc.1": {"main", "main"},
		"82bacb66":    {"main", "main"},
	} {
		if version, ref := versionOf(name); version != want[0] || ref != want[1] {
			t.Errorf("%s: got %s of %s, want %v", name, version, ref, want)
		}
	}
}

func TestTheFirstPageLeadsToTheNewestReleaseAndWithoutOneToMain(t *testing.T) {
	out := t.TempDir()
	for _, step := range []struct{ name, list, first string }{
		{"main", `["main"]`, "main"},
		{"v0.9", `["v0.9","main"]`, "v0.9"},
		{"v0.10", `["v0.10","v0.9","main"]`, "v0.10"},
		{"pictures", `["v0.10","v0.9","main"]`, "v0.10"},
		{"v1.0", `["v1.0","v0.10","v0.9","main"]`, "v1.0"},
	} {
		if err := os.Mkdir(filepath.Join(out, step.name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := listVersions(out); err != nil {
			t.Fatal(err)
		}
		if got := read(t, out, "versions.js"); got != "siteVersions("+step.list+");\n" {
			t.Errorf("with %s got %s", step.name, got)
		}
		if got := read(t, out, "index.html"); !strings.Contains(got, "url="+step.first+"/index.html") {
			t.Errorf("with %s got %s", step.name, got)
		}
	}
}

func TestALinkToAFileOrAPlaceThatIsNotThereIsBroken(t *testing.T) {
	out := t.TempDir()
	for name, text := range map[string]string{
		"a.html": `<h2 id="here">A</h2><a href="b.html#there">b</a><a href="#here">a</a><img src="p.png"><a href="https://example.com/x">x</a>
			<a href="` + repository + `/blob/v1.2.3/README.md">r</a>`,
		"b.html": `<h2 id="there">B</h2><a href="a.html#gone">1</a><a href="c.html">2</a><a href="#gone">3</a><script src="no.js"></script>
			<a href="/a.html">4</a><a href="` + repository + `/blob/v1.2.3/GONE.md">5</a>`,
		"p.png": "",
	} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken, err := brokenLinks(out, site{root: root, ref: "v1.2.3"}.address())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range broken {
		got = append(got, regexp.MustCompile(`^b\.html: (\S+): `).FindStringSubmatch(line + "\n")[1])
	}
	want := []string{"#gone", "/a.html", "a.html#gone", "c.html", repository + "/blob/v1.2.3/GONE.md", "no.js"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant %v", strings.Join(broken, "\n"), want)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
