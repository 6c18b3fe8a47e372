package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// stdin names the standard input.
const stdin = "-"

// manifest is where an EtcdCluster is written as it would be; without a file there is none.
type manifest struct {
	file string // or stdin
	in   io.Reader
}

// asked is a cluster as it is or, with a manifest, as the API server would store that. It is asked to store it and not
// to do so (dryRun): it fills in defaults, checks the spec, and refuses and warns as it would. A cluster that is not
// there yet is foretold as well.
func (s *session) asked(ctx context.Context, name string, m manifest) (*v1alpha1.EtcdCluster, error) {
	if m.file == "" {
		return s.cluster(ctx, name)
	}
	wanted, err := m.read(name, s.namespace)
	if err != nil {
		return nil, err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EtcdCluster"))
	err = s.get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, stored)
	switch {
	case apierrors.IsNotFound(err):
		stored = wanted
		stored.SetNamespace(s.namespace)
		err = explain(s.Create(ctx, stored, client.DryRunAll, fieldOwner), s.namespace)
	case err == nil:
		replaceSpec(stored, wanted)
		err = explain(s.Update(ctx, stored, client.DryRunAll, fieldOwner), s.namespace)
	}
	if err != nil {
		return nil, err
	}
	c := &v1alpha1.EtcdCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, c); err != nil {
		return nil, fmt.Errorf("reading the EtcdCluster that the API server answered with: %w", err)
	}
	return c, nil
}

// replaceSpec has a stored cluster ask for what a manifest asks for, in its spec and by its annotations. Annotations
// that the manifest does not name stay: most of them are not the manifest's.
func replaceSpec(stored, wanted *unstructured.Unstructured) {
	stored.Object["spec"] = wanted.Object["spec"]
	annotations := stored.GetAnnotations()
	for key, value := range wanted.GetAnnotations() {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
	}
	stored.SetAnnotations(annotations)
}

// read finds the EtcdCluster of that name among the documents of the manifest.
func (m manifest) read(name, namespace string) (*unstructured.Unstructured, error) {
	text, err := m.text()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has no EtcdCluster %s of namespace %s", m.file, name, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", m.file, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", m.file, err)
		}
		isHere := object.GetNamespace() == "" || object.GetNamespace() == namespace
		if object.GetKind() == "EtcdCluster" && object.GetName() == name && isHere {
			return object, nil
		}
	}
}

func (m manifest) text() ([]byte, error) {
	if m.file == stdin {
		return io.ReadAll(m.in)
	}
	return os.ReadFile(m.file)
}
