// Package manifests holds what `kubectl apply -k config/default` installs to what SECURITY.md promises.
package manifests

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/yaml"
)

// lastApplied is the room that `kubectl apply` has for the whole object in its annotation.
const lastApplied = 256 << 10

type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Rules    []rule    `json:"rules"`
	RoleRef  subject   `json:"roleRef"`
	Subjects []subject `json:"subjects"`
	Spec     struct {
		Replicas int `json:"replicas"`
		Template struct {
			Spec pod `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	size int
	text []byte
}

type subject struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

type pod struct {
	HostNetwork     bool             `json:"hostNetwork"`
	Volumes         []map[string]any `json:"volumes"`
	Grace           int              `json:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot   bool              `json:"runAsNonRoot"`
		SeccompProfile map[string]string `json:"seccompProfile"`
	} `json:"securityContext"`
	Containers []struct {
		Image           string   `json:"image"`
		ImagePullPolicy string   `json:"imagePullPolicy"`
		Args            []string `json:"args"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool               `json:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool                `json:"readOnlyRootFilesystem"`
			Capabilities             map[string][]string `json:"capabilities"`
		} `json:"securityContext"`
	} `json:"containers"`
}

func TestTheOperatorHoldsNoRightThatSecurityMdDenies(t *testing.T) {
	checked := 0
	for _, o := range append(installed(t), built(t, "config/namespaced")...) {
		if o.Kind != "ClusterRole" && o.Kind != "Role" {
			continue
		}
		for _, r := range o.Rules {
			checked++
			for _, complaint := range complaints(r) {
				t.Errorf("%s %s: %s (%+v)", o.Kind, o.Metadata.Name, complaint, r)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d rules seen", checked)
	}
}

func TestARightThatSecurityMdDeniesIsFound(t *testing.T) {
	for _, bad := range []rule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
		{APIGroups: []string{"*"}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles"}, Verbs: []string{"get"}},
	} {
		if len(complaints(bad)) == 0 {
			t.Errorf("%+v was let through", bad)
		}
	}
}

// complaints says what is too much in a rule.
func complaints(r rule) []string {
	var found []string
	if slices.Contains(r.APIGroups, "*") || slices.Contains(r.Resources, "*") || slices.Contains(r.Verbs, "*") {
		found = append(found, "a wildcard")
	}
	if slices.Contains(r.APIGroups, "rbac.authorization.k8s.io") {
		found = append(found, "rights about rights")
	}
	for _, resource := range r.Resources {
		switch resource {
		case "pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "nodes/proxy", "serviceaccounts", "serviceaccounts/token":
			found = append(found, "the resource "+resource)
		case "secrets":
			if slices.Contains(r.Verbs, "list") || slices.Contains(r.Verbs, "watch") || slices.Contains(r.Verbs, "deletecollection") {
				found = append(found, "Secrets in bulk")
			}
		}
	}
	for _, verb := range r.Verbs {
		if slices.Contains([]string{"escalate", "bind", "impersonate"}, verb) {
			found = append(found, "the verb "+verb)
		}
	}
	return found
}

func TestTheOperatorsPodIsRestrictedAndTwoOfThemRun(t *testing.T) {
	deployment := only(t, "Deployment")
	spec := deployment.Spec.Template.Spec
	if deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas", deployment.Spec.Replicas)
	}
	if spec.HostNetwork || len(spec.Volumes) != 0 {
		t.Error("the Pod reaches into its host, or has a volume")
	}
	if !spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.SeccompProfile["type"] != "RuntimeDefault" {
		t.Errorf("security context %+v", spec.SecurityContext)
	}
	if spec.Grace <= 30 {
		t.Errorf("%d s of grace are less than the manager takes to give its lease back", spec.Grace)
	}
	for _, c := range spec.Containers {
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities["drop"], []string{"ALL"}) {
			t.Errorf("container security context %+v", s)
		}
		if c.ImagePullPolicy != "IfNotPresent" || !strings.HasPrefix(c.Image, "ghcr.io/etcdsteward/etcd-steward:") {
			t.Errorf("image %s, pulled %s", c.Image, c.ImagePullPolicy)
		}
		if !slices.Contains(c.Args, "--leader-elect") {
			t.Errorf("two replicas without leader election: %q", c.Args)
		}
	}
}

func TestTheNamespaceEnforcesRestrictedPods(t *testing.T) {
	namespace := only(t, "Namespace")
	if namespace.Metadata.Name != "etcd-steward-system" || namespace.Metadata.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("%+v", namespace.Metadata)
	}
}

func TestEveryObjectFitsIntoKubectlApply(t *testing.T) {
	for _, o := range installed(t) {
		if o.size > lastApplied {
			t.Errorf("%s %s is %d bytes; kubectl apply takes %d", o.Kind, o.Metadata.Name, o.size, lastApplied)
		}
	}
}

func only(t *testing.T, kind string) object {
	t.Helper()
	var found []object
	for _, o := range installed(t) {
		if o.Kind == kind {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s", len(found), kind)
	}
	return found[0]
}

func installed(t *testing.T) []object {
	t.Helper()
	return built(t, "config/default")
}

func objectsOf(t *testing.T, made resmap.ResMap) []object {
	t.Helper()
	var objects []object
	for _, res := range made.Resources() {
		text, err := res.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := res.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o := object{size: len(asJSON), text: text}
		if err := yaml.Unmarshal(text, &o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}
