package report

import (
	"cmp"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// Status is the complete new status. It equals the old one, also by reflect.DeepEqual, when nothing happened.
func Status(in Input) v1alpha1.EtcdClusterStatus {
	status := in.status()
	if reflect.DeepEqual(status, in.old()) {
		return status
	}
	in.fresh = true
	return in.status()
}

func (in Input) status() v1alpha1.EtcdClusterStatus {
	if in.IsBlind {
		return in.blind()
	}
	o := in.Observation
	s := in.step()
	status := v1alpha1.EtcdClusterStatus{
		ObservedGeneration: in.Cluster.Generation,
		Conditions:         in.conditions(s),
		NextStep:           in.nextStep(s),
		Size:               int32(in.voters()),
		ReadyMembers:       int32(len(o.Current.HealthyVoters())),
		UpdatedMembers:     updatedMembers(o),
		Sidecars:           sidecars(o),
		Selector:           selector(in.Cluster.Name),
		TargetVersion:      in.targetVersion(),
		UpgradePath:        upgradePath(o),
		Incarnation:        o.Current.Birth.Incarnation,
		RestoredFrom:       restoredFrom(o.Current.Birth.Origin),
		DeletionPolicy:     deletionPolicy(o),
		Leader:             leader(o),
		Members:            in.members(),
		Quorum:             quorum(o),
		LastProvenBackup:   in.lastProven(),
		KeptVolumes:        in.keptVolumes(),
		Evidence:           in.evidence(),
	}
	if id := cmp.Or(o.Current.Membership.ClusterID, o.Current.Birth.ClusterID); id != 0 {
		status.ClusterID = id.String()
	}
	if v := lowestVersion(o); !v.IsZero() {
		status.Version = v.String()
	}
	status.DBSize = largest(status.Members, in.old().DBSize)
	if hasServed(o) {
		status.Endpoints = in.endpoints()
		status.ClientSecretRef = in.clientSecret()
	}
	return status
}

// upgradePath names what members have yet to run; nothing where the version of the spec is refused.
func upgradePath(o facts.Observation) []string {
	if o.Desired.NoWay != "" || o.Desired.Fault != "" {
		return nil
	}
	var path []string
	for _, v := range etcdutil.Path(o.Current.Progress(), o.Desired.Target) {
		path = append(path, v.String())
	}
	return path
}

// wroteBy is the version of etcd that a backup is of. A snapshot without a manifest says its minor alone.
func wroteBy(origin record.Origin) string {
	if origin.Foreign {
		return origin.Version.MinorString()
	}
	return origin.Version.String()
}

// caveats say how far what was restored is proven where no manifest spoke of it, and what newer was passed over.
func caveats(origin record.Origin) string {
	switch {
	case origin.Foreign:
		return "The snapshot has no manifest: its own SHA-256 is right, and it was never compared with the members " +
			"of its cluster."
	case origin.PassedOver > 0:
		return fmt.Sprintf("Newer backups in the store that its manifest-key does not vouch for: %d. The operator "+
			"passed over them. If you trust one, restore it by its key, and name a Secret without manifest-key.",
			origin.PassedOver)
	}
	return ""
}

func restoredFrom(origin record.Origin) *v1alpha1.RestoredFrom {
	if origin.IsZero() {
		return nil
	}
	return &v1alpha1.RestoredFrom{Key: origin.Key, Revision: origin.Revision, EtcdVersion: wroteBy(origin),
		Foreign: origin.Foreign, PassedOver: origin.PassedOver}
}

// voters is the number of voting members; while the list is not known, as many as a survivor remembers or as are
// recorded.
func (in Input) voters() int {
	o := in.Observation
	if o.Current.Membership.Known {
		return len(o.Current.Voters())
	}
	n := 0
	for _, m := range o.Current.Membership.LastKnown {
		if !m.Learner {
			n++
		}
	}
	if n > 0 {
		return n
	}
	return len(namesOf(o, facts.Replica.IsRecorded))
}

func selector(cluster string) string {
	return labels.Set{
		v1alpha1.LabelInstance:  cluster,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		v1alpha1.LabelComponent: v1alpha1.ComponentMember,
	}.String()
}

func (in Input) targetVersion() string {
	if v := in.Observation.Desired.Target; !v.IsZero() {
		return v.String()
	}
	return strings.TrimPrefix(in.Cluster.Spec.Version, "v")
}

// deletionPolicy is the policy as the owner references of volumes and authorities have it now: until they were changed,
// the other one than is asked for.
func deletionPolicy(o facts.Observation) v1alpha1.DeletionPolicy {
	if o.Desired.Retain != (len(o.Astray) > 0) {
		return v1alpha1.DeletionRetain
	}
	return v1alpha1.DeletionDelete
}

func leader(o facts.Observation) string {
	for _, r := range o.Current.Voters() {
		if o.Current.Membership.Leader != 0 && r.Member.ID == o.Current.Membership.Leader {
			return r.Name
		}
	}
	return ""
}

// quorum is absent while the list is not known: it is unknown then how many failures more the cluster survives.
func quorum(o facts.Observation) *v1alpha1.QuorumStatus {
	if !o.Current.Membership.Known {
		return nil
	}
	return &v1alpha1.QuorumStatus{Margin: int32(o.Current.Margin())}
}

// largest is the size of the largest member; the old value itself while it is the same.
func largest(members []v1alpha1.MemberStatus, old *resource.Quantity) *resource.Quantity {
	var size *resource.Quantity
	for _, m := range members {
		if m.DBSize != nil && (size == nil || m.DBSize.Cmp(*size) > 0) {
			size = m.DBSize
		}
	}
	if size != nil && old != nil && size.Cmp(*old) == 0 {
		return old
	}
	return size
}

// endpoints are the URLs of the client Service: its name, which clients inside connect to, and the addresses of its
// load balancer.
func (in Input) endpoints() []string {
	scheme, urls := "http://", []string{}
	if in.Observation.Desired.TLS {
		scheme = "https://"
	}
	for _, host := range append([]string{in.Cluster.Name + "." + in.Cluster.Namespace + ".svc"},
		in.Observation.LoadBalancer...) {
		urls = append(urls, scheme+net.JoinHostPort(host, strconv.Itoa(etcdutil.ClientPort)))
	}
	return urls
}

func (in Input) clientSecret() *v1alpha1.SecretReference {
	if !in.Observation.Desired.TLS {
		return nil
	}
	return &v1alpha1.SecretReference{Name: in.Cluster.Name + "-client-tls"}
}
