package observe

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// standing says how an object stands that goes with its cluster: ours (and then empty), leaving, or of another owner.
// What an earlier cluster of this name controlled is the garbage collector's already.
func (o ownership) standing(object metav1.Object) (state facts.ObjectState, detail string) {
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

// isTask says that the name is one that a Pod of a restore may have.
func (o ownership) isTask(name string) bool {
	restored, isRestore := resources.RestoredMember(name)
	return isRestore && o.isMember(restored) || name == resources.PreflightPod(o.cluster)
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
