package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

type options struct {
	leaderElect    bool
	metricsAddress string
	metricsSecure  bool
	probeAddress   string
	namespace      string   // as the flag has it
	namespaces     []string // of it, sorted; empty for all
	agentImage     string
	clusterDomain  string
	platformIDs    string
	otlpEndpoint   string
	webhook        string
	images         resources.ImageDefaults
	version        bool
	log            zap.Options
}

// flagsOf are the flags, with what they are when they are not given.
func flagsOf(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.BoolVar(&o.leaderElect, "leader-elect", true,
		"Act only while holding the Lease. Without it, run one manager only: other installs take it for gone.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443",
		"Where /metrics is served; 0 turns it off.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"Serve /metrics over HTTPS, to callers that Kubernetes authenticates and allows only.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081",
		"Where /healthz and /readyz are served; 0 turns them off.")
	flags.StringVar(&o.namespace, "namespace", "",
		"Look after the clusters of this namespace only, or of several with commas between them; empty: of all.")
	flags.StringVar(&o.agentImage, "agent-image", "",
		"Image that backups run from; empty: the operator's own, as its Pod has it.")
	bindImages(flags, &o.images)
	flags.StringVar(&o.clusterDomain, "cluster-domain", "",
		"DNS domain of this Kubernetes, which certificates name; empty: as "+resolvConf+" of this Pod says, "+
			"and cluster.local where it says none.")
	flags.StringVar(&o.platformIDs, "platform-ids", observe.PlatformIDsAuto,
		"Whether the platform chooses the user and group IDs of Pods, where the spec names none: true, false or auto. "+
			"Auto is true where the API security.openshift.io is served.")
	flags.StringVar(&o.otlpEndpoint, "otlp-endpoint", "",
		"URL of a collector, such as http://collector.observability:4317, that gets a trace of each pass by OTLP over "+
			"gRPC; https for TLS. Empty: as OTEL_EXPORTER_OTLP_ENDPOINT says, and no traces where it says none.")
	flags.StringVar(&o.webhook, "webhook", "",
		"Name of the ValidatingWebhookConfiguration in which the operator keeps its CA and its paths, and by which "+
			"the API server asks it, at port 9443. Empty: it is not asked.")
	flags.BoolVar(&o.version, "version", false, "Print the version and exit.")
	o.log.BindFlags(flags)
	return flags
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flagsOf(&o)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, errors.New("unexpected argument " + flags.Arg(0))
	}
	ids := []string{observe.PlatformIDsAuto, observe.PlatformIDsTrue, observe.PlatformIDsFalse}
	if !slices.Contains(ids, o.platformIDs) {
		return o, fmt.Errorf("--platform-ids is %q; it must be true, false or auto", o.platformIDs)
	}
	if err := parseEndpoint(o.otlpEndpoint); err != nil {
		return o, err
	}
	if problems := validation.IsDNS1123Subdomain(o.webhook); o.webhook != "" && len(problems) > 0 {
		return o, fmt.Errorf("--webhook is %q; it must be the name of a ValidatingWebhookConfiguration: %s", o.webhook,
			problems[0])
	}
	var err error
	if o.namespaces, err = parseNamespaces(o.namespace); err != nil {
		return o, err
	}
	o.clusterDomain, err = parseDomain(o.clusterDomain)
	return o, err
}

// parseNamespaces reads --namespace, which names each namespace once or more often.
func parseNamespaces(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	namespaces := strings.Split(list, ",")
	for i, namespace := range namespaces {
		namespaces[i] = strings.TrimSpace(namespace)
		if problems := validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 {
			return nil, fmt.Errorf("--namespace %q names %q, which is no namespace: %s. Give names of namespaces with "+
				"commas between them, or leave the flag out for all namespaces", list, namespaces[i], problems[0])
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}

// identity names this install: namespace/name. Two installs that see one cluster tell each other apart by it. The name
// does not hold the Pod's, because the replicas of one install are one operator.
func identity() string {
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = "local" // started by hand
	}
	return namespace + "/etcd-steward"
}

// resolvConf says how names are completed in this Pod.
const resolvConf = "/etc/resolv.conf"

// parseDomain reads --cluster-domain. Empty stays empty.
func parseDomain(domain string) (string, error) {
	domain = strings.TrimSuffix(domain, ".")
	if domain == "" {
		return "", nil
	}
	if problems := validation.IsDNS1123Subdomain(domain); len(problems) > 0 {
		return "", fmt.Errorf("--cluster-domain %q is no DNS domain: %s. Give the domain that Services have their "+
			"names in, such as cluster.local, or leave the flag out to have it found", domain, problems[0])
	}
	return domain, nil
}

// findDomain finds out the DNS domain of this Kubernetes as the kubelet wrote it for this Pod; empty where no Pod is.
func findDomain(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return searchedDomain(string(text))
}

// searchedDomain is the domain of the entry svc.<domain> in the last search list of a resolv.conf, which is the one
// that counts; empty where there is none.
func searchedDomain(resolvConf string) string {
	found := ""
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		found = ""
		for _, name := range fields[1:] {
			below, isServices := strings.CutPrefix(name, "svc.")
			if domain, err := parseDomain(below); isServices && err == nil && found == "" {
				found = domain
			}
		}
	}
	return found
}

