package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Source is where the backup is that an incarnation of the cluster begins with.
type Source struct {
	Hash     string // of what names it
	Store    v1alpha1.BackupStore
	Key      string // empty: LatestOf says whose newest backup is meant
	SHA256   string // of the snapshot at the key; empty: not known
	LatestOf v1alpha1.BackedUpCluster
}

// sourceOf finds the source that a decision was made for. Another one by now makes the decision stale.
func (s step) sourceOf(ctx context.Context, hash string) (Source, error) {
	if s.Source == nil {
		return Source{}, Rejected{Reason: RejectedUnreadable, Message: "this operator was not told where backups are"}
	}
	source, err := s.Source(ctx, s.cluster, hash)
	switch {
	case err != nil:
		return Source{}, fmt.Errorf("finding the backup to begin with: %w", err)
	case source.Hash != hash:
		return Source{}, ErrStale
	}
	return source, nil
}

// forAgent is what Pods of the agent are made with.
func (s step) forAgent(ctx context.Context) (resources.Platform, error) {
	platform, err := s.ForTasks(ctx)
	if err == nil && platform.AgentImage == "" {
		err = Later{Reason: LaterMissing,
			Message: "the operator does not know which image it runs from, which the agent runs from too"}
	}
	return platform, err
}

// startPreflight creates the Pod that looks at the backup to begin with.
func (s step) startPreflight(ctx context.Context, c changes.StartPreflight) error {
	source, err := s.sourceOf(ctx, c.Asked.Hash)
	if err != nil {
		return err
	}
	platform, err := s.forAgent(ctx)
	if err != nil {
		return err
	}
	_, err = s.create(ctx, resources.KindPod, resources.BuildPreflightPod(s.cluster, resources.PreflightStart{
		Platform: platform, Store: source.Store, Hash: source.Hash, Key: source.Key, SHA256: source.SHA256,
		LatestOf: source.LatestOf, Version: c.Asked.Version.String(), VolumeBytes: c.Asked.Bytes,
	}))
	return err
}

// startDefrag creates the Pod that has a member defragmented.
func (s step) startDefrag(ctx context.Context, c changes.StartDefrag) error {
	pod, err := s.defragPod(ctx, c)
	if err != nil {
		return err
	}
	_, err = s.create(ctx, resources.KindPod, pod)
	return err
}

func (s step) defragPod(ctx context.Context, c changes.StartDefrag) (*corev1.Pod, error) {
	platform, err := s.forAgent(ctx)
	if err != nil {
		return nil, err
	}
	return resources.BuildDefragPod(s.reached(), resources.DefragStart{
		Platform: platform, Member: c.Name, MemberID: c.ID, ClusterID: s.view.Current.Membership.ClusterID,
		Deadline: c.Deadline, Until: c.Until, StartBy: s.Now().Add(c.Deadline),
	}), nil
}

// incarnationToRestore is an incarnation whose first members are given their data before they start.
type incarnationToRestore struct {
	record.Next
	clusterID etcdutil.ID // of the cluster that a survivor is of
}

// startRestores creates restore Pods of the incarnation that the bootstrap record is of.
func (s step) startRestores(ctx context.Context, restorings []changes.Restoring) error {
	if len(restorings) == 0 {
		return nil
	}
	bootstrap := s.view.Current.Bootstrap
	if bootstrap.Void || bootstrap.Origin.IsZero() {
		return ErrStale
	}
	return s.restore(ctx, incarnationToRestore{Next: record.Next{
		Incarnation: bootstrap.Incarnation, Token: bootstrap.Token, Origin: bootstrap.Origin, Bump: record.DefaultBump,
	}}, restorings)
}

// restore makes restore Pods. What they fetch is what the bootstrap record says, also when the store has a newer one by
// now.
func (s step) restore(ctx context.Context, incarnation incarnationToRestore, restorings []changes.Restoring) error {
	if len(restorings) == 0 {
		return nil
	}
	if incarnation.Origin.IsZero() {
		return ErrStale
	}
	platform, err := s.forAgent(ctx)
	if err != nil {
		return err
	}
	var source Source
	if !restorings[0].Holds { // of all or of none: what was restored needs its backup no more
		if source, err = s.sourceOf(ctx, incarnation.Origin.Hash); err != nil {
			return err
		}
	}
	return each(ctx, restorings, func(ctx context.Context, l changes.Restoring) error {
		return s.restoreOne(ctx, incarnation, tools{platform, source}, l)
	})
}

