package resources

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Kinds of the objects that a cluster needs, as they are written in observations, errors and events.
const (
	KindService = "Service"
	KindSecret  = "Secret"
	KindBudget  = "PodDisruptionBudget"
	KindPolicy  = "NetworkPolicy"
	KindPod     = "Pod"
	KindVolume  = "PersistentVolumeClaim"
	KindCluster = "EtcdCluster"
	KindBackup  = "EtcdBackup"
)

// PeerService is the name of the headless Service that gives members their DNS names and carries the birth record. It
// is part of each member's peer URL (etcdutil.PeerHost), so it can never change.
func PeerService(cluster string) string { return cluster + "-peers" }

// ClientService is the name of the Service that clients connect to.
func ClientService(cluster string) string { return cluster }

// Budget is the name of the PodDisruptionBudget.
func Budget(cluster string) string { return cluster }

// NetworkPolicy is the name of the NetworkPolicy that says who may connect to members.
func NetworkPolicy(cluster string) string { return cluster + "-members" }

// CASecret is the name of the Secret with the authority for the client port.
func CASecret(cluster string) string { return cluster + "-ca" }

// PeerCASecret is the name of the Secret with the authority for the peer port.
func PeerCASecret(cluster string) string { return cluster + "-ca-peer" }

// ClientSecret is the name of the Secret that clients connect with.
func ClientSecret(cluster string) string { return cluster + "-client-tls" }

// OperatorSecret is the name of the Secret that the operator connects with.
func OperatorSecret(cluster string) string { return cluster + "-operator-tls" }

// RecordsSecret is the name of the Secret with the key for the records of backups, where a cluster has no CA.
func RecordsSecret(cluster string) string { return cluster + "-records-tls" }

// RecordKeySecret is the name of the Secret that the key for the records of a cluster's backups is derived from. Of a
// cluster that is gone (nil), only the CA may have stayed.
func RecordKeySecret(name string, c *v1alpha1.EtcdCluster) string {
	if c != nil && !c.Spec.IsTLS() {
		return RecordsSecret(name)
	}
	return CASecret(name)
}

// MemberSecret is the name of the Secret with a member's certificates.
func MemberSecret(member string) string { return member + "-tls" }

// BackupJob is the name of a backup's Job: by the cluster, so that people see what it works on, and by the backup's
// UID, so that a backup of the same name that was deleted has another one. Its Pods' names begin so and are no
// member's.
func BackupJob(b *v1alpha1.EtcdBackup) string {
	uid := strings.ReplaceAll(string(b.UID), "-", "")
	return b.Spec.ClusterRef.Name + "-backup-" + uid[:min(len(uid), 8)]
}

// ClusterObjects lists what a cluster needs beside its members, by kind and name, in the order in which it is made: the
// authorities first, since certificates are issued from them. The peer Service is not among them: it is made by the
// birth, and never anew.
func ClusterObjects(c *v1alpha1.EtcdCluster) []ObjectName {
	var objects []ObjectName
	if c.Spec.IsTLS() {
		for _, name := range []string{CASecret(c.Name), PeerCASecret(c.Name), ClientSecret(c.Name),
			OperatorSecret(c.Name)} {
			objects = append(objects, ObjectName{Kind: KindSecret, Name: name})
		}
	}
	return append(objects, ObjectName{Kind: KindService, Name: ClientService(c.Name)})
}

// ObjectName is the kind and the name of an object in the cluster's namespace.
type ObjectName struct{ Kind, Name string }

// IsAuthority reports whether a Secret's name is that of one of the cluster's authorities. They are data: kept with the
// volumes, and told to be ours by label instead of by owner.
func IsAuthority(c *v1alpha1.EtcdCluster, name string) bool {
	return name == CASecret(c.Name) || name == PeerCASecret(c.Name)
}
