package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// desiredOf is what the spec asks for, and the backup that the cluster is to begin with. A version that is none is part
// of the fault that the spec is refused with.
func desiredOf(cluster *v1alpha1.EtcdCluster, fault string, restore facts.WantedBackup,
	now time.Time) facts.Desired {
	inputs := resources.Inputs(cluster)
	window, heldSince := windowOf(cluster, now)
	leader, leaderAsked := cluster.LeaderAsked()
	rotate, overlap := cluster.CARotationAsked()
	version, err := etcdutil.ParseVersion(inputs.Version)
	if err != nil && fault == "" {
		fault = err.Error()
	}
	return facts.Desired{
		Size:         int(cluster.Spec.Size),
		Settings:     settingsIn(inputs, version),
		Target:       version,
		StorageBytes: resources.StorageBytes(cluster),
		StorageClass: resources.AskedClass(cluster),
		Attributes:   cluster.Spec.VolumeAttributesClass(),
		AccessMode:   string(resources.AskedMode(cluster)),
		WAL:          walOf(cluster),
		LeavesFirst:  cluster.Spec.Storage != nil && cluster.Spec.Storage.Replace == v1alpha1.ReplaceInPlace,
		SnapshotEach: snapshotEach(inputs.Etcd),
		TLS:          cluster.Spec.IsTLS(),
		Transport:    resources.TransportAsked(cluster),
		Auth:         authWish(cluster),
		ClientUser:   resources.ClientUser(cluster.Name),
		Storage:      askedStorage(cluster),
		Retain:       retains(cluster),
		HasBudget:    cluster.Spec.HasBudget(),
		ReplaceAfter: cluster.Spec.ReplaceAfterOrDefault(),
		KeepVolumes:  cluster.Spec.KeepVolumesOrDefault(),
		Paused:       cluster.Spec.Paused,
		Deleting:     cluster.DeletionTimestamp != nil,
		Restore:      restore,
		Upkeep:       upkeepOf(cluster, now, heldSince),
		Rotation:     facts.Rotation{Asked: rotate, Overlap: overlap},
		Window:       window,
		Lead:         facts.LeadNow(leader, leaderAsked, now),
		Operator:     cluster.Annotations[v1alpha1.AnnotationOperator],
		BeginEmpty:   cluster.Annotations[v1alpha1.AnnotationBeginEmpty],
		Fault:        fault,

		SpreadsOverZones: resources.SpreadsOverZones(cluster),
		ExpandsByMove:    cluster.Spec.ExpandsByMove(),
	}
}

// askedStorage is where the spec asks for the data of members.
func askedStorage(cluster *v1alpha1.EtcdCluster) facts.Storage {
	if !cluster.Spec.IsEphemeral() {
		return facts.Storage{}
	}
	return inPod(cluster.Spec.Storage.Ephemeral)
}

func inPod(e *v1alpha1.EphemeralSpec) facts.Storage {
	return facts.Storage{Ephemeral: true, Medium: string(e.Medium)}
}

// askedFor is how long after a person asked. Else a member of which enough can be reclaimed weeks later would be due.
const askedFor = 24 * time.Hour

// upkeepOf is when the cluster asks for its members to be defragmented. A time to come asks for nothing yet.
func upkeepOf(cluster *v1alpha1.EtcdCluster, now, heldSince time.Time) facts.Upkeep {
	asked := facts.Upkeep{Asked: cluster.DefragmentAsked(), Compacts: cluster.Spec.CompactsOnNoSpace(),
		KeepHistory: cluster.Spec.KeepHistoryOrDefault()}
	if asked.Asked.After(now) || now.Sub(asked.Asked) > askedFor {
		asked.Asked = time.Time{}
	}
	if cluster.Spec.Maintenance == nil || cluster.Spec.Maintenance.Defragment == nil {
		return asked
	}
	spec := cluster.Spec.Maintenance.Defragment
	if spec.Reclaimable != nil {
		asked.Reclaimable = int64(*spec.Reclaimable)
	}
	if spec.Schedule != "" {
		since := now.Add(-facts.ScheduledFor)
		if heldSince.Before(since) {
			since = heldSince
		}
		asked.Scheduled, asked.Next, asked.Fault = scheduleplan.Around("spec.maintenance.defragment.schedule",
			spec.Schedule, spec.TimeZone, since, now)
	}
	return asked
}

