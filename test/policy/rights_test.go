package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"
)

// right is a row of the table in SECURITY.md: what a stolen token of the operator may do.
type right struct {
	title   string
	covers  []string // verbs and resources of the roles
	refused string   // each of its writes is tried by an attempt, unless this begins with "nothing"
	remains string
}

func (r right) isOpen() bool { return strings.HasPrefix(r.refused, "nothing") }

// pairs are a verb and a resource each: "create pods".
func (r right) pairs() []string {
	var all []string
	for _, entry := range r.covers {
		verbs, resources, _ := strings.Cut(entry, " ")
		for verb := range strings.SplitSeq(verbs, ",") {
			for resource := range strings.SplitSeq(resources, ",") {
				all = append(all, verb+" "+resource)
			}
		}
	}
	return all
}

// rights are all that the roles of the operator give. The table follows them, and never the other way round.
var rights = []right{
	{"`get` Secrets", []string{"get secrets"}, "nothing: a policy looks at no reads",
		"read any Secret whose name is known; there is no list"},
	{"`get`, `list`, `watch` what clusters consist of, `get` nodes, PersistentVolumes and StorageClasses by name", []string{
		"get,list,watch jobs,networkpolicies,persistentvolumeclaims,poddisruptionbudgets,pods,services",
		"get,list,watch etcdbackups,etcdbackupschedules,etcdclients,etcdclusters,etcdrestores",
		"list events,evictionrequests,resourcequotas", "get,list certificaterequests", "get leases,nodes,persistentvolumes,storageclasses",
	}, "nothing: a policy looks at no reads", "read the Pods, Services and claims of all, and what is said of them"},
	{"`create`, `patch`, `delete` Secrets", []string{"create,patch,delete secrets"},
		"other types than `kubernetes.io/tls`, so no tokens of accounts; other names than those of its certificates; Secrets that it did not make",
		"change or delete certificates and CAs of clusters; create Secrets of the type `kubernetes.io/tls` whose names end in `-etcd`"},
	{"`create`, `delete` CertificateRequests of cert-manager", []string{"create,delete certificaterequests"},
		"requests for a CA, or for other uses than those of servers and clients. Owners that are no cluster and no EtcdClient; finalizers. " +
			"Requests that it did not make. Namespaces of Kubernetes itself",
		"have issuers sign certificates of any name beside a cluster, if an approver lets them pass"},
	{"`create` Pods and Jobs", []string{"create pods,jobs"},
		"what Pod Security `restricted` refuses; tokens and certificates that Kubernetes accepts. Owners that are no cluster, backup " +
			"or schedule; finalizers. Jobs that select Pods of others. Accounts that the namespace does not list, and their tokens for " +
			"clouds. Namespaces of Kubernetes itself",
		"run a restricted Pod in a namespace that has a cluster, a backup or a schedule. The thief may make a backup for this. In other " +
			"namespaces the garbage collector ends the Pod within seconds, or within an hour if it does not stop by itself. The Pod may " +
			"mount any Secret or claim of its namespace. It may have any labels, priority and affinity: Services of others lead to it, " +
			"and Pods of others give way to it. It runs as the account `default`, or as one that the namespace lists for tasks. It gets " +
			"what clouds and meshes give to that account"},
	{"`patch`, `delete` Pods, Jobs, volumes, Services, budgets and NetworkPolicies", []string{
		"patch,delete jobs,networkpolicies,persistentvolumeclaims,poddisruptionbudgets,pods",
		"patch pods/resize,services",
	}, "objects that the operator did not make. Owners and finalizers that it never gives. More than an hour to stop. Jobs without their Pods",
		"stop clusters, delete their data, and run another image in their Pods"},
	{"`create`, `patch` volumes", []string{"create,patch persistentvolumeclaims"},
		"claims that name or select their volume, or copy another one; claims that a Pod has Kubernetes make",
		"use up storage; claim a volume that is free for every claim of its class, or without a class"},
	{"`create`, `patch` Services", []string{"create,patch services"},
		"`externalIPs`, the type `ExternalName`, selectors of other Pods than members. What a person turned to others it can only put right",
		"lead clients to Pods with the labels of members, from outside too"},
	{"`create`, `patch` budgets and NetworkPolicies", []string{"create,patch networkpolicies,poddisruptionbudgets"},
		"selectors of other Pods than members. What a person turned to others it can only put right", "keep members from being evicted, cut them off from clients, or let others in"},
	{"`create` `pods/eviction`", []string{"create pods/eviction"}, "Pods that are not named `<cluster>-<number>`; another time to stop than the Pod asks for",
		"evict such Pods, StatefulSets' among them, within their budgets"},
	{"`create`, `patch`, `delete` EtcdBackups, `patch` schedules", []string{"create,patch,delete etcdbackups", "patch etcdbackupschedules"},
		"other specs; those that no schedule made. Other owners and labels of schedules, finalizers. Namespaces of Kubernetes itself. " +
			"Deletions that leave Jobs",
		"make backups in all other namespaces, to any store that these reach; delete those of schedules"},
	{"`patch` EtcdClients", []string{"patch etcdclients"},
		"other specs, owners, labels and annotations; finalizers other than `etcdsteward.dev/access`",
		"keep a client from being deleted, or let it go while its user is still in etcd"},
	{"`patch` status, `update` finalizers, `create`, `patch` events", []string{
		"patch etcdbackups/status,etcdbackupschedules/status,etcdclients/status,etcdclusters/status,etcdrestores/status",
		"update etcdbackups/finalizers,etcdbackupschedules/finalizers,etcdclients/finalizers,etcdclusters/finalizers", "create,patch events",
	}, "nothing", "say what is not so"},
	{"in its own namespace: `create`, `update` its Lease", []string{"create,update leases"}, "nothing", "keep the operator from acting"},
	{"with metrics over HTTPS, or the webhook: `create` reviews of tokens and of rights", []string{"create tokenreviews,subjectaccessreviews"},
		"nothing: they are questions", "ask whose a token is, and what an account may do"},
	{"with the [webhook](docs/install.md#the-webhook): `get`, `patch` of its ValidatingWebhookConfiguration",
		[]string{"get,patch validatingwebhookconfigurations"}, "nothing: Kubernetes shows such writes to no policy",
		"be shown every object that is written, Secrets among them, and refuse writes"},
}

