package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

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

// warningAfter is how long a Pod that has its node may take to start before it is asked why it does not.
const warningAfter = 5 * time.Second

// told is what was found out about a Pod, beside its status.
type told struct {
	waiting, message string
	done, total      int64
}

// askPods asks about all at once, by name: Pods of a restore, and those of members that were not started yet.
func (o *Observer) askPods(ctx context.Context, tasks, members []corev1.Pod) map[string]told {
	all := map[string]told{}
	if o.Progress == nil {
		return all
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
	)
	ask := func(pods []corev1.Pod, about func(context.Context, *corev1.Pod) told) {
		for i := range pods {
			group.Go(func() {
				said := about(ctx, &pods[i])
				mu.Lock()
				defer mu.Unlock()
				all[pods[i].Name] = said
			})
		}
	}
	ask(tasks, o.askTask)
	ask(members, o.askWhyNotStarted)
	group.Wait()
	return all
}

func (o *Observer) askTask(ctx context.Context, pod *corev1.Pod) (said told) {
	if task := taskOf(pod, told{}); !task.Terminating && task.Step == resources.StepFetch {
		if progress := o.Progress(ctx, pod.Status.PodIP); progress != nil {
			said.done, said.total = progress.Bytes, progress.Total
		}
		return said
	}
	return o.askWhyNotStarted(ctx, pod)
}

// askWhyNotStarted asks Kubernetes for the warning that says why a Pod starts nothing on its node.
func (o *Observer) askWhyNotStarted(ctx context.Context, pod *corev1.Pod) (said told) {
	if !StartsNothing(pod) || o.Now().Sub(pod.CreationTimestamp.Time) < warningAfter {
		return said
	}
	last := o.Warning(ctx, pod.Namespace, pod.UID)
	if last != nil && facts.StartWarnings[last.Reason] != "" {
		said.waiting, said.message = last.Reason, last.Message
	}
	return said
}

// StartsNothing reports a Pod that has its node and no sandbox there, and does not say why. Later its image is pulled,
// and a warning from before that is no news.
func StartsNothing(pod *corev1.Pod) bool {
	sandbox := podCondition(pod, corev1.PodReadyToStartContainers)
	if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil ||
		sandbox != nil && sandbox.Status == corev1.ConditionTrue {
		return false
	}
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	return !slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool {
		s := c.State
		return s.Running != nil || s.Terminated != nil || s.Waiting != nil && s.Waiting.Message != ""
	})
}

// Bounds of asking a Pod: it is the tenant's, and may answer anything.
const (
	progressTimeout = time.Second
	progressSize    = 4 << 10
)

// newProgressClient follows no redirect and no proxy: it talks to the Pod only.
func newProgressClient() *http.Client {
	return &http.Client{
		Timeout:       progressTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("a redirect is not followed") },
		Transport:     &http.Transport{DisableKeepAlives: true},
	}
}

// AskProgress makes what asks the Pod at an address how far it is.
func AskProgress() func(context.Context, string) *backupplan.Progress {
	c := newProgressClient()
	return func(ctx context.Context, address string) *backupplan.Progress { return askProgress(ctx, c, address) }
}

// askProgress is for display only, so any failure is no answer.
func askProgress(ctx context.Context, c *http.Client, address string) *backupplan.Progress {
	ip, err := netip.ParseAddr(address)
	if err != nil || !isOfAPod(ip) {
		return nil
	}
	return progressFrom(ctx, c, "http://"+net.JoinHostPort(address, strconv.Itoa(resources.ProgressPort))+"/progress")
}

func progressFrom(ctx context.Context, c *http.Client, url string) *backupplan.Progress {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil
	}
	response, err := c.Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	var said struct{ Bytes, Total int64 }
	err = json.NewDecoder(io.LimitReader(response.Body, progressSize)).Decode(&said)
	if err != nil || response.StatusCode != http.StatusOK || said.Bytes < 0 || said.Total < 0 {
		return nil
	}
	return &backupplan.Progress{Bytes: said.Bytes, Total: said.Total}
}

// isOfAPod keeps a forged status from making the operator ask its own node or the metadata service of a cloud.
func isOfAPod(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsValid() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified()
}
