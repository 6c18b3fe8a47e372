package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestEveryStepOfTheOperatorsRestorePodsIsCalledAsTheAgentReadsIt(t *testing.T) {
	restores, err := filepath.Glob("../../controllers/resources/testdata/restore-pod-*.yaml")
	must(t, err)
	preflights, err := filepath.Glob("../../controllers/resources/testdata/preflight-pod-*.yaml")
	must(t, err)
	called := map[string]int{}
	for _, file := range slices.Concat(restores, preflights) {
		text, err := os.ReadFile(file)
		must(t, err)
		var pod corev1.Pod
		must(t, yaml.UnmarshalStrict(text, &pod))
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if container.Command[0] == "etcdutl" {
				staging := filepath.Join("/var/lib/etcd", pod.Labels["etcdsteward.dev/incarnation"]+".restore", pod.Labels["etcdsteward.dev/member"])
				if !slices.Contains(container.Args, filepath.Join(staging, "snapshot.db")) || !slices.Contains(container.Args, "--data-dir="+filepath.Join(staging, "data")) {
					t.Errorf("%s: etcdutl does not restore what the agent laid: %v", file, container.Args)
				}
				continue
			}
			o, err := parseOptions(container.Args)
			if err != nil {
				t.Errorf("%s, %s: %v", file, container.Name, err)
				continue
			}
			called[o.step]++
			if o.step == stepLay && (!strings.HasSuffix(o.progressAddress, ":8099") || container.Ports[0].ContainerPort != 8099) {
				t.Errorf("%s: progress on %s, asked for on %d", file, o.progressAddress, container.Ports[0].ContainerPort)
			}
		}
	}
	for step := range restoreSteps {
		if want := map[bool]int{false: 3, true: 1}[isOfSurvivor(step)]; called[step] < want {
			t.Errorf("only %d Pods have the step %s", called[step], step)
		}
	}
}
