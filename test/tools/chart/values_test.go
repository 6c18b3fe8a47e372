package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestABadValueIsRefusedByItsName(t *testing.T) {
	// Each on one line, since helm says all that the schema refuses at once.
	bySchema := map[string][]string{
		"replica=3":                                          {"replica"},
		"image.digest=0123":                                  {"image", "digest"},
		"image.tag=a b":                                      {"image", "tag"},
		"image.pullPolicy=Sometimes":                         {"image", "pullPolicy"},
		"image.repository=":                                  {"image", "repository"},
		"imagePullSecrets[0]=my-registry":                    {"imagePullSecrets", "0"},
		"fullnameOverride=Etcd":                              {"fullnameOverride"},
		"replicas=two":                                       {"replicas"},
		"replicas=-1":                                        {"replicas"},
		"watchNamespaces=team-a":                             {"watchNamespaces"},
		"watchNamespaces={Team}":                             {"watchNamespaces", "0"},
		"watchNamespaces={a\\,b}":                            {"watchNamespaces", "0"},
		"clusterDomain=Example.Internal":                     {"clusterDomain"},
		"platformIDs=yes":                                    {"platformIDs"},
		"extraArgs={debug}":                                  {"extraArgs", "0"},
		"crds.keep=always":                                   {"crds", "keep"},
		"crds.enabled=true":                                  {"crds", "enabled"},
		"serviceAccount.name=My Account":                     {"serviceAccount", "name"},
		"rbac.nodeReader=1":                                  {"rbac", "nodeReader"},
		"metrics.enabled=on":                                 {"metrics", "enabled"},
		"monitoring.rules=warning":                           {"monitoring", "rules"},
		"tracing.endpoint=collector:4317":                    {"tracing", "endpoint"},
		"tracing.endpoint=http://collector":                  {"tracing", "endpoint"},
		"tracing.env[0].name=POD_NAME":                       {"tracing", "env", "0", "name"},
		"webhook.enabled=auto":                               {"webhook", "enabled"},
		"webhook.port=1":                                     {"webhook", "port"},
		"networkPolicy.metricsFrom[0].pods=x":                {"networkPolicy", "metricsFrom", "pods"},
		"resources.limits.memory=lots":                       {"resources", "limits", "memory"},
		"resources.limits.memory=100m":                       {"resources", "limits", "memory"},
		"podLabels.control-plane=mine":                       {"podLabels", "control-plane"},
		"topologySpreadConstraints[0].topologyKey=zo":        {"topologySpreadConstraints", "0", "maxSkew"},
		"etcd.repository=registry/etcd:v3.6.16":              {"etcd", "repository"},
		"etcd.digests.3\\.6\\.16=sha256:0123":                {"etcd", "digests"},
		"etcd.digests.v3=sha256:" + strings.Repeat("0a", 32): {"etcd", "digests", "v3"},
		"etcd.pullSecrets={My Secret}":                       {"etcd", "pullSecrets", "0"},
		"etcd.pullSecret=mine":                               {"etcd", "pullSecret"},
	}
	for _, sets := range together(slices.Sorted(maps.Keys(bySchema))) {
		lines := strings.Split(refusal(t, sets...), "\n")
		for _, set := range sets {
			isNamed := func(line string) bool {
				return !slices.ContainsFunc(bySchema[set], func(word string) bool { return !strings.Contains(line, word) })
			}
			if !slices.ContainsFunc(lines, isNamed) {
				t.Errorf("%s: no line has all of %q:\n%s", set, bySchema[set], strings.Join(lines, "\n"))
			}
		}
	}
	byTemplates := map[string][]string{
		"extraArgs={--namespace=a}":                                 {"extraArgs", "--namespace", "watchNamespaces"},
		"extraArgs={-cluster-domain}":                               {"extraArgs", "--cluster-domain", "clusterDomain"},
		"extraArgs={--otlp-endpoint=http://a:4317}":                 {"extraArgs", "--otlp-endpoint", "tracing.endpoint"},
		"extraArgs={--webhook=mine}":                                {"extraArgs", "--webhook", "webhook.enabled"},
		"extraArgs={--etcd-digest=3.6.16=x}":                        {"extraArgs", "--etcd-digest", "etcd.digests"},
		"extraArgs={--leader-elect=0}":                              {"extraArgs", "--leader-elect", "replicas"},
		"monitoring.serviceMonitor=true,watchNamespaces={a}":        {"monitoring.serviceMonitor", "metrics.enabled"},
		"monitoring.rules=true,watchNamespaces={a}":                 {"monitoring.rules", "metrics.enabled"},
		"monitoring.scraper.serviceAccount=p,metrics.enabled=false": {"monitoring.scraper.serviceAccount", "metrics.enabled"},
		"extraArgs={--health-probe-bind-address=:9}":                {"extraArgs", "--health-probe-bind-address"},
		"extraArgs={--version}":                                     {"extraArgs", "--version"},
	}
	for set, want := range byTemplates {
		said := refusal(t, set)
		for _, word := range want {
			if !strings.Contains(said, word) {
				t.Errorf("%s: %q is not in: %s", set, word, said)
			}
		}
	}
}

// together puts values into as few calls of helm as it can: no call sets one of them twice.
func together(sets []string) [][]string {
	var calls [][]string
	for _, set := range sets {
		path, _, _ := strings.Cut(set, "=")
		isFree := func(call []string) bool {
			return !slices.ContainsFunc(call, func(other string) bool { return strings.HasPrefix(other, path+"=") })
		}
		if i := slices.IndexFunc(calls, isFree); i >= 0 {
			calls[i] = append(calls[i], set)
			continue
		}
		calls = append(calls, []string{set})
	}
	return calls
}

