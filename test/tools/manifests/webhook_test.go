package manifests

import (
	"strings"
	"testing"
)

func TestTheWebhookFollowsTheOperatorIntoAnotherNamespace(t *testing.T) {
	for _, base := range []string{"default", "namespaced", "openshift"} {
		objects := overlaid(t, "namespace: ops\nresources: [../"+base+"]\ncomponents: [../webhook]\n")
		configuration := string(named(t, objects, "ValidatingWebhookConfiguration", "etcd-steward").text)
		if leads := strings.Count(configuration, "namespace: ops\n"); leads != 6 || strings.Contains(configuration, "etcd-steward-system") {
			t.Errorf("%s: %d webhooks lead to the operator\n%s", base, leads, configuration)
		}
		if service := named(t, objects, "Service", "etcd-steward-webhook"); service.Metadata.Namespace != "ops" {
			t.Errorf("%s: the Service is in %s", base, service.Metadata.Namespace)
		}
		binding := named(t, objects, "ClusterRoleBinding", "etcd-steward-webhook-rolebinding")
		if len(binding.Subjects) != 1 || binding.Subjects[0].Name != account || binding.Subjects[0].Namespace != "ops" {
			t.Errorf("%s: bound is %+v", base, binding.Subjects)
		}
		args := named(t, objects, "Deployment", account).Spec.Template.Spec.Containers[0].Args
		if last(args, "--webhook=") != "etcd-steward" {
			t.Errorf("%s: %q", base, args)
		}
	}
	for _, o := range built(t, "config/default") {
		if o.Kind == "ValidatingWebhookConfiguration" {
			t.Errorf("%s is installed unasked", o.Metadata.Name)
		}
	}
}
