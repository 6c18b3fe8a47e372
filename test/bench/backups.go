package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// A backup is held against `etcdctl snapshot save` of the same member to a file, in a Pod like the backup's on the same node,
// right after it, with the same client writing. Both are timed as processes: from the start of the one to its end.
//
// A restore is held against what one would do by hand at the very least: restore one member with etcdutl, and create a
// cluster of three.

// What 70 % of the floor's rate is in terms of time.
const savedAtTheRate = 1 / 0.7

func snapshotTime(size, to string) figure {
	return figure{Name: "backup of " + size + " to " + to + ": snapshot step", Unit: unitSeconds, Times: savedAtTheRate}
}

func writesDuring(size, what string) figure {
	return figure{Name: "p99 of writes, " + size + ": " + what, Unit: unitMilliseconds, Times: 1.3}
}

// failedDuring are puts to the only member of a cluster. It answers nothing while it hashes its keys, and a put fails after 5 s:
// each writer may lose three, 15 s in all.
func failedDuring(size string) figure {
	return figure{Name: "requests failed, backup of " + size + " of a cluster of one", Unit: unitCount, Plus: 3 * backupWriters, Worst: true}
}

func streamingMemory(size string) figure {
	return figure{Name: "agent that streams " + size + ": memory", Unit: unitMemory, Plus: 96, Worst: true}
}

func comparingMemory(size string) figure {
	return figure{Name: "agent that compares " + size + ": own memory", Unit: unitMemory, Plus: 96, Worst: true}
}

func restoreTime(size string) figure {
	return figure{Name: "restore of " + size + " → 3 members", Unit: unitSeconds, Times: 1.5}
}

// roomForKeys holds as many small keys as are asked for, twice over.
const roomForKeys = 1 << 30

// measureBackups needs a database of some size, and fills one only once for each.
func measureBackups(ctx context.Context, b *bench) error {
	store, err := b.startStore(ctx)
	if err != nil {
		return err
	}
	defer store.stop()
	like := threeOnVolumes
	like.database = b.database
	err = b.takeTurn(ctx, ours, like, func(ctx context.Context, t *trial) error { return t.measureBackups(ctx, store) })
	for _, size := range b.databases {
		if size != b.database && err == nil {
			like := oneOnVolume
			like.database = size
			err = b.measureMemoryOf(ctx, store, like, sizeName(size))
		}
	}
	if b.keys > 0 && err == nil {
		like := oneOnVolume
		like.database, like.keys = roomForKeys, b.keys
		err = b.measureMemoryOf(ctx, store, like, keysName(b.keys))
	}
	return err
}

// measureBackups takes backups to both stores, restores the last of each run, and their floors.
func (t *trial) measureBackups(ctx context.Context, store *store) error {
	if err := t.prepare(ctx, store); err != nil {
		return err
	}
	for run := range t.runs {
		if _, err := t.measureBackup(ctx, volumeStore(run)); err != nil {
			return fmt.Errorf("run %d, to a volume: %w", run+1, err)
		}
		taken, err := t.measureBackup(ctx, store.at(run))
		if err != nil {
			return fmt.Errorf("run %d, to S3: %w", run+1, err)
		}
		if err := t.measureRestore(ctx, store, taken, run); err != nil {
			return fmt.Errorf("run %d: %w", run+1, err)
		}
	}
	return nil
}

// prepare makes a cluster with a database.
func (t *trial) prepare(ctx context.Context, store *store) error {
	if _, err := t.create(ctx); err != nil {
		return err
	}
	if err := store.secrets(ctx, t.kube, t.namespace); err != nil {
		return err
	}
	return t.fill(ctx, t.database)
}

// destination is where one backup goes.
type destination struct {
	kind, name string // of store; of the EtcdBackup
	store      v1alpha1.BackupStore
}

