package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// call is a container of the operator's that runs the agent.
type call struct {
	from      string // the file, and the name of the container
	container corev1.Container
}

// callsIn reads the Pods of the operator's golden files, and fails when there are fewer files than are known.
func callsIn(t *testing.T, pattern string, atLeast int, specOf func(t *testing.T, text []byte) corev1.PodSpec) []call {
	t.Helper()
	files, err := filepath.Glob("../../controllers/resources/testdata/" + pattern)
	if err != nil || len(files) < atLeast {
		t.Fatalf("%s: %d files, want %d; %v", pattern, len(files), atLeast, err)
	}
	var calls []call
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		spec := specOf(t, text)
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Command[0] == "/agent" {
				calls = append(calls, call{filepath.Base(file) + ", " + container.Name, container})
			}
		}
	}
	return calls
}

func specOfJob(t *testing.T, text []byte) corev1.PodSpec {
	t.Helper()
	var job batchv1.Job
	must(t, yaml.UnmarshalStrict(text, &job))
	return job.Spec.Template.Spec
}

func specOfPod(t *testing.T, text []byte) corev1.PodSpec {
	t.Helper()
	var pod corev1.Pod
	must(t, yaml.UnmarshalStrict(text, &pod))
	return pod.Spec
}

func operatorsCalls(t *testing.T) []call {
	t.Helper()
	return slices.Concat(
		callsIn(t, "job-*.yaml", 8, specOfJob),
		callsIn(t, "prune-*.yaml", 5, specOfJob),
		callsIn(t, "test-restore-*.yaml", 2, specOfJob),
		callsIn(t, "restore-pod-*.yaml", 7, specOfPod),
		callsIn(t, "preflight-pod-*.yaml", 3, specOfPod),
		callsIn(t, "place-pod*.yaml", 2, specOfPod),
		callsIn(t, "defrag-pod-*.yaml", 2, specOfPod),
		callsIn(t, "disk*.yaml", 2, specOfJob),
	)
}

// silent are the steps whose progress the operator never asks for.
var silent = []string{"preflight", "activate", "activate-survivor", "prune", "hold", "defragment", "disk"}

func TestEveryStepIsCalledByTheOperatorInWordsThatTheAgentReads(t *testing.T) {
	called := map[string]int{}
	for _, call := range operatorsCalls(t) {
		o, err := parseOptions(call.container.Args)
		if err != nil {
			t.Errorf("%s: %v", call.from, err)
			continue
		}
		called[o.step.name]++
		if slices.Contains(silent, o.step.name) {
			continue
		}
		if ports := call.container.Ports; len(ports) != 1 || !strings.HasSuffix(o.progressAddress, ":8099") || ports[0].ContainerPort != 8099 {
			t.Errorf("%s: progress on %s, asked for on %v", call.from, o.progressAddress, ports)
		}
	}
	for _, step := range steps {
		want := 2
		switch {
		case step.isForPeople:
			want = 0
		case strings.Contains(step.name, "survivor"):
			want = 1
		}
		if called[step.name] < want {
			t.Errorf("the operator calls the step %s %d times, want %d", step.name, called[step.name], want)
		}
	}
}

// TestNoFlagIsLeftThatTheOperatorNeverGives is the other half of that: flags are spelled here and in controllers/resources, which may
// not import each other.
func TestNoFlagIsLeftThatTheOperatorNeverGives(t *testing.T) {
	given := map[string]bool{}
	for _, call := range operatorsCalls(t) {
		for _, arg := range call.container.Args[1:] {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			given[call.container.Args[0]+" "+name] = true
		}
	}
	for _, step := range steps {
		flagsOf(&options{step: step}).VisitAll(func(f *flag.Flag) {
			if !given[step.name+" "+f.Name] && !step.isForPeople && !isForPeople(f.Name) {
				t.Errorf("the operator never gives the flag --%s to %s", f.Name, step.name)
			}
		})
	}
}

// isForPeople reports whether a flag is there for tests and for a person who runs the agent by hand.
func isForPeople(name string) bool {
	return slices.Contains([]string{"termination-log", "progress-address", "stall"}, name)
}

func TestEtcdutlRestoresWhatTheAgentFetched(t *testing.T) {
	files, err := filepath.Glob("../../controllers/resources/testdata/restore-pod-*.yaml")
	must(t, err)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var pod corev1.Pod
		must(t, yaml.UnmarshalStrict(text, &pod))
		staging := filepath.Join("/var/lib/etcd", pod.Labels["etcdsteward.dev/incarnation"]+".restore", pod.Labels["etcdsteward.dev/member"])
		for _, container := range pod.Spec.InitContainers {
			if container.Command[0] != "etcdutl" {
				continue
			}
			found++
			if !slices.Contains(container.Args, filepath.Join(staging, "snapshot.db")) || !slices.Contains(container.Args, "--data-dir="+filepath.Join(staging, "data")) {
				t.Errorf("%s: etcdutl does not restore what the agent fetched: %v", file, container.Args)
			}
		}
	}
	if found < 7 {
		t.Errorf("only %d Pods restore with etcdutl", found)
	}
}
