package world

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// dnsAddress is where a process of this machine finds the names of a localkube's Services.
const dnsAddress = "198.18.0.2"

// APIServer is a kube-apiserver of the story's own, a process of this machine whose only etcd is one cluster.
type APIServer struct {
	client  *kubernetes.Clientset
	dir     string // of its certificates, keys and log
	address string
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// StartAPIServer starts the kube-apiserver that the localkube has, reaches etcd by the URL of the status and the bundle
// for clients, as users do, and waits until it serves. It is killed after the story at the latest; its log is printed
// when the story failed.
func (c *Cluster) StartAPIServer(ctx context.Context) *APIServer {
	ginkgo.GinkgoHelper()
	c.NeedLocalkube()
	a := &APIServer{
		dir: ginkgo.GinkgoT().TempDir(), address: s3server.FreeAddress(ginkgo.GinkgoTB()), ended: make(chan struct{}),
	}
	config, err := a.issue(time.Now())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	a.client, err = kubernetes.NewForConfig(config)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(a.writeBundle(ctx, c)).To(gomega.Succeed())
	object, err := c.Get(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(object.Status.Endpoints).NotTo(gomega.BeEmpty(), "the URL of the client Service")
	program, err := c.localkube(ctx, "binary", "kube-apiserver")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(a.start(program, c.Domain(ctx), object.Status.Endpoints)).To(gomega.Succeed())
	ginkgo.DeferCleanup(func() {
		a.Kill()
		if ginkgo.CurrentSpecReport().Failed() {
			log, _ := os.ReadFile(a.file("log"))
			ginkgo.GinkgoWriter.Printf("\n---- the story's API server\n%s\n", linesWith(string(log), "", 200))
		}
	})
	gomega.Eventually(ctx, a.checkServing).WithTimeout(Patience).Should(gomega.Succeed(), "the API server serves")
	return a
}

func (a *APIServer) file(name string) string { return filepath.Join(a.dir, name) }

func (a *APIServer) writeFiles(files map[string][]byte) error {
	for name, data := range files {
		if err := os.WriteFile(a.file(name), data, 0o600); err != nil {
			return fmt.Errorf("writing a file of the API server: %w", err)
		}
	}
	return nil
}

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
		TLSClientConfig: rest.TLSClientConfig{
			CAData: ca.CertPEM(), CertData: pairs["admin"].Cert, KeyData: pairs["admin"].Key,
		},
	}, a.writeFiles(files)
}

// writeBundle writes what the Secret for clients of etcd holds.
func (a *APIServer) writeBundle(ctx context.Context, c *Cluster) error {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.ClientSecret(c.Name)}
	if err := c.Client.Get(ctx, key, secret); err != nil {
		return fmt.Errorf("reading the clients' bundle: %w", err)
	}
	return a.writeFiles(map[string][]byte{
		"etcd-ca.crt": secret.Data["ca.crt"],
		"etcd.crt":    secret.Data[corev1.TLSCertKey],
		"etcd.key":    secret.Data[corev1.TLSPrivateKeyKey],
	})
}

func (a *APIServer) flags(etcd []string) []string {
	host, port, _ := strings.Cut(a.address, ":")
	return []string{
		"--etcd-servers=" + strings.Join(etcd, ","),
		"--etcd-cafile=" + a.file("etcd-ca.crt"),
		"--etcd-certfile=" + a.file("etcd.crt"),
		"--etcd-keyfile=" + a.file("etcd.key"),
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
}

// withDNS runs a program in mounts of its own, where another file says who knows names. Each step replaces the process
// by the next one, so that it stays the one that was started.
var withDNS = []string{
	"unshare", "--mount", "--propagation", "private", "--",
	"/bin/sh", "-ec", `mount --bind "$1" /etc/resolv.conf; shift; exec "$@"`, "sh",
}

// start runs the program, which ends with this process at the latest.
func (a *APIServer) start(program, domain string, etcd []string) error {
	// The names of Services are looked up below the domain first, as in a Pod.
	resolv := fmt.Sprintf("nameserver %s\nsearch %s\noptions ndots:5\n", dnsAddress, domain)
	if err := a.writeFiles(map[string][]byte{"resolv.conf": []byte(resolv)}); err != nil {
		return err
	}
	log, err := os.Create(a.file("log"))
	if err != nil {
		return fmt.Errorf("making the API server's log: %w", err)
	}
	args := slices.Concat(withDNS, []string{a.file("resolv.conf"), program}, a.flags(etcd))
	a.process = exec.Command(args[0], args[1:]...)
	a.process.Stdout, a.process.Stderr = log, log
	a.process.Env = []string{"PATH=" + os.Getenv("PATH")} // and no proxy of this machine's between it and etcd
	a.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer log.Close()
		// The death signal comes when the thread that started it ends, so that thread has to stay (golang/go#27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := a.process.Start()
		started <- err
		if err == nil {
			_ = a.process.Wait()
		}
		close(a.ended)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	return nil
}

// Kill ends the process; ending one that is ended does nothing.
func (a *APIServer) Kill() {
	_ = a.process.Process.Kill()
	<-a.ended
}

func (a *APIServer) checkRunning() error {
	select {
	case <-a.ended:
		return fmt.Errorf("the API server ended: %s", a.process.ProcessState)
	default:
		return nil
	}
}

// checkServing says what is missing until the API server serves, and has the namespace that it makes by itself.
func (a *APIServer) checkServing(ctx context.Context) error {
	if err := a.checkRunning(); err != nil {
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
