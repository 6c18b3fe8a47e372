package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
)

// errNotGranted ends `access` where an EtcdClient is not Ready, after the page has said so.
var errNotGranted = errors.New("an EtcdClient is not Ready")

func (p program) accessCommand() *cobra.Command {
	isOperator := false
	c := &cobra.Command{
		Use: "access [CLUSTER]", Short: "Show who may do what in a cluster", Args: oneClusterOrNone,
		Example: "  kubectl etcd-steward access demo\n" +
			"  kubectl etcd-steward access demo --operator -o yaml\n" +
			"  kubectl etcd-steward access",
		Long: "Shows each EtcdClient of a cluster: its user, the keys that it may use, and its Secret. It says when " +
			"the certificate ends, and whether the EtcdClient is Ready. Then it asks a member for the users and " +
			"roles that no EtcdClient accounts for, as `ctl` would. Where it cannot ask, it says why. Without a name " +
			"it shows the EtcdClients of the namespace, and asks no etcd. It changes nothing. The exit code is 2 if " +
			"an EtcdClient is not Ready.",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		if len(args) == 0 {
			return s.showClients(ctx, show)
		}
		return s.showWhoMay(ctx, args[0], isOperator, show)
	})
	c.Flags().BoolVar(&isOperator, "operator", false,
		"Ask etcd with the operator's certificate: the user root, where authentication is on.")
	return c
}

func oneClusterOrNone(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes the name of one EtcdCluster or none, and got %d names", c.CommandPath(), len(args))
	}
	return nil
}

// whoMay is all that `access` prints of a cluster. With -o it is printed as it is.
type whoMay struct {
	Name      string      `json:"name"`
	Namespace string      `json:"namespace"`
	Clients   []clientRow `json:"clients"`
	// Unread are namespaces whose EtcdClients could not be listed, and why.
	Unread map[string]string `json:"unread,omitempty"`
	// Etcd is what a member says; absent where none was asked.
	Etcd *inEtcd `json:"etcd,omitempty"`
	// NotAsked says why it was not.
	NotAsked string `json:"notAsked,omitempty"`

	now time.Time
}

