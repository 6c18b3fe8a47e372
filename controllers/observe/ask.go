package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// MemberDialer gives clients for members' Pods. Connections outlive a pass; the dialler closes those of Pods that are
// not asked for any more.
type MemberDialer interface {
	// Dial returns one client for each Pod, by name. It must not block on a member.
	Dial(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) (map[string]etcd.Client, error)
	// Distrust says that a member refused our certificates, or we its: they are read again before the next pass.
	Distrust(cluster *v1alpha1.EtcdCluster)
}

// How long a member may take to say its status. A Pod that has just begun, or that the kubelet calls not ready, most
// likely does not answer yet, and must not make every pass of a bootstrap last as long as a dead member does. A member
// that did not serve when it was asked last was waited for then. Where most others serve it gets a glance in each look,
// for clients wait to be led away from it; pings ask it for longer, and have it looked at again once it answers one.
const (
	patience      = 2 * time.Second
	shortPatience = time.Second
	glance        = 250 * time.Millisecond
	youngPod      = 30 * time.Second
)

// heldUp is by how much this process may be late itself before what it waited for in vain is asked again.
const heldUp = 100 * time.Millisecond

// survey is what the members said when each was asked alone.
type survey struct {
	clients map[string]etcd.Client // by the Pod's name
	answers map[string]etcd.Status // of those that answered
	errs    map[string]error       // of those that did not
	began   time.Time              // when they were asked
	images  resources.ImageDefaults

	impostors map[string]etcd.Status // what others answered at the addresses of members: see partImpostors
	dialErr   error                  // no member could be asked: our own certificates are missing
}

// ask asks every Pod that may answer, all at once.
func (o *Observer) ask(ctx context.Context, cluster *v1alpha1.EtcdCluster, pods []corev1.Pod) survey {
	s := survey{answers: map[string]etcd.Status{}, errs: map[string]error{}, began: o.Now(),
		images: o.Images}
	key := client.ObjectKeyFromObject(cluster)
	reachable := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return !isReachable(&pod) })
	s.clients, s.dialErr = o.Dial.Dial(ctx, cluster, reachable)
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	for _, pod := range reachable {
		c, ok := s.clients[pod.Name]
		if !ok {
			continue
		}
		group.Go(func() {
			ctx, cancel := o.Pinger.whileTrusted(ctx, key, pod.Name)
			defer cancel()
			status, err := askOne(ctx, c, o.patienceWith(key, &pod))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.errs[pod.Name] = err
				return
			}
			s.answers[pod.Name] = status
		})
	}
	group.Wait()
	o.Pinger.note(key, s)
	if slices.ContainsFunc(slices.Collect(maps.Values(s.errs)), etcd.IsTLS) {
		o.Dial.Distrust(cluster)
	}
	return s
}

// askOne asks a member for its status, and once more where this process was held up meanwhile: an answer that waits to
// be read is none for gRPC once the time is over.
func askOne(ctx context.Context, c etcd.Client, limit time.Duration) (etcd.Status, error) {
	began := time.Now()
	status, err := askWithin(ctx, c, limit)
	if err != nil && ctx.Err() == nil && wasHeldUp(time.Since(began), limit) {
		return askWithin(ctx, c, limit)
	}
	if doubt := context.Cause(ctx); err != nil && errors.Is(doubt, errDoubted) {
		return etcd.Status{}, doubt
	}
	return status, err
}

func askWithin(ctx context.Context, c etcd.Client, limit time.Duration) (etcd.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.Status(ctx)
}

// wasHeldUp reports that what may take limit took so much longer that this process cannot have run all the while.
func wasHeldUp(took, limit time.Duration) bool { return took > limit+heldUp }

// isReachable says that an etcd may listen: its container runs and the Pod has an address.
func isReachable(pod *corev1.Pod) bool {
	container := etcdContainer(pod)
	return pod.Status.PodIP != "" && container != nil && container.State.Running != nil
}

