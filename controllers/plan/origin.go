package plan

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// WantedBackup is the backup that the spec asks to begin with. The zero value asks for an empty cluster.
type WantedBackup struct {
	Hash  string // of the canonical form of what names it
	Fault string // a sentence, when it names nothing that could be begun with; empty otherwise
	Later bool   // with a fault: it ends by itself, as that of a backup that is still being taken
}

// IsZero reports that no backup is asked for.
func (w WantedBackup) IsZero() bool { return w == WantedBackup{} }

// Inquiry is what a preflight is to find out: whether the wish can be restored with this etcd on volumes of this size.
type Inquiry struct {
	WantedBackup
	Version etcdutil.Version
	Bytes   int64
}

// Preflight is a Pod that looks at a backup before anything is made.
type Preflight struct {
	Task
	Asked Inquiry
	Found record.Origin // what it found, once it succeeded
}

// RestorePod is a Pod that restores a backup on the volume of one first member, before that member's own Pod exists.
type RestorePod struct {
	Task
	Incarnation string
	Choices     Choices // what it was made from: the etcd whose tools it runs
}

// inquiry is what has to be known before a birth.
func (o Observation) inquiry() Inquiry {
	return Inquiry{WantedBackup: o.Desired.Restore, Version: o.Desired.Choices.Version, Bytes: o.Desired.StorageBytes}
}

// unfit says why a backup that was found is nothing that this cluster could live with, and what would help; empty when
// it is. Where a cluster is there already, what helps is another one beside it.
func (o view) unfit(origin record.Origin) string {
	switch wrote := origin.Version; {
	case origin.IsZero():
		return ""
	case !wrote.SameMinor(o.Desired.Choices.Version):
		way := "begin with spec.version of " + wrote.MinorString() + ", then upgrade"
		if o.isInPlace() {
			way = "create another EtcdCluster with it in spec.bootstrap.restore and spec.version of " +
				wrote.MinorString() + ", or another EtcdRestore of a backup that fits"
		}
		return fmt.Sprintf("it was taken from etcd %s and cannot be restored with %s: %s",
			wrote, o.Desired.Choices.Version, way)
	case origin.AuthEnabled && !o.Desired.TLS:
		way := "delete this EtcdCluster, and create it with spec.tls.mode Managed"
		if o.isInPlace() {
			way = "create another EtcdCluster with it in spec.bootstrap.restore and with spec.tls.mode Managed"
		}
		return "etcd's authentication is on in it, and without certificates the operator cannot look after its " +
			"members (spec.tls.mode is Disabled, and cannot change): " + way
	}
	return ""
}

// isInPlace reports that what is restored is for an EtcdRestore, over a cluster that is there: nothing of its spec is
// to be bent for that.
func (o Incarnation) isInPlace() bool { return o.Birth.Restore != "" || o.canBeFollowed() }

// source is the backup that a birth written down now begins with; false while that is not known. Without a wish it is
// none.
func (o Observation) source() (record.Origin, bool) {
	p := o.Preflight
	switch {
	case o.Desired.Restore.IsZero():
		return record.Origin{}, true
	case p == nil || p.Terminating || !p.HasSucceeded() || p.Asked != o.inquiry():
		return record.Origin{}, false
	}
	return p.Found, !p.Found.IsZero()
}

// isRestored reports whether a backup was restored on the replica's volume completely, in the incarnation that the
// volume was made for.
func (r Replica) isRestored() bool {
	return r.Volume != nil && r.Volume.Restored != "" && r.Volume.Restored == r.Volume.Incarnation
}

// isFilled reports whether the first member has on its volume what the birth begins with, if that is anything.
func (o Incarnation) isFilled(r Replica) bool { return o.Birth.Origin.IsZero() || r.isRestored() }

// isToRestore reports a first member on whose volume the backup is still to be restored. Where its Pod is, it was.
func (o Incarnation) isToRestore(r Replica) bool { return !o.isFilled(r) && r.Pod == nil }

// restoredWith is the version of etcd that may start on restored data: the one that wrote the backup, or, where nobody
// knows that any more, the one whose tools restored it.
func (o Incarnation) restoredWith(r Replica) etcdutil.Version {
	if v := o.Birth.Origin.Version; !v.IsZero() {
		return v
	}
	return r.Choices().Version
}
