// Package certmanager has of cert-manager's API what the operator needs: a CertificateRequest. The types of cert-manager
// itself would bring along all that its issuers are configured with, and the API of gateways. A test beside the pinned
// tools holds these to them.
package certmanager

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of cert-manager's API.
var GroupVersion = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// Kind is that of a CertificateRequest.
const Kind = "CertificateRequest"

// AddToScheme makes the kinds known to a client.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CertificateRequest{}, &CertificateRequestList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// CertificateRequest asks an issuer for one certificate. Its spec never changes, and it is answered once.
type CertificateRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

// CertificateRequestList is a list of them.
type CertificateRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateRequest `json:"items"`
}

// Spec is what is asked for.
type Spec struct {
	Duration  *metav1.Duration `json:"duration,omitempty"`
	IssuerRef IssuerRef        `json:"issuerRef"`
	Request   []byte           `json:"request"` // a PEM file
	Usages    []string         `json:"usages,omitempty"`
	IsCA      bool             `json:"isCA,omitempty"`
}

// IssuerRef names an issuer.
type IssuerRef struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	Group string `json:"group,omitempty"`
}

// Status is what was answered.
type Status struct {
	Conditions  []Condition  `json:"conditions,omitempty"`
	Certificate []byte       `json:"certificate,omitempty"` // a PEM file, with the CAs above it
	CA          []byte       `json:"ca,omitempty"`          // a PEM file
	FailureTime *metav1.Time `json:"failureTime,omitempty"`
}

// Condition is one of those.
type Condition struct {
	Type               string       `json:"type"`
	Status             string       `json:"status"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	Message            string       `json:"message,omitempty"`
}

// The conditions, and the reasons of Ready.
const (
	ConditionReady          = "Ready"
	ConditionApproved       = "Approved"
	ConditionDenied         = "Denied"
	ConditionInvalidRequest = "InvalidRequest"

	ReasonFailed = "Failed"
	ReasonDenied = "Denied"
)

// The usages.
const (
	UsageDigitalSignature = "digital signature"
	UsageServerAuth       = "server auth"
	UsageClientAuth       = "client auth"
)

// Find is the condition of a type; zero where there is none.
func (s Status) Find(kind string) Condition {
	for _, condition := range s.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return Condition{}
}

// Is reports that a condition is there, and holds.
func (s Status) Is(kind string) bool { return s.Find(kind).Status == string(metav1.ConditionTrue) }

// DeepCopyObject copies it.
func (r *CertificateRequest) DeepCopyObject() runtime.Object {
	if r == nil {
		return nil
	}
	return r.DeepCopy()
}

// DeepCopy copies it.
func (r *CertificateRequest) DeepCopy() *CertificateRequest {
	out := *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if r.Spec.Duration != nil {
		out.Spec.Duration = new(*r.Spec.Duration)
	}
	out.Spec.Request = clone(r.Spec.Request)
	out.Spec.Usages = clone(r.Spec.Usages)
	out.Status.Certificate, out.Status.CA = clone(r.Status.Certificate), clone(r.Status.CA)
	out.Status.Conditions = clone(r.Status.Conditions)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].LastTransitionTime = r.Status.Conditions[i].LastTransitionTime.DeepCopy()
	}
	out.Status.FailureTime = r.Status.FailureTime.DeepCopy()
	return &out
}

func clone[T any](in []T) []T { return append([]T(nil), in...) }

// DeepCopyObject copies it.
func (l *CertificateRequestList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}
