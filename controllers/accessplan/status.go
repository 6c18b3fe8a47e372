package accessplan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Reasons of the condition Ready.
const (
	ReasonGranted             = "Granted"
	ReasonGranting            = "Granting"
	ReasonRevoking            = "Revoking"
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	ReasonNamespaceNotWatched = "NamespaceNotWatched"
	ReasonKeysNotAllowed      = "KeysNotAllowed"
	ReasonUserReserved        = "UserReserved"
	ReasonUserClaimed         = "UserClaimed"
	ReasonUserTaken           = "UserTaken"
	ReasonSecretClaimed       = "SecretClaimed"
	ReasonSecretTaken         = "SecretTaken"
	ReasonClusterNotFound     = "ClusterNotFound"
	ReasonClusterDeleting     = "ClusterDeleting"
	ReasonClusterWithoutTLS   = "ClusterWithoutTLS"
	ReasonClusterAsleep       = "ClusterAsleep"
	ReasonClusterPaused       = "ClusterPaused"
	ReasonClusterNotServing   = "ClusterNotServing"
	ReasonEtcdUnavailable     = "EtcdUnavailable"
	ReasonAuthenticationOff   = "AuthenticationOff"
	ReasonCANotReady          = "CANotReady"
)

// Reasons of events.
const (
	EventGranted    = "AccessGranted"
	EventNotGranted = "AccessNotGranted"
)

const finalizer = v1alpha1.FinalizerAccess

// Status is what people see of a decision. The old status serves for the time at which the condition turned, and
// nothing else.
func Status(o Observation, d Decision, generation int64, old v1alpha1.EtcdClientStatus) v1alpha1.EtcdClientStatus {
	ready := metav1.ConditionFalse
	if d.Granted {
		ready = metav1.ConditionTrue
	}
	status := v1alpha1.EtcdClientStatus{User: o.Client.User, SecretName: o.Client.Secret, Role: o.role(),
		Conditions: words.Since(o.Now, generation, []metav1.Condition{
			words.Condition(v1alpha1.ClientReady, ready, d.Reason, d.Message)}, old.Conditions)}
	if o.Secret.State == SecretOwn {
		status.CertificateNotAfter = words.TimeOrNil(o.Secret.NotAfter)
	}
	return status
}

// Events tell what became different: that the access is there, and what keeps it from being.
func Events(d Decision, old v1alpha1.EtcdClientStatus) []words.Event {
	switch {
	case words.ReasonOf(old.Conditions, v1alpha1.ClientReady) == d.Reason:
		return nil
	case d.Granted:
		return []words.Event{{Reason: EventGranted, Action: "Grant", Note: d.Message}}
	case d.Trouble:
		return []words.Event{{Warning: true, Reason: EventNotGranted, Action: "Grant",
			Note: d.Reason + ": " + d.Message}}
	}
	return nil
}