// clientRow is one EtcdClient.
type clientRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Role      string `json:"role"`
	// May is what the spec asks for, in words.
	May     []string     `json:"may"`
	Secret  string       `json:"secret"`
	Expires *metav1.Time `json:"certificateExpires,omitempty"`
	Ready   bool         `json:"ready"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Quota is that of the spec, and Usage what the newest backup says of it.
	Quota  string                  `json:"quota,omitempty"`
	Usage  *v1alpha1.MeasuredUsage `json:"usage,omitempty"`
	Within string                  `json:"withinQuota,omitempty"`
}

// isLate tells a condition that does not judge the spec as it is now.
const isLate = "The operator has not looked at this spec yet."

func clientRowOf(c *v1alpha1.EtcdClient) clientRow {
	from, cluster := "", c.Spec.ClusterRef.Name
	if c.IsFromOutside() {
		from, cluster = c.Namespace, c.ClusterKey().String()
	}
	row := clientRow{Namespace: c.Namespace, Name: c.Name, Cluster: cluster, User: c.UserOrDefault(),
		Role: accessplan.RoleName(from, c.Name, c.UserOrDefault()), Secret: c.SecretNameOrDefault(),
		May: rightsInWords(accessplan.WantedRights(c.Spec.Permissions)), Expires: c.Status.CertificateNotAfter}
	row.addQuota(c)
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ClientReady)
	if ready == nil || ready.ObservedGeneration < c.Generation {
		row.Message = isLate
		return row
	}
	row.Ready, row.Reason, row.Message = ready.Status == metav1.ConditionTrue, ready.Reason, ready.Message
	return row
}

// addQuota adds the quota and what was measured. A condition says what it says of the spec as it was then.
func (r *clientRow) addQuota(c *v1alpha1.EtcdClient) {
	if c.Spec.Quota == nil {
		return
	}
	r.Quota, r.Usage = c.Spec.Quota.String(), c.Status.Usage
	within := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ClientWithinQuota)
	if within != nil && within.ObservedGeneration >= c.Generation {
		r.Within = within.Reason
	}
}

// takes is what the keys of a client take of its quota.
func (r clientRow) takes() string {
	switch {
	case r.Quota == "":
		return none
	case r.Usage == nil && r.Within == accessplan.ReasonWithinQuota:
		return "within " + r.Quota
	case r.Usage == nil:
		return "? of " + r.Quota
	}
	return accessplan.Size(r.Usage.Bytes) + " of " + r.Quota
}

// clientRows are EtcdClients in the order of their names.
func clientRows(all []v1alpha1.EtcdClient) []clientRow {
	rows := make([]clientRow, len(all))
	for i := range all {
		rows[i] = clientRowOf(&all[i])
	}
	slices.SortFunc(rows, func(a, b clientRow) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// endOfClients is how a command ends that shows these.
func endOfClients(rows []clientRow) error {
	if slices.ContainsFunc(rows, func(r clientRow) bool { return !r.Ready }) {
		return errNotGranted
	}
	return nil
}

// showClients shows the EtcdClients of the namespace.
func (s *session) showClients(ctx context.Context, show show) error {
	var all v1alpha1.EtcdClientList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return err
	}
	rows, now := clientRows(all.Items), s.now()
	return show(sight{data: rows, ends: endOfClients(rows), text: func(out io.Writer) error {
		if len(rows) == 0 {
			_, err := fmt.Fprintf(out, "There is no EtcdClient in %s.\n", inNamespace(s.namespace))
			return err
		}
		var text bytes.Buffer
		heads := append([]string{"NAME", "CLUSTER"}, headsOf(rows)...)
		_ = printTable(&text, "", rows, pick(clientColumns(now), heads...)) // a buffer takes all
		printReasons(&text, rows)
		_, err := out.Write(text.Bytes())
		return err
	}})
}

// showWhoMay shows the EtcdClients of a cluster, and who else is in its etcd.
func (s *session) showWhoMay(ctx context.Context, name string, isOperator bool, show show) error {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	clients, unread, err := s.clientsOf(ctx, c)
	if err != nil {
		return err
	}
	page := whoMay{Name: c.Name, Namespace: c.Namespace, Clients: clientRows(clients), Unread: unread, now: s.now()}
	if page.Etcd, err = s.askEtcd(ctx, c, page, isOperator); err != nil {
		page.NotAsked = strings.TrimSuffix(err.Error(), ".") + "."
	}
	return show(sight{data: page, ends: endOfClients(page.Clients), text: page.print})
}

// clientsOf are the EtcdClients that name a cluster, of its own namespace and of those that it allows. Unread are the
// latter that could not be listed, and why.
func (s *session) clientsOf(ctx context.Context, c *v1alpha1.EtcdCluster) (
	clients []v1alpha1.EtcdClient, unread map[string]string, err error) {
	namespaces := []string{c.Namespace}
	if c.Spec.Access != nil {
		for _, allowed := range c.Spec.Access.Namespaces {
			if allowed.Name != c.Namespace {
				namespaces = append(namespaces, allowed.Name)
			}
		}
	}
	unread = map[string]string{}
	for i, namespace := range namespaces {
		var all v1alpha1.EtcdClientList
		err := s.list(ctx, namespace, &all)
		switch {
		case err != nil && i == 0:
			return nil, nil, err
		case err != nil:
			unread[namespace] = err.Error()
		}
		clients = append(clients, slices.DeleteFunc(all.Items, func(one v1alpha1.EtcdClient) bool {
			return one.ClusterKey() != client.ObjectKeyFromObject(c)
		})...)
	}
	return clients, unread, nil
}

// headsOf are the columns that tell of what clients may do, and where one has a quota, what they take.
func headsOf(rows []clientRow) []string {
	heads := []string{"USER", "MAY", "SECRET", "CERTIFICATE", "READY"}
	if slices.ContainsFunc(rows, func(r clientRow) bool { return r.Quota != "" }) {
		heads = append(heads, "TAKES")
	}
	return heads
}

func clientColumns(now time.Time) []column[clientRow] {
	return []column[clientRow]{
		{"NAMESPACE", func(r clientRow) string { return r.Namespace }},
		{"NAME", func(r clientRow) string { return r.Name }},
		{"CLUSTER", func(r clientRow) string { return r.Cluster }},
		{"USER", func(r clientRow) string { return r.User }},
		{"MAY", func(r clientRow) string { return briefly(r.May) }},
		{"SECRET", func(r clientRow) string { return r.Secret }},
		{"CERTIFICATE", func(r clientRow) string { return untilExpiry(r.Expires, now) }},
		{"READY", func(r clientRow) string {
			if r.Ready {
				return "yes"
			}
			return strings.TrimSuffix("no: "+r.Reason, ": ")
		}},
		{"TAKES", clientRow.takes},
	}
}

// printReasons says of each client that is not Ready why.
func printReasons(text *bytes.Buffer, rows []clientRow) {
	head := "\nNot ready:\n"
	for _, r := range rows {
		if !r.Ready {
			fmt.Fprintf(text, "%s  %s: %s\n", head, r.called(isFromOutside(rows)), r.Message)
			head = ""
		}
	}
}

// isFromOutside reports rows of more than one namespace.
func isFromOutside(rows []clientRow) bool {
	return slices.ContainsFunc(rows, func(r clientRow) bool { return r.Namespace != rows[0].Namespace })
}

func (r clientRow) called(isFromOutside bool) string {
	if isFromOutside {
		return r.Namespace + "/" + r.Name
	}
	return r.Name
}

func (w whoMay) print(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s\n\n", w.Name, w.Namespace)
	if w.Etcd != nil && !w.Etcd.Authentication {
		text.WriteString("Authentication is off: every certificate of this cluster may read and write all keys.\n\n")
	}
	text.WriteString("EtcdClients:\n")
	heads := append([]string{"NAME"}, headsOf(w.Clients)...)
	if isFromOutside(w.Clients) {
		heads = append([]string{"NAMESPACE"}, heads...)
	}
	_ = printTable(&text, "  ", w.Clients, pick(clientColumns(w.now), heads...)) // a buffer takes all
	printReasons(&text, w.Clients)
	for _, namespace := range slices.Sorted(maps.Keys(w.Unread)) {
		fmt.Fprintf(&text, "\nEtcdClients of namespace %s are not shown: %s\n", namespace, w.Unread[namespace])
	}
	if w.Etcd == nil {
		fmt.Fprintf(&text, "\nWho else is in etcd is not known: %s\n", w.NotAsked)
	} else {
		w.Etcd.print(&text)
	}
	_, err := out.Write(text.Bytes())
	return err
}
