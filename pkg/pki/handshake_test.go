package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"
)

// serverTLS is how a member listens with client authentication on: it asks for a certificate of the CA trusted.
func serverTLS(t *testing.T, pair Pair, trusted CA) *tls.Config {
	t.Helper()
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(trusted.cert)
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		Time:         func() time.Time { return start },
	}
}

func clientTLS(t *testing.T, trusted []byte, pair Pair, serverName string) *tls.Config {
	t.Helper()
	config, err := ClientTLS(trusted, pair)
	if err != nil {
		t.Fatal(err)
	}
	config.ServerName, config.Time = serverName, func() time.Time { return start }
	return config
}

// handshake connects the two over loopback and returns what each side says. A client learns of its refusal only when it
// reads, so both sides exchange a byte.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() { served <- serveOne(listener, server) }()
	raw, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
	conn := tls.Client(raw, client)
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1))
	}
	_ = raw.Close()
	return <-served, clientErr
}

func serveOne(listener net.Listener, config *tls.Config) error {
	raw, err := listener.Accept()
	if err != nil {
		return err
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(10 * time.Second))
	conn := tls.Server(raw, config)
	if err := conn.Handshake(); err != nil {
		return err
	}
	_, err = conn.Write([]byte{1})
	return err
}

func TestWhoMayConnectToWhom(t *testing.T) {
	clients, peers := newCA(t, "demo clients", start), newCA(t, "demo peers", start)
	stranger := newCA(t, "demo clients", start) // as a CA of a cluster of the same name elsewhere
	name := member().DNSNames[0]
	clientPort := serverTLS(t, clients.mustIssue(t, member(), start), clients)
	peerPort := serverTLS(t, peers.mustIssue(t, member(), start), peers)
	operator := clients.mustIssue(t, caller("root"), start)
	peer := peers.mustIssue(t, member().named("demo-1"), start)
	expired := clients.mustIssue(t, caller("root").validFor(time.Minute), start.Add(-4*time.Minute))

	for what, tc := range map[string]struct {
		server         *tls.Config
		client         *tls.Config
		serverRefusal  string
		clientsRefusal string
	}{
		"the operator to the client port":              {clientPort, clientTLS(t, clients.CertPEM(), operator, name), "", ""},
		"a user to the client port, by address":        {clientPort, clientTLS(t, clients.CertPEM(), clients.mustIssue(t, caller("demo-client"), start), "127.0.0.1"), "", ""},
		"a member's gateway to its own client port":    {clientPort, clientTLS(t, clients.CertPEM(), clients.mustIssue(t, member(), start), "localhost"), "", ""},
		"a member to a peer port":                      {peerPort, clientTLS(t, peers.CertPEM(), peer, name), "", ""},
		"while one authority replaces the other":       {clientPort, clientTLS(t, join(stranger.CertPEM(), clients.CertPEM()), operator, name), "", ""},
		"a peer's certificate to the client port":      {clientPort, insisting(clientTLS(t, clients.CertPEM(), peer, name)), "unknown authority", "unknown certificate authority"},
		"a client's certificate to the peer port":      {peerPort, insisting(clientTLS(t, peers.CertPEM(), operator, name)), "unknown authority", "unknown certificate authority"},
		"a stranger's certificate to the client port":  {clientPort, clientTLS(t, clients.CertPEM(), stranger.mustIssue(t, caller("root"), start), name), "unknown authority", "unknown certificate authority"},
		"a server-only certificate as a client's":      {peerPort, clientTLS(t, peers.CertPEM(), peers.mustIssue(t, member().forServersOnly(), start), name), "incompatible key usage", "bad certificate"},
		"an expired certificate":                       {clientPort, clientTLS(t, clients.CertPEM(), expired, name), "expired", "expired certificate"},
		"a client that trusts the stranger only":       {clientPort, clientTLS(t, stranger.CertPEM(), operator, name), "bad certificate", "unknown authority"},
		"a client that trusts the peers' authority":    {clientPort, clientTLS(t, peers.CertPEM(), operator, name), "bad certificate", "unknown authority"},
		"a client that looks for another member":       {clientPort, clientTLS(t, clients.CertPEM(), operator, "demo-1.demo-peer.default.svc.cluster.local"), "bad certificate", "not demo-1"},
		"a member with a client-only certificate":      {serverTLS(t, clients.mustIssue(t, member().forClientsOnly(), start), clients), clientTLS(t, clients.CertPEM(), operator, name), "bad certificate", "incompatible key usage"},
		"a client that offers no certificate":          {clientPort, withoutCertificate(clientTLS(t, clients.CertPEM(), operator, name)), "didn't provide a certificate", "certificate required"},
		"a client that speaks an older TLS than 1.2":   {clientPort, atMost(tls.VersionTLS11, clientTLS(t, clients.CertPEM(), operator, name)), "EOF", "no supported versions"},
		"TLS 1.2, the oldest that the operator speaks": {clientPort, atMost(tls.VersionTLS12, clientTLS(t, clients.CertPEM(), operator, name)), "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			serverErr, clientErr := handshake(t, tc.server, tc.client)
			expect(t, "server", serverErr, tc.serverRefusal)
			expect(t, "client", clientErr, tc.clientsRefusal)
		})
	}
}

func expect(t *testing.T, side string, err error, refusal string) {
	t.Helper()
	if refusal == "" && err != nil {
		t.Errorf("the %s refused: %v", side, err)
	}
	if refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) {
		t.Errorf("the %s says %v, want a refusal with %q", side, err, refusal)
	}
}

func withoutCertificate(config *tls.Config) *tls.Config {
	config.Certificates = nil
	return config
}

// insisting offers the certificate also to a server that names other CAs, where Go's client would withhold it.
func insisting(config *tls.Config) *tls.Config {
	certificate := config.Certificates[0]
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	return config
}

func atMost(version uint16, config *tls.Config) *tls.Config {
	config.MaxVersion = version
	return config
}

func TestClientTLSTrustsNoOtherCAByAccident(t *testing.T) {
	ca := newCA(t, "demo", start)
	client := ca.mustIssue(t, caller("root"), start)
	leaf := ca.mustIssue(t, member(), start)
	for name, tc := range map[string]struct {
		trusted []byte
		client  Pair
		want    string
	}{
		"no authority: the system's would be trusted": {nil, client, "no PEM certificate"},
		"a leaf in place of the authority":            {leaf.Cert, client, `"demo-0" is not one`},
		"an authority and a leaf":                     {join(ca.CertPEM(), leaf.Cert), client, `"demo-0" is not one`},
		"an authority that is cut":                    {join(ca.CertPEM(), ca.CertPEM()[:200]), client, "not a PEM certificate"},
		"the key of another certificate":              {ca.CertPEM(), Pair{client.Cert, leaf.Key}, "not of each other"},
		"no client certificate":                       {ca.CertPEM(), Pair{}, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := ClientTLS(tc.trusted, tc.client)
			if err == nil || config != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
