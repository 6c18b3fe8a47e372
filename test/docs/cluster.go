package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// cluster is the Kubernetes that pages are tried on, with the operator installed.
type cluster struct {
	config    *api.Config
	clientset kubernetes.Interface
	kubectl   []string // as it is called on this machine
}

// connect finds the cluster that E2E_KUBECONFIG names, and never one that KUBECONFIG happens to.
func connect() (*cluster, error) {
	path, localkube := os.Getenv("E2E_KUBECONFIG"), os.Getenv("LOCALKUBE")
	if path == "" {
		return nil, errors.New("E2E_KUBECONFIG is not set; `make test-docs` brings a localkube up and sets it")
	}
	c := &cluster{kubectl: []string{"kubectl"}}
	if localkube != "" {
		absolute, err := filepath.Abs(localkube)
		if err != nil {
			return nil, fmt.Errorf("finding localkube: %w", err)
		}
		c.kubectl = []string{absolute, "kubectl"}
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading E2E_KUBECONFIG %s: %w", path, err)
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil { // it is copied
		return nil, fmt.Errorf("reading E2E_KUBECONFIG %s: %w", path, err)
	}
	c.config = config
	rest, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading E2E_KUBECONFIG %s: %w", path, err)
	}
	if c.clientset, err = kubernetes.NewForConfig(rest); err != nil {
		return nil, fmt.Errorf("connecting to the cluster of %s: %w", path, err)
	}
	return c, nil
}

// makeSpace makes a namespace as strict as they come, with the CA of the S3 server, and a kubeconfig for it.
func (c *cluster) makeSpace(ctx context.Context, ca []byte, kubeconfig string) (string, error) {
	namespace, err := c.clientset.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "docs-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a namespace: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: caSecret}, Data: map[string][]byte{"ca.crt": ca}}
	if _, err := c.clientset.CoreV1().Secrets(namespace.Name).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return namespace.Name, fmt.Errorf("making the Secret of the S3 server's authority: %w", err)
	}
	config := c.config.DeepCopy()
	config.Contexts[config.CurrentContext].Namespace = namespace.Name
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return namespace.Name, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return namespace.Name, nil
}

// clearing is how long a namespace may take to go.
const clearing = 3 * time.Minute

// clear deletes a namespace and waits until it is gone: the next page is to have the machine for itself.
func (c *cluster) clear(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearing)
	defer cancel()
	spaces := c.clientset.CoreV1().Namespaces()
	if err := spaces.Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", namespace, err)
	}
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := spaces.Get(ctx, namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s is gone: %w", namespace, err)
	}
	return nil
}
