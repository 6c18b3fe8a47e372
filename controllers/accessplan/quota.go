package accessplan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Reasons of the condition WithinQuota.
const (
	ReasonWithinQuota   = "WithinQuota"
	ReasonQuotaExceeded = "QuotaExceeded"
	ReasonNotMeasured   = "NotMeasured"
)

// Quota is how much of the database the keys that the client may write should take at most. No rule asks for it: it is
// told, and stops no write.
type Quota struct {
	Limit   int64     // bytes; 0: the spec has none
	Text    string    // as the spec has it
	Created time.Time // of the EtcdClient
	Backup  *Backup   // the newest one of the cluster that is proven; nil: none is known
	Why     string    // why that is not known; empty where it is
}

// Backup is what an EtcdBackup says of clients.
type Backup struct {
	Name    string
	Time    time.Time
	Clients []v1alpha1.ClientUsage // that take most, the largest first
	Others  int64                  // how many there were besides, none of which takes more
}

// usage is what the backup says of the client; nil: nothing. One from before the client says at best what an earlier
// client of the name had.
func (o Observation) usage() *v1alpha1.MeasuredUsage {
	b := o.Quota.Backup
	if o.Quota.Limit <= 0 || b == nil || b.Time.Before(o.Quota.Created) {
		return nil
	}
	isIt := func(u v1alpha1.ClientUsage) bool {
		return u.Namespace == o.Client.From && u.Name == o.Client.Name && u.User == o.Client.User
	}
	at := slices.IndexFunc(b.Clients, isIt)
	if at < 0 {
		return nil
	}
	found := b.Clients[at]
	return &v1alpha1.MeasuredUsage{Bytes: found.Bytes, Keys: found.Keys, Backup: b.Name, Time: metav1.NewTime(b.Time)}
}

// withinQuota is the condition of that name. The client has a quota.
func (o Observation) withinQuota() metav1.Condition {
	usage := o.usage()
	switch {
	case usage == nil:
		return o.withinQuotaUnlisted()
	case usage.Bytes > o.Quota.Limit:
		return quotaSaid(metav1.ConditionFalse, ReasonQuotaExceeded, fmt.Sprintf("The %d keys that the client may "+
			"write take %s with their history, by %s, and spec.quota is %s. The operator stops no write. Delete keys, "+
			"let history be compacted, or raise spec.quota. The next proven backup shows what became of it.",
			usage.Keys, Size(usage.Bytes), o.Quota.Backup, o.Quota.Text))
	}
	return quotaSaid(metav1.ConditionTrue, ReasonWithinQuota, fmt.Sprintf("The %d keys that the client may write take "+
		"%s of %s with their history, by %s.", usage.Keys, Size(usage.Bytes), o.Quota.Text, o.Quota.Backup))
}

func (o Observation) withinQuotaUnlisted() metav1.Condition {
	most, why := o.boundOfUnlisted()
	if why != "" {
		return quotaSaid(metav1.ConditionUnknown, ReasonNotMeasured, why)
	}
	return quotaSaid(metav1.ConditionTrue, ReasonWithinQuota, fmt.Sprintf("%s names the clients that take most, and "+
		"this one is not among them. Its keys take at most %s of %s.", o.Quota.Backup, Size(most), o.Quota.Text))
}

func quotaSaid(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return words.Condition(v1alpha1.ClientWithinQuota, status, reason, words.Bounded(message))
}

// boundOfUnlisted is what a client takes at most that the backup does not name, or why that is not known. Where a
// backup names not all, those that it leaves out take no more than the last that it names.
func (o Observation) boundOfUnlisted() (most int64, why string) {
	const next = " The next proven backup says it."
	b := o.Quota.Backup
	switch {
	case o.Quota.Why != "":
		return 0, "What the client takes is not known: " + o.Quota.Why + ". The operator looks again."
	case b == nil:
		return 0, "No proven EtcdBackup of the cluster is known, and what the client takes is read from the newest. " +
			"Create an EtcdBackup or an EtcdBackupSchedule of the cluster, and leave spec.verify on."
	case b.Time.Before(o.Quota.Created):
		return 0, b.String() + " is from before this EtcdClient." + next
	case len(b.Clients) == 0 || b.Others == 0:
		return 0, b.String() + " does not say what the client takes: it had no role in etcd by then, or an earlier " +
			"release made the backup." + next
	}
	most = b.Clients[len(b.Clients)-1].Bytes
	if most > o.Quota.Limit {
		return 0, fmt.Sprintf("%s names the %d clients that take most, and this one is not among them. It takes at "+
			"most %s, and whether that is more than %s is not known. A quota of %s or more is judged.", b,
			len(b.Clients), Size(most), o.Quota.Text, Size(most))
	}
	return most, ""
}

// String names the backup and its time: what it says is as old as that.
func (b *Backup) String() string {
	return fmt.Sprintf("EtcdBackup %s of %s", b.Name, words.Format(b.Time))
}

// Size prints bytes in whole Ki or Mi, rounded up.
func Size(bytes int64) string {
	const kibi, mebi = 1 << 10, 1 << 20
	if bytes < 10*mebi {
		return fmt.Sprintf("%dKi", (bytes+kibi-1)/kibi)
	}
	return fmt.Sprintf("%dMi", (bytes+mebi-1)/mebi)
}
