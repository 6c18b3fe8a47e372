package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Room that etcd does not use is given back as a careful person gives it back: one member after the other, the leader last, and
// it hands over first. Clients are led to the others meanwhile. The floor is that person, with the calls of etcd's client alone.

const (
	// Writers through a defragmentation, and how many puts a second each; roomMinimum is what all must reach together.
	roomWriters = 4
	roomEach    = 75
	roomMinimum = 200.0
	// besidesHandOver is how much longer the gap may be than by hand, in seconds. etcd drops what is proposed while leadership
	// moves, and a put through a follower then ends by its deadline of a second. At this load one move in five does that to one
	// of the writers, on either side.
	besidesHandOver = 0.1
	// besidesDisarm is how much longer it may take than by hand until etcd takes keys again, in seconds.
	besidesDisarm = 5
	// smallQuota is soon reached.
	smallQuota = 64 << 20
)

func gapOfDefrag(size string) figure {
	return figure{Name: "write gap, defragmentation of " + size, Unit: unitSeconds, Times: 1, Plus: besidesHandOver, Worst: true}
}

func failedOfDefrag(size string) figure {
	return figure{Name: "requests failed, defragmentation of " + size, Unit: unitCount, Worst: true}
}

var spaceRegained = figure{Name: "NOSPACE: from the alarm to the first write", Unit: unitSeconds, Times: 1, Plus: besidesDisarm}

// largeToCompare is a database of which the hashes take a while.
const largeToCompare = 100 << 20

// No hand cures this: there is no floor.
var copyReplaced = figure{Name: "CORRUPT: from the alarm to the first write, " + sizeName(largeToCompare), Unit: unitSeconds, Plus: 10}

// measureRoom has a database of some size defragmented, another one run full, and the leader's copy of a third one differ.
func measureRoom(ctx context.Context, b *bench) error {
	large, full := threeOnVolumes, threeOnVolumes
	large.database, full.quota = b.database, smallQuota
	if err := b.againAndAgain(ctx, large, measureDefrag); err != nil {
		return err
	}
	if err := b.againAndAgain(ctx, full, measureAlarm); err != nil {
		return err
	}
	differing := threeOnVolumes
	differing.database, differing.compares = largeToCompare, true
	for range b.runs { // a cluster of its own each: its members are others afterwards
		if err := b.takeTurn(ctx, ours, differing, measureCorrupt); err != nil {
			return err
		}
	}
	return nil
}

// againAndAgain measures on one cluster of each side, which is filled once.
func (b *bench) againAndAgain(ctx context.Context, like shape, measure func(context.Context, *trial) error) error {
	for _, s := range sides {
		err := b.takeTurn(ctx, s, like, func(ctx context.Context, t *trial) error {
			_, err := t.create(ctx)
			if err == nil && like.database > 0 {
				err = t.fill(ctx, like.database)
			}
			for run := 0; run < t.runs && err == nil; run++ {
				err = measure(ctx, t)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureDefrag has all members write anew what is in use, which is the size that is asked for.
func measureDefrag(ctx context.Context, t *trial) error {
	if err := t.waste(ctx); err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	traffic, err := t.write(ctx, roomWriters, roomEach)
	if err != nil {
		return err
	}
	began, defrag := time.Now(), t.askToDefrag
	if t.side == floor {
		defrag = t.defragByHand
	}
	if err := defrag(ctx, traffic); err != nil {
		traffic.abandon()
		return err
	}
	took := time.Since(began)
	sum, err := traffic.finish(ctx)
	if err != nil {
		return err
	}
	if sum.perSecond < roomMinimum {
		return fmt.Errorf("the load was %.0f puts/s, and %.0f are asked for", sum.perSecond, roomMinimum)
	}
	size := sizeName(t.database)
	t.add(t.figure(gapOfDefrag(size)), t.side, sample{Value: sum.gap.Seconds(),
		Note: fmt.Sprintf("%.1f s at %.0f puts/s; %s", took.Seconds(), sum.perSecond, sum.notes[0])})
	if t.side == ours {
		t.add(t.figure(failedOfDefrag(size)), ours, sample{Value: float64(sum.failed), Note: fmt.Sprintf("of %d", sum.acknowledged+sum.failed)})
	}
	return nil
}

// waste writes a quarter of the keys anew and compacts: a fifth of the file is then not in use.
func (t *trial) waste(ctx context.Context) error {
	etcd, err := t.dialAll(ctx)
	if err != nil {
		return err
	}
	defer etcd.Close()
	if err := putAll(ctx, etcd, keysOf(t.database)/4); err != nil {
		return fmt.Errorf("writing keys anew in %s: %w", t.namespace, err)
	}
	return t.compact(ctx, etcd)
}

// askToDefrag asks the operator, and waits until every member gave back what it does not use.
func (t *trial) askToDefrag(ctx context.Context, clients *traffic) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	go t.followRoles(following, clients)
	c, err := t.get(ctx)
	if err != nil {
		return err
	}
	before := c.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[v1alpha1.AnnotationDefragment] = time.Now().UTC().Format(time.RFC3339)
	if err := t.kube.client.Patch(ctx, c, ctrlclient.MergeFrom(before)); err != nil {
		return fmt.Errorf("asking for a defragmentation in %s: %w", t.namespace, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, backupPatience, false, func(ctx context.Context) (bool, error) {
		isSettled, err := t.isSettled(ctx)
		if isSettled {
			last = t.checkGivenBack(ctx)
		}
		return isSettled && last == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for room in %s: %w", t.namespace, errors.Join(err, last))
	}
	return nil
}

// checkGivenBack is an error while a member has more than a tenth of its file to give, as the operator counts.
func (t *trial) checkGivenBack(ctx context.Context) error {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return err
	}
	for _, pod := range t.watched.members() {
		member, err := t.dial(config, pod)
		if err != nil {
			return err
		}
		status, err := member.Status(ctx)
		_ = member.Close()
		if err != nil {
			return fmt.Errorf("asking %s for its size: %w", pod.Name, err)
		}
		if unused := status.DBSize - status.DBSizeInUse; unused*10 >= status.DBSize {
			return fmt.Errorf("%s does not use %d bytes of %d", pod.Name, unused, status.DBSize)
		}
	}
	return nil
}

// defragByHand goes from member to member, and leads clients away from the one that is silent.
func (t *trial) defragByHand(ctx context.Context, clients *traffic) error {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return err
	}
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
		t.leadAway(clients, name)
		member, err := t.dial(config, pod)
		if err != nil {
			return err
		}
		err = member.Defragment(ctx)
		_ = member.Close()
		if err != nil {
			return fmt.Errorf("defragmenting %s: %w", name, err)
		}
		t.leadAway(clients, "")
	}
	return nil
}

// followRoles leads clients to whom the client Service leads, until the context ends.
func (t *trial) followRoles(ctx context.Context, clients *traffic) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for away := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next := ""
		for _, pod := range t.watched.members() {
			if pod.Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
				next = pod.Name
			}
		}
		if next != away {
			t.leadAway(clients, next)
			away = next
		}
	}
}