// windowOf is when members that serve may be stopped. What was to be done since the window before the one that is open
// was held until now. A window that cannot be read is a fault of the spec, and closed.
func windowOf(cluster *v1alpha1.EtcdCluster, now time.Time) (w facts.Window, heldSince time.Time) {
	if cluster.Spec.Maintenance == nil || cluster.Spec.Maintenance.Window == nil {
		return facts.Window{}, now
	}
	window, fault := scheduleplan.ReadWindow(cluster.Spec.Maintenance.Window)
	if fault != nil {
		return facts.Window{IsClosed: true}, now
	}
	at := window.At(cluster.MaintenanceAsked(), now)
	return facts.Window{IsClosed: at.Until.IsZero(), Until: at.Until, Next: at.Next}, at.Before
}

// snapshotEach is zero where etcd's default counts.
func snapshotEach(in *resources.EtcdInputs) int64 {
	if in == nil || in.SnapshotCount == nil {
		return 0
	}
	return *in.SnapshotCount
}

// atStop is what members are to run at the next stop on the way to the version of the spec. Where this release takes no
// step to it, NoWay says why and no rule acts on the version.
func atStop(cluster *v1alpha1.EtcdCluster, desired facts.Desired, at etcdutil.Progress, why facts.Hold) facts.Desired {
	stop, held, err := facts.StopAt(at, desired.Target, why)
	switch {
	case desired.Target.IsZero():
		return desired
	case err != nil:
		desired.Fault = cmp.Or(desired.Fault, err.Error())
		return desired
	}
	if desired.NoWay = noWay(at, desired); desired.NoWay != "" {
		return desired
	}
	desired.Needs, desired.Held = stop.Needs, held
	desired.Settings, desired.AtTarget = settingsAt(cluster, stop.Version), settingsAt(cluster, desired.Target)
	if all := resources.Inputs(cluster).Etcd; all != nil {
		desired.LeftOut = strings.Join(etcdutil.LeftOut(stop.Version, all.ExtraArgs), ", ")
	}
	return desired
}

// settingsAt are what members are made from at a stop.
func settingsAt(cluster *v1alpha1.EtcdCluster, stop etcdutil.Version) facts.Settings {
	return settingsIn(resources.InputsAt(cluster, stop), stop)
}

// settingsIn leave out where the data is: that is a fact of the member, and no restart changes it.
func settingsIn(in resources.RollInputs, version etcdutil.Version) facts.Settings {
	in.Ephemeral = nil
	return facts.Settings{Version: version, Inputs: in.Canonical(), QuotaBytes: in.QuotaBytes(),
		MemoryBytes: in.MemoryBytes(), RestartedAt: in.RestartedAt, Sidecars: in.Sidecars(), Fixed: in.Fixed(),
		Trust: trustIn(in.Trust), Transport: in.TLS}
}

// withoutDigest names a version on the way that would run from its tag although others run from their digest.
func withoutDigest(image *v1alpha1.ImageSpec, way []etcdutil.Version) facts.Hold {
	if image == nil || len(image.Digests) == 0 {
		return facts.Hold{}
	}
	for _, v := range way {
		if image.Digests[v.String()] == "" {
			return facts.Hold{Why: fmt.Sprintf("There is no digest for etcd %s, which lies on the way. Add it to "+
				"spec.image.digests, or to --etcd-digest of the operator", v)}
		}
	}
	return facts.Hold{}
}

// noWay says which steps this release does not take, or "". It asks for nothing but the members' own versions, so that
// the answer does not change while one of them is silent.
func noWay(at etcdutil.Progress, desired facts.Desired) string {
	isAtMost := func(v etcdutil.Version) bool { return v.Minor <= desired.Target.Minor }
	if desired.Ephemeral && len(at.Members) > 0 && !slices.ContainsFunc(at.Members, isAtMost) {
		return "This release brings no cluster with ephemeral data to a lower minor version"
	}
	return ""
}

func retains(cluster *v1alpha1.EtcdCluster) bool {
	return cluster.Spec.DeletionPolicyOrDefault() == v1alpha1.DeletionRetain
}

