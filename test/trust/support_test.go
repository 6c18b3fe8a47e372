package trust

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const support = "docs/support.md"

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
	_, chapter, _ := strings.Cut(read(t, support), "\n## etcd\n")
	if got := regexp.MustCompile(`(?m)^\| \d.*$`).FindAllString(chapter, -1); !slices.Equal(got, want) {
		t.Errorf("%s has\n%s\nand the operator\n%s", support, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	list := strings.Join(etcdutil.KnownMinors(), ", ")
	last := strings.LastIndex(list, ", ")
	expectSays(t, support, "| etcd | ["+list[:last]+" and "+list[last+2:]+"](#etcd) |")
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
	tested := find(t, "test/localkube/internal/cache/targets.go", `(?m)^const KubernetesVersion = "(.+)"$`)
	helm := find(t, "test/tools/helm/go.mod", `(?m)^\thelm\.sh/helm/v4 v(\d+)\.`)
	expectSays(t, support, "| Kubernetes | "+lowest+" and newer. Each change is tested on "+tested+". |")
	expectSays(t, support, "| Helm | "+helm+" |")
	for _, page := range []string{"README.md", "docs/install.md", "config/helm/etcd-steward/README.md"} {
		expectSays(t, page, "Kubernetes "+lowest+" or newer")
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
