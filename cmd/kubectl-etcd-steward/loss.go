package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// sourceOf names what is restored.
func sourceOf(source v1alpha1.EtcdRestoreSource) string {
	switch {
	case source.BackupRef != nil:
		return "EtcdBackup " + source.BackupRef.Name
	case source.Survivor != nil:
		return "what the member " + source.Survivor.Member + " holds"
	case source.Previous != nil:
		return "the members before the last restore"
	case source.Empty != nil:
		return "nothing: the cluster begins empty"
	case source.Key != "":
		return "the backup at " + source.Key
	}
	return "the newest backup of its store"
}

// lossOf says what is given up by a restore, as far as the evidence and the EtcdBackup tell.
func lossOf(r *v1alpha1.EtcdRestore, backups []v1alpha1.EtcdBackup, e *v1alpha1.EvidenceStatus, now time.Time) string {
	e = cmp.Or(e, &v1alpha1.EvidenceStatus{})
	switch source := r.Spec.Source; {
	case source.Previous != nil:
		return "Nothing that a client was told is written, if what was restored last never served."
	case source.Empty != nil:
		return "Every key."
	case source.Survivor != nil:
		return lossToSurvivor(source.Survivor.Member, e)
	case source.BackupRef != nil:
		i := slices.IndexFunc(backups, func(b v1alpha1.EtcdBackup) bool { return b.Name == source.BackupRef.Name })
		if i >= 0 && backups[i].Status.StartedAt != nil {
			return lossToBackup(&backups[i], e, now)
		}
	}
	if r.Status.Revision > 0 && e.Revision > 0 {
		return fmt.Sprintf("All that was written after the backup, which is of revision %d. The members are at "+
			"revision %d or later.", r.Status.Revision, e.Revision)
	}
	return "All that was written after the backup. The operator looks at it once it is approved, and says its revision."
}

func lossToBackup(b *v1alpha1.EtcdBackup, e *v1alpha1.EvidenceStatus, now time.Time) string {
	says := fmt.Sprintf("All that was written after %s (%s). The backup is of revision %d",
		date(b.Status.StartedAt.Time), ago(b.Status.StartedAt.Time, now), b.Status.Revision)
	behind := e.Revision - b.Status.Revision
	switch {
	case b.Status.ClusterID == "" || b.Status.ClusterID != e.ClusterID:
		return says + " of another cluster, or of a former incarnation of this one: the revisions do not say how " +
			"much is lost."
	case e.Revision == 0:
		return says + ". No member says how far it is."
	case behind > 0:
		return fmt.Sprintf("%s, and the members are at %d or later. Revisions that are lost: %d or more.", says,
			e.Revision, behind)
	case behind < 0:
		return fmt.Sprintf("%s, and the members that answer are at %d: none of them has all that the backup has.", says,
			e.Revision)
	}
	return says + ", as the members were when they were asked last."
}

func lossToSurvivor(name string, e *v1alpha1.EvidenceStatus) string {
	says := "All that " + name + " does not hold."
	i := slices.IndexFunc(e.Members, func(m v1alpha1.MemberEvidence) bool { return m.Name == name })
	if i < 0 {
		return says + " The evidence has no such member."
	}
	switch m := e.Members[i]; {
	case m.State == "PutBack":
		return says + " Its volume was put back, and nothing says when that copy was made."
	case m.Why != "":
		return fmt.Sprintf("%s Its own data is lost: %s.", says, m.Why)
	case m.Revision == 0:
		return says + " It does not answer. How much it holds is known once its volume is read."
	case e.Revision > m.Revision:
		return fmt.Sprintf("%s It is at revision %d, and another member at %d.", says, m.Revision, e.Revision)
	case e.Backup != nil && e.Backup.ClusterID == e.ClusterID && e.Backup.Revision > m.Revision:
		return fmt.Sprintf("%s It is at revision %d. The EtcdBackup %s is newer, of revision %d.", says, m.Revision,
			e.Backup.Name, e.Backup.Revision)
	default:
		return fmt.Sprintf("%s It is at revision %d, and no member that answers holds more.", says, m.Revision)
	}
}
