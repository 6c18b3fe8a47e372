package main

import (
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// shells are languages of blocks that somebody may write commands in, and that would not be run.
var shells = []string{"bash", "shell", "shell-session", "zsh", "terminal", "cmd"}

func TestEveryBlockOfEveryPageIsRunOrSaysWhyNot(t *testing.T) {
	pages, err := readPages(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, p := range pages {
		for _, b := range p.blocks {
			commands += checkBlock(t, p.name, b)
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands found on %d pages", commands, len(pages))
	}
}

// asCommand is a line that looks like a command in a block of a language that says nothing.
var asCommand = regexp.MustCompile(`(?m)^(\$ |kubectl |etcdctl |make )`)

func checkBlock(t *testing.T, name string, b block) int {
	t.Helper()
	for _, shell := range shells {
		if b.lang == shell {
			t.Errorf("%s:%d: nobody runs a block of %s: make it sh or console", name, b.line, shell)
		}
	}
	if b.lang == "" && asCommand.MatchString(b.text) {
		t.Errorf("%s:%d: nobody runs these commands: make it a block of sh or console", name, b.line)
	}
	if b.lang == langYAML {
		if _, err := b.isObject(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !b.isRun() {
		return 0
	}
	all, err := b.commands()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return len(all)
}

func TestThePagesOfThisReleaseAreAmongThoseThatAreRun(t *testing.T) {
	pages, err := readPages(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, p := range pages {
		found[p.name] = true
	}
	for _, name := range []string{"README.md", "docs/install.md", "docs/backup.md", "docs/restore.md", "docs/conditions.md"} {
		if !found[name] {
			t.Errorf("%s is not among %v", name, found)
		}
	}
}

const example = `# A page

<!-- test run:
echo before
-->

` + "```console" + `
$ kubectl get etcd   # all of them
NAME   SIZE
demo   3
$ kubectl get pods \
    -o name
` + "```" + `

<!-- test skip: there is
     no such thing -->
` + "```sh" + `
kubectl get nothing
` + "```" + `

1. In a list
   <!-- test expects: ^a+$ -->
   ` + "```sh" + `
   x=a
   echo $x
   ` + "```" + `

` + "```text" + `
$ nobody
` + "```" + `
`

func TestBlocksOfAPageAreFoundWithTheirLinesAndWhatCommentsSay(t *testing.T) {
	p, err := parsePage("page.md", example)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.blocks {
		if b.skip != "" {
			got = append(got, "skip: "+b.skip)
		}
		if !b.isRun() {
			continue
		}
		all, err := b.commands()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			lines := strings.Split(example, "\n")
			if first := strings.Fields(c.text)[0]; !strings.Contains(lines[c.line-1], first) {
				t.Errorf("%q is said to be on line %d: %s", c.text, c.line, lines[c.line-1])
			}
			got = append(got, c.text)
		}
		if (b.expects != nil) != strings.Contains(b.text, "$x") {
			t.Errorf("of %q %v is expected", b.text, b.expects)
		}
	}
	want := "echo before|kubectl get etcd|kubectl get pods \\\n\t-o name|skip: there is no such thing|x=a|echo $x"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "|"), want)
	}
	if shown := p.blocks[1]; len(shown.text) == 0 {
		t.Error("nothing is shown")
	}
}

func TestAPageThatTheTestCannotReadIsRefusedWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\n<!-- test skips: x -->\n":                                 ":2: ",
		"<!-- test skip: -->\n```sh\nx\n```\n":                        "says nothing",
		"<!-- test skip: why -->\nprose\n":                            ":2: ",
		"<!-- test skip: why -->\n":                                   "no block",
		"<!-- test run:\necho\n":                                      "no end",
		"<!-- test expects: ( -->\n```sh\nx\n```\n":                   "expected",
		"prose\n```sh\necho\n":                                        ":2: this block has no end",
		"```console\nNAME\n```\n":                                     "line 2: ",
		"```sh\nkubectl get etcd <name>\n```\n":                       "line 2: ",
		"```sh\necho\nkubectl annotate x approve=…\n```\n":            "line 3: ",
		"```sh\n# nothing but a comment\n```\n":                       "there is no command",
		"```yaml\na: b\n  c: d\n```\n":                                "line 2: ",
		"```console\n$ kubectl get x \\\n```\n":                       "",
		"```sh\nkubectl create --from-literal=access-key-id=…\n```\n": "",
	} {
		p, err := parsePage("page.md", text)
		for _, b := range p.blocks {
			if err != nil {
				break
			}
			if _, err = b.commands(); b.lang == langYAML {
				_, err = b.isObject()
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
