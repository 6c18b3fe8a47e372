package issuing

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// property is what cert-manager's own definition says of a field.
type property struct {
	Type       string              `json:"type"`
	Format     string              `json:"format"`
	Required   []string            `json:"required"`
	Properties map[string]property `json:"properties"`
	Items      *property           `json:"items"`
	Enum       []string            `json:"enum"`
}

func definition(t *testing.T) property {
	t.Helper()
	text, err := os.ReadFile("certificaterequests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Group    string `json:"group"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema property `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if v := crd.Spec.Versions; crd.Spec.Group != resources.CertManager.Group || crd.Spec.Names.Kind != resources.KindRequest ||
		len(v) != 1 || v[0].Name != resources.CertManager.Version {
		t.Fatal("the definition is of another kind")
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// differences are where a value is not as the definition has it.
func (p property) differences(at string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		if p.Type != "object" {
			return []string{at + " is an object"}
		}
		var all []string
		for key, one := range v {
			known, isKnown := p.Properties[key]
			if !isKnown {
				all = append(all, at+"."+key+" is unknown")
				continue
			}
			all = append(all, known.differences(at+"."+key, one)...)
		}
		for _, key := range p.Required {
			if _, isThere := v[key]; !isThere {
				all = append(all, at+"."+key+" is missing")
			}
		}
		return all
	case []any:
		if p.Type != "array" || p.Items == nil {
			return []string{at + " is a list"}
		}
		var all []string
		for _, one := range v {
			all = append(all, p.Items.differences(at+"[]", one)...)
		}
		return all
	case string:
		if p.Type != "string" || len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
			return []string{at + " is " + v}
		}
	case bool:
		if p.Type != "boolean" {
			return []string{at + " is true or false"}
		}
	}
	return nil
}

// What the operator writes, and what it reads, is as cert-manager's own definition has it: the fields, their types, the
// usages and the words of conditions.
func TestARequestAndItsAnswerAreAsCertManagerDefinesThem(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by, err := New("company", now, nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo", UID: "u"}, Spec: v1alpha1.EtcdClusterSpec{
		TLS: &v1alpha1.TLSSpec{ClientCA: &v1alpha1.CASource{IssuerRef: &v1alpha1.CAIssuerReference{Name: "company"}}}}}
	clients, _ := cluster.Spec.CASources()
	whole := definition(t)
	for _, change := range []func(){func() {}, func() { by.Denies = "no" }, func() { by.Denies, by.Fails = "", "no" }} {
		change()
		for _, question := range resources.Questions(cluster, "demo-ca", clients.Issuer(), "") {
			r, err := question.Build(cluster)
			if err != nil {
				t.Fatal(err)
			}
			r.Spec.IsCA = true // which is left out where it is false
			if err := by.Answer(r, now); err != nil {
				t.Fatal(err)
			}
			for _, part := range []struct {
				name  string
				value any
			}{{"spec", r.Spec}, {"status", r.Status}} {
				text, err := json.Marshal(part.value)
				if err != nil {
					t.Fatal(err)
				}
				var value map[string]any
				if err := json.Unmarshal(text, &value); err != nil {
					t.Fatal(err)
				}
				if wrong := whole.Properties[part.name].differences(part.name, value); len(wrong) > 0 {
					t.Errorf("%s", strings.Join(wrong, "; "))
				}
			}
		}
	}
}