// bindImages has flags say where the images of clusters come from. What is wrong with one of them, flag prints behind
// the name of that flag.
func bindImages(flags *flag.FlagSet, d *resources.ImageDefaults) {
	flags.Func("etcd-repository", "Repository of etcd's images, without tag and digest, for clusters that name none "+
		"in spec.image.repository; not given: "+resources.DefaultRepository+". Running members keep what they run.",
		func(text string) error { return setRepository(d, text) })
	flags.Func("etcd-digest", "Digest of one version of etcd in that repository, such as 3.6.16=sha256:<64 hex "+
		"digits>; give the flag once for each version.", func(text string) error { return addDigest(d, text) })
	flags.Func("image-pull-secret", "Name of a Secret with credentials of registries, in the namespace of each "+
		"cluster. All Pods of a cluster get it; give the flag once for each Secret.",
		func(text string) error { return addPullSecret(d, text) })
}

func setRepository(d *resources.ImageDefaults, text string) error {
	if text != "" && !admission.IsRepository(text) {
		return errors.New("it must be an image name without tag and digest, such as registry.example.com/etcd. The " +
			"tag is v<version>; digests are given by --etcd-digest")
	}
	d.Repository = text
	return nil
}

func addDigest(d *resources.ImageDefaults, text string) error {
	version, digest, _ := strings.Cut(text, "=")
	if v, err := etcdutil.ParseVersion(version); err != nil || v.String() != version || !admission.IsDigest(digest) {
		return errors.New("it must be a version and a digest, such as 3.6.16=sha256:<64 hex digits>")
	}
	if before := d.Digests[version]; before != "" && before != digest {
		return fmt.Errorf("version %s has the digest %s already; give one digest for each version", version, before)
	}
	if d.Digests == nil {
		d.Digests = map[string]string{}
	}
	d.Digests[version] = digest
	return nil
}

func addPullSecret(d *resources.ImageDefaults, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("it must be the name of a Secret: %s", problems[0])
	}
	if !slices.Contains(d.PullSecrets, name) {
		d.PullSecrets = append(d.PullSecrets, name)
	}
	return nil
}

const (
	untracedEvery = 10 * time.Minute // how often the log tells that traces cannot be sent
	lastSpansTake = 2 * time.Second  // how long sending the last spans may hold up the end of the process
)

// endpointVariables turn traces on as --otlp-endpoint does. OpenTelemetry reads them itself, with all its others.
var endpointVariables = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// parseEndpoint reads --otlp-endpoint. Empty stays empty.
func parseEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(endpoint)
	if err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" &&
		parsed.Port() != "" && parsed.User == nil && (parsed.Path == "" || parsed.Path == "/") {
		return nil
	}
	return fmt.Errorf("--otlp-endpoint %q is no address of a collector. Give a URL with a port, such as "+
		"http://collector.observability:4317, or https://… for TLS. Leave the flag out to turn traces off", endpoint)
}

// startTracing makes what sends spans to a collector in the background. A collector that does not answer costs spans,
// and holds up nothing. The tracer is nil where traces are off. Stop sends the spans that are left.
func startTracing(ctx context.Context, endpoint string, log logr.Logger) (tracer trace.Tracer, stop func(), err error) {
	var options []otlptracegrpc.Option
	if endpoint != "" {
		options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
	} else if endpoint = cmp.Or(os.Getenv(endpointVariables[0]), os.Getenv(endpointVariables[1])); endpoint == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing to send traces to %s: %w", endpoint, err)
	}
	self, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "etcd-steward"), attribute.String("service.version", version),
		attribute.String("k8s.namespace.name", os.Getenv("POD_NAMESPACE")),
		attribute.String("k8s.pod.name", os.Getenv("POD_NAME"))), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("naming this process in traces: %w", err)
	}
	otel.SetErrorHandler(untraced(endpoint, log))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpansTake)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}
	return provider.Tracer("etcd-steward"), stop, nil
}

// untraced tells that spans are lost, and not for each batch of them.
func untraced(endpoint string, log logr.Logger) otel.ErrorHandler {
	seldom := rate.Sometimes{First: 1, Interval: untracedEvery}
	return otel.ErrorHandlerFunc(func(err error) {
		seldom.Do(func() {
			log.Info("traces cannot be sent: the operator works on without them, and goes on trying", "endpoint",
				endpoint, "error", err.Error(), "try", "does a collector serve OTLP over gRPC there?")
		})
	})
}
