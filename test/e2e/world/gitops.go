package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Application is a directory of manifests that Argo CD's engine syncs the story's namespace with: see test/gitops.
type Application struct {
	*Story
	Name string

	program, directory string
}

// Application is one without manifests. Where localkube is, a story that cannot have the engine fails: if it were passed
// over, a run of it would look like a success.
func (s *Story) Application(name string) *Application {
	ginkgo.GinkgoHelper()
	s.NeedLocalkube()
	programs := os.Getenv("GITOPS_BINARIES")
	gomega.Expect(programs).NotTo(gomega.BeEmpty(), "build the engine (make bin/gitops/argocd-engine) and set GITOPS_BINARIES to bin/gitops, as make does")
	return &Application{Story: s, Name: name, program: filepath.Join(programs, "argocd-engine"), directory: ginkgo.GinkgoTB().TempDir()}
}

// Put puts an object's manifest into the directory, as a person commits one.
func (a *Application) Put(object client.Object) {
	ginkgo.GinkgoHelper()
	kind, err := apiutil.GVKForObject(object, a.Client.Scheme())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	delete(content, "status")
	manifest := &unstructured.Unstructured{Object: content}
	manifest.SetGroupVersionKind(kind)
	text, err := manifest.MarshalJSON()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(os.WriteFile(a.file(object.GetName()), text, 0o600)).To(gomega.Succeed())
}

// Take takes an object's manifest out of the directory again.
func (a *Application) Take(name string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.Remove(a.file(name))).To(gomega.Succeed())
}

func (a *Application) file(name string) string { return filepath.Join(a.directory, name+".json") }

// Sync syncs once, with prune, and returns what was done to each object that the engine takes for the application's, such
// as "Synced EtcdCluster demo" or "Pruned ConfigMap stray".
func (a *Application) Sync(ctx context.Context) []string {
	ginkgo.GinkgoHelper()
	out, err := exec.CommandContext(ctx, a.program, "-kubeconfig", a.Kubeconfig, "-namespace", a.Namespace,
		"-application", a.Name, "-directory", a.directory).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "syncing the application %s:\n%s", a.Name, out)
	var results []string
	for text := range strings.Lines(string(out)) {
		var object struct{ Result, Kind, Name string }
		gomega.Expect(json.Unmarshal([]byte(text), &object)).To(gomega.Succeed(), text)
		results = append(results, object.Result+" "+object.Kind+" "+object.Name)
	}
	slices.Sort(results)
	return results
}
