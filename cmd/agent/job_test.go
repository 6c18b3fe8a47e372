package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func TestEveryStepOfTheOperatorsJobsIsCalledAsTheAgentReadsIt(t *testing.T) {
	backups, err := filepath.Glob("../../controllers/resources/testdata/job-*.yaml")
	if err != nil || len(backups) < 8 {
		t.Fatalf("%d files, %v", len(backups), err)
	}
	prunes, err := filepath.Glob("../../controllers/resources/testdata/prune-*.yaml")
	if err != nil || len(prunes) < 5 {
		t.Fatalf("%d files, %v", len(prunes), err)
	}
	tests, err := filepath.Glob("../../controllers/resources/testdata/test-restore-*.yaml")
	if err != nil || len(tests) < 2 {
		t.Fatalf("%d files, %v", len(tests), err)
	}
	files := slices.Concat(backups, prunes, tests)
	called := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var job batchv1.Job
		if err := yaml.UnmarshalStrict(text, &job); err != nil {
			t.Fatal(err)
		}
		spec := job.Spec.Template.Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Command[0] != "/agent" {
				continue
			}
			o, err := parseOptions(container.Args)
			if err != nil {
				t.Errorf("%s, %s: %v", file, container.Name, err)
				continue
			}
			called[o.step]++
			if o.step == stepPrune {
				continue // nobody asks it
			}
			if !strings.HasSuffix(o.progressAddress, ":8099") || container.Ports[0].ContainerPort != 8099 {
				t.Errorf("%s, %s: progress on %s, asked for on %d", file, container.Name, o.progressAddress, container.Ports[0].ContainerPort)
			}
		}
	}
	for _, step := range append(slices.Collect(maps.Keys(steps)), stepPrune) {
		if called[step] == 0 {
			t.Errorf("no Job has the step %s", step)
		}
	}
}
