package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const clientDefinitionFile = "../../config/crd/bases/etcdsteward.dev_etcdclients.yaml"

// smallestClient is the smallest client that a user would write.
const smallestClient = `
apiVersion: etcdsteward.dev/v1alpha1
kind: EtcdClient
metadata: {name: shop, namespace: default}
spec: {clusterRef: {name: demo}, permissions: [{prefix: shop/, access: ReadWrite}]}
`

func clientWith(t testing.TB, changes ...string) *unstructured.Unstructured {
	t.Helper()
	return layered(t, smallestClient, changes...)
}

func permissions(n int) string {
	return "spec: {permissions: [" + strings.Repeat("{prefix: '"+strings.Repeat("p", 512)+"', access: ReadOnly},", n) + "]}"
}

func TestClientsThatAUserMayAskForAreAdmitted(t *testing.T) {
	g := gateOf(t, readDefinitionFrom(t, clientDefinitionFile))
	for name, change := range map[string]string{
		"the smallest":             "",
		"a key":                    "spec: {permissions: [{key: 'a b$(c)\\0', access: ReadOnly}]}",
		"a user":                   "spec: {user: Shop_1.eu-west}",
		"the longest user":         "spec: {user: " + strings.Repeat("u", 64) + "}",
		"a Secret":                 "spec: {secretName: for-shop-etcd}",
		"the longest name":         "metadata: {name: " + strings.Repeat("n", 63) + "}",
		"as many keys as may be":   permissions(64),
		"a cluster elsewhere":      "spec: {clusterRef: {namespace: prod}}",
		"all keys":                 "spec: {permissions: [{allKeys: true, access: ReadOnly}]}",
		"a password":               "spec: {password: true, secretKeys: [{key: password, name: pw}]}",
		"a quota":                  "spec: {quota: 512Mi}",
		"a quota in bytes":         "spec: {quota: 1000000}",
		"stores":                   "spec: {pkcs12: true, secretKeys: [{key: keystore.p12, name: client.p12}, {key: pkcs12-password, name: pw}]}",
		"further keys":             "spec: {secretKeys: [{key: tls.crt, name: client.pem}, {key: tls.key, name: _KEY-1}]}",
		"a prefix of one letter":   "spec: {permissions: [{prefix: ä, access: ReadWrite}]}",
		"the same key in two ways": "spec: {permissions: [{key: a, access: ReadWrite}, {prefix: a, access: ReadOnly}]}",
	} {
		t.Run(name, func(t *testing.T) {
			if errs := g.create(t, clientWith(t, change)); len(errs) > 0 {
				t.Errorf("it is refused: %v", errs.ToAggregate())
			}
		})
	}
}

