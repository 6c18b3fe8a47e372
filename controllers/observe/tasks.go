package observe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

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
	if !startsNothing(pod) || o.Now().Sub(pod.CreationTimestamp.Time) < warningAfter {
		return said
	}
	last := o.Warning(ctx, pod.Namespace, pod.UID)
	if last != nil && facts.StartWarnings[last.Reason] != "" {
		said.waiting, said.message = last.Reason, last.Message
	}
	return said
}

// startsNothing reports a Pod that has its node and no sandbox there, and does not say why. Later its image is pulled,
// and a warning from before that is no news.
func startsNothing(pod *corev1.Pod) bool {
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
