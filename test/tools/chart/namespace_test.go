package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deployed is a Deployment of the operator that Kubernetes has already.
func deployed(name, release string, annotations ...string) object {
	all := object{}
	if release != "" {
		all["meta.helm.sh/release-name"] = release
	}
	for _, annotation := range annotations {
		all[annotation] = "true"
	}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name, "namespace": "ops",
		"labels": object{"app.kubernetes.io/name": "etcd-steward"}, "annotations": all}}
}

// kubernetes answers what Helm asks before it renders: which Deployments are in the namespace ops.
func kubernetes(t *testing.T, deployments ...object) (kubeconfig string) {
	t.Helper()
	group := object{"name": "apps", "versions": []object{{"groupVersion": "apps/v1", "version": "v1"}}}
	answers := map[string]object{
		"/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
		"/api":     {"kind": "APIVersions", "versions": []string{"v1"}},
		"/api/v1":  {"kind": "APIResourceList", "groupVersion": "v1", "resources": []object{}},
		"/apis":    {"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{group}},
		"/apis/apps/v1": {"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": []object{
			{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": []string{"get", "list"}}}},
		"/apis/apps/v1/namespaces/ops/deployments": {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": deployments},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, isKnown := answers[r.URL.Path]
		if !isKnown {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], "+
		"clusters: [{name: a, cluster: {server: %q}}]}", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// Both would be found out late: a second operator never leads, and Helm deletes definitions with every cluster.
func TestWhatStandsInTheNamespaceIsRefusedWhereTheReleaseWouldDoHarm(t *testing.T) {
	const own, goes = "etcd-steward-controller-manager", "etcdsteward.dev/definitions-go"
	for name, row := range map[string]struct {
		there   object
		set     string
		refuses []string
	}{
		"its own":                    {deployed(own, "etcd-steward"), "crds.install=false", nil},
		"its own, under a new name":  {deployed("former-controller-manager", "etcd-steward"), "crds.install=false", nil},
		"another program":            {object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "shop"}}, "crds.install=false", nil},
		"another release":            {deployed("second-etcd-steward-controller-manager", "second"), "crds.install=false", []string{"second-etcd-steward", "ops", "namespace of its own"}},
		"an install by another tool": {deployed("controller-manager", ""), "crds.install=false", []string{"Deployment controller-manager"}},
		"definitions that would go":  {deployed(own, "etcd-steward", goes), "crds.install=false", []string{"crds.install", "crds.keep=true", "every EtcdCluster"}},
		"definitions that stay":      {deployed(own, "etcd-steward", goes), "crds.keep=true", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := template(t, "ops", "--dry-run=server", "--kubeconfig", kubernetes(t, row.there), "--set", row.set,
				"--disable-openapi-validation")
			if err == nil {
				t.Fatal("this Kubernetes knows no kind but Deployments, and Helm finds all that it would install")
			}
			if isRendered := strings.Contains(err.Error(), "resource mapping not found"); isRendered != (len(row.refuses) == 0) {
				t.Error(err)
			}
			for _, word := range row.refuses {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in: %v", word, err)
				}
			}
		})
	}
}

func TestADeploymentSaysThatTheDefinitionsGoWithTheRelease(t *testing.T) {
	for set, want := range map[string]string{"crds.keep=true": "", "crds.keep=false": "true", "crds.keep=false,crds.install=false": ""} {
		for _, deployment := range ofKind(rendered(t, "ops", "--set", set), "Deployment") {
			if got, _ := sub(sub(deployment, "metadata"), "annotations")["etcdsteward.dev/definitions-go"].(string); got != want {
				t.Errorf("%s: %q", set, got)
			}
		}
	}
}
