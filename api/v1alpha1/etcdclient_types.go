package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EtcdClient gives one program access to some keys of a cluster. The operator makes a user in etcd, and a Secret with a
// certificate of that user. Deleting it takes the access away.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclients,scope=Namespaced,shortName=etcdc,categories={all,etcdsteward}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="Cluster that the client may use"
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.status.user`,description="User in etcd, and common name of the certificate"
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.secretName`,description="Secret with the certificate"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the client has the access that the spec asks for"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready, in one word"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Certificate Ends",type=date,priority=1,JSONPath=`.status.certificateNotAfter`,description="When the certificate ends, unless it is renewed"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name must be at most 63 characters, lower-case letters, digits and '-', not starting or ending in '-': it is part of names in etcd",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 63 characters, lower-case letters, digits and \"-\", not starting or ending in \"-\": it is part of names in etcd'"
type EtcdClient struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which keys of which cluster the client may use.
	// +required
	Spec EtcdClientSpec `json:"spec"`

	// Status is the last seen state of the client. The operator decides nothing from it.
	// +optional
	Status EtcdClientStatus `json:"status,omitempty"`
}

// EtcdClientList is a list of clients.
//
// +kubebuilder:object:root=true
type EtcdClientList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdClient `json:"items"`
}

// EtcdClientSpec says which keys of which cluster the client may use.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) == has(oldSelf.user)",message="spec.user cannot change: create another EtcdClient",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.secretName) == has(oldSelf.secretName)",message="spec.secretName cannot change: create another EtcdClient",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.secretKeys) == has(oldSelf.secretKeys)",message="spec.secretKeys cannot change: create another EtcdClient",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="(has(self.password) && self.password) == (has(oldSelf.password) && oldSelf.password)",message="spec.password cannot change: create another EtcdClient",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="(has(self.pkcs12) && self.pkcs12) == (has(oldSelf.pkcs12) && oldSelf.pkcs12)",message="spec.pkcs12 cannot change: create another EtcdClient",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.secretKeys) || has(self.password) && self.password || self.secretKeys.all(k, k.key != 'password')",message="spec.secretKeys must not have the key password without spec.password: true",fieldPath=".secretKeys"
// +kubebuilder:validation:XValidation:rule="!has(self.secretKeys) || has(self.pkcs12) && self.pkcs12 || self.secretKeys.all(k, !(k.key in ['keystore.p12', 'truststore.p12', 'pkcs12-password']))",message="spec.secretKeys must not have the keys keystore.p12, truststore.p12 and pkcs12-password without spec.pkcs12: true",fieldPath=".secretKeys"
type EtcdClientSpec struct {
	// ClusterRef names the EtcdCluster. It cannot change.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.clusterRef cannot change: create another EtcdClient for another cluster",reason=FieldValueForbidden
	ClusterRef ClientClusterReference `json:"clusterRef"`

	// User is the client's name in etcd, and the common name of its certificate. It
	// cannot change. No two clients of a cluster have the same user. For a cluster of
	// another namespace it must begin with the EtcdClient's namespace and a dot. Default:
	// the name of the EtcdClient, for a cluster of another namespace after these.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.user cannot change: create another EtcdClient",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$')",message="spec.user must be at most 64 letters, digits, '.', '_' and '-', starting and ending with a letter or a digit",messageExpression="'spec.user is \"' + self + '\"; it must be at most 64 letters, digits, \".\", \"_\" and \"-\", starting and ending with a letter or a digit'"
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="spec.user must not be root, which is the operator"
	User string `json:"user,omitempty"`

	// Permissions are the keys that the client may use, from 1 to 64 entries. What
	// several entries say is added up. A change takes effect while the client runs.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Permissions []ClientPermission `json:"permissions"`

	// SecretName is the name of the Secret that the operator writes the certificate
	// into. It must end in -etcd, and cannot change. Default: the name of the
	// EtcdClient, and -etcd.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.secretName cannot change: create another EtcdClient",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?-etcd$')",message="spec.secretName must be lower-case letters, digits and '-', and end in -etcd: the operator makes no Secrets of other names for clients",messageExpression="'spec.secretName is \"' + self + '\"; it must be lower-case letters, digits and \"-\", and end in -etcd: the operator makes no Secrets of other names for clients'"
	SecretName string `json:"secretName,omitempty"`

	// SecretKeys are further keys of the Secret, with the values of the usual ones, for
	// programs that want other names. They cannot change.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.secretKeys cannot change: create another EtcdClient",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.name == a.name))",message="spec.secretKeys must have another name in each entry"
	SecretKeys []ClientSecretKey `json:"secretKeys,omitempty"`

	// Password has the user log in by a password, which is in the Secret under
	// the key password. etcd asks for a certificate all the same, which then names no
	// user. It cannot change.
	// +optional
	Password bool `json:"password,omitempty"`

	// PKCS12 adds keystore.p12, truststore.p12 and their password to the Secret, for
	// programs that read no PEM. It cannot change.
	// +optional
	PKCS12 bool `json:"pkcs12,omitempty"`

	// Quota is how much of the database the keys that the client may write should take
	// at most, their kept history included, such as 512Mi. It may change. etcd does not
	// enforce it, and neither does the operator: it tells when the newest backup has
	// more.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity(string(self)).compareTo(quantity('0')) > 0 && quantity(string(self)).compareTo(quantity('32Gi')) <= 0",message="spec.quota must be more than 0 and at most 32Gi",messageExpression="'spec.quota is ' + string(self) + '; it must be more than 0 and at most 32Gi'"
	Quota *resource.Quantity `json:"quota,omitempty"`
}

