package trust

import (
	"bytes"
	"encoding/json"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// What pages name is in the tree: paths, commands, rules, names and figures. A page that fell behind misleads its
// readers.

const (
	rulesPage    = "docs/rules.md"
	architecture = "docs/architecture.md"
	chartPage    = "config/helm/etcd-steward/README.md"
)

// claims are the pages that tell what holds today. The changelog and the decisions tell what held on their day.
func claims(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, p := range files(t) {
		dir := path.Dir(p)
		isToday := dir == "." && p != "CHANGELOG.md" || dir == "docs" || dir == "docs/failures" ||
			dir == "docs/reference" || p == chartPage
		if isToday && path.Ext(p) == ".md" {
			pages[p] = read(t, p)
		}
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	return pages
}

// made are paths that exist once a command ran.
var made = []string{"test/reports/findings"}

func TestEachPathOnAPageIsThere(t *testing.T) {
	inTree := regexp.MustCompile("(?m)(?:^|[\\s`\"(=])((?:api|cmd|config|controllers|docs|pkg|test)/[\\w.*/-]*[\\w*])")
	found := 0
	for page, text := range claims(t) {
		for _, m := range inTree.FindAllStringSubmatch(text, -1) {
			found++
			there, err := filepath.Glob(filepath.Join(root, m[1]))
			if (err != nil || len(there) == 0) && !slices.Contains(made, m[1]) {
				t.Errorf("%s: %s is not there", page, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d paths were found", found)
	}
}

var (
	// roomLine is a line of the picture of rooms: how deep it is, and the rooms or files before the text about them.
	roomLine = regexp.MustCompile(`^( {0,6})((?:[\w./-]+(?:/|\.go) )*[\w./-]+(?:/|\.go))(?: |$)`)
	// beside is a room that shares its line with another one.
	beside = regexp.MustCompile(` {8}([\w-]+/)`)
)

// namedRooms are the paths in the picture of rooms.
func namedRooms(t *testing.T) []string {
	t.Helper()
	_, picture, _ := strings.Cut(read(t, architecture), "\n## Rooms\n\n```\n")
	picture, _, isThere := strings.Cut(picture, "\n```\n")
	if !isThere {
		t.Fatalf("%s has no picture of rooms", architecture)
	}
	var all []string
	above := map[int]string{}
	for line := range strings.Lines(picture) {
		m := roomLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		names := strings.Fields(m[2])
		for _, b := range beside.FindAllStringSubmatch(line, -1) {
			names = append(names, b[1])
		}
		depth := len(m[1])
		for _, name := range names {
			above[depth] = path.Join(above[depth-2], name)
			all = append(all, above[depth])
		}
	}
	return all
}

func TestTheRoomsOfTheArchitectureAreThoseOfTheTree(t *testing.T) {
	named := namedRooms(t)
	for _, room := range named {
		if _, err := os.Stat(filepath.Join(root, room)); err != nil {
			t.Errorf("%s names %s, which is not there", architecture, room)
		}
	}
	for _, hall := range []string{"api", "cmd", "controllers", "pkg"} {
		for _, room := range directories(t, hall) {
			if !slices.Contains(named, path.Join(hall, room)) {
				t.Errorf("%s does not name %s/%s", architecture, hall, room)
			}
		}
	}
	listed := strings.Split(find(t, architecture, `(?m)^config/ +([a-z, ]+)\.`), ", ")
	if slices.Sort(listed); !slices.Equal(listed, directories(t, "config")) {
		t.Errorf("%s lists %v below config, and there are %v", architecture, listed, directories(t, "config"))
	}
}

func directories(t *testing.T, below string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, below))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestEachRuleOnAPageIsOneThatTheStatusMayName(t *testing.T) {
	rules := append(plan.RuleNames(), report.RuleObserve, report.RuleBrake)
	for _, rule := range rules {
		expectSays(t, rulesPage, "`"+rule+"`")
	}
	named := regexp.MustCompile("(?i)\\brules? (`[a-z-]+`(?:(?:, | and | or | to )`[a-z-]+`)*)")
	found := 0
	for page, text := range claims(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			for _, rule := range inCode.FindAllStringSubmatch(m[1], -1) {
				found++
				if !slices.Contains(rules, rule[1]) {
					t.Errorf("%s: there is no rule %s", page, rule[1])
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d rules were found", found)
	}
}

func TestEachCommandOfThePluginOnAPageIsThere(t *testing.T) {
	commands := map[string]bool{}
	for _, p := range files(t) {
		if strings.HasPrefix(p, "cmd/kubectl-etcd-steward/") && path.Ext(p) == ".go" {
			for _, m := range regexp.MustCompile(`\bUse: +"([a-z]+(?:-[a-z]+)*)[ "]`).FindAllStringSubmatch(read(t, p), -1) {
				commands[m[1]] = true
			}
		}
	}
	found := 0
	for page, text := range claims(t) {
		for _, m := range regexp.MustCompile(`kubectl etcd(?:[-_]steward)? ([a-z]+(?:-[a-z]+)*)`).FindAllStringSubmatch(text, -1) {
			found++
			if !commands[m[1]] {
				t.Errorf("%s: the plugin has no command %s, only %v", page, m[1], slices.Sorted(maps.Keys(commands)))
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d commands were found", found)
	}
}

const (
	samplesPage = "docs/samples.md"
	together    = "config/samples/kustomization.yaml"
)

func TestThePageOfSamplesSaysOfEachWhenToTakeIt(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| \[([\w.-]+)\]\(\.\./config/samples/([\w.-]+)\)( \*)? \| [A-Z].*\. \|$`)
	named, starred := map[string]int{}, map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(read(t, samplesPage), -1) {
		if m[1] != m[2] {
			t.Errorf("%s: the row of %s leads to %s", samplesPage, m[1], m[2])
		}
		named[m[1]]++
		starred[m[1]] = m[3] != ""
	}
	applied := read(t, together)
	for _, sample := range files(t) {
		name := path.Base(sample)
		if path.Dir(sample) != "config/samples" || sample == together {
			continue
		}
		if named[name] != 1 {
			t.Errorf("%s has %d rows of %s, want one that says when to take it", samplesPage, named[name], name)
		}
		if isApplied := strings.Contains(applied, "\n- "+name+"\n"); isApplied != starred[name] {
			t.Errorf("%s: %s has a star: %v, and is applied with others: %v", samplesPage, name, starred[name], isApplied)
		}
	}
}

// What names a bucket, a Secret or nodes of the reader is applied alone.
func TestSamplesThatAreAppliedTogetherNeedNothing(t *testing.T) {
	names := regexp.MustCompile(`(?m)^- (\S+\.yaml)$`).FindAllStringSubmatch(read(t, together), -1)
	if len(names) < 4 {
		t.Fatalf("only %d samples were found", len(names))
	}
	mine := regexp.MustCompile(`(?m)^ *(?:- )?(credentialsSecretRef|claimName|backupRef|pullSecrets|sidecars|topologySpreadConstraints|type|ipFamilies):`)
	for _, name := range names {
		if m := mine.FindStringSubmatch(read(t, "config/samples/"+name[1])); m != nil {
			t.Errorf("%s names %s: the reader has to have that", name[1], m[1])
		}
	}
}

// inCode is a piece of a page in code font.
var inCode = regexp.MustCompile("`([^`\n]+)`")

// foreign are names that are not ours, and that our code has no use for.
var foreign = []string{
	"AbortIncompleteMultipartUpload",                    // of S3
	"ClusterFirst", "ContainerCreating", "DiskPressure", // of Kubernetes
	"FailedToRetrieveImagePullSecret",           // of the kubelet
	"ResourceQuota",                             // of Kubernetes
	"EtcdRangeStream",                           // of the kube-apiserver
	"DestinationRule",                           // of Istio
	"DialKeepAliveTime", "DialKeepAliveTimeout", // of etcd's client
}

// Reasons, events, conditions, alerts, kinds: a page names none that was renamed or taken away.
func TestEachNameInCodeFontIsOneOfTheTree(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+$`)
	there := words(t)
	for _, n := range foreign {
		there[n] = true
	}
	found, used := 0, map[string]bool{}
	for page, text := range claims(t) {
		text, _, _ = strings.Cut(text, "\n## Old names\n") // which are those that are not there any more
		for _, m := range inCode.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			if !name.MatchString(m[1]) || strings.HasPrefix(m[1], "Test") { // test/tools/pages looks for tests
				continue
			}
			found++
			used[m[1]] = true
			if !there[m[1]] {
				t.Errorf("%s: %s is no name of the code", page, m[1])
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d names were found", found)
	}
	for _, n := range foreign {
		if !used[n] {
			t.Errorf("no page names %s any more: take it off the list", n)
		}
	}
}

// words are those of the code and of what is installed, but for comments.
func words(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, p := range files(t) {
		hall, _, _ := strings.Cut(p, "/")
		text := ""
		switch {
		case strings.HasSuffix(p, "_test.go") || strings.Contains(p, "/testdata/"):
		case path.Ext(p) == ".go" && slices.Contains([]string{"api", "cmd", "controllers", "pkg"}, hall):
			text = withoutComments(read(t, p))
		case strings.HasPrefix(p, "pkg/etcdutil/flagdata/"):
			text = read(t, p)
		case path.Ext(p) == ".yaml" && hall == "config":
			text = regexp.MustCompile(`(?m)^ *#.*$`).ReplaceAllString(read(t, p), "")
		}
		for _, w := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
			all[w] = true
		}
	}
	return all
}

// withoutComments are the names and texts of a Go file.
func withoutComments(source string) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(source)), []byte(source), nil, 0)
	var kept bytes.Buffer
	for {
		_, kind, text := s.Scan()
		if kind == token.EOF {
			return kept.String()
		}
		kept.WriteString(text + "\n")
	}
}

func TestTheDashboardsNeedNoPluginsOfGrafana(t *testing.T) {
	var board struct {
		Panels []struct{ Type string }
	}
	for _, name := range []string{"cluster", "operator"} {
		if err := json.Unmarshal([]byte(read(t, "config/monitoring/dashboards/"+name+".json")), &board); err != nil {
			t.Fatal(err)
		}
		if len(board.Panels) < 10 {
			t.Errorf("%s has only %d panels", name, len(board.Panels))
		}
		for _, panel := range board.Panels {
			if !slices.Contains([]string{"row", "stat", "timeseries", "state-timeline"}, panel.Type) {
				t.Errorf("%s has a panel of the type %s, which docs/monitor.md does not list", name, panel.Type)
			}
		}
	}
}
