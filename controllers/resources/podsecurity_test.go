package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// idsOf are the user, the group and the group of volumes.
func idsOf(spec corev1.PodSpec) [3]int64 {
	var ids [3]int64
	for i, id := range []*int64{spec.SecurityContext.RunAsUser, spec.SecurityContext.RunAsGroup, spec.SecurityContext.FSGroup} {
		if ids[i] = -1; id != nil {
			ids[i] = *id
		}
	}
	return ids
}

// podsOf are the Pods of a cluster: a member's and those of all tasks.
func podsOf(t *testing.T, c *v1alpha1.EtcdCluster) map[string]corev1.PodSpec {
	t.Helper()
	pods := map[string]corev1.PodSpec{"member": mustPod(t, c, sealed(c)).Spec}
	for component, pod := range tasksOf(t, c, nil) {
		pods[component] = pod.Spec
	}
	return pods
}

func TestMembersAndTasksRunAsTheSpecAsks(t *testing.T) {
	one, two, none := new(int64(1000)), new(int64(2000)), new(int64(0))
	for _, row := range []struct {
		name string
		who  v1alpha1.PodSecurityContext
		want [3]int64
	}{
		{"by default", v1alpha1.PodSecurityContext{}, [3]int64{65532, 65532, 65532}},
		{"groups follow the user", v1alpha1.PodSecurityContext{RunAsUser: one}, [3]int64{1000, 1000, 1000}},
		{"each may be another", v1alpha1.PodSecurityContext{RunAsUser: one, RunAsGroup: none, FSGroup: two}, [3]int64{1000, 0, 2000}},
		{"a group alone", v1alpha1.PodSecurityContext{FSGroup: two}, [3]int64{65532, 65532, 2000}},
	} {
		for name, spec := range podsOf(t, cluster(as(row.who))) {
			if got := idsOf(spec); got != row.want || !*spec.SecurityContext.RunAsNonRoot {
				t.Errorf("%s: %s runs as %v, want %v", row.name, name, got, row.want)
			}
		}
	}
}

// The spec may have changed since a volume was made: its member reads what the Pod that restores it writes.
func TestAVolumeIsRestoredByTheUserThatItsMemberRunsAs(t *testing.T) {
	c := cluster()
	s := restoring(c, stored())
	s.Inputs = Inputs(cluster(as(v1alpha1.PodSecurityContext{RunAsUser: new(int64(1000))})))
	if got := idsOf(mustRestorePod(t, c, s).Spec); got != [3]int64{1000, 1000, 1000} {
		t.Errorf("it is restored as %v", got)
	}
}

func TestWhatTheSpecDoesNotNameIsLeftToAPlatformThatHandsOutIDs(t *testing.T) {
	for _, row := range []struct {
		name string
		who  v1alpha1.PodSecurityContext
		want [3]int64
	}{
		{"by default", v1alpha1.PodSecurityContext{}, [3]int64{-1, -1, -1}},
		{"a user alone", v1alpha1.PodSecurityContext{RunAsUser: new(ownUser)}, [3]int64{ownUser, -1, -1}},
	} {
		c := cluster(as(row.who))
		for name, spec := range onPlatform(t, c) {
			if got := idsOf(spec); got != row.want || !*spec.SecurityContext.RunAsNonRoot {
				t.Errorf("%s: %s runs as %v, want %v", row.name, name, got, row.want)
			}
			if *spec.SecurityContext.FSGroupChangePolicy != corev1.FSGroupChangeOnRootMismatch {
				t.Errorf("%s: %s gets groups %s", row.name, name, *spec.SecurityContext.FSGroupChangePolicy)
			}
		}
	}
}

// onPlatform are the Pods of a cluster where the platform hands out IDs.
func onPlatform(t *testing.T, c *v1alpha1.EtcdCluster) map[string]corev1.PodSpec {
	t.Helper()
	start, restore, preflight := sealed(c), restoring(c, stored()), preflighting(stored())
	backup, prune, tested := backupStart(), pruneStart(), testRestoreStart()
	start.PlatformIDs, restore.PlatformIDs, preflight.PlatformIDs = true, true, true
	backup.PlatformIDs, prune.PlatformIDs, tested.PlatformIDs = true, true, true
	return map[string]corev1.PodSpec{
		"a member":            mustPod(t, c, start).Spec,
		"a restore":           mustRestorePod(t, c, restore).Spec,
		"a look at a backup":  BuildPreflightPod(c, preflight).Spec,
		"a backup":            BuildBackupJob(toVolume(), c, backup).Spec.Template.Spec,
		"pruning":             BuildPruneJob(nightly(), c, prune).Spec.Template.Spec,
		"a test of a restore": BuildTestRestoreJob(nightly(), c, tested, testedAt).Spec.Template.Spec,
	}
}

func TestABuiltPodSharesNoIDWithTheSpec(t *testing.T) {
	c := cluster(full)
	*mustPod(t, c, sealed(c)).Spec.SecurityContext.RunAsUser = 1
	if got := *c.Spec.Pod.SecurityContext.RunAsUser; got != 1000 {
		t.Errorf("the spec asks for %d", got)
	}
}
