package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	// serviceRate is how many puts a second each of the two clients makes: often enough to see a gap of 5 ms.
	serviceRate = 200
	// besidesByHand is how much longer the gap of any roll may be than that of a roll by hand, in seconds.
	besidesByHand = 0.05
	// rollsPerRun makes ten rolls of five runs.
	rollsPerRun = 2
)

// gapOfRoll is the figure of one client. Its worst roll counts: one in two was a second long, and no median would show
// one in ten.
func gapOfRoll(by route, like shape) figure {
	security := "TLS"
	if like.plain {
		security = "no TLS"
	}
	return figure{Name: fmt.Sprintf("write gap, roll, %s, %s", by.name, security), Unit: unitSeconds, Times: 1,
		Plus: besidesByHand, Worst: true}
}

// measureServiceRolls rolls one cluster again and again, with TLS and without, while one client writes through the
// Service, by a single connection, and one knows every member. The floor is a StatefulSet with the same preStop, rolled
// by a careful person.
func measureServiceRolls(ctx context.Context, b *bench) error {
	for _, plain := range []bool{false, true} {
		like := threeOnVolumes
		like.plain = plain
		for _, s := range sides {
			if err := b.takeTurn(ctx, s, like, measureRollsOf); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureRollsOf(ctx context.Context, t *trial) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	rolls, roll := rollsPerRun*t.runs, t.changeAndWait
	if t.side == floor {
		rolls, roll = t.runs, func(ctx context.Context, _ int) error { return t.rollByHand(ctx) }
		if err := t.kube.client.Create(ctx, floorClientService(t.shape)); err != nil {
			return fmt.Errorf("creating the client Service of the floor: %w", err)
		}
	}
	service, err := t.throughService(ctx)
	if err != nil {
		return err
	}
	for number := range rolls {
		if err := t.measureGaps(ctx, []route{service, t.everyMember()}, func(ctx context.Context) error {
			return roll(ctx, number+1)
		}); err != nil {
			return fmt.Errorf("roll %d: %w", number+1, err)
		}
	}
	return nil
}

// measureGaps takes the longest gap of each client over a roll.
func (t *trial) measureGaps(ctx context.Context, routes []route, roll func(context.Context) error) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	traffic, err := t.writeBy(ctx, routes, serviceRate)
	if err != nil {
		return err
	}
	if err := roll(ctx); err != nil {
		traffic.abandon()
		return err
	}
	sum, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	for i, by := range routes {
		t.add(t.figure(gapOfRoll(by, t.shape)), t.side, sample{Value: sum.gaps[i].Seconds(), Note: sum.notes[i]})
	}
	return nil
}

// changeAndWait lets the operator roll.
func (t *trial) changeAndWait(ctx context.Context, roll int) error {
	old := t.podUIDs()
	if err := t.changeSettings(ctx, roll); err != nil {
		return err
	}
	_, err := t.untilHealthy(ctx, without{pods: old})
	return err
}

// rollByHand restarts followers first, and the leader after it handed over.
func (t *trial) rollByHand(ctx context.Context) error {
	leader, err := t.leader(ctx)
	if err != nil {
		return err
	}
	for _, name := range leaderLast(t.watched.members(), leader) {
		pod, err := t.pod(name)
		if err != nil {
			return err
		}
		if name == leader {
			if err := t.moveLeader(ctx, leader); err != nil {
				return err
			}
		}
		if err := t.deletePod(ctx, pod); err != nil {
			return err
		}
		if _, err := t.untilHealthy(ctx, without{pods: []types.UID{pod.UID}}); err != nil {
			return err
		}
	}
	return nil
}

// leaderLast orders members as they are to be restarted.
func leaderLast(pods []*corev1.Pod, leader string) []string {
	var names []string
	for _, pod := range pods {
		if pod.Name != leader {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return append(names, leader)
}

// throughService is the way of a client that knows the Service only. It runs beside the cluster's network, and has no
// DNS of it.
func (t *trial) throughService(ctx context.Context) (route, error) {
	service := &corev1.Service{}
	key := ctrlclient.ObjectKey{Namespace: t.namespace, Name: resources.ClientService(t.name)}
	if err := t.kube.client.Get(ctx, key, service); err != nil {
		return route{}, fmt.Errorf("reading the client Service: %w", err)
	}
	address := net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(etcdutil.ClientPort))
	return route{
		name: "Service",
		endpoints: []string{fmt.Sprintf("%s://%s.%s.svc:%d", t.scheme(), service.Name, service.Namespace,
			etcdutil.ClientPort)},
		connect: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}, nil
}

// floorClientService offers the floor's members when they are ready, as the operator's does.
func floorClientService(like shape) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: resources.ClientService(like.name)},
		Spec: corev1.ServiceSpec{
			Selector: floorLabels(like.name), Ports: []corev1.ServicePort{{Name: "client", Port: etcdutil.ClientPort}},
		},
	}
}