// leadAway leads clients to all members but this one; to all of them for "".
func (t *trial) leadAway(clients *traffic, from string) {
	if clients == nil {
		return
	}
	var to []string
	for i, url := range t.endpoints() {
		if etcdutil.MemberName(t.name, i) != from {
			to = append(to, url)
		}
	}
	for _, w := range clients.writers {
		w.SetEndpoints(to)
	}
}

// measureAlarm writes one key again and again until etcd takes no more, and compacts: on either side that is the affair of those
// who own the keys. The rest is the operator's, or done by hand.
func measureAlarm(ctx context.Context, t *trial) error {
	if err := t.calm(ctx); err != nil {
		return err
	}
	etcd, err := t.dialAll(ctx)
	if err != nil {
		return err
	}
	defer etcd.Close()
	if err := fillUp(ctx, etcd); err != nil {
		return fmt.Errorf("filling the database in %s up: %w", t.namespace, err)
	}
	began := t.start()
	if err := t.compact(ctx, etcd); err != nil {
		return err
	}
	compacted := time.Since(began.at)
	if t.side == floor {
		if err := t.defragByHand(ctx, nil); err != nil {
			return err
		}
		if _, err := t.etcdctl(ctx, "alarm", "disarm"); err != nil {
			return err
		}
	}
	if err := untilWritable(ctx, etcd); err != nil {
		return fmt.Errorf("waiting until etcd in %s takes keys: %w", t.namespace, err)
	}
	note := fmt.Sprintf("compacted after %.1f s", compacted.Seconds())
	t.add(t.figure(spaceRegained), t.side, t.taken(began, time.Now(), note))
	return nil
}

// fillUp returns once etcd has raised its alarm.
func fillUp(ctx context.Context, etcd *clientv3.Client) error {
	value := string(make([]byte, valueSize))
	for range 4 * smallQuota / valueSize {
		_, err := etcd.Put(ctx, dataPrefix+"full", value)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errors.New("etcd takes more than four times its quota")
}

// untilWritable returns once a write was acknowledged.
func untilWritable(ctx context.Context, etcd *clientv3.Client) error {
	return wait.PollUntilContextTimeout(ctx, again/4, patience, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, again)
		defer cancel()
		_, err := etcd.Put(attempt, dataPrefix+"after", "small")
		return err == nil, nil
	})
}

// measureCorrupt changes what the leader stores, behind its back.
func measureCorrupt(ctx context.Context, t *trial) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	if err := t.fill(ctx, t.database); err != nil {
		return err
	}
	if err := t.calm(ctx); err != nil {
		return err
	}
	etcd, err := t.dialAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = etcd.Close() }()
	value := strings.Repeat("x", valueSize)
	if err := put(ctx, etcd, dataPrefix+"differs", value); err != nil {
		return err
	}
	leader, err := t.leader(ctx)
	if err != nil {
		return err
	}
	volume, err := t.kube.world.VolumePath(ctx, t.namespace, leader)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(volume, "*", leader, "member", "snap", "db"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%s has its database in %v: %w", leader, files, err)
	}
	err = wait.PollUntilContextTimeout(ctx, again, patience, true, func(context.Context) (bool, error) {
		changed, err := world.ChangeValues(files[0], []byte(value), '1')
		return changed > 0, err // once it was written to the file
	})
	if err != nil {
		return fmt.Errorf("changing what %s stores: %w", leader, err)
	}
	if err := untilCorrupt(ctx, etcd); err != nil {
		return err
	}
	began := t.start()
	if err := untilWritable(ctx, etcd); err != nil {
		return fmt.Errorf("waiting until etcd in %s takes keys: %w", t.namespace, err)
	}
	t.add(t.figure(copyReplaced), ours, t.taken(began, time.Now(), ""))
	return nil
}

// untilCorrupt returns once etcd has raised its alarm.
func untilCorrupt(ctx context.Context, etcd *clientv3.Client) error {
	err := wait.PollUntilContextTimeout(ctx, again/10, patience, true, func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, again)
		defer cancel()
		list, err := etcd.AlarmList(attempt)
		return err == nil && slices.ContainsFunc(list.Alarms, func(a *pb.AlarmMember) bool { return a.Alarm == pb.AlarmType_CORRUPT }), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the alarm CORRUPT: %w", err)
	}
	return nil
}
