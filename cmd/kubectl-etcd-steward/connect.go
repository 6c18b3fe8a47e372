package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

type connectOptions struct {
	client, dir string
	outside     bool
}

func (p program) connectCommand() *cobra.Command {
	var o connectOptions
	c := &cobra.Command{
		Use: "connect CLUSTER", Short: "Print what a client needs to connect", Args: oneCluster,
		Long: "Prints the URLs of a cluster, the Secret that clients take their certificate from, and the names that " +
			"certificates of members hold. With --for it prints lines for one client. It reads no Secret.",
		Example: "  kubectl etcd-steward connect demo\n" +
			"  kubectl etcd-steward connect demo --for pod\n" +
			"  kubectl etcd-steward connect demo --for kube-apiserver --dir /etcd",
	}
	p.showing(c, func(ctx context.Context, s *session, args []string, show show) error {
		return s.showAccess(ctx, args[0], o, show)
	})
	flags := c.Flags()
	flags.StringVar(&o.client, "for", "", "Print lines for this client: "+strings.Join(clientNames(), ", ")+".")
	flags.StringVar(&o.dir, "dir", "/etc/etcd", "Directory in which the client has the files of the Secret.")
	flags.BoolVar(&o.outside, "outside", false, "Connect from outside this Kubernetes, by the load balancer.")
	c.MarkFlagsMutuallyExclusive("for", "output")
	return c
}

// access is what a client needs. With -o it is printed as it is.
type access struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	// URL is that of the client Service, which leads to a voter that serves.
	URL string `json:"url"`
	// Outside are the URLs of the load balancer.
	Outside []string `json:"outside,omitempty"`
	// Members are the URLs of all members.
	Members []string `json:"members"`
	// SRV is the name by which clients find members in DNS.
	SRV string `json:"srv"`
	// TLS is absent where members take connections without it.
	TLS *tlsAccess `json:"tls,omitempty"`

	member string // one that a person may forward a port to
}

// tlsAccess is what a client needs for TLS.
type tlsAccess struct {
	Secret string   `json:"secret"`
	Keys   []string `json:"keys"`
	User   string   `json:"user"`
	// Names are those of which certificates of members are good, beside the names of the members.
	Names []string `json:"names"`
}

func (s *session) showAccess(ctx context.Context, name string, o connectOptions, show show) error {
	c, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	a, err := accessOf(c)
	if err != nil {
		return err
	}
	if o.outside {
		if len(a.Outside) == 0 {
			return fmt.Errorf("EtcdCluster %s has no URL for clients outside. Set spec.service.type to LoadBalancer, "+
				"and wait until its address is in status.endpoints. Of node ports nothing is known here: "+
				pages.Docs+"docs/connect.md", name)
		}
		a.URL = a.Outside[0]
	}
	if o.client == "" {
		return show(sight{text: a.print, data: a})
	}
	lines, err := linesFor(o.client, strings.TrimSuffix(o.dir, "/"), a)
	if err != nil {
		return err
	}
	return show(sight{text: func(out io.Writer) error {
		_, err := io.WriteString(out, lines)
		return err
	}})
}

// accessOf reads it from the status. Before the cluster has served there is nothing to connect to.
func accessOf(c *v1alpha1.EtcdCluster) (access, error) {
	if len(c.Status.Endpoints) == 0 {
		return access{}, fmt.Errorf("EtcdCluster %[1]s has no URL yet: it has not served. To wait for it: `kubectl "+
			"wait etcd %[2]s --for=condition=Ready --timeout=10m`", c.Name, named(c))
	}
	first, err := url.Parse(c.Status.Endpoints[0])
	if err != nil || first.Port() == "" {
		return access{}, errors.New("status.endpoints begins with " + c.Status.Endpoints[0] + ", which is no URL " +
			"with a port")
	}
	peers := c.Name + "-peers." + c.Namespace + ".svc"
	a := access{Cluster: c.Name, Namespace: c.Namespace, URL: c.Status.Endpoints[0], Outside: c.Status.Endpoints[1:],
		Members: []string{}, SRV: peers, member: c.Status.Leader}
	for _, m := range c.Status.Members {
		if m.Role == "voter" {
			host := net.JoinHostPort(m.Name+"."+peers, first.Port())
			a.Members = append(a.Members, (&url.URL{Scheme: first.Scheme, Host: host}).String())
		}
		if a.member == "" {
			a.member = m.Name
		}
	}
	if ref := c.Status.ClientSecretRef; ref != nil {
		names := []string{first.Hostname(), peers, "localhost"}
		for _, one := range a.Outside {
			if u, err := url.Parse(one); err == nil {
				names = append(names, u.Hostname())
			}
		}
		names = slices.Compact(append(names, c.Spec.ExtraSANs()...))
		a.TLS = &tlsAccess{Secret: ref.Name, Keys: []string{"ca.crt", "tls.crt", "tls.key"}, User: c.Name + "-client",
			Names: names}
	}
	return a, nil
}

// print writes it as people read it.
func (a access) print(out io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "EtcdCluster %s in namespace %s\n\n", a.Cluster, a.Namespace)
	line := func(key string, values ...string) {
		if len(values) > 0 {
			fmt.Fprintf(&text, "%-14s%s\n", key+":", strings.Join(values, "\n"+strings.Repeat(" ", 14)))
		}
	}
	line("URL", a.URL)
	line("Outside", a.Outside...)
	line("Members", a.Members...)
	line("SRV records", a.SRV)
	if t := a.TLS; t != nil {
		line("Secret", fmt.Sprintf("%s, with the keys %s", t.Secret, strings.Join(t.Keys, ", ")))
		line("User", t.User+", as the certificate in the Secret names it")
		line("Names", strings.Join(t.Names, ", "))
	} else {
		line("TLS", "None: all who reach it can read and change all data.")
	}
	fmt.Fprintf(&text, "\nLines for a client: `kubectl etcd-steward connect %s -n %s --for %s`.\n", a.Cluster,
		a.Namespace,
		strings.Join(clientNames(), "|"))
	_, err := out.Write(text.Bytes())
	return err
}
