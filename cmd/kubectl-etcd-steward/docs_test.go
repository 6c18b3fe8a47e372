package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/test/docwords"
)

// commands are all commands of the plugin, by what stands behind kubectl etcd-steward: "backup ls".
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	var add func(string, []*cobra.Command)
	add = func(before string, below []*cobra.Command) {
		for _, c := range below {
			all[before+c.Name()] = c
			add(before+c.Name()+" ", c.Commands())
		}
	}
	add("", program{}.root().Commands())
	if len(all) < 2 || all["backup ls"] == nil {
		t.Fatalf("only %d commands", len(all))
	}
	return all
}

// kubectl's own flags are in kubectl's documentation.
func TestEveryFlagOfEachCommandIsDocumented(t *testing.T) {
	page := docwords.Read(t, "../../docs/reference/flags.md")
	for name, c := range commands(t) {
		flags := flag.NewFlagSet(name, flag.ContinueOnError)
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
		if name != "version" {
			page.SameFlags(t, "\n## kubectl etcd-steward "+name+"\n", "\n## ", flags)
		}
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	page := readPage(t)
	for name := range commands(t) {
		if !strings.Contains(page, "kubectl etcd-steward "+name) || !strings.Contains(page, "\n| `"+name+"`") {
			t.Errorf("docs/kubectl.md has no example of %s, or no row about its rights", name)
		}
	}
}

// An example that the command refuses would be worse than none.
func TestTheHelpOfEveryCommandHasExamplesThatItTakes(t *testing.T) {
	for name, c := range commands(t) {
		if c.Example == "" {
			t.Errorf("%s has no example", name)
			continue
		}
		for example := range strings.SplitSeq(c.Example, "\n") {
			if _, piped, isPiped := strings.Cut(example, " | "); isPiped {
				example = "  " + piped
			}
			typed, isOurs := strings.CutPrefix(example, "  kubectl etcd-steward "+name)
			if !isOurs {
				t.Errorf("%s: %q begins with another command", name, example)
				continue
			}
			typed, _, _ = strings.Cut(typed, " > ")
			c := commands(t)[name]
			if err := c.ParseFlags(inWordsOfAShell(typed)); err != nil {
				t.Errorf("%s: %q: %v", name, example, err)
			}
			if err := c.ValidateArgs(c.Flags().Args()); err != nil {
				t.Errorf("%s: %q: %v", name, example, err)
			}
		}
	}
}

// inWordsOfAShell takes a command line apart, with single quotes.
func inWordsOfAShell(typed string) []string {
	var words []string
	for i, piece := range strings.Split(typed, "'") {
		if i%2 == 1 {
			words = append(words, piece)
			continue
		}
		words = append(words, strings.Fields(piece)...)
	}
	return words
}

// The page shows the cluster of the sample, which is in the namespace default.
func TestThePageShowsWhatCommandsPrint(t *testing.T) {
	for command, s := range map[string]*session{
		"status demo":       sessionOf(objects(t, "healthy"), interceptor.Funcs{}),
		"status --all":      fleet(t),
		"members demo":      fleet(t),
		"events demo":       fleet(t),
		"logs demo":         logging(t, memberLogs),
		"certificates demo": certified(t, nil),
		"access demo":       accessible(t),
		"backup ls demo":    sessionOf(slices.DeleteFunc(fleetObjects(t), func(o client.Object) bool { return o.GetName() == "demo-former" }), interceptor.Funcs{}),
	} {
		shown := strings.Replace(plugin(t, s, strings.Fields(command)...).out, "in namespace prod", "in namespace default", 1)
		shown = withSamplePrints(shown)
		if !strings.Contains(readPage(t), "$ kubectl etcd-steward "+command+"\n"+shown+"```\n") {
			t.Errorf("docs/kubectl.md does not show what %s prints:\n%s", command, shown)
		}
	}
}

func accessible(t *testing.T) *session {
	_, s := withClients(t)
	return s
}

// withSamplePrints has two fingerprints be those of the page, since each CA is made anew.
func withSamplePrints(shown string) string {
	samples := []string{"3A:7F:12:9C", "C4:05:D1:E8"}
	for _, found := range regexp.MustCompile(`(?m)([0-9A-F]{2}:){3}[0-9A-F]{2}$`).FindAllString(shown, 2) {
		shown, samples = strings.ReplaceAll(shown, found, samples[0]), samples[1:]
	}
	return shown
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