// ClientSecretKey is a further key of the Secret of a client.
type ClientSecretKey struct {
	// Key is the usual key, whose value it has.
	// +required
	// +kubebuilder:validation:Enum=ca.crt;tls.crt;tls.key;endpoints;addresses;user;password;keystore.p12;truststore.p12;pkcs12-password
	Key string `json:"key"`

	// Name is the further key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_][-._A-Za-z0-9]*$') && !(self in ['ca.crt', 'tls.crt', 'tls.key', 'endpoints', 'addresses', 'user', 'password', 'keystore.p12', 'truststore.p12', 'pkcs12-password'])",message="spec.secretKeys must have a name in each entry that is none of the usual keys: letters, digits, '-', '_' and '.', not starting with '-' or '.'",messageExpression="'spec.secretKeys has the name \"' + self + '\"; it must be none of the usual keys, and have letters, digits, \"-\", \"_\" and \".\", not starting with \"-\" or \".\"'"
	Name string `json:"name"`
}

// ClientClusterReference names the EtcdCluster that a client is to use.
type ClientClusterReference struct {
	// Name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="spec.clusterRef.name must be the name of an EtcdCluster",messageExpression="'spec.clusterRef.name is \"' + self + '\"; it must be the name of an EtcdCluster: at most 40 characters, lower-case letters, digits and \"-\", starting with a letter and not ending in \"-\"'"
	Name string `json:"name"`

	// Namespace of the EtcdCluster, which must name the EtcdClient's in
	// spec.access.namespaces. Default: the namespace of the EtcdClient.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="spec.clusterRef.namespace must be the name of a namespace"
	Namespace string `json:"namespace,omitempty"`
}

