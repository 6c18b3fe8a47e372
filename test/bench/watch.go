package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// watched is what happens to Pods and claims in one namespace, as it is heard of, with the time of hearing: timestamps on
// objects are whole seconds.
type watched struct {
	changed chan struct{} // has a token when something changed since it was last taken

	mu       sync.Mutex
	pods     map[types.UID]*corev1.Pod
	claims   map[types.UID]*corev1.PersistentVolumeClaim
	marks    []mark
	seen     map[string]bool
	versions map[string]string // of etcd in each member's Pod that there ever was, by UID
}

func newWatched() *watched {
	return &watched{
		changed: make(chan struct{}, 1), seen: map[string]bool{}, versions: map[string]string{},
		pods: map[types.UID]*corev1.Pod{}, claims: map[types.UID]*corev1.PersistentVolumeClaim{},
	}
}

// What is noted of Pods and of claims.
const (
	created = "created"
	gone    = "gone"
	ready   = "ready"
	leaving = "terminating"
)

// mark is the first time that something was so of an object.
type mark struct {
	at         time.Time
	uid        string
	name, what string
}

// watch begins to listen in a namespace, and ends with ctx.
func (k *kube) watch(ctx context.Context, namespace string) (*watched, error) {
	w := newWatched()
	factory := informers.NewSharedInformerFactoryWithOptions(k.clientset, 0, informers.WithNamespace(namespace))
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(), factory.Core().V1().PersistentVolumeClaims().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: w.heard, UpdateFunc: func(_, object any) { w.heard(object) }, DeleteFunc: w.left,
		})
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", namespace, err)
		}
	}
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return nil, fmt.Errorf("watching %s in %s: %w", kind, namespace, ctx.Err())
		}
	}
	return w, nil
}

func (w *watched) heard(object any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Pod:
		w.pods[o.UID] = o
		if isMember(o) {
			w.versions[string(o.UID)] = versionOf(o)
		}
		for _, what := range milestones(o) {
			w.note(o.Name, string(o.UID), what)
		}
	case *corev1.PersistentVolumeClaim:
		w.claims[o.UID] = o
		w.note("claim "+o.Name, string(o.UID), created)
		if o.Status.Phase == corev1.ClaimBound {
			w.note("claim "+o.Name, string(o.UID), "bound")
		}
	}
	w.tell()
}

func (w *watched) left(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Pod:
		delete(w.pods, o.UID)
		w.note(o.Name, string(o.UID), gone)
	case *corev1.PersistentVolumeClaim:
		delete(w.claims, o.UID)
		w.note("claim "+o.Name, string(o.UID), gone)
	}
	w.tell()
}

func (w *watched) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// note writes down the first time that something was so of an object.
func (w *watched) note(name, uid, what string) {
	if key := uid + what; !w.seen[key] {
		w.seen[key] = true
		w.marks = append(w.marks, mark{time.Now(), uid, name, what})
	}
}

// milestones are how far a Pod has come.
func milestones(pod *corev1.Pod) []string {
	reached := []string{created}
	if pod.Spec.NodeName != "" {
		reached = append(reached, "scheduled")
	}
	for _, c := range pod.Status.ContainerStatuses {
		reached = append(reached, containerMilestones(c)...)
	}
	if isReady(pod) {
		reached = append(reached, ready)
	}
	if pod.DeletionTimestamp != nil {
		reached = append(reached, leaving)
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			reached = append(reached, "ended")
		}
	}
	return reached
}

// containerMilestones are how far one of its containers has come.
func containerMilestones(c corev1.ContainerStatus) []string {
	var reached []string
	if c.State.Running != nil {
		reached = append(reached, "running")
	}
	if c.Started != nil && *c.Started {
		reached = append(reached, "started")
	}
	if c.RestartCount > 0 {
		reached = append(reached, fmt.Sprintf("restarted %d", c.RestartCount))
	}
	return reached
}

// when is the first time that something was so of a Pod; zero when it never was.
func (w *watched) when(uid types.UID, what string) time.Time {
	return w.first(func(m mark) bool { return m.uid == string(uid) && m.what == what })
}

// successor is when the next Pod of the same name was created; zero when there was none yet.
func (w *watched) successor(pod *corev1.Pod) time.Time {
	gone := w.when(pod.UID, gone)
	if gone.IsZero() {
		return gone
	}
	return w.first(func(m mark) bool { return m.name == pod.Name && m.what == created && !m.at.Before(gone) })
}

// versionOf is the version of etcd that a Pod runs, by its image; empty when it runs none.
func versionOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == etcdContainer {
			return c.Image[strings.LastIndex(c.Image, ":v")+len(":v"):]
		}
	}
	return ""
}

// readyWith is when each member was first Ready with this version of etcd, by its name. Pods that are gone count too:
// a version on the way may stay for a moment only.
func (w *watched) readyWith(version string) map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string]time.Time{}
	for _, m := range w.marks {
		_, isKnown := times[m.name]
		if m.what == ready && w.versions[m.uid] == version && !isKnown {
			times[m.name] = m.at
		}
	}
	return times
}

// rolls are the ends of the rolls since then: each time that as many members were Ready in a Pod of their own that came
// since, or since the end before. More counts those that are not a roll yet.
func (w *watched) rolls(since time.Time, size int) (ends []time.Time, more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.marks {
		if m.what != ready || w.versions[m.uid] == "" || m.at.Before(since) {
			continue
		}
		if more++; more == size {
			ends, more = append(ends, m.at), 0
		}
	}
	return ends, more
}

// firstStop is when a Pod was first seen to terminate since then; zero when none was.
func (w *watched) firstStop(since time.Time) time.Time {
	return w.first(func(m mark) bool { return m.what == leaving && !m.at.Before(since) })
}

// first is when the first thing happened that is like this; zero when none did.
func (w *watched) first(like func(mark) bool) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.marks, like); i >= 0 {
		return w.marks[i].at
	}
	return time.Time{}
}

// timeline tells what happened since, one line each.
func (w *watched) timeline(since time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, m := range w.marks {
		if !m.at.Before(since) {
			lines = append(lines, fmt.Sprintf("%6.3f %s %s", m.at.Sub(since).Seconds(), m.name, m.what))
		}
	}
	return lines
}

// isMember is false for Pods of backups and restores, and for those that do by hand what these do.
func isMember(pod *corev1.Pod) bool {
	component, ok := pod.Labels[v1alpha1.LabelComponent]
	return !ok || component == v1alpha1.ComponentMember
}

// members are the members' Pods that there are, by name.
func (w *watched) members() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := make([]*corev1.Pod, 0, len(w.pods))
	for _, pod := range w.pods {
		if isMember(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// hasClaim reports whether a claim is still there.
func (w *watched) hasClaim(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.claims[uid] != nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
