package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

const (
	// caClients write through a replacement of the CAs, caRate puts a second each, and caLoad is what has to come of that.
	caClients = 5
	caRate    = 50
	caLoad    = 200.0
	// caPatience bounds it: kubelets get minutes to give members their certificates.
	caPatience = 15 * time.Minute
	// caRolls is how often the CAs' replacement restarts each member: to trust both, and to trust the new one alone.
	caRolls = 2
)

// To replace the CAs takes two rolls. The floor of the gap is such a roll of a StatefulSet by a careful person, with
// the same clients. Each roll counts: no median would show the one that held clients back.
var (
	caGap    = figure{Name: "write gap, each roll of new CAs", Unit: unitSeconds, Times: 1, Plus: besidesByHand, Worst: true}
	caFailed = figure{Name: "requests failed, new CAs", Unit: unitCount, Worst: true}
)

func measureCARolls(ctx context.Context, b *bench) error {
	like := threeOnVolumes
	like.follows = true
	return b.takeTurns(ctx, like, func(ctx context.Context, t *trial, _ int) error {
		if _, err := t.create(ctx); err != nil {
			return err
		}
		if t.side == floor {
			return t.measureRollsByHand(ctx)
		}
		return t.measureCARoll(ctx)
	})
}

// measureRollsByHand takes the floor, as often as members are restarted for new CAs.
func (t *trial) measureRollsByHand(ctx context.Context) error {
	for range caRolls {
		_, sum, err := t.underCALoad(ctx, t.rollByHand)
		if err != nil {
			return err
		}
		t.add(t.figure(caGap), floor, sample{Value: sum.gap.Seconds(), Note: "a roll by hand"})
	}
	return nil
}

// measureCARoll has the operator replace both CAs, and gives clients no time beyond that.
func (t *trial) measureCARoll(ctx context.Context) error {
	old, cas := t.podUIDs(), map[string]string{}
	if err := t.readCAs(ctx, cas); err != nil {
		return err
	}
	var began, ended time.Time
	traffic, sum, err := t.underCALoad(ctx, func(ctx context.Context) error {
		began = time.Now()
		if err := t.rotateCAs(ctx, began); err != nil {
			return err
		}
		if err := t.untilReplaced(ctx, cas); err != nil {
			return err
		}
		_, err := t.untilHealthy(ctx, without{pods: old})
		ended = time.Now()
		return err
	})
	if err != nil {
		return err
	}
	ends, more := t.watched.rolls(began, t.size)
	if len(ends) != caRolls || more > 0 {
		return fmt.Errorf("the CAs were replaced by %d rolls and %d restarts more, and not by %d", len(ends), more, caRolls)
	}
	for i, roll := range spansOf(began, ends, ended) {
		t.add(t.figure(caGap), ours, sample{Value: traffic.gapBetween(roll.from, roll.to).Seconds(),
			Note: fmt.Sprintf("roll %d, %.0f s", i+1, roll.to.Sub(roll.from).Seconds())})
	}
	t.add(t.figure(caFailed), ours, sample{Value: float64(sum.failed), Note: fmt.Sprintf("of %d, at %.0f puts/s, in %.0f s",
		sum.acknowledged+sum.failed, sum.perSecond, ended.Sub(began).Seconds())})
	return sum.enough(caLoad)
}

// spansOf part a time at these ends, the last of which is moved to the end of all.
func spansOf(from time.Time, ends []time.Time, to time.Time) []span {
	spans := make([]span, len(ends))
	for i, end := range ends {
		if i == len(ends)-1 {
			end = to
		}
		spans[i], from = span{from, end}, end
	}
	return spans
}

// underCALoad does something with clients writing, and reads back what they wrote.
func (t *trial) underCALoad(ctx context.Context, do func(context.Context) error) (*traffic, wrote, error) {
	if err := t.calm(ctx); err != nil {
		return nil, wrote{}, err
	}
	traffic, err := t.write(ctx, caClients, caRate)
	if err != nil {
		return nil, wrote{}, err
	}
	if err := do(ctx); err != nil {
		traffic.abandon()
		return nil, wrote{}, err
	}
	sum, err := traffic.finish(ctx)
	return traffic, sum, err
}

// rotateCAs asks for CAs that are made after this time.
func (t *trial) rotateCAs(ctx context.Context, after time.Time) error {
	c, err := t.get(ctx)
	if err != nil {
		return err
	}
	asked := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"0s@%s"}}}`, v1alpha1.AnnotationRotateCA,
		after.UTC().Format(time.RFC3339))
	if err := t.kube.client.Patch(ctx, c, ctrlclient.RawPatch(types.MergePatchType, asked)); err != nil {
		return fmt.Errorf("asking for new CAs in %s: %w", t.namespace, err)
	}
	return nil
}

// readCAs notes the fingerprint of the CA that each Secret of a CA holds; empty while it holds two.
func (t *trial) readCAs(ctx context.Context, cas map[string]string) error {
	for _, name := range []string{resources.CASecret(t.name), resources.PeerCASecret(t.name)} {
		secret := &corev1.Secret{}
		if err := t.kube.client.Get(ctx, ctrlclient.ObjectKey{Namespace: t.namespace, Name: name}, secret); err != nil {
			return fmt.Errorf("reading the CA in %s: %w", name, err)
		}
		cas[name] = pki.Fingerprint(secret.Data[resources.KeyCert])
		if len(secret.Data[resources.KeyOtherCert]) > 0 {
			cas[name] = ""
		}
	}
	return nil
}

// untilReplaced waits until no Secret holds a CA that it held before.
func (t *trial) untilReplaced(ctx context.Context, before map[string]string) error {
	now := map[string]string{}
	err := wait.PollUntilContextTimeout(ctx, time.Second, caPatience, true, func(ctx context.Context) (bool, error) {
		return areReplaced(before, now), t.readCAs(ctx, now)
	})
	if err != nil {
		return fmt.Errorf("waiting until the CAs in %s are replaced: %w", t.namespace, err)
	}
	return nil
}

func areReplaced(before, now map[string]string) bool {
	for name, was := range before {
		if now[name] == "" || now[name] == was {
			return false
		}
	}
	return true
}