// refusal is what helm says to values that it must not take.
func refusal(t *testing.T, sets ...string) string {
	t.Helper()
	var args []string
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	_, err := template(t, "etcd-steward-system", withoutCRDs(args...)...)
	if err == nil {
		t.Fatalf("%v: it is accepted", sets)
	}
	return err.Error()
}

// withoutCRDs leaves out what takes the most time to render.
func withoutCRDs(args ...string) []string {
	return append([]string{"--set", "crds.install=false"}, args...)
}

func TestGoodValuesThatAreSeldomSetAreAccepted(t *testing.T) {
	for _, set := range []string{
		"global.registry=mine", "etcd.repository=mirror.example.com:5000/etcd", "etcd.pullSecrets={mirror}", "enabled=true", "replicas=0", "replicas=1", "image.digest=sha256:" + strings.Repeat("0a", 32),
		"imagePullSecrets[0].name=my-registry", "resources.limits.cpu=1", "resources.limits=null", "clusterDomain=example.internal.",
		"networkPolicy.enabled=true,networkPolicy.metricsFrom[0].ipBlock.cidr=10.0.0.0/8", "serviceAccount.create=false",
		"podLabels.team=storage", "tracing.endpoint=https://[fd00::1]:4317", "tracing.endpoint=", "monitoring.serviceMonitor=true,watchNamespaces={a},metrics.enabled=true",
		"watchNamespaces={a},monitoring.scraper=null",
	} {
		if _, err := template(t, "etcd-steward-system", withoutCRDs("--set", set)...); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// The end of a here-document stands at the beginning of its line, or the shell waits for more.
func TestACommandOfTheNotesCanBePasted(t *testing.T) {
	said, err := helm(t, withoutCRDs("install", "etcd-steward", filepath.Join(root, source), "--dry-run=client", "--namespace", "a",
		"--set", "watchNamespaces={b,a}")...)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(said), "\nkubectl -n a apply -f - <<'END'\n")
	document, _, isEnded := strings.Cut(rest, "\nEND\n")
	made := object{}
	if err := yaml.Unmarshal([]byte(document), &made); err != nil || !isEnded || made["kind"] != "EtcdCluster" {
		t.Errorf("%v, %v: %s", err, isEnded, said)
	}
}

func TestTheChartPassesHelmsOwnLint(t *testing.T) {
	out, err := helm(t, "lint", "--strict", filepath.Join(root, source))
	if err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(out), "1 chart(s) linted, 0 chart(s) failed") || strings.Contains(string(out), "[WARNING]") {
		t.Errorf("%s", out)
	}
}

// documented is a row of the README's table.
var documented = regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\|")

func TestEachValueIsInTheTableInTheSchemaAndInATemplate(t *testing.T) {
	values := map[string]any{}
	if err := decode(filepath.Join(root, source, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	paths := leaves("", values)
	page, err := os.ReadFile(filepath.Join(root, source, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range documented.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, row[1])
	}
	slices.Sort(rows)
	if len(paths) < 30 || !slices.Equal(paths, rows) {
		t.Errorf("values and the table of README.md differ\nvalues: %v\ntable:  %v", paths, rows)
	}
	text, err := os.ReadFile(filepath.Join(root, source, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := yaml.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	templates := textOfTemplates(t)
	for _, path := range paths {
		if !describes(schema, strings.Split(path, ".")) {
			t.Errorf("%s has no schema", path)
		}
		above := path[:max(0, strings.LastIndex(path, "."))]
		if !strings.Contains(templates, ".Values."+path) && !strings.Contains(templates, ".Values."+above+" ") {
			t.Errorf("no template asks for %s", path)
		}
	}
}

// governed is a flag that the chart gives as a value says.
var governed = regexp.MustCompile(`(?m)^ *- --([a-z-]+)=\{\{`)

func TestAFlagThatAValueGovernsIsRefusedInExtraArgs(t *testing.T) {
	flags := governed.FindAllStringSubmatch(textOfTemplates(t), -1)
	for _, flag := range flags {
		_, err := template(t, "ops", withoutCRDs("--set", "extraArgs={--"+flag[1]+"=x}")...)
		if flag[1] != "agent-image" && (err == nil || !strings.Contains(err.Error(), "extraArgs has --"+flag[1])) {
			t.Errorf("--%s may be given twice: %v", flag[1], err)
		}
	}
	if len(flags) < 8 {
		t.Errorf("only %d flags were found", len(flags))
	}
}

func textOfTemplates(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, source, "templates", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// whole are values that are Kubernetes' own below their name.
var whole = []string{"resources", "podSecurityContext", "securityContext", "affinity", "nodeSelector"}

// leaves are the paths of values, sorted.
func leaves(above string, values map[string]any) []string {
	var all []string
	for name, value := range values {
		path := strings.TrimPrefix(above+"."+name, ".")
		children, isObject := value.(map[string]any)
		if isObject && len(children) > 0 && !slices.Contains(whole, path) {
			all = append(all, leaves(path, children)...)
			continue
		}
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

func describes(schema map[string]any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	next, isThere := sub(schema, "properties")[path[0]].(map[string]any)
	return isThere && describes(next, path[1:])
}
