package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const (
	// backupPatience bounds one backup, restore or floor of these.
	backupPatience = 20 * time.Minute
	// Writers through a backup, and how many puts a second each: enough for a p99, and no load of its own.
	backupWriters = 4
	backupRate    = 50
)

// backup is one that was taken and proven.
type backup struct {
	status   v1alpha1.EtcdBackupStatus
	node     string
	progress int // how many different numbers of bytes the status showed while it ran
}

// during does something with clients writing, and says which programs ran meanwhile and how slow writes were.
func (t *trial) during(ctx context.Context, do func(context.Context) error) (observed, error) {
	traffic, err := t.write(ctx, backupWriters, backupRate)
	if err != nil {
		return observed{}, err
	}
	seen, err := watching(ctx, do)
	if err != nil {
		traffic.abandon()
		return seen, err
	}
	seen.writes = traffic.between
	seen.wrote, err = traffic.finish(ctx)
	if t.size == 1 { // the only member lets no write through while it hashes its keys: what failed is a figure of its own
		return seen, err
	}
	return seen, errors.Join(err, seen.wrote.complaint())
}

// watching does something and says which programs ran meanwhile.
func watching(ctx context.Context, do func(context.Context) error) (observed, error) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		stays []stay
		err   error
	}
	done := make(chan result, 1)
	go func() {
		stays, err := newPrograms("/proc").watch(looking)
		done <- result{stays, err}
	}()
	err := do(ctx)
	stop()
	seen := <-done
	return observed{stays: seen.stays}, errors.Join(err, seen.err)
}

// between is the p99 of all writers' puts together that were acknowledged in a time, and how many these were.
func (f *traffic) between(from, to time.Time) (time.Duration, int) {
	var all []time.Duration
	for _, w := range f.writers {
		all = append(all, w.Latencies(from, to)...)
	}
	return p99(all), len(all)
}

// p99 is zero of nothing.
func p99(latencies []time.Duration) time.Duration {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return latencies[min(len(latencies)-1, len(latencies)*99/100)]
}

// takeBackup takes one and waits until it is proven.
func (t *trial) takeBackup(ctx context.Context, to destination) (backup, observed, error) {
	if err := t.makeRoom(ctx, to); err != nil {
		return backup{}, observed{}, err
	}
	var taken backup
	seen, err := t.during(ctx, func(ctx context.Context) error {
		object := t.etcdBackup(to)
		if err := t.kube.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating the EtcdBackup %s: %w", to.name, err)
		}
		var err error
		taken, err = t.untilProven(ctx, object)
		return err
	})
	return taken, seen, err
}

func (t *trial) etcdBackup(to destination) *v1alpha1.EtcdBackup {
	return &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: to.name},
		Spec:       v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: t.name}, Store: to.store},
	}
}

// makeRoom makes the claim of a backup that goes to one.
func (t *trial) makeRoom(ctx context.Context, to destination) error {
	if to.store.Volume == nil {
		return nil
	}
	return t.claim(ctx, to.store.Volume.ClaimName)
}

// claim makes a claim with room for the database and more.
func (t *trial) claim(ctx context.Context, name string) error {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *resource.NewQuantity(2*t.database+1<<30, resource.BinarySI),
			}},
		},
	}
	if err := t.kube.client.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating the claim %s: %w", name, err)
	}
	return nil
}

// untilProven waits, counting how often the status shows another number of bytes, and finds out where it ran.
func (t *trial) untilProven(ctx context.Context, b *v1alpha1.EtcdBackup) (backup, error) {
	var taken backup
	shown := map[string]bool{}
	err := wait.PollUntilContextTimeout(ctx, again, backupPatience, true, func(ctx context.Context) (bool, error) {
		if err := t.kube.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return false, err
		}
		if bytes := b.Status.BytesTransferred; bytes != nil && *bytes > 0 {
			shown[fmt.Sprint(b.Status.Stage, *bytes)] = true
		}
		return isProven(b.Status)
	})
	if err != nil {
		return taken, fmt.Errorf("waiting for the EtcdBackup %s, at %s: %w", b.Name, b.Status.Stage, err)
	}
	taken.status, taken.progress = b.Status, len(shown)
	pods := &corev1.PodList{}
	if err := t.kube.client.List(ctx, pods, client.InNamespace(t.namespace), client.MatchingLabels{v1alpha1.LabelBackup: b.Name}); err != nil {
		return taken, fmt.Errorf("listing the Pods of the EtcdBackup %s: %w", b.Name, err)
	}
	if len(pods.Items) != 1 {
		return taken, fmt.Errorf("the EtcdBackup %s has %d Pods, not one", b.Name, len(pods.Items))
	}
	taken.node = pods.Items[0].Spec.NodeName
	return taken, nil
}

// isProven is an error once it never will be.
func isProven(s v1alpha1.EtcdBackupStatus) (bool, error) {
	for _, end := range []string{v1alpha1.BackupFailed, v1alpha1.BackupComplete} {
		c := meta.FindStatusCondition(s.Conditions, end)
		if c == nil || c.Status != metav1.ConditionTrue {
			continue
		}
		if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.BackupVerified) {
			return true, nil
		}
		return false, fmt.Errorf("it is %s and not proven: %s: %s", end, c.Reason, c.Message)
	}
	return false, nil
}

// forget deletes an EtcdBackup with its Job, and what it left on a claim. What is in the bucket stays.
func (t *trial) forget(ctx context.Context, to destination) error {
	if err := t.kube.client.Delete(ctx, t.etcdBackup(to)); err != nil {
		return fmt.Errorf("deleting the EtcdBackup %s: %w", to.name, err)
	}
	if to.store.Volume == nil {
		return nil
	}
	return t.unclaim(ctx, to.store.Volume.ClaimName)
}

// unclaim deletes a claim; what is on it goes once no Pod uses it.
func (t *trial) unclaim(ctx context.Context, name string) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}}
	if err := t.kube.client.Delete(ctx, claim); err != nil {
		return fmt.Errorf("deleting the claim %s: %w", name, err)
	}
	return nil
}
