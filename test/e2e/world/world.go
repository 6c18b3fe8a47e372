// Package world is what stories see and do: the Kubernetes under test, clusters in namespaces of their own, etcd's members
// as they answer themselves, nodes that can be hurt, and operators that can be killed. Nothing in it believes the
// operator's status where the world can be asked.
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Where the operator under test is installed.
const (
	OperatorNamespace = "etcd-steward-system"
	OperatorName      = "etcd-steward-controller-manager"
	ManagerRole       = "etcd-steward-manager-role"
	MetricsRole       = "etcd-steward-metrics-reader"
)

// World is a Kubernetes with the operator installed.
type World struct {
	Client     client.WithWatch
	Config     *rest.Config
	Kubeconfig string // path
	Localkube  string // path of the program; empty on any other cluster
	Manager    string // path of the manager that is in the image, for stories that run it on this machine

	broken sync.Map // nodes and cuts that a story has still to put right, by name
}

// Connect finds the cluster that E2E_KUBECONFIG names, and never one that KUBECONFIG happens to.
func Connect() (*World, error) {
	w := &World{Kubeconfig: os.Getenv("E2E_KUBECONFIG"), Localkube: os.Getenv("LOCALKUBE")}
	if w.Kubeconfig == "" {
		return nil, errors.New("E2E_KUBECONFIG names no kubeconfig; `make test-all` brings a localkube up and sets it")
	}
	w.Manager = filepath.Join("..", "..", "bin", "image", goruntime.GOARCH, "manager")
	config, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading E2E_KUBECONFIG %s: %w", w.Kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "etcd-steward-stories"
	w.Config = config
	w.Client, err = client.NewWithWatch(config, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster of %s: %w", w.Kubeconfig, err)
	}
	return w, nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	utilruntime.Must(resources.AddCertManager(s))
	return s
}

// Kubectl runs kubectl and returns what it says, whether or not it likes what it is told.
func (w *World) Kubectl(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", w.Kubeconfig}, args...)...)
	if w.Localkube != "" {
		command = exec.CommandContext(ctx, w.Localkube, append([]string{"kubectl"}, args...)...)
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

// Story is one story's own namespace.
type Story struct {
	*World
	Namespace string
}

// LabelOwnOperator marks namespaces that the installed operator may not write to: the story brings an operator of its own.
const LabelOwnOperator = "e2e.etcdsteward.dev/own-operator"

// NewStory makes a namespace that enforces Pod Security restricted. It is deleted after the story; when the story failed,
// everything that may explain it is printed first. An annotation has the story's text.
func (w *World) NewStory(ctx context.Context) (*Story, error) { return w.newStory(ctx, nil) }

func (w *World) newStory(ctx context.Context, labels map[string]string) (*Story, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "story-",
		Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
			"e2e.etcdsteward.dev/story":          "true",
		},
		Annotations: map[string]string{"e2e.etcdsteward.dev/text": ginkgo.CurrentSpecReport().FullText()},
	}}
	for key, value := range labels {
		namespace.Labels[key] = value
	}
	if err := w.Client.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("making a namespace for the story: %w", err)
	}
	s := &Story{World: w, Namespace: namespace.Name}
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		if ginkgo.CurrentSpecReport().Failed() {
			s.explain(ctx)
		}
		if os.Getenv("E2E_KEEP") != "" && ginkgo.CurrentSpecReport().Failed() {
			return nil
		}
		return client.IgnoreNotFound(w.Client.Delete(ctx, namespace))
	})
	return s, nil
}

// explain prints what a person would look at first.
func (s *Story) explain(ctx context.Context) {
	say := func(title, text string) { ginkgo.GinkgoWriter.Printf("\n---- %s\n%s\n", title, text) }
	for _, args := range [][]string{
		{"-n", s.Namespace, "get", "etcd,pods,pvc,services,secrets,pdb", "-o", "wide"},
		{"-n", s.Namespace, "describe", "etcd"},
		{"-n", s.Namespace, "describe", "etcdbackups,jobs"},
		{"-n", s.Namespace, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", s.Namespace, "describe", "pods"},
		{"-n", s.Namespace, "logs", "-l", v1alpha1.LabelName + "=" + v1alpha1.MemberNameValue, "--tail=40", "--prefix"},
	} {
		out, _ := s.Kubectl(ctx, args...)
		say("kubectl "+fmt.Sprint(args), out)
	}
	out, _ := s.Kubectl(ctx, "-n", OperatorNamespace, "logs", "-l", "control-plane=controller-manager", "--tail=2000", "--prefix")
	say("operator, on "+s.Namespace, linesWith(out, s.Namespace, 150))
}
