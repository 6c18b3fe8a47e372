package main

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// openRestore is an EtcdRestore that has not ended, as `status` and `plan` tell of it.
type openRestore struct {
	Name    string `json:"name"`
	Stage   string `json:"stage,omitempty"`
	Message string `json:"message"`
}

// restores are the open ones of a cluster.
type restores struct {
	Open []openRestore `json:"open,omitempty"`
	// Message says why EtcdRestores could not be read.
	Message string `json:"message,omitempty"`
}

func restoresOf(in seen) restores {
	if in.restoreErr != nil {
		return restores{Message: in.restoreErr.Error()}
	}
	var told restores
	for _, r := range openRestoresOf(in.cluster.Namespace, in.cluster.Name, in.restores) {
		told.Open = append(told.Open, openRestore{Name: r.Name, Stage: r.Status.Stage,
			Message: standingOf(&r, in.backups, in.backupErr == nil)})
	}
	return told
}

// standingOf says what an EtcdRestore waits for, and what it would do.
func standingOf(r *v1alpha1.EtcdRestore, backups []v1alpha1.EtcdBackup, areRead bool) string {
	says := "EtcdRestore " + r.Name
	why := ""
	if areRead {
		why = whyNoRestore(r, backups)
	}
	switch {
	case why != "":
		return fmt.Sprintf("%s can restore nothing: %s. To remove it: `%s`.", says, why, deletionOf(r))
	case isApproved(r):
		return fmt.Sprintf("%s is approved: it replaces all data. It restores %s.", says, sourceOf(r.Spec.Source))
	}
	return fmt.Sprintf("%s waits for an approval. It would replace all data. It restores %s. To see what would be "+
		"lost, and how to approve or refuse it: `kubectl etcd-steward restore %s -n %s`.", says,
		sourceOf(r.Spec.Source),
		r.Spec.ClusterRef.Name, r.Namespace)
}

// whyNoRestore says why an EtcdRestore that has not begun can restore nothing, or "". A backup that is still being
// taken may end well.
func whyNoRestore(r *v1alpha1.EtcdRestore, backups []v1alpha1.EtcdBackup) string {
	hasBegun := !slices.Contains([]string{"", stageWaiting, stageChecking}, r.Status.Stage)
	ref := r.Spec.Source.BackupRef
	if hasBegun || ref == nil {
		return ""
	}
	i := slices.IndexFunc(backups, func(b v1alpha1.EtcdBackup) bool {
		return b.Namespace == r.Namespace && b.Name == ref.Name
	})
	switch {
	case i < 0:
		return fmt.Sprintf("EtcdBackup %s does not exist in namespace %s", ref.Name, r.Namespace)
	case isTrue(backups[i].Status.Conditions, v1alpha1.BackupFailed):
		return "EtcdBackup " + ref.Name + " is Failed"
	}
	return ""
}

// deletionOf is the command that refuses an EtcdRestore for good.
func deletionOf(r *v1alpha1.EtcdRestore) string {
	return fmt.Sprintf("kubectl delete etcdrestore %s -n %s", r.Name, r.Namespace)
}
