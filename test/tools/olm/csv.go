package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	operatorversion "github.com/operator-framework/api/pkg/lib/version"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// describe completes what is by hand of the ClusterServiceVersion.
func describe(o options, about *chart, objects *objects) (*operators.ClusterServiceVersion, error) {
	csv := &operators.ClusterServiceVersion{}
	if err := read(filepath.Join(o.root, "config/olm/base.yaml"), csv); err != nil {
		return nil, err
	}
	version, err := semver.Parse(o.version)
	if err != nil {
		return nil, fmt.Errorf("the version %q: %w", o.version, err)
	}
	csv.Name = packageName + ".v" + o.version
	csv.Spec.Version = operatorversion.OperatorVersion{Version: version}
	csv.Spec.MinKubeVersion = about.minKubeVersion()
	csv.Spec.Keywords = about.Keywords
	csv.Spec.Maintainers = about.maintainers()
	csv.Spec.InstallStrategy.StrategySpec = strategy(objects, o.image)
	if csv.Spec.Links, err = about.links(); err != nil {
		return nil, err
	}
	icon, err := os.ReadFile(filepath.Join(o.root, "config/helm/etcd-steward/icon.svg"))
	if err != nil {
		return nil, fmt.Errorf("reading the icon: %w", err)
	}
	csv.Spec.Icon = []operators.Icon{{Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml"}}
	if csv.Spec.RelatedImages, err = relatedImages(o); err != nil {
		return nil, err
	}
	if err := annotate(csv, o, about, objects.namespace); err != nil {
		return nil, err
	}
	return csv, own(csv, about, objects.carried)
}

// annotate adds the annotations that follow from config and the chart.
func annotate(csv *operators.ClusterServiceVersion, o options, about *chart, namespace object) error {
	var samples []any
	if err := about.annotation("crdsExamples", &samples); err != nil {
		return err
	}
	examples, err := json.MarshalIndent(samples, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the examples: %w", err)
	}
	suggested, err := json.Marshal(namespace)
	if err != nil {
		return fmt.Errorf("writing the namespace: %w", err)
	}
	csv.Annotations["operatorframework.io/suggested-namespace"] = namespace.name()
	csv.Annotations["operatorframework.io/suggested-namespace-template"] = string(suggested)
	csv.Annotations["alm-examples"] = string(examples)
	csv.Annotations["capabilities"] = about.Annotations["artifacthub.io/operatorCapabilities"]
	csv.Annotations["containerImage"] = o.image
	csv.Annotations["createdAt"] = o.created
	csv.Annotations["description"] = about.Description
	csv.Annotations["repository"] = about.Sources[0]
	csv.Annotations["olm.skipRange"] = skipRange(o)
	return nil
}

// skipRange are the versions that go to this one at once: all former ones, as with Helm and kustomize.
func skipRange(o options) string { return "<" + o.version }

// watched is the variable with the namespaces that OLM chose. It is empty for all of them.
const watched = "WATCH_NAMESPACE"

// strategy is the Deployment with its rights. OLM says in an annotation of the Pod which namespaces the operator looks
// after.
func strategy(objects *objects, image string) operators.StrategyDetailsDeployment {
	deployment := objects.deployment.DeepCopy()
	manager := &deployment.Spec.Template.Spec.Containers[0]
	manager.Image = image
	manager.Args = append(manager.Args, "--namespace=$("+watched+")")
	manager.Env = append(manager.Env, corev1.EnvVar{Name: watched, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['olm.targetNamespaces']"}}})
	delete(deployment.Labels, "app.kubernetes.io/managed-by")
	return operators.StrategyDetailsDeployment{
		DeploymentSpecs: []operators.StrategyDeploymentSpec{
			{Name: deployment.Name, Label: deployment.Labels, Spec: deployment.Spec}},
		Permissions:        []operators.StrategyDeploymentPermissions{objects.permissions},
		ClusterPermissions: []operators.StrategyDeploymentPermissions{objects.clusterPermissions},
	}
}

// relatedImages are those that a mirror needs: the operator's, and etcd's in each version of a sample.
func relatedImages(o options) ([]operators.RelatedImage, error) {
	images := []operators.RelatedImage{{Name: "etcd-steward", Image: o.image}}
	files, err := filepath.Glob(filepath.Join(o.root, "config/samples/etcdcluster*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there are no samples: %w", err)
	}
	var versions []string
	for _, file := range files {
		sample := object{}
		if err := read(file, &sample); err != nil {
			return nil, err
		}
		version, _, err := unstructured.NestedString(sample, "spec", "version")
		if err != nil || version == "" {
			return nil, fmt.Errorf("%s names no version of etcd: %w", file, err)
		}
		versions = append(versions, strings.TrimPrefix(version, "v"))
	}
	slices.Sort(versions)
	for _, version := range slices.Compact(versions) {
		image := "gcr.io/etcd-development/etcd:v" + version
		images = append(images, operators.RelatedImage{Name: "etcd-" + version, Image: image})
	}
	return images, nil
}

// trimmed is a ClusterServiceVersion without what the server fills in.
func trimmed(csv *operators.ClusterServiceVersion) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(csv)
	if err != nil {
		panic(err) // a type of this program's own
	}
	delete(fields, "status")
	withoutEmpty(fields)
	return fields
}

// withoutEmpty takes away objects in which nothing is set. They are those of a type that has no omitempty for them.
func withoutEmpty(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case nil:
			delete(fields, name)
		case map[string]any:
			if withoutEmpty(value); len(value) == 0 {
				delete(fields, name)
			}
		case []any:
			for _, item := range value {
				if item, isObject := item.(map[string]any); isObject {
					withoutEmpty(item)
				}
			}
		}
	}
}
