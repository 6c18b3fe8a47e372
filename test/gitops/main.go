// Command gitops syncs a namespace with a directory of manifests once, and prunes, with the engine of Argo CD. Like
// Argo CD before 3.0 it takes for its application's what has the label app.kubernetes.io/instance with that name and
// no owner. Each object that it synced, pruned or did not prune is a line of JSON on stdout.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/klogr"
)

// labelInstance is what Argo CD tracks resources by, unless it is told otherwise.
const labelInstance = "app.kubernetes.io/instance"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var app application
	flags := flag.NewFlagSet("gitops", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("E2E_KUBECONFIG"), "the cluster's kubeconfig")
	flags.StringVar(&app.namespace, "namespace", "", "the only namespace that is read and written")
	flags.StringVar(&app.name, "application", "", "the application's name, which its objects have as a label")
	flags.StringVar(&app.directory, "directory", "", "where the application's manifests are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kubeconfig == "" || app.namespace == "" || app.name == "" || app.directory == "" {
		return errors.New("it needs -kubeconfig or E2E_KUBECONFIG, -namespace, -application and -directory")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig %s: %w", *kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400 // it lists every kind there is
	results, err := app.sync(ctx, config, &kube.KubectlCmd{Log: klogr.New(), Tracer: tracing.NopTracer{}})
	return errors.Join(err, report(out, results))
}

// application is a directory of manifests, and what has its label in a namespace.
type application struct{ name, namespace, directory string }

// sync applies the manifests and prunes what else is the application's.
func (a application) sync(ctx context.Context, config *rest.Config, kubectl kube.Kubectl) (
	[]common.ResourceSyncResult, error) {
	manifests, err := a.manifests()
	if err != nil {
		return nil, err
	}
	live := cache.NewClusterCache(config, cache.SetKubectl(kubectl), cache.SetNamespaces([]string{a.namespace}),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			application := object.GetLabels()[labelInstance]
			return application, application != "" // the engine prunes only what it has the manifest of
		}))
	syncer := engine.NewEngine(config, live, engine.WithKubectl(kubectl))
	stop, err := syncer.Run()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace %s: %w", a.namespace, err)
	}
	defer stop()
	results, err := syncer.Sync(ctx, manifests, a.manages, "none", a.namespace, sync.WithPrune(true))
	if err != nil {
		return results, fmt.Errorf("syncing the application %s: %w", a.name, err)
	}
	return results, nil
}

// manages says what the engine may prune. What has an owner, the engine leaves alone by itself.
func (a application) manages(object *cache.Resource) bool {
	application, _ := object.Info.(string)
	return application == a.name
}

// manifests are those of the directory, with the application's label and in its namespace.
func (a application) manifests() ([]*unstructured.Unstructured, error) {
	entries, err := os.ReadDir(a.directory)
	if err != nil {
		return nil, fmt.Errorf("reading the manifests: %w", err)
	}
	var all []*unstructured.Unstructured
	for _, entry := range entries {
		if !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(entry.Name())) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(a.directory, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		objects, err := kube.SplitYAML(text)
		if err != nil {
			return nil, fmt.Errorf("reading the manifests of %s: %w", entry.Name(), err)
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[labelInstance] = a.name
		object.SetLabels(labels)
		object.SetNamespace(a.namespace)
	}
	return all, nil
}

// line is what is printed of one object.
type line struct {
	Group   string `json:"group,omitempty"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Result  string `json:"result"` // Synced, SyncFailed, Pruned or PruneSkipped
	Message string `json:"message,omitempty"`
}

// report prints the results. The engine itself does not call it an error when an object was refused.
func report(out io.Writer, results []common.ResourceSyncResult) error {
	var failed []error
	encoder := json.NewEncoder(out)
	for _, r := range results {
		key := r.ResourceKey
		printed := line{key.Group, key.Kind, key.Name, string(r.Status), r.Message}
		if err := encoder.Encode(printed); err != nil {
			return fmt.Errorf("printing a result: %w", err)
		}
		if r.Status == common.ResultCodeSyncFailed {
			failed = append(failed, fmt.Errorf("%s %s: %s", key.Kind, key.Name, r.Message))
		}
	}
	return errors.Join(failed...)
}
