package alerts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func TestEveryMembersPodIsSelectedAndServesPlainMetricsOnThePort(t *testing.T) {
	monitor := one[monitoringv1.PodMonitor](t, "../../../config/monitoring", "PodMonitor", "")
	selector := labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels)
	endpoint := monitor.Spec.PodMetricsEndpoints[0]
	if !monitor.Spec.NamespaceSelector.Any || len(monitor.Spec.PodMetricsEndpoints) != 1 || !strings.EqualFold(endpoint.Scheme, "http") {
		t.Errorf("not one plain endpoint in all namespaces: %+v", monitor.Spec)
	}
	pods, err := filepath.Glob("../../../controllers/resources/testdata/pod-*.yaml")
	if err != nil || len(pods) < 10 {
		t.Fatalf("%d Pods to look at: %v", len(pods), err)
	}
	for _, file := range pods {
		pod := read[corev1.Pod](t, file)
		if !selector.Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s is not selected: %v", file, pod.Labels)
		}
		etcd := pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "etcd" })]
		if !slices.ContainsFunc(etcd.Ports, func(p corev1.ContainerPort) bool { return p.Name == *endpoint.Port }) {
			t.Errorf("%s has no port %s", file, *endpoint.Port)
		}
		if !slices.ContainsFunc(etcd.Args, func(arg string) bool { return strings.HasPrefix(arg, "--listen-metrics-urls=http://") }) {
			t.Errorf("%s does not serve metrics as plain HTTP", file)
		}
	}
}

func TestTheOperatorsServiceIsSelectedAndItsSeriesKeepTheLabelsOfTheCluster(t *testing.T) {
	monitor := one[monitoringv1.ServiceMonitor](t, "../../../config/monitoring", "ServiceMonitor", "")
	service := one[corev1.Service](t, "../../../config/default", "Service", "etcd-steward-controller-manager-metrics")
	endpoint := monitor.Spec.Endpoints[0]
	if monitor.Namespace != service.Namespace || !labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)) {
		t.Errorf("%s in %s is not selected by %v", service.Name, service.Namespace, monitor.Spec.Selector)
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == endpoint.Port }) {
		t.Errorf("the Service has no port %s", endpoint.Port)
	}
	if !endpoint.HonorLabels || !strings.EqualFold(endpoint.Scheme, "https") {
		t.Errorf("labels of clusters are lost, or it is asked in clear text: %+v", endpoint)
	}
}

// A Prometheus with arbitraryFSAccessThroughSMs.deny refuses a token in a file of its own.
func TestThePrometheusOperatorReadsTheTokenOfTheScraperFromASecret(t *testing.T) {
	monitor := one[monitoringv1.ServiceMonitor](t, "../../../config/monitoring", "ServiceMonitor", "")
	secret := one[corev1.Secret](t, "../../../config/monitoring", "Secret", "")
	account := one[corev1.ServiceAccount](t, "../../../config/monitoring", "ServiceAccount", "")
	binding := one[rbacv1.ClusterRoleBinding](t, "../../../config/monitoring", "ClusterRoleBinding", "")
	authorization := monitor.Spec.Endpoints[0].Authorization
	if authorization == nil || authorization.Type != "" && authorization.Type != "Bearer" || authorization.Credentials == nil ||
		authorization.Credentials.Name != secret.Name || authorization.Credentials.Key != corev1.ServiceAccountTokenKey || monitor.Namespace != secret.Namespace {
		t.Errorf("it asks with %+v, and the Secret is %s in %s", authorization, secret.Name, secret.Namespace)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != account.Name || secret.Namespace != account.Namespace {
		t.Errorf("Kubernetes writes no token of %s into %+v", account.Name, secret)
	}
	if s := binding.Subjects; len(s) != 1 || s[0].Kind != "ServiceAccount" || s[0].Name != account.Name || s[0].Namespace != account.Namespace {
		t.Errorf("the right is of %+v", s)
	}
}

func TestTheScraperIsBoundToTheRoleThatIsInstalled(t *testing.T) {
	binding := one[rbacv1.ClusterRoleBinding](t, "../../../config/monitoring", "ClusterRoleBinding", "")
	role := one[rbacv1.ClusterRole](t, "../../../config/default", "ClusterRole", binding.RoleRef.Name)
	if len(role.Rules) != 1 || !slices.Equal(role.Rules[0].NonResourceURLs, []string{"/metrics"}) || !slices.Equal(role.Rules[0].Verbs, []string{"get"}) {
		t.Errorf("the role is %+v", role.Rules)
	}
}

func TestGrafanaFindsBothDashboardsByTheLabelOfItsSidecar(t *testing.T) {
	dashboards := one[corev1.ConfigMap](t, "../../../config/monitoring", "ConfigMap", "")
	if dashboards.Name != "etcd-steward-dashboards" || dashboards.Labels["grafana_dashboard"] != "1" {
		t.Errorf("the ConfigMap is called %s and has the labels %v", dashboards.Name, dashboards.Labels)
	}
	for _, file := range []string{"operator.json", "cluster.json"} {
		if got, want := dashboards.Data["etcd-steward-"+file], text(t, "../../../config/monitoring/dashboards/"+file); got != want {
			t.Errorf("%s is not in it", file)
		}
	}
}

// one is the only object of a kind that kustomize builds from a directory, or the one of that name.
func one[T any](t *testing.T, directory, kind, name string) T {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		t.Fatal(err)
	}
	var found []T
	for _, res := range built.Resources() {
		if res.GetKind() != kind || name != "" && res.GetName() != name {
			continue
		}
		asYAML, err := res.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, strict[T](t, asYAML))
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s %s in %s", len(found), kind, name, directory)
	}
	return found[0]
}
