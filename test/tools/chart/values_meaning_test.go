package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// made is what the chart makes of values: a line for each object of these kinds.
func made(t *testing.T, namespace string, kinds []string, args ...string) []string {
	t.Helper()
	var lines []string
	for _, o := range rendered(t, namespace, withoutCRDs(args...)...) {
		kind, metadata := o["kind"].(string), o["metadata"].(object)
		if slices.Contains(kinds, kind) {
			lines = append(lines, strings.Trim(fmt.Sprintf("%s %v/%s", kind, metadata["namespace"], metadata["name"]), " "))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestAnOperatorOfSeveralNamespacesHasARoleInEachAndNoRightOutside(t *testing.T) {
	all := []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service"}
	got := made(t, "ops", all, "--set", "watchNamespaces={team-b,team-a,team-b}")
	want := []string{
		"Role ops/etcd-steward-leader-election-role",
		"Role team-a/etcd-steward-manager-role", "Role team-b/etcd-steward-manager-role",
		"RoleBinding ops/etcd-steward-leader-election-rolebinding",
		"RoleBinding team-a/etcd-steward-manager-rolebinding", "RoleBinding team-b/etcd-steward-manager-rolebinding",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, o := range rendered(t, "ops", "--set", "crds.install=false,watchNamespaces={team-b,team-a}") {
		for _, subject := range list(o["subjects"]) {
			if subject["namespace"] != "ops" || subject["name"] != "etcd-steward-controller-manager" {
				t.Errorf("bound is %v", subject)
			}
		}
	}
	args := argsOf(t, "ops", "--set", "watchNamespaces={team-b,team-a}")
	if args["--namespace"] != "team-a,team-b" || args["--agent-image"] != "ghcr.io/etcdsteward/etcd-steward:dev" {
		t.Errorf("%v", args)
	}
	if image := argsOf(t, "ops", "--set", "watchNamespaces={team-a,ops}")["--agent-image"]; image != nil {
		t.Errorf("it may read its own Pod, and is told the image %v", image)
	}
}

func TestRightsOutsideItsNamespacesAreThereWhenTheyAreAskedFor(t *testing.T) {
	got := made(t, "ops", []string{"ClusterRole", "ClusterRoleBinding", "Service"}, "--set", "watchNamespaces={team-a}",
		"--set", "rbac.nodeReader=true,metrics.enabled=true,rbac.aggregate=false")
	want := []string{
		"ClusterRole <nil>/etcd-steward-ops-metrics-auth-role", "ClusterRole <nil>/etcd-steward-ops-metrics-reader",
		"ClusterRole <nil>/etcd-steward-ops-node-reader-role",
		"ClusterRoleBinding <nil>/etcd-steward-ops-metrics-auth-rolebinding",
		"ClusterRoleBinding <nil>/etcd-steward-ops-node-reader-rolebinding",
		"Service ops/etcd-steward-controller-manager-metrics",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestTheWebhookOfSomeNamespacesIsAskedAboutThemAlone(t *testing.T) {
	set := "crds.install=false,webhook.enabled=true,watchNamespaces={team-b,team-a},networkPolicy.enabled=true"
	found := map[string]int{}
	for _, o := range rendered(t, "ops", "--set", set) {
		kind, name := o["kind"].(string), sub(o, "metadata")["name"].(string)
		found[kind]++
		switch {
		case kind == "ValidatingWebhookConfiguration":
			if name != "etcd-steward-ops" || len(list(o["webhooks"])) != 6 {
				t.Errorf("%s has %d webhooks", name, len(list(o["webhooks"])))
			}
			for _, hook := range list(o["webhooks"]) {
				only := list(sub(hook, "namespaceSelector")["matchExpressions"])
				if len(only) != 1 || fmt.Sprint(only[0]["values"]) != "[team-a team-b]" {
					t.Errorf("%s asks about %v", hook["name"], only)
				}
				if to := sub(sub(hook, "clientConfig"), "service"); to["namespace"] != "ops" || to["name"] != "etcd-steward-webhook" {
					t.Errorf("%s leads to %v", hook["name"], to)
				}
			}
		case kind == "ClusterRole" && name == "etcd-steward-ops-webhook-role":
			if names := fmt.Sprint(list(o["rules"])[0]["resourceNames"]); names != "[etcd-steward-ops]" {
				t.Errorf("the operator may write %s", names)
			}
		case kind == "Role" && sub(o, "metadata")["namespace"] == "ops":
			if rules := fmt.Sprint(o["rules"]); !strings.Contains(rules, "[etcd-steward-webhook-ca]") {
				t.Errorf("the operator may not read its CA: %s", rules)
			}
		case kind == "NetworkPolicy":
			if rules := fmt.Sprint(sub(o, "spec")["ingress"]); !strings.Contains(rules, "port:webhook") {
				t.Errorf("API servers are not let in: %s", rules)
			}
		}
	}
	for _, kind := range []string{"ValidatingWebhookConfiguration", "ClusterRole", "Role", "NetworkPolicy"} {
		if found[kind] == 0 {
			t.Errorf("there is no %s", kind)
		}
	}
	if args := argsOf(t, "ops", "--set", set); args["--webhook"] != "etcd-steward-ops" {
		t.Errorf("%v", args)
	}
}

func TestDefinitionsAreKeptUnlessItIsSaid(t *testing.T) {
	for set, want := range map[string]int{"replicas=2": 5, "crds.keep=false": 0} {
		kept, definitions := 0, 0
		for _, o := range rendered(t, "ops", "--set", set) {
			if o["kind"] != "CustomResourceDefinition" {
				continue
			}
			definitions++
			if sub(sub(o, "metadata"), "annotations")["helm.sh/resource-policy"] == "keep" {
				kept++
			}
		}
		if definitions != 5 || kept != want {
			t.Errorf("%s: %d of %d definitions are kept", set, kept, definitions)
		}
	}
}

func TestTheMemoryOfGoFollowsTheLimit(t *testing.T) {
	for limit, want := range map[string]any{"256Mi": "230MiB", "1Gi": "921MiB", "1.5Gi": "1382MiB", "500M": "429MiB", "null": nil} {
		got := any(nil)
		for _, variable := range list(managerOf(t, "ops", "--set", "resources.limits.memory="+limit)["env"]) {
			if variable["name"] == "GOMEMLIMIT" {
				got = variable["value"]
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", limit, got, want)
		}
	}
}

func TestADigestGoesBeforeATag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for set, want := range map[string]string{
		"image.tag=v1":                              "ghcr.io/etcdsteward/etcd-steward:v1",
		"image.tag=v1,image.digest=" + digest:       "ghcr.io/etcdsteward/etcd-steward@" + digest,
		"image.repository=mirror.example:5000/etcd": "mirror.example:5000/etcd:dev",
	} {
		if got := managerOf(t, "ops", "--set", set)["image"]; got != want {
			t.Errorf("%s: %v", set, got)
		}
	}
}

func TestWhoChoosesIDsIsSaidToTheOperatorAndOfItsOwnPod(t *testing.T) {
	for set, want := range map[string]struct{ flag, user any }{
		"platformIDs=auto":  {nil, int64(65532)},
		"platformIDs=false": {"false", int64(65532)},
		"platformIDs=true":  {"true", nil},
	} {
		flag := argsOf(t, "ops", "--set", set)["--platform-ids"]
		user := sub(podOf(t, "ops", "--set", set), "securityContext")["runAsUser"]
		if flag != want.flag || fmt.Sprint(user) != fmt.Sprint(want.user) {
			t.Errorf("%s: flag %v, user %v", set, flag, user)
		}
	}
}

func TestWhatIsSetReachesTheOperatorsPod(t *testing.T) {
	pod := podOf(t, "ops", "--set", "imagePullSecrets[0].name=mine,priorityClassName=high,nodeSelector.disk=ssd",
		"--set", "tolerations[0].operator=Exists,affinity.nodeAffinity.x=y,topologySpreadConstraints=null")
	want := object{"imagePullSecrets": []any{object{"name": "mine"}}, "priorityClassName": "high",
		"nodeSelector": object{"disk": "ssd"}, "tolerations": []any{object{"operator": "Exists"}},
		"affinity": object{"nodeAffinity": object{"x": "y"}}, "topologySpreadConstraints": nil}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if found := differences(field, pod[field], want[field]); len(found) > 0 {
			t.Error(found)
		}
	}
	args := argsOf(t, "ops", "--set", "clusterDomain=example.internal,extraArgs={--zap-log-level=debug}")
	if args["--cluster-domain"] != "example.internal" || args["--zap-log-level"] != "debug" {
		t.Errorf("%v", args)
	}
}

func TestTracesAreSentWhereACollectorIsNamed(t *testing.T) {
	if args := argsOf(t, "ops"); args["--otlp-endpoint"] != nil {
		t.Errorf("without one: %v", args)
	}
	set := []string{"--set", "tracing.endpoint=http://collector.observability:4317",
		"--set", "tracing.env[0].name=OTEL_EXPORTER_OTLP_HEADERS,tracing.env[0].valueFrom.secretKeyRef.name=collector"}
	if args := argsOf(t, "ops", set...); args["--otlp-endpoint"] != "http://collector.observability:4317" {
		t.Errorf("%v", args)
	}
	env := list(managerOf(t, "ops", set...)["env"])
	if last := env[len(env)-1]; fmt.Sprint(last) != "map[name:OTEL_EXPORTER_OTLP_HEADERS valueFrom:map[secretKeyRef:map[name:collector]]]" {
		t.Errorf("%v", env)
	}
}

func TestMembersAreScrapedWhereTheOperatorLooks(t *testing.T) {
	for _, o := range rendered(t, "ops", "--set", "crds.install=false,monitoring.podMonitor=true,watchNamespaces={team-b,team-a}") {
		if o["kind"] == "PodMonitor" {
			want := object{"matchNames": []any{"team-a", "team-b"}}
			for _, difference := range differences("", sub(o, "spec")["namespaceSelector"], want) {
				t.Error(difference)
			}
			return
		}
	}
	t.Error("there is no PodMonitor")
}

func TestOnlyMetricsAndProbesMayBeReachedWhereThatIsAskedFor(t *testing.T) {
	var rules []object
	for _, o := range rendered(t, "ops", "--set", "crds.install=false,networkPolicy.enabled=true,networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus") {
		if o["kind"] == "NetworkPolicy" {
			rules = list(sub(o, "spec")["ingress"])
		}
	}
	want := []object{
		{"ports": []any{object{"port": "health"}}},
		{"ports": []any{object{"port": "https-metrics"}},
			"from": []any{object{"podSelector": object{"matchLabels": object{"app": "prometheus"}}}}},
	}
	if fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("%v", rules)
	}
}

// list is a field's objects.
func list(value any) []object {
	var objects []object
	items, _ := value.([]any)
	for _, item := range items {
		objects = append(objects, item.(object))
	}
	return objects
}

func podOf(t *testing.T, namespace string, args ...string) object {
	t.Helper()
	for _, o := range rendered(t, namespace, withoutCRDs(args...)...) {
		if o["kind"] == "Deployment" {
			return sub(sub(sub(o, "spec"), "template"), "spec")
		}
	}
	t.Fatal("there is no Deployment")
	return nil
}

func managerOf(t *testing.T, namespace string, args ...string) object {
	t.Helper()
	return list(podOf(t, namespace, args...)["containers"])[0]
}

func argsOf(t *testing.T, namespace string, args ...string) object {
	t.Helper()
	return flags(namespace, managerOf(t, namespace, args...)["args"])
}

func TestTheManagerIsToldWhereTheImagesOfClustersComeFrom(t *testing.T) {
	a, b := "sha256:"+strings.Repeat("0a", 32), "sha256:"+strings.Repeat("0b", 32)
	args := managerOf(t, "ops", "--set", "etcd.repository=mirror.example.com/etcd,etcd.pullSecrets={mirror,other}",
		"--set", `etcd.digests.3\.7\.3=`+b+`,etcd.digests.3\.6\.16=`+a)["args"].([]any)
	want := []any{"--etcd-repository=mirror.example.com/etcd", "--etcd-digest=3.6.16=" + a, "--etcd-digest=3.7.3=" + b,
		"--image-pull-secret=mirror", "--image-pull-secret=other"}
	if len(args) < len(want) || !slices.Equal(args[len(args)-len(want):], want) {
		t.Errorf("%v", args)
	}
	for _, arg := range managerOf(t, "ops")["args"].([]any) {
		if strings.HasPrefix(arg.(string), "--etcd") || strings.HasPrefix(arg.(string), "--image") {
			t.Errorf("without a value it is told %v", arg)
		}
	}
}

func TestPoliciesLookAtTheOperatorsAccountAlone(t *testing.T) {
	const ofAll = ".endsWith('etcd-steward-controller-manager')"
	for _, row := range []struct {
		name string
		set  string
		want string // of the match condition; "" for no policies
	}{
		{"the account of the chart, as with kustomize", "replicas=2", ofAll},
		{"the account of a release of another name", "fullnameOverride=my-etcd-steward", ofAll},
		{"an account of your own", "serviceAccount.name=mine", " == 'system:serviceaccount:ops:mine'"},
		{"the account default, which is in each namespace", "serviceAccount.create=false", " == 'system:serviceaccount:ops:default'"},
		{"some namespaces", "watchNamespaces={team-a}", ""},
		{"some namespaces, where it is asked for", "watchNamespaces={team-a},admissionPolicy=true", ofAll},
		{"none where it is turned off", "admissionPolicy=false", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			policies := 0
			for _, o := range rendered(t, "ops", withoutCRDs("--set", row.set)...) {
				if o["kind"] != "ValidatingAdmissionPolicy" {
					continue
				}
				policies++
				condition := list(sub(o, "spec")["matchConditions"])[0]["expression"].(string)
				if row.want == "" || !strings.Contains(condition, row.want) || row.want != ofAll && strings.Contains(condition, "endsWith") {
					t.Errorf("%v looks at: %s", sub(o, "metadata")["name"], condition)
				}
			}
			if (policies == 7) != (row.want != "") {
				t.Errorf("there are %d policies", policies)
			}
		})
	}
}

func TestTheRightToReadMetricsIsOfWhomTheServiceMonitorAsksAsAndOfTheScraperThatIsNamed(t *testing.T) {
	for set, want := range map[string][]string{
		"monitoring.serviceMonitor=true":                                        {"mine-metrics-reader ops"},
		"monitoring.scraper.serviceAccount=prom":                                {"prom monitoring"},
		"monitoring.serviceMonitor=true,monitoring.scraper.serviceAccount=prom": {"mine-metrics-reader ops", "prom monitoring"},
	} {
		var bound []string
		for _, o := range rendered(t, "ops", withoutCRDs("--set", set+",fullnameOverride=mine")...) {
			if name, _ := sub(o, "metadata")["name"].(string); o["kind"] == "ClusterRoleBinding" && strings.HasSuffix(name, "-metrics-reader") {
				for _, s := range list(o["subjects"]) {
					bound = append(bound, fmt.Sprint(s["name"], " ", s["namespace"]))
				}
			}
		}
		if !slices.Equal(bound, want) {
			t.Errorf("%s: bound are %q", set, bound)
		}
	}
}

func TestPrometheusExpectsTheOperatorInItsOwnNamespace(t *testing.T) {
	for _, o := range rendered(t, "ops", withoutCRDs("--set", "monitoring.serviceMonitor=true")...) {
		if o["kind"] != "ServiceMonitor" {
			continue
		}
		name := sub(list(sub(o, "spec")["endpoints"])[0], "tlsConfig")["serverName"]
		if name != "etcd-steward-controller-manager-metrics.ops.svc" {
			t.Errorf("it expects %v", name)
		}
		return
	}
	t.Error("there is no ServiceMonitor")
}