func TestTheTableInSecurityIsThatOfTheRights(t *testing.T) {
	const head = "| Right | What the policies refuse | What remains |\n|---|---|---|\n"
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, isThere := strings.Cut(string(text), head)
	got, _, _ := strings.Cut(rest, "\n\n")
	var want strings.Builder
	for _, r := range rights {
		want.WriteString("| " + r.title + " | " + r.refused + " | " + r.remains + " |\n")
	}
	if !isThere || got+"\n" != want.String() {
		t.Errorf("SECURITY.md does not have the table of rights; put this there:\n%s%s", head, want.String())
	}
}

// given are the verbs and resources of the operator's roles. Those of people are left out.
func given(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../config/rbac/*role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range append(files, "../../config/webhook/role.yaml") {
		if strings.HasSuffix(file, "_editor_role.yaml") || strings.HasSuffix(file, "_viewer_role.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			role := &rbacv1.ClusterRole{}
			if err := yaml.Unmarshal([]byte(document), role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, rule := range role.Rules {
				all = append(all, right{covers: []string{strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.Resources, ",")}}.pairs()...)
			}
		}
	}
	return slices.DeleteFunc(all, func(pair string) bool { return strings.HasSuffix(pair, " ") }) // of a path, such as /metrics
}

func TestEachRightOfTheRolesHasARowAndEachRowARight(t *testing.T) {
	may := given(t)
	if len(may) < 60 {
		t.Fatalf("the roles have only %d rights", len(may))
	}
	var told []string
	for _, r := range rights {
		told = append(told, r.pairs()...)
	}
	for _, pair := range may {
		if !slices.Contains(told, pair) {
			t.Errorf("a role may %s, and no row says what that gives to a thief", pair)
		}
	}
	for _, pair := range told {
		if !slices.Contains(may, pair) {
			t.Errorf("no role may %s, and a row says it", pair)
		}
	}
}

func TestEachRightThatPoliciesLimitIsTried(t *testing.T) {
	verbs := map[admission.Operation]string{admission.Create: "create", admission.Update: "patch", admission.Delete: "delete"}
	tried := map[string]bool{}
	for _, a := range attempts(t) {
		asked, err := a.attributes()
		if err != nil {
			t.Fatal(err)
		}
		resource := strings.TrimSuffix(asked.GetResource().Resource+"/"+asked.GetSubresource(), "/")
		tried[verbs[a.Operation]+" "+resource] = true
	}
	for _, r := range rights {
		for _, pair := range r.pairs() {
			if !r.isOpen() && !tried[pair] {
				t.Errorf("%s: no attempt tries to %s", r.title, pair)
			}
		}
	}
}
