package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestWhoGivesACAIsWarnedOfWhatTheOperatorWillNotDo(t *testing.T) {
	for _, row := range []struct {
		name, says string
		change     func(*facts.Observation, *facts.Object)
	}{
		{"nothing is wrong", "", func(*facts.Observation, *facts.Object) {}},
		{"its Secret is gone", "spec.tls.clientCA names Secret corp, and that cannot be used: there is no such Secret. The operator signs with " +
			"the copy that it has in Secret demo-ca, which ends on ", func(_ *facts.Observation, ca *facts.Object) { ca.Source.Fault = "there is no such Secret" }},
		{"the CA ends soon", "so the operator makes no other one. Put a CA that lasts longer there", func(o *facts.Observation, ca *facts.Object) {
			ca.CAs[0].NotAfter = o.Now.AddDate(0, 0, 10)
		}},
		{"another CA is asked for", "The annotation etcdsteward.dev/rotate-ca asks for another CA for clients, and spec.tls.clientCA names Secret corp.",
			func(o *facts.Observation, _ *facts.Object) { o.Desired.Rotation.Asked = o.Now }},
		{"another CA is asked for in time to come", "", func(o *facts.Observation, _ *facts.Object) { o.Desired.Rotation.Asked = o.Now.Add(time.Hour) }},
		{"the CA of another Secret still signs, which a rule tells", "", func(o *facts.Observation, ca *facts.Object) {
			ca.Source.Fault, ca.CAs[0].From = "there is no such Secret", "Secret earlier"
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := demo(3, begin).settled()
			ca := facts.Object{Kind: "Secret", Name: "demo-ca", State: facts.ObjectCurrent, CA: true, Port: facts.ForClients,
				Source: facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Print: "corp-1", Identity: "corp"},
				CAs: facts.CAs{{Print: "corp-1", Identity: "corp", Origin: facts.OriginSecret, From: "Secret corp", HasKey: true,
					Made: w.o.Now.AddDate(0, -2, 0), NotAfter: w.o.Now.AddDate(0, 6, 0)}}}
			row.change(&w.o, &ca)
			w.o.Objects = append(w.o.Objects, ca)
			got := meta.FindStatusCondition(Status(w.input()).Conditions, v1alpha1.ConditionUpToDate)
			if row.says == "" && got.Reason == ReasonCurrentWarned || !strings.Contains(got.Message, row.says) {
				t.Errorf("got %s: %s", got.Reason, got.Message)
			}
		})
	}
}
