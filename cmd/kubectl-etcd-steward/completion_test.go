package main

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestNamesAreCompleted(t *testing.T) {
	for typed, want := range map[string]string{
		"status ":            "demo demo-big",
		"members ":           "demo demo-big",
		"backup ls ":         "demo demo-big",
		"plan ":              "demo demo-big",
		"fence ":             "demo-0 demo-1 demo-2",
		"move-leader d":      "demo-0 demo-1 demo-2",
		"status demo ":       "",
		"version ":           "",
		"completion ":        "bash fish powershell zsh",
		"logs demo --fol":    "--follow",
		"ctl ":               "demo demo-big",
		"ctl demo --member ": "demo-0 demo-1 demo-2",
		"sta":                "status",
	} {
		got := plugin(t, fleet(t), append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		var offered []string
		for line := range strings.Lines(got.out) {
			if word := strings.Fields(line)[0]; !strings.HasPrefix(word, ":") {
				offered = append(offered, word)
			}
		}
		slices.Sort(offered)
		if strings.Join(offered, " ") != want || !strings.HasSuffix(got.out, ":4\n") {
			t.Errorf("%q: offered %q, want %q:\n%s", typed, offered, want, got.out)
		}
	}
}

func TestNamesOfRestoresAreCompletedAndFilesAreLeftToTheShell(t *testing.T) {
	restoring := sessionOf(objects(t, "restore"), interceptor.Funcs{})
	for typed, want := range map[string]string{
		"restore approve ": "demo-back\ndemo-earlier\n:4\n",
		"restore cancel ":  "demo-back\ndemo-earlier\n:4\n",
		"restore dem":      "demo\n:4\n",
		"lint ":            ":0\n",
	} {
		got := plugin(t, restoring, append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if got.code != 0 || got.out != want {
			t.Errorf("%q: got %+v", typed, got)
		}
	}
}

func TestWithoutTheRightNoNameIsOffered(t *testing.T) {
	clusters := schema.GroupResource{Group: "etcdsteward.dev", Resource: "etcdclusters"}
	got := plugin(t, sessionOf(fleetObjects(t), refusing("list", clusters)), "__complete", "status", "")
	if got.code != 0 || got.out != ":4\n" {
		t.Errorf("got %+v", got)
	}
}

func TestEachShellGetsItsScript(t *testing.T) {
	for shell := range shells {
		got := plugin(t, nil, "completion", shell)
		if got.code != 0 || !strings.Contains(got.out, "etcd_steward") || !strings.Contains(got.out, "__complete") {
			t.Errorf("%s: exit code %d, %d bytes: %s", shell, got.code, len(got.out), got.errOut)
		}
	}
	if got := plugin(t, nil, "completion", "csh"); got.code != exitFailed ||
		!strings.Contains(got.errOut, "completion takes one shell: bash, zsh, fish or powershell") {
		t.Errorf("got %+v", got)
	}
}

// kubectl runs kubectl_complete-etcd_steward with what stands behind etcd-steward.
func TestUnderTheNameThatKubectlLooksForItCompletes(t *testing.T) {
	for called, want := range map[string]string{
		"/usr/local/bin/kubectl_complete-etcd_steward": "__complete status de",
		"kubectl_complete-etcd.exe":                    "__complete status de",
		"/usr/local/bin/kubectl-etcd_steward":          "status de",
	} {
		if got := strings.Join(argumentsOf([]string{called, "status", "de"}), " "); got != want {
			t.Errorf("%s: got %q, want %q", called, got, want)
		}
	}
}
