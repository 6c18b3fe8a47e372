package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// wishes are what is asked of the cluster's data: by its own spec, and by EtcdRestores.
func (o *Observer) wishes(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	bootstrap record.Bootstrap) (facts.WantedBackup, []facts.Request, error) {
	wish, err := o.wishOf(ctx, cluster, bootstrap)
	if o.Requests == nil || err != nil {
		return wish, nil, err
	}
	requests, err := o.Requests(ctx, cluster)
	if err != nil {
		return facts.WantedBackup{}, nil,
			fmt.Errorf("finding the restores of %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	return wish, requests, nil
}

// wishOf asks which backup the cluster is to begin with. One that was bootstrapped has begun: what is asked of it now
// is nothing to it.
func (o *Observer) wishOf(ctx context.Context, cluster *v1alpha1.EtcdCluster,
	bootstrap record.Bootstrap) (facts.WantedBackup, error) {
	if o.WantedBackup == nil || bootstrap.ClusterID != 0 || len(bootstrap.Former) > 0 {
		return facts.WantedBackup{}, nil
	}
	wish, err := o.WantedBackup(ctx, cluster)
	if err != nil {
		return facts.WantedBackup{}, fmt.Errorf("finding the backup that %s/%s is to begin with: %w", cluster.Namespace,
			cluster.Name, err)
	}
	return wish, nil
}

// preflight is the Pod that looks at the backup to begin with, or nil.
func (g *gathered) preflight(cluster *v1alpha1.EtcdCluster, images resources.ImageDefaults) *facts.Preflight {
	name := resources.PreflightPod(cluster.Name)
	i := slices.IndexFunc(g.tasks, func(pod corev1.Pod) bool { return pod.Name == name })
	if i < 0 {
		return nil
	}
	pod := &g.tasks[i]
	version, bytes := resources.PreflightAsked(pod)
	p := &facts.Preflight{Task: taskOf(pod, g.told[pod.Name]),
		Asked: facts.Inquiry{WantedBackup: facts.WantedBackup{Hash: pod.Annotations[v1alpha1.AnnotationRestoreHash]},
			Bytes: bytes}}
	p.OtherImage = facts.AwaitsImage(p.Waiting) && images.DifferFrom(cluster, pod)
	p.Asked.Version, _ = etcdutil.ParseVersion(version) // one that cannot be read is another one than is asked for
	if p.HasSucceeded() {
		p.Found = FoundBy(pod)
	}
	return p
}

// FoundBy reads what a preflight that succeeded left as its last words: what it found. Words that are none are nothing
// found.
func FoundBy(pod *corev1.Pod) record.Origin {
	var found struct {
		Key         string `json:"key"`
		SHA256      string `json:"sha256"`
		SizeBytes   int64  `json:"sizeBytes"`
		InUseBytes  int64  `json:"inUseBytes"`
		Revision    int64  `json:"revision"`
		EtcdVersion string `json:"etcdVersion"`

		AuthEnabled bool     `json:"authEnabled"`
		Alarms      []string `json:"alarms"`
		Foreign     bool     `json:"foreign"`
		PassedOver  int32    `json:"passedOver"`
	}
	for _, step := range resources.Steps(pod) {
		if ended := step.State.Terminated; ended == nil || json.Unmarshal([]byte(ended.Message), &found) != nil {
			return record.Origin{}
		}
	}
	version, err := etcdutil.ParseVersion(found.EtcdVersion)
	if err != nil || found.Key == "" || found.SHA256 == "" {
		return record.Origin{}
	}
	return record.Origin{Hash: pod.Annotations[v1alpha1.AnnotationRestoreHash], Key: found.Key,
		SHA256:    found.SHA256,
		SizeBytes: found.SizeBytes, InUseBytes: found.InUseBytes, Revision: found.Revision, Version: version,
		AuthEnabled: found.AuthEnabled, Alarms: alarmNames(found.Alarms), Foreign: found.Foreign,
		PassedOver: found.PassedOver}
}

// alarmNames are those of a manifest, whose alarms have their members' IDs behind them, each once.
func alarmNames(alarms []string) string {
	var found []string
	for _, alarm := range alarms {
		name, _, _ := strings.Cut(alarm, " ")
		found = append(found, name)
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), ", ")
}

// addRestores joins restore Pods by the members that they are for.
func (r replicas) addRestores(cluster *v1alpha1.EtcdCluster, tasks []corev1.Pod, all map[string]told) {
	for _, pod := range tasks {
		if member, ok := resources.RestoredMember(pod.Name); ok {
			restoring := &facts.RestorePod{Task: taskOf(&pod, all[pod.Name]),
				Incarnation: pod.Labels[v1alpha1.LabelIncarnation], Settings: settingsOf(cluster, &pod)}
			restoring.OtherImage = facts.AwaitsImage(restoring.Waiting) && r.images.DifferFrom(cluster, &pod)
			restoring.Holds = resources.HoldsPlace(&pod)
			r.of(member).Restoring = restoring
		}
	}
}

// addDefrags joins Pods of the agent by the members that they have defragmented.
func (r replicas) addDefrags(tasks []corev1.Pod, all map[string]told) {
	for _, pod := range tasks {
		if member, ok := resources.DefragmentedMember(pod.Name); ok {
			deadline := time.Duration(*cmp.Or(pod.Spec.ActiveDeadlineSeconds, new(int64))) * time.Second
			since := cmp.Or(pod.Status.StartTime, &pod.CreationTimestamp).Time
			before, after := resources.Defragmented(&pod)
			r.of(member).Defragmenting = &facts.DefragPod{Task: taskOf(&pod, all[pod.Name]), Since: since,
				Deadline: deadline, Until: resources.DefragmentUntil(&pod), Before: before, After: after}
		}
	}
}

// taskOf says how a Pod stands whose containers run to their end, one after the other.
func taskOf(pod *corev1.Pod, said told) facts.Task {
	t := facts.Task{
		UID: string(pod.UID), Created: pod.CreationTimestamp.Time, Phase: podPhase(resources.TaskPhase(pod)),
		Terminating: pod.DeletionTimestamp != nil,
		Waiting:     pod.Status.Reason, Message: pod.Status.Message, Done: said.done, Total: said.total,
	}
	if said.message != "" {
		t.Waiting, t.Message = said.waiting, said.message
	}
	if t.Terminating {
		t.GoneBy = pod.DeletionTimestamp.Time
	}
	t.HeldBy = resources.PodHeldBy(pod)
	if reason, message := WhyUnscheduled(pod); reason != "" {
		t.Waiting, t.Message = reason, message
	}
	for _, step := range resources.Steps(pod) {
		fillTask(&t, step)
	}
	switch hasEnded := t.HasFailed() || t.HasSucceeded(); {
	case !hasEnded && t.Terminating:
		t.Finished, t.Waiting, t.Message = time.Time{}, "", "" // what keeps it from starting is no news any more
	case !hasEnded:
		t.Finished = time.Time{}
	case t.Finished.IsZero(): // it never ran: its node refused it, or it was evicted before
		t.Finished = t.Created
	}
	return t
}

func fillTask(t *facts.Task, step resources.Step) {
	t.Started = t.Started || step.State.Running != nil || step.State.Terminated != nil
	switch state := step.State; {
	case state.Running != nil:
		t.Step = step.Name
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		t.Finished = state.Terminated.FinishedAt.Time
		if t.Failure == "" {
			t.Reason, t.Failure = words.Failure(state.Terminated.Message)
		}
		if t.Failure == "" && state.Terminated.Reason == string(etcdutil.ExitOutOfMemory) { // which says nothing itself
			t.Message = outOfMemory
		}
	case state.Terminated != nil:
		t.Finished = state.Terminated.FinishedAt.Time
	case state.Waiting != nil && state.Waiting.Message != "":
		t.Waiting, t.Message = WhyWaiting(state.Waiting)
	}
}

// RestoresOf are the EtcdRestores that name a cluster, the oldest first. One that is being deleted asks for nothing.
func RestoresOf(ctx context.Context, reader client.Reader,
	cluster types.NamespacedName) ([]v1alpha1.EtcdRestore, error) {
	var list v1alpha1.EtcdRestoreList
	if err := reader.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdRestores of %s: %w", cluster.Namespace, err)
	}
	restores := slices.DeleteFunc(list.Items, func(r v1alpha1.EtcdRestore) bool {
		return r.Spec.ClusterRef.Name != cluster.Name || r.DeletionTimestamp != nil
	})
	slices.SortFunc(restores, func(a, b v1alpha1.EtcdRestore) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return restores, nil
}

// Requests tells the planner of them.
func (s Sources) Requests(ctx context.Context, cluster *v1alpha1.EtcdCluster) ([]facts.Request, error) {
	restores, err := RestoresOf(ctx, s.Reader, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return nil, err
	}
	var requests []facts.Request
	for i := range restores {
		request, err := s.request(ctx, &restores[i])
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

func (s Sources) request(ctx context.Context, r *v1alpha1.EtcdRestore) (facts.Request, error) {
	request := facts.Request{
		Name: r.Name, ID: RequestID(r), Created: r.CreationTimestamp.Time, Bump: r.Spec.BumpRevisionOrDefault(),
		IsBumpFixed: r.Spec.BumpRevision != nil,
		Approval:    r.Spec.Approval, DeletesOld: r.Spec.OldVolumes == v1alpha1.OldVolumesDelete,
	}
	source := &r.Spec.Source
	switch {
	case source.Survivor != nil:
		request.Source, request.Survivor = record.SourceSurvivor, source.Survivor.Member
	case source.Empty != nil:
		request.Source = record.SourceEmpty
	case source.Previous != nil:
		request.Source = record.SourcePrevious
	case source.Backup() != nil:
		request.Source = record.SourceBackup
		found, fault, err := s.findRestored(ctx, r)
		if err != nil {
			return facts.Request{}, err
		}
		if request.WantedBackup, err = s.wished(ctx, r.Namespace, found, fault); err != nil {
			return facts.Request{}, err
		}
	default: // the schema lets none of these by
		request.Source, request.WantedBackup.Fault = record.SourceBackup, "spec.source names nothing"
	}
	return request, nil
}

// RequestID names a restore by itself and by what it asks for: whatever came of it says so for good.
func RequestID(r *v1alpha1.EtcdRestore) string {
	return string(r.UID) + "-" + shortHash(struct {
		Source v1alpha1.EtcdRestoreSource `json:"source"`
		Bump   int64                      `json:"bump"`
	}{r.Spec.Source, r.Spec.BumpRevisionOrDefault()})
}

// findRestored is what a restore names. It is told from what others name, even where that is the same backup.
func (s Sources) findRestored(ctx context.Context, r *v1alpha1.EtcdRestore) (*Source, string, error) {
	found, fault, err := s.Named(ctx, r.Namespace, r.Spec.Source.Backup())
	if found != nil {
		found.Restore = string(r.UID)
	}
	return found, fault, err
}

// findRequested finds what an EtcdRestore of the cluster names by that hash; nil when none does. A survivor has no
// store: what is read of it, its own Pod gives.
func (s Sources) findRequested(ctx context.Context, cluster *v1alpha1.EtcdCluster, hash string) (*Source, error) {
	restores, err := RestoresOf(ctx, s.Reader, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return nil, err
	}
	for i := range restores {
		r := &restores[i]
		if r.Spec.Source.Survivor != nil && RequestID(r) == hash {
			return &Source{}, nil
		}
		if r.Spec.Source.Backup() == nil {
			continue
		}
		found, _, err := s.findRestored(ctx, r)
		if err != nil || found != nil && shortHash(found) == hash {
			return found, err
		}
	}
	return nil, nil
}
