package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// kubectl's own flags are in kubectl's documentation.
func TestEveryFlagOfEachCommandIsDocumented(t *testing.T) {
	page := docwords.Read(t, "../../docs/reference/flags.md")
	commands := program{}.root().Commands()
	if len(commands) < 2 {
		t.Fatalf("only %d commands", len(commands))
	}
	for _, c := range commands {
		flags := flag.NewFlagSet(c.Name(), flag.ContinueOnError)
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
		if c.Name() != "version" {
			page.SameFlags(t, "\n## kubectl etcd-steward "+c.Name()+"\n", "\n## ", flags)
		}
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	page := readPage(t)
	for _, c := range (program{}).root().Commands() {
		if !strings.Contains(page, "kubectl etcd-steward "+c.Name()) || !strings.Contains(page, "\n| `"+c.Name()) {
			t.Errorf("docs/kubectl.md has no example of %s, or no row about its rights", c.Name())
		}
	}
}

// The page shows the cluster of the sample, which is in the namespace default.
func TestThePageShowsWhatStatusPrints(t *testing.T) {
	printed := plugin(t, sessionOf(objects(t, "healthy"), interceptor.Funcs{}), "status", "demo").out
	shown := strings.Replace(printed, "in namespace prod", "in namespace default", 1)
	if !strings.Contains(readPage(t), "$ kubectl etcd-steward status demo\n"+shown+"```\n") {
		t.Errorf("docs/kubectl.md does not show what status prints:\n%s", shown)
	}
}

// A certificate is renewed with a third of its year left, and a backup of a schedule has its time in its name.
func TestEachStateThatIsShownCanBe(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("pages of %v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m) (\d+)d\.?$`).FindAllStringSubmatch(string(text), -1) {
			if days, err := strconv.Atoi(m[1]); err != nil || days < 365/3 {
				t.Errorf("%s: a certificate with %s days left would have been renewed (%v)", file, m[1], err)
			}
		}
		for _, name := range regexp.MustCompile(`demo-nightly[\w-]*`).FindAllString(string(text), -1) {
			if !regexp.MustCompile(`^demo-nightly-\d{8}-\d{4}$`).MatchString(name) {
				t.Errorf("%s: a schedule calls no backup %s", file, name)
			}
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubectl.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOfEveryConditionItIsKnownWhatIsUsual(t *testing.T) {
	for kind := range docwords.Constants(t, "../../api/v1alpha1", "Condition") {
		if usual[kind] == "" {
			t.Errorf("nothing says what %s is while nothing is wrong", kind)
		}
	}
}
