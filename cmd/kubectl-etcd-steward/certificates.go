package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

func (p program) certificatesCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "certificates CLUSTER", Short: "Show all certificates and CAs of a cluster", Args: oneCluster,
		Example: "  kubectl etcd-steward certificates demo\n" +
			"  kubectl etcd-steward certificates demo -o yaml",
		Long: "Reads the Secrets of a cluster, and shows each CA and each certificate: what it is for, and " +
			"who signed it. It says when each was issued, when it expires, and from when the operator renews it. " +
			"While CAs are replaced, it also shows the next step. It prints no key.",
	}
	return p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		shown, err := s.certificates(ctx, args[0])
		if err != nil {
			return err
		}
		return show(sight{text: shown.print, data: shown})
	})
}

// certificateTable is all that `certificates` prints.
type certificateTable struct {
	Name         string             `json:"name"`
	Namespace    string             `json:"namespace"`
	TLS          bool               `json:"tls"`
	CAs          []caRow            `json:"cas"`
	Certificates []certificateRow   `json:"certificates"`
	Unreadable   []string           `json:"unreadable,omitempty"`
	NextStep     *v1alpha1.NextStep `json:"nextStep,omitempty"` // while CAs are replaced
}

// span is when a certificate was issued, and until when it is good.
type span struct {
	Issued      metav1.Time `json:"issued"`
	Expires     metav1.Time `json:"expires"`
	RenewedFrom metav1.Time `json:"renewedFrom"`
}

type caRow struct {
	span `json:",inline"`

	Secret string `json:"secret"`
	// For is who shows what it signs: on the port for clients, or among members.
	For string `json:"for"`
	// From is the Secret that it was copied from, or the issuer that signs with it; empty of a CA that the operator
	// made.
	From        string `json:"from,omitempty"`
	Signs       bool   `json:"signs"`
	HasKey      bool   `json:"hasKey"`
	Fingerprint string `json:"fingerprint"`
}

type certificateRow struct {
	span `json:",inline"`

	Secret string `json:"secret"`
	File   string `json:"file"`
	// ShownBy shows it, and ShownTo checks it.
	ShownBy string `json:"shownBy"`
	ShownTo string `json:"shownTo"`
	User    string `json:"user"`
	Names   int    `json:"names"`
	// SignedBy is the fingerprint of its CA.
	SignedBy string `json:"signedBy,omitempty"`
	// TrustIsComplete says that the CAs beside it are those that the Secret of its CA asks for.
	TrustIsComplete bool `json:"trustIsComplete"`
}

// certificates reads all Secrets of a cluster.
func (s *session) certificates(ctx context.Context, name string) (*certificateTable, error) {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &certificateTable{Name: c.Name, Namespace: c.Namespace, TLS: c.Spec.IsTLS(), CAs: []caRow{},
		Certificates: []certificateRow{}}
	if !t.TLS {
		return t, nil
	}
	in := inventory{session: s, cluster: c, table: t, cas: map[string]secretData{}}
	for _, name := range []string{resources.CASecret(c.Name), resources.PeerCASecret(c.Name)} {
		data, err := s.secretData(ctx, c, name)
		if err != nil {
			return nil, err
		}
		in.cas[name] = data
		t.addCA(c, name, data)
	}
	for _, member := range memberNames(c) {
		all := resources.MemberCertificates(c, member, "")
		if err := in.add(ctx, resources.MemberSecret(member), member, all); err != nil {
			return nil, err
		}
	}
	for _, one := range []struct{ secret, shownBy string }{{resources.ClientSecret(c.Name), "clients"},
		{resources.OperatorSecret(c.Name), "operator"}} {
		if err := in.add(ctx, one.secret, one.shownBy, resources.Certificates(c, one.secret)); err != nil {
			return nil, err
		}
	}
	if len(t.CAs) > len(in.cas) {
		t.NextStep = c.Status.NextStep
	}
	return t, nil
}

// secretData is what a Secret holds; nil where there is none.
type secretData map[string][]byte

func (s *session) secretData(ctx context.Context, c *v1alpha1.EtcdCluster, name string) (secretData, error) {
	var secret corev1.Secret
	err := s.get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret.Data, err
}

// addCA adds what the Secret of a CA holds: the CA that signs, and another one while one takes the place of the other.
func (t *certificateTable) addCA(c *v1alpha1.EtcdCluster, secret string, data secretData) {
	port := "clients"
	if secret == resources.PeerCASecret(c.Name) {
		port = "members"
	}
	for _, keys := range [][3]string{{resources.KeyCert, resources.KeyKey, resources.KeyOrigin},
		{resources.KeyOtherCert, resources.KeyOtherKey, resources.KeyOtherOrigin}} {
		file := data[keys[0]]
		signs := keys[0] == resources.KeyCert
		if !signs && len(file) == 0 {
			continue
		}
		cert, err := pki.Read(file)
		if err != nil {
			t.unreadable(secret, keys[0], data)
			continue
		}
		origin := resources.OriginIn(data, keys[2])
		row := caRow{Secret: secret, For: port, Signs: signs, From: origin.From(), Fingerprint: pki.Fingerprint(file),
			HasKey: len(data[keys[1]]) > 0 && origin.Issuer == nil}
		ca := facts.CA{Made: pki.Made(file), NotAfter: cert.NotAfter}
		if row.From != "" {
			ca.Made = cert.NotBefore // another one issued it
		}
		row.span = spanOf(ca.Made, ca.NotAfter, ca.ReplacedFrom())
		t.CAs = append(t.CAs, row)
	}
}

