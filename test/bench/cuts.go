package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

const (
	// cutLasts is how long a node is cut off: longer than any client that is led elsewhere waits, and short of the 40 s
	// after which Kubernetes itself gives a node up.
	cutLasts = 15 * time.Second
	// cutBound is how long a client may write nothing then, in seconds: gRPC finds out after 3 to 4 that its node is gone.
	cutBound = 6
	// cutsPerRun makes twenty cuts of five runs, every other of them of a node on which the operator leads.
	cutsPerRun = 4
)

// keepalive is the shortest that gRPC takes; it makes 10 s of the 5.
var keepalive = [2]time.Duration{5 * time.Second, 3 * time.Second}

func gapOfCut(by route) figure {
	return figure{Name: "write gap, node cut off, " + by.name, Unit: unitSeconds, Plus: cutBound, Worst: true}
}

// measureServiceCuts cuts the node off to whose member clients are connected. Each client sets other things beside its
// endpoints. Without an operator such a node stays in the Service for as long.
func measureServiceCuts(ctx context.Context, b *bench) error {
	for _, s := range sides {
		if err := b.takeTurn(ctx, s, threeOnVolumes, measureCutsOf); err != nil {
			return err
		}
	}
	return nil
}

func measureCutsOf(ctx context.Context, t *trial) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	cuts := cutsPerRun * t.runs
	if t.side == floor {
		cuts = t.runs
		if err := t.kube.client.Create(ctx, floorClientService(t.shape)); err != nil {
			return fmt.Errorf("creating the client Service of the floor: %w", err)
		}
	}
	routes, err := t.careful(ctx)
	if err != nil {
		return err
	}
	for number := range cuts {
		if err := t.measureCut(ctx, routes, t.side == ours && number%2 == 1); err != nil {
			return fmt.Errorf("cut %d: %w", number+1, err)
		}
	}
	return nil
}

// careful are the ways of clients that set ever more of what docs/connect.md names.
func (t *trial) careful(ctx context.Context) ([]route, error) {
	service, err := t.throughService(ctx)
	if err != nil {
		return nil, err
	}
	bounded := service
	service.name, service.settings = "Service, keepalive", &client.Settings{KeepAlive: keepalive}
	bounded.name, bounded.settings = "Service, keepalive, connect 2 s",
		&client.Settings{KeepAlive: keepalive, MinConnectTimeout: 2 * time.Second}
	all := t.everyMember()
	all.name, all.settings = all.name+", keepalive, connect 2 s", bounded.settings
	return []route{service, bounded, all}, nil
}

// measureCut takes the longest gap of each client over a cut of the node of the member that those with one endpoint talk
// to.
func (t *trial) measureCut(ctx context.Context, routes []route, isBesides bool) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	traffic, err := t.writeBy(ctx, routes, serviceRate)
	if err != nil {
		return err
	}
	victim, note, err := t.lead(ctx, traffic, routes, isBesides)
	if err != nil {
		traffic.abandon()
		return err
	}
	traffic.began = time.Now()
	left, err := t.cutOff(ctx, victim)
	if err == nil {
		_, err = t.untilHealthy(ctx, without{})
	}
	if err == nil {
		err = traffic.untilAllWrite(ctx)
	}
	if err != nil {
		traffic.abandon()
		return err
	}
	sum, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	for i, by := range routes {
		t.add(t.figure(gapOfCut(by)), t.side, sample{Value: sum.gaps[i].Seconds(),
			Note: fmt.Sprintf("%s; %s; %s", note, left, sum.notes[i])})
	}
	return nil
}

// lead leads every client with one endpoint to the member on the operator's node, or to one on another node.
func (t *trial) lead(ctx context.Context, traffic *traffic, routes []route, isBesides bool) (*corev1.Pod, string, error) {
	operator := ""
	if t.side == ours {
		leader, err := t.kube.world.OperatorLeader(ctx)
		if err != nil {
			return nil, "", err
		}
		operator = leader.Spec.NodeName
	}
	list, err := t.memberList(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, m := range list {
		pod, err := t.pod(m.Name)
		if err != nil {
			return nil, "", err
		}
		if (pod.Spec.NodeName == operator) != isBesides {
			continue
		}
		if err := leadAll(ctx, traffic, routes, m.ID); err != nil {
			return nil, "", fmt.Errorf("leading a client to %s: %w", m.Name, err)
		}
		if isBesides {
			return pod, m.Name + ", where the operator leads", nil
		}
		return pod, m.Name, nil
	}
	return nil, "", fmt.Errorf("no member is beside the operator on %s: %v, or none is away from it", operator, isBesides)
}

func leadAll(ctx context.Context, traffic *traffic, routes []route, member uint64) error {
	for i, w := range traffic.writers {
		if len(routes[i].endpoints) > 1 {
			continue
		}
		if err := leadTo(ctx, w, member); err != nil {
			return err
		}
	}
	return nil
}

// leadTo lets a client connect anew until it is led to that member.
func leadTo(ctx context.Context, w *client.Writer, member uint64) error {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		isThere := uint64(w.Member()) == member
		if !isThere {
			w.LetGo()
		}
		return isThere, nil
	})
}

// cutOff cuts the node of a Pod off for a while, and says when the Pod left the Service.
func (t *trial) cutOff(ctx context.Context, pod *corev1.Pod) (string, error) {
	began := time.Now()
	if err := t.plug(ctx, "cut", pod.Spec.NodeName); err != nil {
		return "", err
	}
	left := "it stayed in the Service"
	if t.side == ours && t.untilLeft(ctx, pod) == nil {
		left = fmt.Sprintf("left the Service after %.2f s", time.Since(began).Seconds())
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(began.Add(cutLasts))):
	}
	return left, t.plug(context.WithoutCancel(ctx), "heal", pod.Spec.NodeName)
}

// untilLeft waits until no client is led to a Pod any more, for as long as the cut lasts.
func (t *trial) untilLeft(ctx context.Context, pod *corev1.Pod) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, cutLasts, true, func(context.Context) (bool, error) {
		now, err := t.pod(pod.Name)
		return err == nil && now.Labels[v1alpha1.LabelRole] == "", err
	})
}

// untilAllWrite waits until each client had something acknowledged from now on: one that has not has no longest gap yet.
func (f *traffic) untilAllWrite(ctx context.Context) error {
	for _, w := range f.writers {
		before := w.Acknowledged()
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
			return w.Acknowledged() > before, nil
		})
		if err != nil {
			return fmt.Errorf("a client does not write on: %w: %s", err, w.Now())
		}
	}
	return nil
}

// plug cuts a node of localkube off, or heals it.
func (t *trial) plug(ctx context.Context, verb, node string) error {
	if out, err := exec.CommandContext(ctx, t.kube.world.Localkube, verb, node).CombinedOutput(); err != nil {
		return fmt.Errorf("localkube %s %s: %w: %s", verb, node, err, out)
	}
	return nil
}
