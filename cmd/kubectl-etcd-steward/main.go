// Command kubectl-etcd_steward is a plugin of kubectl: `kubectl etcd-steward status demo`. It reads and writes objects
// of the API server alone, and runs nothing inside a Pod. Only `ctl` and `access` talk to etcd, and only these and
// `certificates` read Secrets.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl signs in by these, too
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

// version is set when the program is linked.
var version = "dev"

// Exit codes.
const (
	exitFailed       = 1
	exitNotAvailable = 2
	exitStepsAhead   = 3
	exitNotSettled   = 4
	exitTooSlow      = 2
	exitNotGranted   = 2
	exitInterrupted  = 130 // as a shell says it of a program that a signal ended
)

// errNotAvailable ends `status` of a cluster that does not serve, after the page has said so.
var errNotAvailable = errors.New("the cluster is not available")

func main() {
	if os.Args[0] == etcdctlName {
		ctlv3.MustStart()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, argumentsOf(os.Args), program{connect: connect, in: os.Stdin, out: os.Stdout, errOut: os.Stderr}))
}

// program is what all commands share.
type program struct {
	flags       *genericclioptions.ConfigFlags
	connect     func(*genericclioptions.ConfigFlags) (*session, error)
	in          io.Reader
	out, errOut io.Writer
}

func run(ctx context.Context, args []string, p program) int {
	root := p.root() //nolint:contextcheck // cobra hands the context on to each command
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended): // etcdctl, which has said why
		return codeOf(ended)
	case errors.Is(err, errNotAvailable):
		return exitNotAvailable
	case errors.Is(err, errStepsAhead):
		return exitStepsAhead
	case errors.Is(err, errNotSettled):
		return exitNotSettled
	case errors.Is(err, errTooSlow):
		return exitTooSlow
	case errors.Is(err, errNotGranted):
		return exitNotGranted
	}
	fmt.Fprintln(p.errOut, "error:", err)
	return exitFailed
}

// root is the command above all others, with kubectl's own flags.
func (p program) root() *cobra.Command {
	cobra.EnablePrefixMatching = false // etcdctl turns it on
	p.flags = genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{
		Use:           "kubectl-etcd_steward",
		Short:         "See, foretell, report, back up and restart etcd clusters of etcd-steward",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl etcd-steward"},
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	p.flags.AddFlags(root.PersistentFlags())
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	root.AddCommand(
		p.statusCommand(), p.membersCommand(), p.eventsCommand(), p.logsCommand(), p.planCommand(), p.reportCommand(),
		p.backupCommand(), p.restoreCommand(), p.restartCommand(), p.defragmentCommand(), p.maintainCommand(),
		p.replaceCommand(), p.moveLeaderCommand(), p.fenceCommand(), p.unfenceCommand(), p.rotateCACommand(),
		p.hibernateCommand(), p.wakeCommand(), p.pauseCommand(), p.resumeCommand(), p.connectCommand(),
		p.certificatesCommand(), p.accessCommand(), p.ctlCommand(), p.lintCommand(), p.fioCommand(),
		p.completionCommand(), p.versionCommand(),
	)
	p.complete(root)
	return root
}

func (p program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this plugin", Args: cobra.NoArgs,
		Example: "  kubectl etcd-steward version",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, version)
			return err
		},
	}
}

// oneCluster is what each command takes that is about a cluster.
func oneCluster(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one EtcdCluster, and got %d names. "+
			"`kubectl etcd-steward status --all` shows the clusters of the namespace", c.CommandPath(), len(args))
	}
	return nil
}

// onCluster runs a command that is about a cluster, with a session.
func (p program) onCluster(
	do func(c *cobra.Command, s *session, name string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := p.connect(p.flags)
		if err != nil {
			return err
		}
		return do(c, s, args[0])
	}
}

// session is a connection to one API server, and the namespace that the person works in.
type session struct {
	client.WithWatch

	namespace string
	logs      func(ctx context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error)
	dial      func(ctx context.Context, pod client.ObjectKey) (net.Conn, error) // where etcd serves clients
	now       func() time.Time
}

