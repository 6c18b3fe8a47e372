package observe

import (
	"cmp"
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// ownership tells what belongs to one cluster from what only looks like it. Labels that a user can write decide
// nothing.
type ownership struct {
	namespace, cluster string
	uid                types.UID
}

func ownershipOf(cluster *v1alpha1.EtcdCluster) ownership {
	return ownership{namespace: cluster.Namespace, cluster: cluster.Name, uid: cluster.UID}
}

// stateOf says how an object stands that goes with its cluster: ours (and then empty), leaving, or of another owner.
// What an earlier cluster of this name controlled is the garbage collector's already.
func (o ownership) stateOf(object metav1.Object) (state facts.ObjectState, detail string) {
	switch controller := metav1.GetControllerOf(object); {
	case controller == nil:
		return facts.ObjectForeign, "it has no owner"
	case controller.UID != o.uid && controller.Kind == resources.KindCluster && controller.Name == o.cluster:
		return facts.ObjectTerminating, detailEarlier
	case controller.UID != o.uid:
		return facts.ObjectForeign, "it belongs to " + controller.Kind + " " + controller.Name
	case object.GetDeletionTimestamp() != nil:
		return facts.ObjectTerminating, "it is being deleted"
	}
	return "", ""
}

// goesWithAnother says that the garbage collector takes the data, because an earlier cluster of this name owns it.
func (o ownership) goesWithAnother(data metav1.Object) bool {
	for _, owner := range data.GetOwnerReferences() {
		if owner.Kind == resources.KindCluster && owner.Name == o.cluster && owner.UID != o.uid {
			return true
		}
	}
	return data.GetDeletionTimestamp() != nil
}

// isMember says that the name is one that a member of this cluster may have.
func (o ownership) isMember(name string) bool {
	_, ok := etcdutil.Ordinal(o.cluster, name)
	return ok
}

// isTask says that the name is one that a Pod of the agent may have.
func (o ownership) isTask(name string) bool {
	restored, isRestore := resources.RestoredMember(name)
	defragmented, isDefrag := resources.DefragmentedMember(name)
	return isRestore && o.isMember(restored) || isDefrag && o.isMember(defragmented) ||
		name == resources.PreflightPod(o.cluster)
}

// memberOf is the name that a member's peer URLs give it; false when none of them is ours.
func (o ownership) memberOf(member etcdutil.Member) (string, bool) {
	for _, url := range member.PeerURLs {
		if name, ok := etcdutil.MemberFromPeerURL(url, o.cluster, o.namespace); ok {
			return name, true
		}
	}
	return "", false
}

// strangers are members that the operator did not add: nothing of ours can be joined to them.
func (o ownership) strangers(members []etcdutil.Member) []etcdutil.Member {
	var strangers []etcdutil.Member
	for _, m := range members {
		if _, ok := o.memberOf(m); !ok {
			strangers = append(strangers, m)
		}
	}
	return strangers
}

// claim is the install that claims the cluster on the peer Service, if that is ours.
func (g gathered) claim(ours ownership) string {
	if g.peerService == nil || !resources.IsControlledBy(g.peerService, ours.uid) {
		return ""
	}
	return g.peerService.Annotations[v1alpha1.AnnotationOperator]
}

// dataClaim is the install that claims the cluster beside its data. Volumes that were put aside are asked last.
func (g gathered) dataClaim(cluster *v1alpha1.EtcdCluster) string {
	return cmp.Or(resources.DataClaim(cluster, g.volumes), resources.DataClaim(cluster, g.pods),
		resources.DataClaim(cluster, g.kept))
}

// takenOver is when the install that claims the cluster took it over; zero where it says no time.
func (g gathered) takenOver() time.Time {
	if g.peerService == nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, g.peerService.Annotations[v1alpha1.AnnotationTakenOver])
	return at
}

// KeeperOf names the install that looks after a cluster, as a pass over the cluster itself finds it; own where nothing
// names another one. Data is asked only where the peer Service says nothing, and no person either.
func KeeperOf(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster, own string) (string, error) {
	service, err := Find[corev1.Service](ctx, reader, cluster.Namespace, resources.PeerService(cluster.Name))
	if err != nil {
		return "", err
	}
	g := gathered{peerService: service}
	seen := facts.Observation{
		Cluster:   facts.Identity{Operator: own},
		Desired:   facts.Desired{Operator: cluster.Annotations[v1alpha1.AnnotationOperator]},
		ClaimedBy: g.claim(ownershipOf(cluster)),
	}
	if seen.ClaimedBy == "" && seen.Desired.Operator == "" {
		if err := g.readData(ctx, reader, cluster); err != nil {
			return "", err
		}
		seen.DataClaim = g.dataClaim(cluster)
	}
	return seen.Keeper(), nil
}

// readData reads what may say which install looks after a cluster.
func (g *gathered) readData(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster) error {
	var group errgroup.Group
	found := readLabelled(ctx, &group, reader, cluster)
	if err := group.Wait(); err != nil {
		return err
	}
	g.sortAll(ownershipOf(cluster), found)
	return nil
}

// LeaseName is what the replicas of each install elect their leader by, in the install's namespace.
const LeaseName = "manager.etcdsteward.dev"

// An install for one namespace may not read the Lease of another.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=manager.etcdsteward.dev,verbs=get

// keepingOf reads the Lease of the install that looks after a cluster, where that is another one. The API server dates
// the last renewal by its own clock: that of the other install's machine may be wrong.
func (o *Observer) keepingOf(ctx context.Context, seen facts.Observation) facts.Lease {
	if !seen.IsAnothers() {
		return facts.Lease{}
	}
	namespace, _, _ := strings.Cut(seen.Keeper(), "/")
	lease, err := Find[coordinationv1.Lease](ctx, cmp.Or(o.Live, o.Reader), namespace, LeaseName)
	switch {
	case err != nil:
		return facts.Lease{Why: err.Error()}
	case lease == nil:
		return facts.Lease{Known: true}
	}
	return facts.Lease{Known: true, Renewed: renewed(lease)}
}

func renewed(lease *coordinationv1.Lease) time.Time {
	written := lastWritten(lease.ManagedFields, "")
	if at := lease.Spec.RenewTime; written.IsZero() && at != nil {
		return at.Time
	}
	return written
}
