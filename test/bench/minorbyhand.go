package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
)

// measureMinorByHand takes one minor of a way as a careful person goes it, with the same clients writing. The second
// minor is another one of the same kind: it would cost as much again, and going up it needs a flush.
func (t *trial) measureMinorByHand(ctx context.Context, w way) error {
	if err := t.setFloorVersion(ctx, etcdVersion); err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	goes := t.raiseByHand
	if w.isDown {
		goes = t.lowerByHand
	}
	traffic, err := t.load(ctx)
	if err != nil {
		return err
	}
	taken, err := goes(ctx)
	if err != nil {
		traffic.abandon()
		return err
	}
	sum, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	t.add(t.figure(w.minor), floor, taken)
	t.add(t.figure(w.gap), floor, sample{Value: sum.gap.Seconds()})
	return nil
}

// setFloorVersion has the StatefulSet make its next Pods with another version, and leaves those that there are to the
// person who deletes them.
func (t *trial) setFloorVersion(ctx context.Context, version string) error {
	like := t.shape
	like.version = version
	wanted, err := floorSet(like)
	if err != nil {
		return err
	}
	set := &appsv1.StatefulSet{}
	key := ctrlclient.ObjectKey{Namespace: t.namespace, Name: t.name}
	if err := t.kube.client.Get(ctx, key, set); err != nil {
		return fmt.Errorf("reading the StatefulSet of the floor: %w", err)
	}
	before := set.DeepCopy()
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	set.Spec.Template = wanted.Spec.Template
	if err := t.kube.client.Patch(ctx, set, ctrlclient.MergeFrom(before)); err != nil {
		return fmt.Errorf("giving the StatefulSet of the floor another version: %w", err)
	}
	return nil
}

// raiseByHand restarts members, and then waits for etcd.
func (t *trial) raiseByHand(ctx context.Context) (sample, error) {
	began := t.start()
	if err := t.rollByHand(ctx); err != nil {
		return sample{}, err
	}
	rolled := time.Now()
	moved, err := t.untilMoved(ctx, etcdVersion)
	return t.taken(began, moved, movedNote(etcdVersion, moved.Sub(rolled))), err
}

// lowerByHand has etcd move first: no member of the lower minor can start before that.
func (t *trial) lowerByHand(ctx context.Context) (sample, error) {
	to, err := etcdutil.ParseVersion(etcdVersion)
	if err != nil {
		return sample{}, err
	}
	began := t.start()
	if _, err := t.etcdctl(ctx, "downgrade", "enable", to.MinorString()); err != nil {
		return sample{}, err
	}
	moved, err := t.untilMoved(ctx, etcdVersion)
	if err != nil {
		return sample{}, err
	}
	if err := t.rollByHand(ctx); err != nil {
		return sample{}, err
	}
	note := fmt.Sprintf("to %s, whose cluster version was there after %.1f s", to, moved.Sub(began.at).Seconds())
	return t.taken(began, time.Now(), note), nil
}

// versions are what one member says of the versions of its process, of the cluster and of the format of its data.
type versions struct{ member, cluster, data string }

// areAt reports whether etcd has moved to this minor. Members of 3.5 do not say the format of their data.
func (v versions) areAt(to etcdutil.Version) bool {
	if !isOfMinor(v.cluster, to) {
		return false
	}
	silent := etcdutil.Version{Major: 3, Minor: 5}
	return v.data == "" && isOfMinor(v.member, silent) || isOfMinor(v.data, to)
}

// isOfMinor is false for what is no version: members say none before they agreed on one.
func isOfMinor(said string, minor etcdutil.Version) bool {
	v, err := etcdutil.ParseVersion(said)
	return err == nil && v.SameMinor(minor)
}

// untilMoved waits until each member says that the cluster and its data are at the minor of this version, and says when
// that was. Nothing may restart members meanwhile.
func (t *trial) untilMoved(ctx context.Context, version string) (time.Time, error) {
	to, err := etcdutil.ParseVersion(version)
	if err != nil {
		return time.Time{}, err
	}
	config, err := t.clientTLS(ctx)
	if err != nil {
		return time.Time{}, err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, again, t.patience, true, func(ctx context.Context) (bool, error) {
		last = t.checkMoved(ctx, config, to)
		return last == nil, nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("waiting until %s is of version %s: %w", t.namespace, to.MinorString(),
			errors.Join(err, last))
	}
	return time.Now(), nil
}

func (t *trial) checkMoved(ctx context.Context, config *tls.Config, to etcdutil.Version) error {
	pods := t.watched.members()
	if len(pods) != t.size {
		return fmt.Errorf("%d Pods, not %d", len(pods), t.size)
	}
	for _, pod := range pods {
		said, err := t.versionsOf(ctx, config, pod)
		if err != nil {
			return err
		}
		if !said.areAt(to) {
			return fmt.Errorf("%s is at %+v", pod.Name, said)
		}
	}
	return nil
}

func (t *trial) versionsOf(ctx context.Context, config *tls.Config, pod *corev1.Pod) (versions, error) {
	member, err := t.dial(config, pod)
	if err != nil {
		return versions{}, err
	}
	defer member.Close()
	status, err := member.Status(ctx)
	if err != nil {
		return versions{}, fmt.Errorf("asking %s for its versions: %w", pod.Name, err)
	}
	cluster, err := member.ClusterVersion(ctx)
	return versions{member: status.Version, cluster: cluster, data: status.StorageVersion}, err
}

// dial connects to one member.
func (t *trial) dial(config *tls.Config, pod *corev1.Pod) (etcd.Client, error) {
	return dial.EtcdDialer{}.Dial(etcd.Endpoint{
		Address:    net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort)),
		ServerName: etcdutil.PeerHost(pod.Name, t.name, t.namespace), TLS: config,
	})
}
