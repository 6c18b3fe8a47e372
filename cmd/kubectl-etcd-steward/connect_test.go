package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// serving is the healthy cluster, which clients can connect to.
func serving(t *testing.T, change func(*v1alpha1.EtcdCluster)) *session {
	t.Helper()
	return sessionOf(changed(t, func(c *v1alpha1.EtcdCluster) {
		c.Status.Endpoints = []string{"https://demo.prod.svc:2379"}
		c.Status.ClientSecretRef = &v1alpha1.SecretReference{Name: "demo-client-tls"}
		change(c)
	}), interceptor.Funcs{})
}

func asItIs(*v1alpha1.EtcdCluster) {}

func withoutTLS(c *v1alpha1.EtcdCluster) {
	c.Status.Endpoints, c.Status.ClientSecretRef = []string{"http://demo.prod.svc:2379"}, nil
}

func outside(c *v1alpha1.EtcdCluster) {
	c.Spec.TLS = &v1alpha1.TLSSpec{ExtraSANs: []string{"etcd.example.com"}}
	c.Status.Endpoints = append(c.Status.Endpoints, "https://203.0.113.7:2379")
}

func TestWhatAClientNeedsIsPrinted(t *testing.T) {
	got := plugin(t, serving(t, outside), "connect", "demo")
	if got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	golden(t, "connect.txt", got.out)
	var data access
	printed := plugin(t, serving(t, outside), "connect", "demo", "-o", "json").out
	if err := json.Unmarshal([]byte(printed), &data); err != nil || data.TLS.Secret != "demo-client-tls" ||
		!slices.Contains(data.TLS.Names, "etcd.example.com") || !slices.Contains(data.TLS.Names, "203.0.113.7") {
		t.Errorf("got %+v: %v", data, err)
	}
}

func TestNoSecretIsReadToSayHowToConnect(t *testing.T) {
	s := serving(t, asItIs)
	s.WithWatch = interceptor.NewClient(s.WithWatch, refusing("get", corev1.SchemeGroupVersion.WithResource("secrets").GroupResource()))
	for _, name := range append(clientNames(), "") {
		if got := plugin(t, s, "connect", "demo", "--for", name); got.code != 0 {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestAClusterThatHasNotServedHasNothingToConnectTo(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "new"), interceptor.Funcs{}), "connect", "demo")
	if got.code != exitFailed || !strings.Contains(got.errOut, "EtcdCluster demo has no URL yet: it has not served") {
		t.Errorf("got %+v", got)
	}
}

func TestAClientOutsideGetsTheAddressOfTheLoadBalancer(t *testing.T) {
	got := plugin(t, serving(t, outside), "connect", "demo", "--outside", "--for", "etcdctl")
	if want := "etcdctl --endpoints=https://203.0.113.7:2379 --cacert=ca.crt"; !strings.Contains(got.out, want) || strings.Contains(got.out, "port-forward") {
		t.Errorf("got %+v, want %q", got, want)
	}
	got = plugin(t, serving(t, asItIs), "connect", "demo", "--outside")
	if got.code != exitFailed || !strings.Contains(got.errOut, "has no URL for clients outside. Set spec.service.type to LoadBalancer") {
		t.Errorf("got %+v", got)
	}
}

func TestAClientThatIsNotKnownIsAnsweredWithThoseThatAre(t *testing.T) {
	got := plugin(t, serving(t, asItIs), "connect", "demo", "--for", "rust")
	if want := `--for is "rust"; it must be one of env, etcdctl, go, kube-apiserver, patroni, pod`; got.code != exitFailed || !strings.Contains(got.errOut, want) {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutTLSNoLineSpeaksOfFiles(t *testing.T) {
	for _, name := range append(clientNames(), "") {
		got := plugin(t, serving(t, withoutTLS), "connect", "demo", "--for", name)
		lower := strings.ToLower(got.out)
		if got.code != 0 || strings.Contains(lower, "ca.crt") || strings.Contains(lower, "cacert") || strings.Contains(lower, "https") ||
			strings.Contains(lower, "secret") {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

// The pages show the same lines. They are of the cluster's own namespace, where a short name will do.
func TestThePagesShowWhatConnectPrints(t *testing.T) {
	for _, c := range []struct {
		client, page string
		args         []string
		likeThePage  *strings.Replacer
	}{
		{"pod", "connect.md", nil, strings.NewReplacer("demo.prod.svc", "demo")},
		{"go", "connect.md", nil, strings.NewReplacer("demo.prod.svc", "demo")},
		{"etcdctl", "connect.md", nil, strings.NewReplacer(" -n prod", "", "tls.key member list -w table", "tls.key snapshot save demo.db")},
		{"patroni", "recipes.md", nil, strings.NewReplacer("demo.prod.svc", "demo")},
		{"kube-apiserver", "kubernetes.md", []string{"--dir", "/etcd"}, strings.NewReplacer("demo.prod.svc", "control-plane.$(NAMESPACE).svc", "demo-", "control-plane-")},
	} {
		page, err := os.ReadFile("../../docs/" + c.page)
		if err != nil {
			t.Fatal(err)
		}
		got := plugin(t, serving(t, asItIs), append([]string{"connect", "demo", "--for", c.client}, c.args...)...)
		lines := 0
		for line := range strings.Lines(c.likeThePage.Replace(got.out)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			lines++
			if !strings.Contains(string(page), strings.TrimSuffix(line, "\n")) {
				t.Errorf("docs/%s does not show what connect --for %s prints: %q", c.page, c.client, line)
			}
		}
		if lines < 5 {
			t.Errorf("%s: %+v", c.client, got)
		}
	}
}

func TestTheLinesAreOfTheirLanguage(t *testing.T) {
	for _, change := range []func(*v1alpha1.EtcdCluster){asItIs, withoutTLS} {
		s := serving(t, change)
		text := plugin(t, s, "connect", "demo", "--for", "go").out
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package main\nfunc main() {\n"+text+"}\n", parser.AllErrors); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		for _, name := range []string{"pod", "patroni"} {
			if err := yaml.Unmarshal([]byte(plugin(t, s, "connect", "demo", "--for", name).out), &map[string]any{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