// measureBackup takes one backup and, right after it, its floor.
func (t *trial) measureBackup(ctx context.Context, to destination) (backup, error) {
	size := sizeName(t.database)
	if err := t.calm(ctx); err != nil {
		return backup{}, err
	}
	began := t.start()
	taken, seen, err := t.takeBackup(ctx, to)
	if err != nil {
		return taken, err
	}
	first, last, err := seen.steps()
	if err != nil {
		return taken, err
	}
	busy := t.taken(began, last.ended, "").Busy
	note := fmt.Sprintf("%s, from %s on %s; until it was proven %.1f s; progress was seen %d times",
		rate(taken.status.SizeBytes, first.seconds()), taken.status.Member, taken.node, last.ended.Sub(first.began).Seconds(), taken.progress)
	t.add(t.figure(snapshotTime(size, to.kind)), ours, sample{Value: first.seconds(), Note: note, Busy: busy})
	t.addWrites(size, ours, seen, first, last)
	t.addMemory(size, seen)
	if err := t.measureSave(ctx, to, taken); err != nil {
		return taken, err
	}
	return taken, t.forget(ctx, to)
}

// measureSave is the floor of a backup that was taken.
func (t *trial) measureSave(ctx context.Context, to destination, taken backup) error {
	size := sizeName(t.database)
	if err := t.calm(ctx); err != nil {
		return err
	}
	began := t.start()
	seen, err := t.during(ctx, func(ctx context.Context) error { return t.save(ctx, taken, "") })
	if err != nil {
		return err
	}
	save, err := seen.only(stepSave)
	if err != nil {
		return err
	}
	note := rate(taken.status.SizeBytes, save.seconds())
	t.add(t.figure(snapshotTime(size, to.kind)), floor, sample{Value: save.seconds(), Note: note, Busy: t.taken(began, save.ended, "").Busy})
	t.addWrites(size, floor, seen, save, save)
	return nil
}

// addWrites notes how slow writes were: throughout, and while the snapshot was streamed. To the floor that is one thing.
func (t *trial) addWrites(size string, s side, seen observed, first, last stay) {
	for _, part := range []struct {
		what string
		last stay
	}{{"backup", last}, {"its snapshot step", first}} {
		p99, n := seen.p99(first.began, part.last.ended)
		t.add(t.figure(writesDuring(size, part.what)), s, sample{Value: p99.Seconds() * 1000, Note: fmt.Sprintf("of %d puts", n)})
	}
}

// addMemory notes what the agent took: all that was resident where it streams; where it compares, what is its own, since it
// maps the database, whose pages are the kernel's to drop.
func (t *trial) addMemory(size string, seen observed) {
	for _, part := range []struct {
		wanted figure
		steps  []string
		memory func(stay) float64
	}{
		{streamingMemory(size), []string{"snapshot", "fetch"}, func(s stay) float64 { return s.resident }},
		{comparingMemory(size), []string{"compare"}, func(s stay) float64 { return s.anonymous }},
	} {
		most, notes := 0.0, []string{}
		for _, step := range part.steps {
			for _, s := range seen.stays {
				if s.step == step {
					most = max(most, part.memory(s))
					notes = append(notes, fmt.Sprintf("%s: resident %.1f MiB, its own %.1f MiB", step, s.resident, s.anonymous))
				}
			}
		}
		t.add(t.figure(part.wanted), ours, sample{Value: most, Note: strings.Join(notes, "; ")})
	}
}

// addFailed notes how many puts to the only member failed.
func (t *trial) addFailed(what string, seen observed) {
	note := fmt.Sprintf("of %d", seen.wrote.acknowledged+seen.wrote.failed)
	t.add(t.figure(failedDuring(what)), ours, sample{Value: float64(seen.wrote.failed), Note: note})
}

// measureMemoryOf takes one backup of another database; one member is enough for that.
func (b *bench) measureMemoryOf(ctx context.Context, store *store, like shape, what string) error {
	return b.takeTurn(ctx, ours, like, func(ctx context.Context, t *trial) error {
		if err := t.prepare(ctx, store); err != nil {
			return err
		}
		to := store.at(0)
		to.name += "-" + strings.ToLower(strings.ReplaceAll(what, " ", ""))
		_, seen, err := t.takeBackup(ctx, to)
		if err != nil {
			return err
		}
		if _, _, err := seen.steps(); err != nil {
			return err
		}
		t.addMemory(what, seen)
		t.addFailed(what, seen)
		return errors.Join(t.forget(ctx, to), store.empty(ctx))
	})
}

// rate is bytes in seconds, as people read it.
func rate(bytes int64, seconds float64) string {
	return fmt.Sprintf("%.0f MiB/s", float64(bytes)/(1<<20)/seconds)
}