// tools are what restores a backup.
type tools struct {
	resources.Platform
	Source
}

func (s step) restoreOne(ctx context.Context, incarnation incarnationToRestore, with tools, l changes.Restoring) error {
	inputs, err := resources.DecodeInputs(l.Settings.Inputs)
	if err != nil {
		return Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("restoring member %s: %v", l.Name, err)}
	}
	if l.Survivor != incarnation.Survivor || l.Mounts != "" && l.Mounts != l.Survivor {
		return fmt.Errorf("restoring member %s: it is not of the survivor %q", l.Name, incarnation.Survivor)
	}
	build := resources.BuildRestorePod
	if l.Holds {
		build = resources.BuildPlacePod
	}
	pod, err := build(s.reached(), resources.RestoreStart{
		Next: incarnation.Next, Member: l.Name, Initial: l.Initial, Inputs: inputs,
		Platform: with.Platform, Store: with.Store, Hash: with.Hash, ClusterID: incarnation.clusterID, Mounts: l.Mounts,
		RestoredIn: s.incarnationOf(incarnation.Survivor), // as it was written down there
		HasWAL:     s.hasWAL(l.Name),
		MemberID:   s.view.Current.Find(incarnation.Survivor).Record().MemberID,
	})
	if err != nil {
		return err
	}
	_, err = s.create(ctx, resources.KindPod, pod)
	return err
}

// prepareNext makes what is missing of the next incarnation: members' Secrets, volumes, restore Pods. Nothing of it
// runs etcd.
func (s step) prepareNext(ctx context.Context, c changes.PrepareNext) error {
	next := s.view.Current.Bootstrap.Next
	if next.Incarnation != c.Incarnation {
		return ErrStale
	}
	err := s.editBootstrap(ctx, func(b *record.Bootstrap) bool { return b.Prepares(next.Incarnation, next.Restore) })
	if err != nil {
		return err
	}
	if err := each(ctx, c.Secrets, (&issuer{step: s}).ensureMember); err != nil {
		return err
	}
	err = each(ctx, c.Volumes, func(ctx context.Context, v changes.NewVolume) error {
		if !slices.Contains(next.Names, v.Name) {
			return ErrStale
		}
		_, err := s.createVolumeOf(ctx, next, v)
		return err
	})
	if err != nil {
		return err
	}
	return s.restore(ctx, incarnationToRestore{Next: next, clusterID: s.view.Current.Bootstrap.ClusterID}, c.Restores)
}

// markFormer writes on volumes that another incarnation took the place of theirs. The first such mark stays.
func (s step) markFormer(ctx context.Context, c changes.MarkFormer) error {
	return s.editMarked(ctx, c.Volumes, "", func(annotations map[string]string) {
		annotations[v1alpha1.AnnotationSuperseded] = c.By
	})
}

// markCurrent takes that off volumes, and writes in the same patch which incarnation the cluster went back from.
func (s step) markCurrent(ctx context.Context, c changes.MarkCurrent) error {
	return s.editMarked(ctx, c.Volumes, c.After, func(annotations map[string]string) {
		delete(annotations, v1alpha1.AnnotationSuperseded)
		annotations[v1alpha1.AnnotationGoesBack] = c.After
	})
}

// editMarked edits the annotations of the volumes with this mark, and leaves every other volume as it is.
func (s step) editMarked(ctx context.Context, volumes []facts.VolumeRef, mark string,
	edit func(map[string]string)) error {
	return each(ctx, volumes, func(ctx context.Context, volume facts.VolumeRef) error {
		claim, err := s.findSeen(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID)
		if err != nil || claim.GetAnnotations()[v1alpha1.AnnotationSuperseded] != mark {
			return err
		}
		return s.update(ctx, resources.KindVolume, claim, func() {
			annotations := merged(claim.GetAnnotations(), nil)
			edit(annotations)
			claim.SetAnnotations(annotations)
		})
	})
}
