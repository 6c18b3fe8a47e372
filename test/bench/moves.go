package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// A move is three replacements, one member at a time; the operator may take 5 s more for each. The floor is what a careful
// person does to the followers and the leader of a StatefulSet: one follower is measured, and counts twice. A start of etcd takes
// 7 or 13 s, so three of them are added, and not one of them multiplied. The longest gap counts on both sides.
var (
	moveTime   = figure{Name: "three members moved to new volumes", Unit: unitSeconds, Times: 1, Plus: 3 * 5}
	moveGap    = figure{Name: "longest write gap, move", Unit: unitSeconds, Times: 1, Plus: 0.1}
	moveFailed = figure{Name: "requests failed, move", Unit: unitCount, Worst: true}
)

func measureMoves(ctx context.Context, b *bench) error {
	return b.takeTurns(ctx, threeOnVolumes, func(ctx context.Context, t *trial, _ int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		if t.side == ours {
			return t.measureMove(ctx)
		}
		if err := t.letJoin(ctx); err != nil {
			return err
		}
		return t.measureReplaced(ctx)
	})
}

// measureMove asks for another access mode, which no volume takes on: every storage has two of them.
func (t *trial) measureMove(ctx context.Context) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	t.successors = t.size
	taken, sum, err := t.underLoad(ctx, "", t.podUIDs(), func(ctx context.Context) error {
		return t.change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Storage = &v1alpha1.StorageSpec{AccessMode: corev1.ReadWriteOncePod}
		})
	})
	if err != nil {
		return err
	}
	t.add(t.figure(moveTime), ours, taken)
	t.add(t.figure(moveGap), ours, sample{Value: sum.gap.Seconds(), Note: fmt.Sprintf("p99 %d ms", sum.p99.Milliseconds())})
	t.add(t.figure(moveFailed), ours, sample{Value: float64(sum.failed), Note: fmt.Sprintf("of %d", sum.acknowledged+sum.failed)})
	return nil
}

// measureReplaced takes the floor: a follower and the leader are replaced.
func (t *trial) measureReplaced(ctx context.Context) error {
	var all sample
	var longest time.Duration
	var notes []string
	for _, isLeader := range []bool{false, true} {
		taken, sum, err := t.replaceByHand(ctx, isLeader)
		if err != nil {
			return err
		}
		all.Value += taken.Value
		if !isLeader {
			all.Value += taken.Value
		}
		longest = max(longest, sum.gap)
		notes = append(notes, fmt.Sprintf("%s: %.1f s, longest write gap %d ms", taken.Note, taken.Value, sum.gap.Milliseconds()))
	}
	all.Note = strings.Join(notes, "; ")
	t.add(t.figure(moveTime), floor, all)
	t.add(t.figure(moveGap), floor, sample{Value: longest.Seconds(), Note: "of two moves"})
	return nil
}

// letJoin has Pods that are made from now on join the cluster that there is. Those that run stay.
func (t *trial) letJoin(ctx context.Context) error {
	set := &appsv1.StatefulSet{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, set); err != nil {
		return fmt.Errorf("reading the StatefulSet of the floor: %w", err)
	}
	before := set.DeepCopy()
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	args := set.Spec.Template.Spec.Containers[0].Args
	for i, arg := range args {
		args[i] = strings.Replace(arg, "--initial-cluster-state=new", "--initial-cluster-state=existing", 1)
	}
	if err := t.kube.client.Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("changing the StatefulSet of the floor: %w", err)
	}
	return nil
}

// replaceByHand moves one member of a StatefulSet to a new volume: a new member takes its place in the list, and its Pod
// and claim are deleted.
func (t *trial) replaceByHand(ctx context.Context, isLeader bool) (sample, wrote, error) {
	return t.byHand(ctx, isLeader, func(ctx context.Context, pod *corev1.Pod) error {
		if err := t.listAnew(ctx, pod.Name); err != nil {
			return err
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "data-" + pod.Name}}
		if err := t.kube.client.Delete(ctx, claim); err != nil {
			return fmt.Errorf("deleting the claim of %s: %w", pod.Name, err)
		}
		return t.deletePod(ctx, pod)
	})
}

// listAnew removes a member and adds one with its name and URL.
func (t *trial) listAnew(ctx context.Context, name string) error {
	id, err := t.memberID(ctx, name)
	if err != nil {
		return err
	}
	pods := t.watched.members()
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name != name })
	if i < 0 {
		return fmt.Errorf("no Pod beside %s can change the member list", name)
	}
	if _, err := t.etcdctlIn(ctx, pods[i].Name, "member", "remove", strconv.FormatUint(id, 16)); err != nil {
		return err
	}
	_, err = t.etcdctlIn(ctx, pods[i].Name, "member", "add", name,
		"--peer-urls="+etcdutil.PeerURL(t.scheme(), name, t.name, t.namespace))
	return err
}
