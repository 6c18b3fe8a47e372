package trust

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

const (
	support = "docs/support.md"
	// targets names what localkube builds, and `make` plays.
	targets = "test/localkube/internal/cache/targets.go"
)

// tried is how many patches of a minor are looked at, which is more than any has.
const tried = 100

func TestThePageOfSupportHasTheVersionsOfEtcdThatTheOperatorJudgesSo(t *testing.T) {
	var want []string
	for _, minor := range etcdutil.KnownMinors() {
		accepted := firstPatch(t, minor, func(v etcdutil.Version) bool { return etcdutil.Judge(v).Tier != etcdutil.TierRefuse })
		safe := firstPatch(t, minor, func(v etcdutil.Version) bool { ids, _ := etcdutil.Vulnerabilities(v); return ids == nil })
		fine := firstPatch(t, minor, func(v etcdutil.Version) bool { return etcdutil.Judge(v).Tier == etcdutil.TierFine })
		want = append(want, fmt.Sprintf("| %s | %s | %s | %s |", minor, accepted, safe, fine))
	}
	next, _, _ := strings.Cut(needs.Next, ".0-")
	want = append(want, fmt.Sprintf("| %s | %s alone, for tests: not supported | | |", next, needs.Next))
	_, chapter, _ := strings.Cut(read(t, support), "\n## etcd\n")
	if got := regexp.MustCompile(`(?m)^\| \d.*$`).FindAllString(chapter, -1); !slices.Equal(got, want) {
		t.Errorf("%s has\n%s\nand the operator\n%s", support, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	expectSays(t, support, "| etcd | ["+enumerated(etcdutil.KnownMinors())+"](#etcd) |")
}

func firstPatch(t *testing.T, minor string, isGood func(etcdutil.Version) bool) etcdutil.Version {
	t.Helper()
	for patch := range tried {
		v, err := etcdutil.ParseVersion(fmt.Sprintf("%s.%d", minor, patch))
		if err != nil {
			t.Fatal(err)
		}
		if isGood(v) {
			return v
		}
	}
	t.Fatalf("no patch of %s is good", minor)
	return etcdutil.Version{}
}

func TestEachPageAsksForTheKubernetesThatTheChartAsksFor(t *testing.T) {
	lowest := find(t, "config/helm/etcd-steward/Chart.yaml", `(?m)^kubeVersion: ">=(\d+\.\d+)\.0-0"$`)
	_, others := testedKubernetes(t)
	words := []string{"no", "one", "two", "three", "four", "five", "six"}
	expectSays(t, support, "| Kubernetes | "+lowest+" and newer; [tested](#what-is-tested) on "+words[1+len(others)]+" versions. |")
	if first := others[0]; !strings.HasPrefix(first, lowest+".") {
		t.Errorf("the oldest Kubernetes that is tested is %s, and the chart takes %s", first, lowest)
	}
	expectSays(t, support, "| Helm | 4, and 3 from 3.17 on |") // it knows --take-ownership
	if told := find(t, "cmd/manager/oldest.go", `(?m)^const oldestKubernetes = "(.+)"$`); told != lowest {
		t.Errorf("the operator takes %s for the oldest Kubernetes, and the chart %s", told, lowest)
	}
	for _, page := range []string{"README.md", "docs/install.md", "config/helm/etcd-steward/README.md"} {
		expectSays(t, page, "Kubernetes "+lowest+" or newer")
	}
}

func TestThePageOfSupportSaysWhatEachChangeIsTestedOnAndNoMore(t *testing.T) {
	kubernetes, others := testedKubernetes(t)
	minors := strings.Fields(find(t, "Makefile", `(?m)^OTHER_KUBERNETES := (.+)$`))
	etcd := strings.ReplaceAll(find(t, targets, `(?m)^var etcdVersions = \[\]string\{(.+)\}$`), `"`, "")
	helm := find(t, "test/tools/helm/go.mod", `(?m)^\thelm\.sh/helm/v4 v(\S+)`)
	helm3 := find(t, "test/tools/helm3/go.mod", `(?m)^\thelm\.sh/helm/v3 v(\S+)`)
	if !slices.EqualFunc(others, minors, func(version, minor string) bool { return strings.HasPrefix(version, minor+".") }) {
		t.Errorf("localkube has the other Kubernetes %q, and make test-kubernetes runs %q", others, minors)
	}
	expectSays(t, support, "| Kubernetes | "+kubernetes+" | "+enumerated(others)+", by the stories")
	expectSays(t, support, "| Helm | "+helm+" | "+helm3+", by the stories")
	expectSays(t, support, "| etcd | "+enumerated(strings.Split(etcd, ", "))+" | "+needs.Next+
		", from 3.6 to there and back | All other accepted patches |")
	listed := find(t, targets, `(?m)^const nextEtcd = "(.+)"$`)
	if built := find(t, "Makefile", `(?m)^\t@\$\(LOCALKUBE\) etcd --etcd (.+)$`); listed != needs.Next || built != needs.Next {
		t.Errorf("a full run plays the pre-release %s and builds %s, and localkube has %s", needs.Next, built, listed)
	}
	expectSays(t, "docs/roadmap.md", "Today ["+minorOf(kubernetes)+"](support.md#what-is-tested) is tested with each change, "+
		enumerated(minors)+" before a release.")
	expectSays(t, support, "| Nodes | amd64 | arm64, in an emulator:")
	for _, workflow := range files(t) {
		if strings.HasPrefix(workflow, ".github/workflows/") && regexp.MustCompile(`runs-on:.*arm`).MatchString(read(t, workflow)) {
			t.Errorf("%s runs on arm64, and %s says that nothing does", workflow, support)
		}
	}
}

// testedKubernetes returns the version on which each change is tested, and the others that localkube has.
func testedKubernetes(t *testing.T) (version string, others []string) {
	t.Helper()
	version = find(t, targets, `(?m)^const KubernetesVersion = "(.+)"$`)
	list := find(t, targets, `(?m)^var kubernetesVersions = \[\]string\{(.+)\}$`)
	others = strings.Split(strings.ReplaceAll(list, `"`, ""), ", ")
	if i := slices.Index(others, "KubernetesVersion"); i >= 0 {
		return version, slices.Delete(others, i, i+1)
	}
	t.Fatalf("%s has no KubernetesVersion among %s", targets, list)
	return version, others
}

func minorOf(version string) string { return version[:strings.LastIndex(version, ".")] }

// enumerated writes a list as a sentence does.
func enumerated(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// The module file decides what is built, and not the name of its directory.
func TestLocalkubeBuildsTheVersionsThatItNames(t *testing.T) {
	const modules = "test/localkube/internal/cache/modules/"
	version, others := testedKubernetes(t)
	for _, v := range append(others, version) {
		file := modules + "kubernetes-" + minorOf(v) + ".mod"
		if got := find(t, file, `(?m)^(?:require |\t)k8s\.io/kubernetes v(\S+)`); got != v {
			t.Errorf("%s builds %s, and localkube calls it %s", file, got, v)
		}
		for _, staged := range regexp.MustCompile(`(?m)^\tk8s\.io/(\S+) => k8s\.io/(\S+) v0\.(\S+)$`).FindAllStringSubmatch(read(t, file), -1) {
			if staged[1] != staged[2] || "1."+staged[3] != v {
				t.Errorf("%s of Kubernetes %s takes%s", file, v, staged[0])
			}
		}
	}
	etcd := strings.ReplaceAll(find(t, targets, `(?m)^var etcdVersions = \[\]string\{(.+)\}$`), `"`, "")
	for _, v := range strings.Split(etcd, ", ") {
		if got := find(t, modules+"etcd-"+v+".mod", `(?m)go\.etcd\.io/etcd/server/v3 v(\S+)`); got != v {
			t.Errorf("etcd-%s.mod builds etcd %s", v, got)
		}
	}
}

func TestARecipeRunsTheVersionThatItsImageNames(t *testing.T) {
	const recipes, control = "docs/recipes.md", "docs/kubernetes.md"
	for _, c := range []struct{ row, page, image, file, version string }{
		{"CoreDNS, plugin `etcd`", recipes, "coredns/coredns", "test/consumers/coredns/go.mod", `(?m)^require github\.com/coredns/coredns v(\S+)$`},
		{"Traefik, provider `etcd`", recipes, "library/traefik", "test/consumers/traefik/go.mod", `(?m)^\tgithub\.com/traefik/traefik/v3 v(\S+)`},
		{"kube-apiserver", control, "kube-apiserver", targets, `(?m)^const KubernetesVersion = "(.+)"$`},
	} {
		version := find(t, c.file, c.version)
		expectSays(t, support, "| "+c.row+" | "+version+" |")
		if got := find(t, c.page, ` image: .*`+c.image+`:v(\S+)`); got != version {
			t.Errorf("%s names %s %s, and make builds %s", c.page, c.image, got, version)
		}
	}
}

// find returns what the one group of an expression matches in a file.
func find(t *testing.T, path, expression string) string {
	t.Helper()
	m := regexp.MustCompile(expression).FindStringSubmatch(read(t, path))
	if m == nil {
		t.Fatalf("%s has nothing like %s", path, expression)
	}
	return m[1]
}

func expectSays(t *testing.T, page, words string) {
	t.Helper()
	if !strings.Contains(read(t, page), words) {
		t.Errorf("%s does not say %q", page, words)
	}
}
