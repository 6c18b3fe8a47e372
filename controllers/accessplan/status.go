package accessplan

import (
	"k8s.io/apimachinery/pkg/api/meta"
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
	ReasonAwaitsIssuer        = "AwaitsIssuer"
)

// Reasons of events.
const (
	EventGranted       = "AccessGranted"
	EventNotGranted    = "AccessNotGranted"
	EventQuotaExceeded = "QuotaExceeded"
)

const finalizer = v1alpha1.FinalizerAccess

// Status is what people see of a decision. The old status serves for the time at which the condition turned, and
// nothing else.
func Status(o Observation, d Decision, generation int64, old v1alpha1.EtcdClientStatus) v1alpha1.EtcdClientStatus {
	ready := metav1.ConditionFalse
	if d.Granted {
		ready = metav1.ConditionTrue
	}
	conditions := []metav1.Condition{words.Condition(v1alpha1.ClientReady, ready, d.Reason, d.Message)}
	if o.Quota.Limit > 0 {
		conditions = append(conditions, o.withinQuota())
	}
	status := v1alpha1.EtcdClientStatus{User: o.Client.User, SecretName: o.Client.Secret, Role: o.role(),
		Usage: o.usage(), Conditions: words.Since(o.Now, generation, conditions, old.Conditions)}
	if o.Secret.State == SecretOwn {
		status.CertificateNotAfter = words.TimeOrNil(o.Secret.NotAfter)
	}
	return status
}

// Events tell what became different: that the access is there, what keeps it from being, and that the client takes more
// than it should.
func Events(d Decision, old, status v1alpha1.EtcdClientStatus) []words.Event {
	return append(accessEvents(d, old), quotaEvents(old, status)...)
}

func quotaEvents(old, status v1alpha1.EtcdClientStatus) []words.Event {
	now := meta.FindStatusCondition(status.Conditions, v1alpha1.ClientWithinQuota)
	if now == nil || now.Reason != ReasonQuotaExceeded ||
		words.ReasonOf(old.Conditions, v1alpha1.ClientWithinQuota) == ReasonQuotaExceeded {
		return nil
	}
	return []words.Event{{Warning: true, Reason: EventQuotaExceeded, Action: "Measure", Note: now.Message}}
}

func accessEvents(d Decision, old v1alpha1.EtcdClientStatus) []words.Event {
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