// ClientPermission lets a client use one key, all keys with a prefix, or all keys.
//
// +kubebuilder:validation:XValidation:rule="(has(self.prefix) ? 1 : 0) + (has(self.key) ? 1 : 0) + (has(self.allKeys) ? 1 : 0) == 1",message="a permission must have exactly one of prefix, key and allKeys"
type ClientPermission struct {
	// Prefix is how the keys begin, such as shop/. It begins as many characters as it
	// has: shop covers shopping as well.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix,omitempty"`

	// Key is one key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('etcdsteward.dev/')",message="a permission must not have a key that begins with etcdsteward.dev/, by which the operator marks its roles"
	Key string `json:"key,omitempty"`

	// AllKeys is true for all keys. They are not the administration of etcd: users,
	// roles and members stay out of reach.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self",message="a permission must have allKeys: true, or leave it out"
	AllKeys bool `json:"allKeys,omitempty"`

	// Access is ReadOnly or ReadWrite.
	// +required
	Access ClientAccess `json:"access"`
}

// ClientAccess is what a client may do with keys.
//
// +kubebuilder:validation:Enum=ReadOnly;ReadWrite
type ClientAccess string

// The kinds of access.
const (
	AccessReadOnly  ClientAccess = "ReadOnly"
	AccessReadWrite ClientAccess = "ReadWrite"
)

// Condition types of an EtcdClient.
const (
	// ClientReady is True when the client has exactly the access that the spec asks for, and its Secret is current.
	ClientReady = "Ready"
	// ClientWithinQuota is True when the keys that the client may write took no more than its quota in the newest
	// backup. It is absent without a quota.
	ClientWithinQuota = "WithinQuota"
)

// EtcdClientStatus is the last seen state of a client. It may be wiped at any time: the operator writes it again from
// what etcd and the Secret say.
type EtcdClientStatus struct {
	// Conditions: Ready, and with spec.quota WithinQuota.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// User is the client's name in etcd.
	// +optional
	User string `json:"user,omitempty"`

	// Role is the role in etcd that holds the permissions. The operator owns it, and
	// takes changes by others back.
	// +optional
	Role string `json:"role,omitempty"`

	// SecretName is the Secret with ca.crt, tls.crt, tls.key, endpoints, addresses and
	// user.
	// +optional
	SecretName string `json:"secretName,omitempty"`

	// CertificateNotAfter is when the certificate ends. It is renewed long before.
	// +optional
	CertificateNotAfter *metav1.Time `json:"certificateNotAfter,omitempty"`

	// Usage is what the keys that the client may write took in the newest proven
	// backup. Absent without spec.quota, and where no backup says it.
	// +optional
	Usage *MeasuredUsage `json:"usage,omitempty"`
}

// MeasuredUsage is what the keys that a client may write took in a backup.
type MeasuredUsage struct {
	// Bytes is the size of all their stored revisions.
	Bytes int64 `json:"bytes"`

	// Keys is how many of them existed.
	Keys int64 `json:"keys"`

	// Backup is the EtcdBackup, in the namespace of the cluster.
	Backup string `json:"backup"`

	// Time is when its snapshot started.
	Time metav1.Time `json:"time"`
}

// UserOrDefault is the client's name in etcd.
func (c *EtcdClient) UserOrDefault() string {
	if c.Spec.User != "" {
		return c.Spec.User
	}
	return c.UserPrefix() + c.Name
}

// UserPrefix is how the user of a client begins whose cluster is in another namespace; empty in the same one. So no
// namespace can have the user of another.
func (c *EtcdClient) UserPrefix() string {
	if !c.IsFromOutside() {
		return ""
	}
	return c.Namespace + "."
}

// IsFromOutside reports a client whose cluster is in another namespace.
func (c *EtcdClient) IsFromOutside() bool { return c.ClusterKey().Namespace != c.Namespace }

// SecretNameOrDefault is the name of the Secret with the certificate.
func (c *EtcdClient) SecretNameOrDefault() string {
	if c.Spec.SecretName != "" {
		return c.Spec.SecretName
	}
	return c.Name + "-etcd"
}

// ClusterKey names the cluster that the client is to use.
func (c *EtcdClient) ClusterKey() types.NamespacedName {
	named := c.Spec.ClusterRef
	return types.NamespacedName{Namespace: cmp.Or(named.Namespace, c.Namespace), Name: named.Name}
}
