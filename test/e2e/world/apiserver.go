package world

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// dnsAddress is where a process of this machine finds the names of a localkube's Services.
const dnsAddress = "198.18.0.2"

// APIServerVersion is which kube-apiserver a story starts: that of a minor version of Kubernetes that localkube can build,
// with feature gates.
type APIServerVersion struct{ Kubernetes, FeatureGates string }

// APIServer is a kube-apiserver of the story's own, a process of this machine whose only etcd is one cluster.
type APIServer struct {
	client  *kubernetes.Clientset
	config  *rest.Config // of an administrator
	dir     string       // of its certificates, keys and log
	address string
	args    []string // its program, and what it is started with
	process *process
}

// etcdAccess is how an API server reaches its etcd.
type etcdAccess struct {
	urls   []string
	files  map[string][]byte // the certificates; none where etcd has no TLS
	domain string            // below it names of Services are looked up first; empty where there are none
}

// StartAPIServer starts a kube-apiserver that reaches etcd by the URL of the status and the bundle for clients, as users
// do, and waits until it serves. It is killed after the story at the latest; its log is printed when the story failed.
func (c *Cluster) StartAPIServer(ctx context.Context, version APIServerVersion) *APIServer {
	ginkgo.GinkgoHelper()
	object, err := c.Get(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(object.Status.Endpoints).NotTo(gomega.BeEmpty(), "the URL of the client Service")
	files, err := c.etcdFiles(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return c.startAPIServer(ctx, version, etcdAccess{object.Status.Endpoints, files, c.Domain(ctx)})
}

func (w *World) startAPIServer(ctx context.Context, version APIServerVersion, etcd etcdAccess) *APIServer {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	program, err := w.localkube(ctx, "binary", "--kubernetes", version.Kubernetes, "kube-apiserver")
	if err != nil {
		needs.Missing(ginkgo.GinkgoT(), "make localkube-build KUBERNETES="+version.Kubernetes+": "+err.Error())
	}
	a := &APIServer{dir: ginkgo.GinkgoT().TempDir(), address: s3server.FreeAddress(ginkgo.GinkgoTB())}
	a.config, err = a.issue(time.Now())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	a.client, err = kubernetes.NewForConfig(a.config)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(writeFiles(a.dir, etcd.files)).To(gomega.Succeed())
	a.args = append([]string{program}, a.flags(version, etcd)...)
	if etcd.domain != "" {
		a.args, err = withDNS(a.dir, etcd.domain, a.args)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
	ginkgo.DeferCleanup(func() {
		a.Kill()
		if ginkgo.CurrentSpecReport().Failed() {
			log, _ := os.ReadFile(a.file("log"))
			ginkgo.GinkgoWriter.Printf("\n---- the story's API server\n%s\n", linesWith(string(log), "", 200))
		}
	})
	a.Start(ctx)
	return a
}

func (a *APIServer) file(name string) string { return filepath.Join(a.dir, name) }

// issue makes the certificates that the API server serves with, knows its clients by, and signs tokens with, and
// returns how an administrator connects.
func (a *APIServer) issue(now time.Time) (*rest.Config, error) {
	root, err := pki.NewCA("story-kubernetes", now, 0)
	if err != nil {
		return nil, fmt.Errorf("making the API server's authority: %w", err)
	}
	ca, err := pki.ParseCA(root)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's authority: %w", err)
	}
	host, _, err := net.SplitHostPort(a.address)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	files, pairs := map[string][]byte{"ca.crt": ca.CertPEM()}, map[string]pki.Pair{}
	for name, leaf := range map[string]pki.Leaf{
		"serving": {CommonName: "kube-apiserver", IPs: []net.IP{net.ParseIP(host)}, Server: true},
		"admin":   {CommonName: "admin", Organization: []string{"system:masters"}, Client: true},
		"tokens":  {CommonName: "service-accounts", Client: true},
	} {
		pair, err := ca.Issue(leaf, now)
		if err != nil {
			return nil, fmt.Errorf("making a certificate of the API server: %w", err)
		}
		files[name+".crt"], files[name+".key"], pairs[name] = pair.Cert, pair.Key, pair
	}
	return &rest.Config{
		Host: "https://" + a.address, UserAgent: "etcd-steward-stories", QPS: 200, Burst: 400,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf},
		TLSClientConfig: rest.TLSClientConfig{
			CAData: ca.CertPEM(), CertData: pairs["admin"].Cert, KeyData: pairs["admin"].Key,
		},
	}, writeFiles(a.dir, files)
}

// etcdFiles is what the Secret for clients of etcd holds, as files of an API server.
func (c *Cluster) etcdFiles(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.ClientSecret(c.Name)}
	if err := c.Client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the clients' bundle: %w", err)
	}
	return map[string][]byte{
		"etcd-ca.crt": secret.Data["ca.crt"],
		"etcd.crt":    secret.Data[corev1.TLSCertKey],
		"etcd.key":    secret.Data[corev1.TLSPrivateKeyKey],
	}, nil
}

func (a *APIServer) flags(version APIServerVersion, etcd etcdAccess) []string {
	host, port, _ := strings.Cut(a.address, ":")
	flags := []string{
		"--etcd-servers=" + strings.Join(etcd.urls, ","),
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--advertise-address=" + hostAddress, // it refuses to publish one that only this machine reaches
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + a.file("serving.crt"),
		"--tls-private-key-file=" + a.file("serving.key"),
		"--client-ca-file=" + a.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + a.file("tokens.crt"),
		"--service-account-signing-key-file=" + a.file("tokens.key"),
		"--authorization-mode=RBAC",
	}
	if len(etcd.files) > 0 {
		flags = append(flags, "--etcd-cafile="+a.file("etcd-ca.crt"),
			"--etcd-certfile="+a.file("etcd.crt"), "--etcd-keyfile="+a.file("etcd.key"))
	}
	if version.FeatureGates != "" {
		flags = append(flags, "--feature-gates="+version.FeatureGates)
	}
	return flags
}

// Start runs it, and waits until it serves.
func (a *APIServer) Start(ctx context.Context) {
	ginkgo.GinkgoHelper()
	var err error
	a.process, err = startProcess(a.file("log"), a.args)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Eventually(ctx, a.checkServing).WithTimeout(Patience).Should(gomega.Succeed(), "the API server serves")
}

// Kill ends the process; ending one that is ended does nothing.
func (a *APIServer) Kill() {
	if a.process != nil {
		a.process.kill()
	}
}

// checkServing says what is missing until the API server serves, and has the namespace that it makes by itself.
func (a *APIServer) checkServing(ctx context.Context) error {
	if err := a.process.checkRunning(); err != nil {
		return gomega.StopTrying("it does not start").Wrap(err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if said, err := a.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("asking the API server whether it is ready: %w: %s", err, said)
	}
	if _, err := a.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("reading the namespace to write to: %w", err)
	}
	return nil
}
