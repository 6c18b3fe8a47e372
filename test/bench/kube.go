package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// kube is the Kubernetes that is measured on, with the operator installed.
type kube struct {
	client    client.Client
	clientset kubernetes.Interface
	config    *rest.Config
	version   string
	world     *world.World // reads the audit log and finds processes
}

// connect finds the cluster that E2E_KUBECONFIG names, and never one that KUBECONFIG happens to.
func connect(ctx context.Context) (*kube, error) {
	path, localkube := os.Getenv("E2E_KUBECONFIG"), os.Getenv("LOCALKUBE")
	if path == "" || localkube == "" {
		return nil, errors.New("E2E_KUBECONFIG or LOCALKUBE is not set; `make bench` brings a localkube up and sets both")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("reading E2E_KUBECONFIG %s: %w", path, err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "bench" // not the operator's, whose requests are counted
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	utilruntime.Must(v1alpha1.AddToScheme(types))
	k := &kube{config: config, world: &world.World{Localkube: localkube, Kubeconfig: path, Config: config}}
	if k.world.Client, err = client.NewWithWatch(config, client.Options{Scheme: types}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster of %s: %w", path, err)
	}
	k.client = k.world.Client
	if k.clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connecting to the cluster of %s: %w", path, err)
	}
	version, err := k.clientset.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the cluster of %s for its version: %w", path, err)
	}
	k.version = version.GitVersion
	return k, ctx.Err()
}

// exec runs a program in the etcd container of a Pod and returns what it prints.
func (k *kube) exec(ctx context.Context, namespace, pod string, command ...string) (string, error) {
	request := k.clientset.CoreV1().RESTClient().Get().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: etcdContainer, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(k.config, "GET", request.URL().String())
	if err != nil {
		return "", fmt.Errorf("preparing to run %s in %s: %w", command[0], pod, err)
	}
	var out, problems bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &problems}); err != nil {
		return out.String(), fmt.Errorf("%s in %s: %w: %s", strings.Join(command, " "), pod, err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

// pid is the first process of a container, on this machine.
func (k *kube) pid(ctx context.Context, namespace, pod, container string) (string, error) {
	out, err := exec.CommandContext(ctx, k.world.Localkube, "pid", namespace, pod, container).Output()
	if err != nil {
		return "", fmt.Errorf("finding the process of %s in %s: %w", container, pod, err)
	}
	return strings.TrimSpace(string(out)), nil
}