// refusedClients are wrong values with where the error is and what it says.
var refusedClients = []struct{ name, change, field, says string }{
	{"a name with a dot", "metadata: {name: a.b}", "<nil>", `metadata.name is "a.b"; it must be at most 63 characters`},
	{"a name too long for a user", "metadata: {name: " + strings.Repeat("n", 64) + "}", "<nil>", "it must be at most 63 characters"},
	{"root", "spec: {user: root}", "spec.user", "spec.user must not be root"},
	{"a user that is a path", "spec: {user: a/b}", "spec.user", `spec.user is "a/b"; it must be at most 64 letters`},
	{"a user with a variable", "spec: {user: '$(HOME)'}", "spec.user", "it must be at most 64 letters"},
	{"a user of two lines", "spec: {user: \"a\\nb\"}", "spec.user", "spec.user must be at most 64 letters"},
	{"no permission", "spec: {permissions: []}", "spec.permissions", "at least 1"},
	{"too many permissions", permissions(65), "spec.permissions", "Too many"},
	{"neither prefix nor key", "spec: {permissions: [{access: ReadOnly}]}", "spec.permissions[0]", "exactly one of prefix, key and allKeys"},
	{"prefix and key", "spec: {permissions: [{prefix: a, key: b, access: ReadOnly}]}", "spec.permissions[0]", "exactly one of prefix, key and allKeys"},
	{"a prefix that came out empty", "spec: {permissions: [{prefix: '', access: ReadWrite}]}", "spec.permissions[0].prefix", "at least 1"},
	{"all keys and a prefix", "spec: {permissions: [{prefix: a, allKeys: true, access: ReadOnly}]}", "spec.permissions[0]", "exactly one of prefix, key and allKeys"},
	{"not all keys", "spec: {permissions: [{allKeys: false, access: ReadOnly}]}", "spec.permissions[0].allKeys", "must have allKeys: true"},
	{"a mark of the operator", "spec: {permissions: [{key: etcdsteward.dev/making-a-user, access: ReadOnly}]}", "spec.permissions[0].key", "begins with etcdsteward.dev/"},
	{"a usual key by its own name", "spec: {secretKeys: [{key: tls.crt, name: ca.crt}]}", "spec.secretKeys[0].name", `has the name "ca.crt"; it must be none of the usual keys`},
	{"a key that is a path", "spec: {secretKeys: [{key: tls.crt, name: ../a}]}", "spec.secretKeys[0].name", "it must be none of the usual keys"},
	{"one name for two keys", "spec: {secretKeys: [{key: tls.crt, name: a}, {key: tls.key, name: a}]}", "spec.secretKeys", "another name in each entry"},
	{"a key twice", "spec: {secretKeys: [{key: tls.crt, name: a}, {key: tls.crt, name: b}]}", "spec.secretKeys[1]", "Duplicate value"},
	{"a key that is not there", "spec: {secretKeys: [{key: tls.pem, name: a}]}", "spec.secretKeys[0].key", "Unsupported value"},
	{"another name for no password", "spec: {secretKeys: [{key: password, name: pw}]}", "spec.secretKeys", "without spec.password: true"},
	{"another name for no store", "spec: {password: true, secretKeys: [{key: keystore.p12, name: a}]}", "spec.secretKeys", "without spec.pkcs12: true"},
	{"another name for no password of a store", "spec: {pkcs12: false, secretKeys: [{key: pkcs12-password, name: a}]}", "spec.secretKeys", "without spec.pkcs12: true"},
	{"the name of a store for a certificate", "spec: {secretKeys: [{key: tls.crt, name: truststore.p12}]}", "spec.secretKeys[0].name", "none of the usual keys"},
	{"a quota of nothing", "spec: {quota: 0}", "spec.quota", "spec.quota is 0; it must be more than 0"},
	{"a quota below nothing", "spec: {quota: -1Gi}", "spec.quota", "it must be more than 0"},
	{"a quota that no database has", "spec: {quota: 33Gi}", "spec.quota", "at most 32Gi"},
	{"a quota that is none", "spec: {quota: much}", "spec.quota", ""},
	{"another access", "spec: {permissions: [{prefix: a, access: Admin}]}", "spec.permissions[0].access", "Unsupported value"},
	{"a Secret of the operator's", "spec: {secretName: demo-ca}", "spec.secretName", `spec.secretName is "demo-ca"; it must be lower-case letters`},
	{"a Secret that is a path", "spec: {secretName: ../a-etcd}", "spec.secretName", "and end in -etcd"},
	{"a namespace that cannot be", "spec: {clusterRef: {namespace: ../prod}}", "spec.clusterRef.namespace", "must be the name of a namespace"},
	{"a cluster with a variable", "spec: {clusterRef: {name: '$(X)'}}", "spec.clusterRef.name", "must be the name of an EtcdCluster"},
}

func TestClientsThatNoOneCanHaveAreRefusedByName(t *testing.T) {
	g := gateOf(t, readDefinitionFrom(t, clientDefinitionFile))
	for _, row := range refusedClients {
		t.Run(row.name, func(t *testing.T) {
			errs := g.create(t, clientWith(t, row.change))
			for _, err := range errs {
				if err.Field == row.field && strings.Contains(err.Error(), row.says) {
					return
				}
			}
			t.Errorf("want %s: %s, got %v", row.field, row.says, errs)
		})
	}
}