// inventory fills the table of one cluster.
type inventory struct {
	session *session
	cluster *v1alpha1.EtcdCluster
	table   *certificateTable
	cas     map[string]secretData // by the name of their Secret
}

// add adds what another Secret of the cluster holds, and who shows it.
func (in inventory) add(ctx context.Context, secret, shownBy string, all []resources.Certificate) error {
	data, err := in.session.secretData(ctx, in.cluster, secret)
	if err != nil {
		return err
	}
	for _, one := range all {
		file, ca := data[one.CertKey], in.cas[one.CA]
		cert, err := pki.Read(file)
		if err != nil {
			in.table.unreadable(secret, one.CertKey, data)
			continue
		}
		row := certificateRow{Secret: secret, File: one.CertKey, ShownBy: shownBy, ShownTo: "members",
			User: cert.Subject.CommonName, Names: len(cert.DNSNames) + len(cert.IPAddresses),
			SignedBy: pki.SignerOf(cert, ca[resources.KeyCert], ca[resources.KeyOtherCert], data[one.CAKey]),
			span:     spanOf(one.Made(data), cert.NotAfter, pki.RenewedFrom(cert)),
		}
		if resources.OriginIn(data, one.OriginKey()).Issuer != nil {
			row.RenewedFrom = metav1.NewTime(pki.RenewedAt(cert))
		}
		if one.ForMember && one.CertKey == resources.KeyCert {
			row.ShownTo = "clients"
		}
		row.TrustIsComplete = len(ca[resources.KeyCert]) > 0 &&
			bytes.Equal(bytes.TrimSpace(data[one.CAKey]), bytes.TrimSpace(one.Trusts(ca)))
		in.table.Certificates = append(in.table.Certificates, row)
	}
	return nil
}

func (t *certificateTable) unreadable(secret, key string, data secretData) {
	said := fmt.Sprintf("Secret %s holds no certificate under %s.", secret, key)
	if data == nil {
		said = fmt.Sprintf("Secret %s is not there.", secret)
	}
	if len(t.Unreadable) == 0 || t.Unreadable[len(t.Unreadable)-1] != said { // a member's would hold two
		t.Unreadable = append(t.Unreadable, said)
	}
}

func spanOf(issued, expires, renewed time.Time) span {
	return span{Issued: metav1.NewTime(issued), Expires: metav1.NewTime(expires), RenewedFrom: metav1.NewTime(renewed)}
}

// short is enough of a fingerprint to tell two CAs apart.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 11)] }

func day(t metav1.Time) string { return t.UTC().Format(time.DateOnly) }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

var caColumns = []column[caRow]{
	{"SECRET", func(r caRow) string { return r.Secret }},
	{"FOR", func(r caRow) string { return r.For }},
	{"SIGNS", func(r caRow) string { return yesNo(r.Signs) }},
	{"HAS KEY", func(r caRow) string { return yesNo(r.HasKey) }},
	{"ISSUED", func(r caRow) string { return day(r.Issued) }},
	{"EXPIRES", func(r caRow) string { return day(r.Expires) }},
	{"REPLACED FROM", func(r caRow) string {
		if r.From != "" {
			return "as its Secret"
		}
		return day(r.RenewedFrom)
	}},
	{"ORIGIN", func(r caRow) string {
		if r.From == "" {
			return "operator"
		}
		return r.From
	}},
	{"FINGERPRINT", func(r caRow) string { return short(r.Fingerprint) }},
}

var certificateColumns = []column[certificateRow]{
	{"SECRET", func(r certificateRow) string { return r.Secret }},
	{"FILE", func(r certificateRow) string { return r.File }},
	{"SHOWN BY", func(r certificateRow) string { return r.ShownBy }},
	{"TO", func(r certificateRow) string { return r.ShownTo }},
	{"USER", func(r certificateRow) string { return r.User }},
	{"NAMES", func(r certificateRow) string { return strconv.Itoa(r.Names) }},
	{"ISSUED", func(r certificateRow) string { return day(r.Issued) }},
	{"EXPIRES", func(r certificateRow) string { return day(r.Expires) }},
	{"RENEWED FROM", func(r certificateRow) string { return day(r.RenewedFrom) }},
	{"SIGNED BY", func(r certificateRow) string { return short(r.SignedBy) }},
	{"TRUST", func(r certificateRow) string {
		if r.TrustIsComplete {
			return "complete"
		}
		return "not as the CA says"
	}},
}

// print writes the tables, and below them what is missing and what comes next.
func (t *certificateTable) print(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s\n\n", t.Name, t.Namespace)
	if !t.TLS {
		text.WriteString("There are no certificates: spec.tls.mode is Disabled.\n")
		_, err := out.Write(text.Bytes())
		return err
	}
	text.WriteString("CAs:\n")
	_ = printTable(&text, "  ", t.CAs, caColumns) // a buffer takes all
	text.WriteString("\nCertificates:\n")
	_ = printTable(&text, "  ", t.Certificates, certificateColumns)
	for i, said := range t.Unreadable {
		if i == 0 {
			text.WriteString("\n")
		}
		fmt.Fprintln(&text, said)
	}
	if step := t.NextStep; step != nil {
		fmt.Fprintf(&text, "\nOne CA takes the place of another. The next step of the operator, by rule %s:\n%s\n",
			step.Rule, step.Message)
	}
	_, err := out.Write(text.Bytes())
	return err
}