func (o *Observer) patienceWith(cluster types.NamespacedName, pod *corev1.Pod) time.Duration {
	if o.Pinger.isAlone(cluster, pod.Name) {
		return glance
	}
	var p facts.Pod
	fillReadiness(&p, pod)
	if !p.Ready || o.Now().Sub(pod.CreationTimestamp.Time) < youngPod || o.Pinger.isDoubtful(cluster, pod.Name) {
		return shortPatience
	}
	return patience
}

// answerOf is what a member said of itself; nil when it did not answer.
func (s survey) answerOf(pod string) *facts.Answer {
	status, ok := s.answers[pod]
	if !ok {
		return nil
	}
	version, err := etcdutil.ParseVersion(status.Version)
	if err != nil { // a build that is no release: it answers, and what it runs is not known
		version = etcdutil.Version{}
	}
	answer := answerIn(status)
	answer.Version, answer.DBSize, answer.DBSizeInUse, answer.Alarms = version, status.DBSize, status.DBSizeInUse,
		etcdutil.ParseAlarms(status.Errors)
	answer.Versions = facts.Versions{Storage: parsed(status.StorageVersion), Downgrade: parsed(status.Downgrade)}
	return answer
}

// PodDialer dials members by their Pods' addresses and keeps the connections between passes.
type PodDialer struct {
	pool    *etcd.Pool
	secrets *SecretCache
}

// NewPodDialer makes a dialler that takes the operator's certificates from Secrets.
func NewPodDialer(dialer etcd.Dialer, secrets *SecretCache) *PodDialer {
	return &PodDialer{pool: etcd.NewPool(dialer), secrets: secrets}
}

// Dial returns one client for each Pod, by name, and closes the connections to all other Pods of the cluster. A Pod is
// dialled by its address under its DNS name, so that nothing waits for DNS.
func (d *PodDialer) Dial(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	pods []corev1.Pod) (map[string]etcd.Client, error) {
	if len(pods) == 0 {
		return nil, d.Forget(client.ObjectKeyFromObject(cluster))
	}
	config, generation, err := clientTLS(ctx, d.secrets, cluster)
	if err != nil {
		return nil, err
	}
	clients := make(map[string]etcd.Client, len(pods))
	inUse := make([]etcd.Key, 0, len(pods))
	var errs []error
	for _, pod := range pods {
		key := etcd.Key{
			Cluster: client.ObjectKeyFromObject(cluster).String(), PodUID: string(pod.UID),
			Address:       net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort)),
			TLSGeneration: generation,
		}
		c, err := d.pool.Get(key, etcd.Endpoint{
			Address: key.Address, ServerName: etcdutil.PeerHost(pod.Name, cluster.Name, cluster.Namespace), TLS: config,
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("dialling %s: %w", pod.Name, err))
			continue
		}
		clients[pod.Name] = c
		inUse = append(inUse, key)
	}
	errs = append(errs, d.pool.Retain(client.ObjectKeyFromObject(cluster).String(), inUse...))
	return clients, errors.Join(errs...)
}

// NoDialer dials no member. To look at a cluster that does not exist yet must close no connection: PodDialer knows
// clusters by their names, and one of the same name may serve.
type NoDialer struct{}

// Dial returns no client.
func (NoDialer) Dial(context.Context, *v1alpha1.EtcdCluster, []corev1.Pod) (map[string]etcd.Client, error) {
	return nil, nil
}

// Distrust does nothing: nothing was trusted.
func (NoDialer) Distrust(*v1alpha1.EtcdCluster) {}

// Distrust makes the next Dial read the operator's certificates of the cluster anew.
func (d *PodDialer) Distrust(cluster *v1alpha1.EtcdCluster) {
	d.secrets.Forget(operatorSecret(cluster))
}

// Forget closes every connection to a cluster.
func (d *PodDialer) Forget(cluster types.NamespacedName) error {
	return d.pool.Retain(cluster.String())
}