const withNames = "spec: {user: a, secretName: a-etcd}"

// changedClients are changes of a client with what is said of them.
var changedClients = []struct{ name, before, after, says string }{
	{"permissions", withNames, "spec: {user: a, secretName: a-etcd, permissions: [{key: b, access: ReadOnly}]}", ""},
	{"the quota is raised", "spec: {quota: 512Mi}", "spec: {quota: 1Gi}", ""},
	{"a quota is given later", "", "spec: {quota: 512Mi}", ""},
	{"the quota is taken out", "spec: {quota: 512Mi}", "", ""},
	{"the cluster", "", "spec: {clusterRef: {name: other}}", "spec.clusterRef cannot change"},
	{"the namespace of the cluster", "", "spec: {clusterRef: {namespace: other}}", "spec.clusterRef cannot change"},
	{"the user", withNames, "spec: {user: b, secretName: a-etcd}", "spec.user cannot change"},
	{"a user is given later", "", "spec: {user: shop}", "spec.user cannot change"},
	{"the user is taken out", withNames, "spec: {secretName: a-etcd}", "spec.user cannot change"},
	{"a password is given later", "", "spec: {password: true}", "spec.password cannot change"},
	{"the password is taken out", "spec: {password: true}", "spec: {password: false}", "spec.password cannot change"},
	{"no password is said in another way", "", "spec: {password: false}", ""},
	{"stores are wanted later", "", "spec: {pkcs12: true}", "spec.pkcs12 cannot change"},
	{"stores are taken out", "spec: {pkcs12: true}", "", "spec.pkcs12 cannot change"},
	{"no stores are said in another way", "", "spec: {pkcs12: false}", ""},
	{"further keys", "spec: {secretKeys: [{key: tls.crt, name: a}]}", "spec: {secretKeys: [{key: tls.crt, name: b}]}", "spec.secretKeys cannot change"},
	{"further keys are given later", "", "spec: {secretKeys: [{key: tls.crt, name: a}]}", "spec.secretKeys cannot change"},
	{"the Secret", withNames, "spec: {user: a, secretName: b-etcd}", "spec.secretName cannot change"},
	{"a Secret is given later", "", "spec: {secretName: shop-etcd}", "spec.secretName cannot change"},
	{"the Secret is taken out", withNames, "spec: {user: a}", "spec.secretName cannot change"},
}

func TestOfAClientOnlyPermissionsAndQuotaChange(t *testing.T) {
	g := gateOf(t, readDefinitionFrom(t, clientDefinitionFile))
	for _, row := range changedClients {
		t.Run(row.name, func(t *testing.T) {
			errs := g.update(t, clientWith(t, row.after), clientWith(t, row.before))
			if row.says == "" && len(errs) > 0 || row.says != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), row.says)) {
				t.Errorf("want %q, got %v", row.says, errs)
			}
		})
	}
}

func TestSamplesOfClientsAreAdmitted(t *testing.T) {
	g := gateOf(t, readDefinitionFrom(t, clientDefinitionFile))
	files, err := filepath.Glob("../../config/samples/etcdclient*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		isAdmitted(t, g, file)
	}
}

func isAdmitted(t *testing.T, g *gate, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object := layered(t, string(text))
	object.SetNamespace("default")
	if errs := g.create(t, object); len(errs) > 0 {
		t.Errorf("%v", errs.ToAggregate())
	}
}

func TestNoRuleOfAClientsSchemaCouldBeTakenAwayUnnoticed(t *testing.T) {
	eachRuleIsNeeded(t, clientDefinitionFile, 10, func(t *testing.T, g *gate) bool {
		t.Helper()
		for _, row := range refusedClients {
			if !strings.Contains(errsText(g.create(t, clientWith(t, row.change))), row.says) {
				return true
			}
		}
		for _, row := range changedClients {
			if !strings.Contains(errsText(g.update(t, clientWith(t, row.after), clientWith(t, row.before))), row.says) {
				return true
			}
		}
		return false
	})
}
