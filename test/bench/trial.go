package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// trial is one cluster of one side, in a namespace of its own.
type trial struct {
	*bench
	shape
	side    side
	watched *watched
	mark    world.AuditMark // where the audit log was before the cluster was made
	stop    context.CancelFunc
}

// shape is what a cluster is like, on either side.
type shape struct {
	namespace, name string
	size            int
	successors      int // members that may take the place of others, under the next names
	ephemeral       bool
	dead            bool   // of an image that does not exist
	plain           bool   // without TLS, on both sides
	follows         bool   // its clients read their Secret anew for each connection
	version         string // of etcd that it begins with; empty for etcdVersion
	compares        bool   // members compare their copies every few seconds
	clients         int    // that write while its members are restarted; 0 for one, which shows a gap best

	database int64                   // bytes that it is filled with, or restored to; 0 for nothing
	quota    int64                   // bytes that its database may take; 0 for as many as that needs
	keys     int                     // small ones that it is filled with instead, within as many bytes
	from     *v1alpha1.RestoreSource // what it begins with; nil for nothing
	patience time.Duration           // how long it may take to be healthy; 0 for as long as any other sample
}

// The shapes that most figures are about; begin adds the namespace.
var (
	threeOnVolumes = shape{name: clusterName, size: 3}
	threeEphemeral = shape{name: clusterName, size: 3, ephemeral: true}
	oneOnVolume    = shape{name: clusterName, size: 1}
)

const (
	clusterName = "bench"
	etcdVersion = "3.6.16"
)

// begin makes the namespace and listens; nothing of the cluster is there yet.
func (b *bench) begin(ctx context.Context, s side, like shape) (*trial, error) {
	namespace, err := b.kube.makeSpace(ctx)
	if err != nil {
		return nil, err
	}
	like.namespace = namespace
	t := &trial{bench: b, side: s, shape: like}
	if t.mark, err = b.kube.world.Mark(ctx); err != nil {
		return nil, err
	}
	ctx, t.stop = context.WithCancel(ctx)
	if t.watched, err = b.kube.watch(ctx, namespace); err != nil {
		t.stop()
		return nil, err
	}
	return t, nil
}

// end removes the cluster and waits until the machine is rid of it, also when the run was interrupted.
func (t *trial) end(ctx context.Context) error {
	t.stop()
	return t.kube.clear(context.WithoutCancel(ctx), t.namespace)
}

// create makes the cluster. The clock starts just before the first request.
func (t *trial) create(ctx context.Context) (sample, error) {
	err := t.untilIdle(ctx)
	if err != nil {
		return sample{}, err
	}
	began := t.start()
	if err := t.make(ctx, t.shape); err != nil {
		return sample{}, err
	}
	healthy, err := t.untilHealthy(ctx, without{})
	return t.taken(began, healthy, ""), err
}

// make makes a cluster in the way of this side.
func (t *trial) make(ctx context.Context, like shape) error {
	if t.side == floor {
		return t.createFloor(ctx, like)
	}
	return t.createOurs(ctx, like)
}

// start is the moment from which a sample counts.
func (t *trial) start() moment { return moment{time.Now(), readTicks()} }

// moment is a time, and what the machine had done until then.
type moment struct {
	at    time.Time
	ticks ticks
}

// taken is a sample of the time from a moment until another.
func (t *trial) taken(from moment, to time.Time, note string) sample {
	return sample{
		Value: to.Sub(from.at).Seconds(), Note: note, Busy: math.Round(100*readTicks().share(from.ticks)) / 100, Timeline: t.watched.timeline(from.at),
	}
}

// calmFor is how long a cluster is left alone before something befalls it: a member that has only just started stops
// more slowly, and neither side is to be measured in the wake of its own start.
const calmFor = 5 * time.Second

// calm waits until nobody is busy with the cluster any more, and then for a while.
func (t *trial) calm(ctx context.Context) error {
	if t.side == ours {
		if _, err := t.untilQuiet(ctx); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(calmFor):
		return t.untilIdle(ctx)
	}
}

// pod finds a member's Pod.
func (t *trial) pod(name string) (*corev1.Pod, error) {
	pods := t.watched.members()
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no Pod %s in %s", name, t.namespace)
	}
	return pods[i], nil
}

// victim is the leader, or the first who is not.
func (t *trial) victim(ctx context.Context, isLeader bool) (*corev1.Pod, error) {
	leader, err := t.leader(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the leader: %w", err)
	}
	for _, pod := range t.watched.members() {
		if (pod.Name == leader) == isLeader {
			return t.pod(pod.Name)
		}
	}
	return nil, fmt.Errorf("no Pod is the leader %s", leader)
}

// roleOf is how samples are told apart.
func roleOf(isLeader bool) string {
	if isLeader {
		return "leader"
	}
	return "follower"
}
