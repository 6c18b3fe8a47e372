package main

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"sigs.k8s.io/yaml"
)

// clusterCommand is a command of a tool that makes clusters. No test has these tools, so their pages say what they take.
type clusterCommand struct {
	words  string   // the tool and its subcommands
	flags  []string // of those that it has, what pages may use
	args   int      // how many it takes besides
	source string   // where its authors say so
}

// clusterCommands were looked up in kind 0.33, k3d 5.9 and minikube 1.38.
var clusterCommands = []clusterCommand{
	{"kind create cluster", []string{"--name", "--config", "--image", "--wait"}, 0, "kubernetes-sigs/kind: pkg/cmd/kind/create/cluster/createcluster.go"},
	{"kind load image-archive", []string{"--name", "--nodes"}, 1, "kubernetes-sigs/kind: pkg/cmd/kind/load/image-archive/image-archive.go"},
	{"kind delete cluster", []string{"--name"}, 0, "kubernetes-sigs/kind: pkg/cmd/kind/delete/cluster/deletecluster.go"},
	{"k3d cluster create", []string{"--agents", "--servers", "--image", "--config"}, 1, "k3d-io/k3d: docs/usage/commands/k3d_cluster_create.md"},
	{"k3d image import", []string{"--cluster", "--mode"}, 1, "k3d-io/k3d: docs/usage/commands/k3d_image_import.md"},
	{"k3d cluster delete", nil, 1, "k3d-io/k3d: docs/usage/commands/k3d_cluster_delete.md"},
	{"minikube start", []string{"--profile", "--nodes", "--kubernetes-version", "--driver", "--cpus", "--memory"}, 0, "kubernetes/minikube: site/content/en/docs/commands/start.md"},
	{"minikube image load", []string{"--profile", "--overwrite"}, 1, "kubernetes/minikube: site/content/en/docs/commands/image.md"},
	{"minikube delete", []string{"--profile"}, 0, "kubernetes/minikube: site/content/en/docs/commands/delete.md"},
}

func TestEveryBlockCallsToolsThatMakeClustersAsTheirAuthorsSay(t *testing.T) {
	pages, err := readPages(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range pages {
		for _, b := range p.blocks {
			if b.lang != langShell && b.lang != langConsole {
				continue
			}
			commands, _ := b.commands() // of a block that is not run, some cannot be read
			for _, c := range commands {
				if known, problem := c.misuses(); problem != "" {
					t.Errorf("%s:%d: %s: %s", p.name, c.line, c.text, problem)
				} else if known != "" {
					used[known] = true
				}
			}
		}
	}
	for _, known := range clusterCommands {
		if !used[known.words] {
			t.Errorf("no page calls %s (%s)", known.words, known.source)
		}
	}
}

// misuses says what is wrong with a call of such a tool, and otherwise which command it is, if it is one.
func (c command) misuses() (known, problem string) {
	call, ok := c.stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return "", ""
	}
	var words []string
	for _, word := range call.Args {
		words = append(words, word.Lit())
	}
	if len(words) == 0 || !slices.Contains([]string{"kind", "k3d", "minikube"}, words[0]) {
		return "", ""
	}
	for _, k := range clusterCommands {
		if rest, ok := strings.CutPrefix(strings.Join(words, " ")+" ", k.words+" "); ok {
			return k.words, k.refuses(strings.Fields(rest))
		}
	}
	return "", "no such command in the table of this test"
}

// refuses says what of these arguments the command does not take. Every flag of the table has a value.
func (k clusterCommand) refuses(rest []string) string {
	args := 0
	for i := 0; i < len(rest); i++ {
		name, _, hasValue := strings.Cut(rest[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			args++
		case !slices.Contains(k.flags, name):
			return "no flag " + name + " in " + k.source
		case !hasValue:
			i++
		}
	}
	if args != k.args {
		return "takes another number of arguments, by " + k.source
	}
	return ""
}

func TestEveryBlockCheckRefusesAFlagThatAToolDoesNotHave(t *testing.T) {
	for text, want := range map[string]string{
		"kind create cluster --name etcd --config kind.yaml": "",
		"kind load image-archive a.tar --name=etcd":          "",
		"kind load image-archive --name etcd":                "number of arguments",
		"kind load image-archive a.tar --cluster etcd":       "no flag --cluster",
		"k3d image import a.tar --cluster etcd":              "",
		"k3d image import a.tar --profile etcd":              "no flag --profile",
		"minikube image load a.tar --profile etcd":           "",
		"minikube load image a.tar":                          "no such command",
		"kubectl get pods --cluster etcd":                    "",
		"if true; then kind create cluster --node; fi":       "",
	} {
		commands, err := parseShell(1, text)
		if err != nil {
			t.Fatal(err)
		}
		_, problem := commands[0].misuses()
		if (problem == "") != (want == "") || !strings.Contains(problem, want) {
			t.Errorf("%s: got %q, want %q", text, problem, want)
		}
	}
}

// kindConfig is what kind reads from a file: pkg/apis/config/v1alpha4/types.go.
type kindConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Nodes      []struct {
		Role string `json:"role"`
	} `json:"nodes"`
}

func TestEveryBlockThatConfiguresKindHasFieldsThatKindReads(t *testing.T) {
	pages, err := readPages(root, []string{"docs/quickstart.md"})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, b := range pages[0].blocks {
		if !strings.HasPrefix(b.text, "# kind.yaml\n") {
			continue
		}
		found++
		var config kindConfig
		if err := yaml.UnmarshalStrict([]byte(b.text), &config); err != nil {
			t.Fatal(err)
		}
		if config.APIVersion != "kind.x-k8s.io/v1alpha4" || config.Kind != "Cluster" {
			t.Errorf("kind does not know %s of %s", config.Kind, config.APIVersion)
		}
		for _, node := range config.Nodes {
			if node.Role != "control-plane" && node.Role != "worker" {
				t.Errorf("kind does not know the role %q", node.Role)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d configurations of kind were found", found)
	}
}
