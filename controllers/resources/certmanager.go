package resources

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of cert-manager's API this has what the operator needs: a CertificateRequest. The module with the types of
// cert-manager itself would raise the versions of half of the others, and bring along the API of gateways. A test holds
// these to cert-manager's own definition (test/issuing).

// CertManager is the version of cert-manager's API.
var CertManager = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// KindRequest is what asks an issuer for a certificate.
const KindRequest = "CertificateRequest"

// AddCertManager makes the kinds known to a client.
func AddCertManager(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(CertManager, &CertificateRequest{}, &CertificateRequestList{})
	metav1.AddToGroupVersion(scheme, CertManager)
	return nil
}

// CertificateRequest asks an issuer for one certificate. Its spec never changes, and it is answered once.
type CertificateRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              RequestSpec   `json:"spec,omitempty"`
	Status            RequestStatus `json:"status,omitempty"`
}

// CertificateRequestList is a list of them.
type CertificateRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CertificateRequest `json:"items"`
}

// RequestSpec is what is asked for.
type RequestSpec struct {
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

// RequestStatus is what was answered.
type RequestStatus struct {
	Conditions  []RequestCondition `json:"conditions,omitempty"`
	Certificate []byte             `json:"certificate,omitempty"` // a PEM file, with the CAs above it
	CA          []byte             `json:"ca,omitempty"`          // a PEM file
	FailureTime *metav1.Time       `json:"failureTime,omitempty"`
}

// RequestCondition is one of those.
type RequestCondition struct {
	Type               string       `json:"type"`
	Status             string       `json:"status"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string       `json:"reason,omitempty"`
	Message            string       `json:"message,omitempty"`
}

// The conditions, and the reasons of Ready.
const (
	RequestReady    = "Ready"
	RequestApproved = "Approved"
	RequestDenied   = "Denied"
	RequestInvalid  = "InvalidRequest"

	RequestFailed = "Failed"
)

// The usages.
const (
	usageSignature = "digital signature"
	usageServer    = "server auth"
	usageClient    = "client auth"
)

// Find is the condition of a type; zero where there is none.
func (s RequestStatus) Find(kind string) RequestCondition {
	for _, condition := range s.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return RequestCondition{}
}

// Is reports that a condition is there, and holds.
func (s RequestStatus) Is(kind string) bool {
	return s.Find(kind).Status == string(metav1.ConditionTrue)
}

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
