// Command manager runs the operator.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/access"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/cluster"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
)

// version is set when the program is linked.
var version = "dev"

// shutdownGrace outlasts a pass, which ends with its context, and stays below the Pod's own grace period.
const shutdownGrace = 30 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// run returns right after the manager stopped: with the lease released, nothing may be done any more. Only the last
// spans are sent.
func run(args []string) error {
	o, err := parseOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.version:
		fmt.Println(version)
		return nil
	}
	o.clusterDomain = cmp.Or(o.clusterDomain, findDomain(resolvConf))
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.log)))
	impatientWithConnections()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	config.UserAgent = "etcd-steward/" + version
	config.WarningHandlerWithContext = newWarnings()
	clock := &kit.ServerClock{}
	config.Wrap(clock.Wrap)
	lock, err := newLock(config, o.leaderElect, beginAnew)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, o, lock)
	if err != nil {
		return err
	}
	self := types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")}
	install, err := newInstall(config, o, clock, lock)
	if err != nil {
		return err
	}
	install.AskImage = observe.AgentImage(o.agentImage, mgr.GetAPIReader(), self)
	ctx := ctrl.SetupSignalHandler()
	var stopTracing func()
	if install.Tracer, stopTracing, err = startTracing(ctx, o.otlpEndpoint, ctrl.Log); err != nil {
		return err
	}
	defer stopTracing()
	noClients := kit.Unserved(ctx, mgr.GetAPIReader(), &v1alpha1.EtcdClientList{}, install.Watches)
	if err := addWings(mgr, install, noClients); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newInstall is what this process is to the wings.
func newInstall(config *rest.Config, o options, clock *kit.ServerClock, lock *leaderLock) (kit.Install, error) {
	apis, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return kit.Install{}, fmt.Errorf("preparing to ask which APIs there are: %w", err)
	}
	var webhook *kit.Webhook
	if o.webhook != "" {
		if webhook, err = newWebhook(config); err != nil {
			return kit.Install{}, err
		}
	}
	install := kit.Install{Operator: identity(), Now: clock.Now, Lease: lock.lease(), Webhook: webhook,
		Watches: o.namespaces}
	install.Domain, install.Images = o.clusterDomain, o.images
	install.AskIDs = observe.PlatformIDs(o.platformIDs, apis)
	return install, nil
}

// addWings leaves out the wing of clients where this Kubernetes does not serve them, and says why: who upgrades the
// image alone must not lose the operator of all clusters for it.
func addWings(mgr ctrl.Manager, install kit.Install, noClients error) error {
	err := errors.Join(cluster.Add(mgr, install), backup.Add(mgr, install), schedule.Add(mgr, install))
	if noClients != nil {
		ctrl.Log.Error(noClients, "EtcdClients cannot be listed. All else is looked after. Install the custom "+
			"resource definitions and roles of this release, and restart the operator")
		return err
	}
	return errors.Join(err, access.Add(mgr, install))
}

// beginAnew ends all that this process does at once, as in a crash, and begins again in its place: another replica
// leads, and this one is to stand by. The kubelet would wait longer with each restart, up to 5 minutes.
func beginAnew(why error) {
	fmt.Fprintln(os.Stderr, "manager:", why, "- this process begins anew and stands by")
	program, err := os.Executable()
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ()) //nolint:gosec // itself, as it was begun
	}
	fmt.Fprintln(os.Stderr, "manager: beginning anew:", err)
	os.Exit(1)
}

// impatientWithConnections gives up a connection to the API server over which nothing comes for 8 s. A cut of 5 s must
// not end it: after a few of those client-go waits for half a minute before it watches again. By default it takes 45 s,
// in which a request that timed out is followed by others on the same connection
// (kubernetes/apimachinery:pkg/util/net/http.go).
func impatientWithConnections() {
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "4") // which fails for names that are none
		}
	}
}

// newManager makes the manager with what it serves: metrics, probes and the webhook.
func newManager(config *rest.Config, o options, lock *leaderLock) (manager.Manager, error) {
	forMetrics, err := newServingCertificate(config, o, metricsCA, "metrics")
	if err != nil {
		return nil, err
	}
	forWebhook, err := newServingCertificate(config, o, webhookCA, "webhook")
	if err != nil {
		return nil, err
	}
	settings := managerOptions(o, lock)
	settings.Metrics.TLSOpts = []func(*tls.Config){forMetrics.configure}
	settings.WebhookServer = newWebhookServer(forWebhook)
	mgr, err := ctrl.NewManager(config, settings)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	lock.tellThrough(mgr)
	if err := addKeepers(mgr, config, o, forMetrics, forWebhook); err != nil {
		return nil, err
	}
	return mgr, errors.Join(addOldKubernetes(mgr, config), addProbes(mgr))
}

func managerOptions(o options, lock *leaderLock) ctrl.Options {
	options := ctrl.Options{
		Scheme: newScheme(),
		Cache:  cacheOptions(o.namespaces),
		Client: client.Options{
			Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}},
		},
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              observe.LeaseName, // names the series leader_election_master_status
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(holdOn + leaseLasts), // client-go wants it above holdOn; see leaderLock
		RenewDeadline:                 new(holdOn),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(shutdownGrace),
		HealthProbeBindAddress:        o.probeAddress,
		Metrics:                       metricsOptions(o),
	}
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	return options
}

// newScheme knows the kinds that the operator handles and no others, which would only take memory.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	utilruntime.Must(policyv1.AddToScheme(scheme))
	utilruntime.Must(networkingv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(resources.AddCertManager(scheme))      // read live: it may not be there
	utilruntime.Must(lifecyclev1alpha1.AddToScheme(scheme)) // the same
	utilruntime.Must(autoscalingv1.AddToScheme(scheme))     // the webhook is asked about a Scale
	return scheme
}

// cacheOptions keep of the kinds that others use as well only what the operator made. A kind without a watch is an
// error to read, and not a reason to begin watching it everywhere.
func cacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})}
	options := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler:    tellWhatIsMissing,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Label: ours.Label, Transform: observe.KeepStatusTimes},
			&corev1.PersistentVolumeClaim{}: ours,
			&corev1.Service{}:               ours,
			&policyv1.PodDisruptionBudget{}: ours,
			&networkingv1.NetworkPolicy{}:   ours,
			&batchv1.Job{}:                  ours,
		},
	}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
	}
	for _, namespace := range namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

func metricsOptions(o options) server.Options {
	options := server.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if o.metricsSecure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// addProbes says "alive" while the process serves, and "ready" once it sees the cluster. Neither depends on being the
// leader, on the API server or on any etcd.
func addProbes(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness probe: %w", err)
	}
	synced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), 500*time.Millisecond)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
	if err := mgr.AddReadyzCheck("caches", synced); err != nil {
		return fmt.Errorf("adding the readiness probe: %w", err)
	}
	return nil
}

// tellWhatIsMissing says of a watch that a role does not allow what to do about it. A user who upgrades the image alone
// meets this: the new release watches more than the former roles allow. The former release goes on, since the new one
// does not become ready.
func tellWhatIsMissing(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, withRemedy(err))
}

// withRemedy leaves an error that is not about a right as it is.
func withRemedy(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w. The operator lacks a right that this release needs, and tries again. Apply the roles of "+
		"this release in the way that it was installed: "+
		pages.Docs+"docs/install.md#upgrade. If a namespace was deleted, take it "+
		"out of --namespace", err)
}