// astray are the volumes and the Secrets of CAs whose owner is not as deletionPolicy wants it. Data on its way
// out, and what has no right to it, is left alone.
func astray(cluster *v1alpha1.EtcdCluster, volumes []corev1.PersistentVolumeClaim,
	cas []*corev1.Secret) []facts.DataRef {
	var out []facts.DataRef
	add := func(kind string, object metav1.Object) {
		if object.GetDeletionTimestamp() == nil && !resources.FollowsPolicy(object, cluster.UID, retains(cluster)) {
			out = append(out, facts.DataRef{Kind: kind, Name: object.GetName(), UID: string(object.GetUID())})
		}
	}
	for i := range volumes {
		add(resources.KindVolume, &volumes[i])
	}
	for _, ca := range cas {
		add(resources.KindSecret, ca)
	}
	slices.SortFunc(out, func(a, b facts.DataRef) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// versionPatience bounds what all members together take to say of which version their cluster is, or what else has to
// be known of them on the way to another one.
const versionPatience = 2 * time.Second

// desired is what members are to run next, once they were asked where they are on the way to what the spec asks for.
func (s survey) desired(ctx context.Context, cluster *v1alpha1.EtcdCluster, asked facts.Desired,
	seen facts.Observation) facts.Desired {
	seen.Now = s.began
	s.addVersions(ctx, asked.Target, seen.Current.Members)
	desired := desiredBy(cluster, s.images, asked, seen)
	if desired.Needs.CountsSnapshots() {
		s.addSnapshots(ctx, seen.Current.Members)
		desired = desiredBy(cluster, s.images, asked, seen)
	}
	return desired
}

// desiredBy is what members are to run next on the way to what the spec asks for, by what they said.
func desiredBy(cluster *v1alpha1.EtcdCluster, images resources.ImageDefaults, asked facts.Desired,
	seen facts.Observation) facts.Desired {
	way := etcdutil.Path(seen.Current.Progress(), asked.Target)
	why := cmp.Or(withoutDigest(images.WithDigests(cluster).Spec.Image, way),
		seen.Current.WhyStay(asked, seen.Schedules))
	desired := atStop(cluster, asked, seen.Current.ProgressAt(seen.Now), why)
	if next := seen.Current.Bootstrap.Next; !next.IsZero() {
		begins := etcdutil.Progress{Begins: next.Origin.Version}
		desired.NextSettings = atStop(cluster, asked, begins, facts.Hold{}).Settings
	}
	desired = reached(desired, seen)
	return trusting(desired, seen.Current.TrustOf(seen.Objects))
}

// DesiredOf is what a cluster asks for at a moment that nothing is asked at: one that is foretold. Fault says why the
// spec is refused, empty when it is not.
func DesiredOf(cluster *v1alpha1.EtcdCluster, fault string, images resources.ImageDefaults,
	foretold facts.Observation) facts.Desired {
	grown := withGrowth(cluster, foretold.Current, foretold.History)
	asked := desiredOfGrown(cluster, grown, fault, foretold.Desired.Restore, foretold.Now)
	return desiredBy(grown, images, asked, foretold)
}

// addSnapshots asks every voter that answers how many snapshots of raft's state it wrote.
func (s survey) addSnapshots(ctx context.Context, replicas []facts.Replica) {
	s.eachAnswering(ctx, replicas, func(ctx context.Context, client etcd.Client, r facts.Replica) {
		if !r.IsVoter() {
			return
		}
		if saved, err := client.SnapshotsSaved(ctx); err == nil {
			r.Answer.Snapshots = &saved
		}
	})
}

// eachAnswering asks the members that answer something more, all at once. What one does not tell stays unknown.
func (s survey) eachAnswering(ctx context.Context, replicas []facts.Replica,
	ask func(context.Context, etcd.Client, facts.Replica)) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range replicas {
		if client, isAsked := s.clients[r.Name]; isAsked && r.Answer != nil {
			group.Go(func() { ask(ctx, client, r) })
		}
	}
	group.Wait()
}

// addVersions asks every member that answers for the version of its cluster, while any of them may be on its way to
// another one. A settled cluster is not asked: it takes a connection of its own.
func (s survey) addVersions(ctx context.Context, target etcdutil.Version, replicas []facts.Replica) {
	s.eachAnswering(ctx, replicas, func(ctx context.Context, client etcd.Client, r facts.Replica) {
		if isAtRest(r, target) {
			return
		}
		if text, err := client.ClusterVersion(ctx); err == nil {
			r.Answer.Versions.Cluster = agreed(parsed(text), r.Answer.Version)
		}
	})
}

// isAtRest reports a member that runs the minor of the spec, in a cluster of that version, by what is written down.
func isAtRest(r facts.Replica, target etcdutil.Version) bool {
	return r.Answer.Version.SameMinor(target) && r.Record().ClusterVersion.SameMinor(target) &&
		r.Answer.Versions.Downgrade.IsZero()
}

// agreed is the version of a cluster, which is at most one minor below what its member runs. A cluster that was just
// bootstrapped says 3.0 for a moment, of which nothing follows (etcd-io/etcd:server/etcdserver/version/monitor.go).
func agreed(cluster, runs etcdutil.Version) etcdutil.Version {
	if cluster.Minor+1 < runs.Minor {
		return etcdutil.Version{}
	}
	return cluster
}

// parsed is a version that a member says, or zero where it says none.
func parsed(text string) etcdutil.Version {
	v, err := etcdutil.ParseVersion(text)
	if err != nil {
		return etcdutil.Version{}
	}
	return v
}