// connect makes a session as kubectl would with these flags.
func connect(flags *genericclioptions.ConfigFlags) (*session, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	clock := &serverClock{}
	config.Wrap(clock.wrap)
	config.UserAgent = "kubectl-etcd_steward/" + version
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	log.SetLogger(logr.Discard())
	objects, err := client.NewWithWatch(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("preparing to ask the API server: %w", err)
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to ask the API server: %w", err)
	}
	logs := func(ctx context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, o).Stream(ctx)
	}
	return &session{WithWatch: objects, namespace: namespace, logs: logs, now: clock.now,
		dial: forwarding(config, pods.CoreV1().RESTClient())}, nil
}

// newScheme knows the kinds that are read as Go types; a report reads the others as they come.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	utilruntime.Must(policyv1.AddToScheme(scheme))
	utilruntime.Must(networkingv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// serverClock tells the time by the API server's answers: ages of objects and Leases are wrong by the clock of a laptop
// that is.
type serverClock struct{ ahead atomic.Int64 }

func (c *serverClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.ahead.Store(int64(time.Until(date)))
		}
		return response, nil
	})
}

// roundTrip makes a function one that sends requests.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// explain says what an error of the API server means, and what the reader can do about it.
func explain(err error, namespace string) error {
	switch verb, resource := lackOf(err); {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return errors.New("this Kubernetes does not know EtcdClusters: the custom resource definitions of " +
			"etcd-steward are not installed. Install the operator, or choose another cluster with --context")
	case resource != "":
		return fmt.Errorf("you may not %s %s in %s. Ask an administrator for that right: "+
			pages.Docs+"docs/kubectl.md lists the rights of each command", verb, resource, inNamespace(namespace))
	case apierrors.IsUnauthorized(err):
		return errors.New("the API server does not know who you are. Sign in again, or choose another user with " +
			"--user, --context or --kubeconfig")
	}
	return err
}

// inNamespace names a namespace, or all.
func inNamespace(name string) string {
	if name == "" {
		return "all namespaces"
	}
	return "namespace " + name
}

// lack is how the API server says which right is missing. Policies and quotas forbid as well, and say why themselves.
var lack = regexp.MustCompile(`is forbidden: User .* cannot (\S+) resource "([^"]+)" in API group "([^"]*)"`)

// lackOf is what a person has no right to: a verb, and a resource such as pods/log or etcdclusters.etcdsteward.dev.
func lackOf(err error) (verb, resource string) {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return "", ""
	}
	found := lack.FindStringSubmatch(status.Status().Message)
	if found == nil {
		return "", ""
	}
	return found[1], strings.TrimSuffix(found[2]+"."+found[3], ".")
}

func (s *session) get(ctx context.Context, key client.ObjectKey, object client.Object) error {
	return explain(s.Get(ctx, key, object), key.Namespace)
}

func (s *session) list(ctx context.Context, namespace string, all client.ObjectList, o ...client.ListOption) error {
	return explain(s.List(ctx, all, append(o, client.InNamespace(namespace))...), namespace)
}

// named is how a command of kubectl names a cluster. A reply names the namespace always: it may be copied to where
// another one is the usual one.
func named(c *v1alpha1.EtcdCluster) string { return c.Name + " -n " + c.Namespace }

// cluster reads an EtcdCluster, and names those that there are where it is not there.
func (s *session) cluster(ctx context.Context, name string) (*v1alpha1.EtcdCluster, error) {
	c := &v1alpha1.EtcdCluster{}
	err := s.get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, c)
	if !apierrors.IsNotFound(err) {
		return c, err
	}
	var all v1alpha1.EtcdClusterList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s; %w", name, s.namespace, err)
	}
	if len(all.Items) == 0 {
		return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s, and no other one in this namespace. "+
			"Choose another namespace with -n. `kubectl etcd-steward status -A` lists the clusters of all",
			name, s.namespace)
	}
	return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s. The namespace has: %s", name, s.namespace,
		strings.Join(clusterNames(all.Items), ", "))
}
