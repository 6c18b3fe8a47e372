package pages

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listStories asks Ginkgo for the full names of the stories, without running them.
func listStories(t *testing.T) []string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "stories.json")
	command := exec.Command(storiesProgram(t), "-ginkgo.dry-run", "-ginkgo.json-report="+list)
	command.Dir = root + "test/e2e"
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("listing the stories: %v\n%s", err, out)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts    []string
			LeafNodeType, LeafNodeText string
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	var stories []string
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType == "It" {
				stories = append(stories, strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "))
			}
		}
	}
	if len(stories) < 100 {
		t.Fatalf("only %d stories found", len(stories))
	}
	return stories
}

// storiesProgram is the test binary of test/e2e: the one that E2E_TEST names, or one that is linked for this test.
func storiesProgram(t *testing.T) string {
	t.Helper()
	if linked := os.Getenv("E2E_TEST"); linked != "" {
		return linked
	}
	program := filepath.Join(t.TempDir(), "e2e.test")
	command := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "./test/e2e")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("linking the stories: %v\n%s", err, out)
	}
	return program
}
