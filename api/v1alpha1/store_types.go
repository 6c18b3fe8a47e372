package v1alpha1

import corev1 "k8s.io/api/core/v1"

// BackupStore is where backups are kept. Exactly one of its fields must be set. The operator names the objects, under
// <prefix>/<namespace>/<cluster>/<UID of the cluster>/, and never overwrites one.
//
// +kubebuilder:validation:XValidation:rule="[has(self.s3), has(self.gcs), has(self.azure), has(self.volume)].filter(x, x).size() == 1",message="store must have exactly one of s3, gcs, azure and volume"
type BackupStore struct {
	// S3 is a bucket of S3, or of a server that speaks its protocol.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`

	// GCS is a bucket of Google Cloud Storage.
	// +optional
	GCS *GCSStore `json:"gcs,omitempty"`

	// Azure is a container of Azure Blob Storage.
	// +optional
	Azure *AzureStore `json:"azure,omitempty"`

	// Volume is a directory of a PersistentVolumeClaim of this namespace.
	// +optional
	Volume *VolumeStore `json:"volume,omitempty"`
}

// S3Store is a bucket of S3, or of a server that speaks its protocol.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caSecretRef) || !has(self.endpoint) || !self.endpoint.startsWith('http:')",message="store.s3.endpoint must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for",messageExpression="'store.s3.endpoint is \"' + self.endpoint + '\"; it must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for'"
type S3Store struct {
	// Bucket is the name of the bucket. It must exist.
	// +required
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$') && !self.contains('..')",message="store.s3.bucket must be the name of a bucket",messageExpression="'store.s3.bucket is \"' + self + '\"; it must be the name of a bucket: 3 to 63 lower-case letters, digits, \".\" and \"-\", starting and ending with a letter or digit'"
	Bucket string `json:"bucket"`

	// Prefix is the first part of each object's name, such as "etcd/prod". Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9!_.*()-]+(/[a-zA-Z0-9!_.*()-]+)*)?$') && !('/' + self + '/').contains('/../') && !('/' + self + '/').contains('/./')",message="store.s3.prefix must be a path such as etcd/prod",messageExpression="'store.s3.prefix is \"' + self + '\"; it must be a path such as etcd/prod: letters, digits and !_.*()- between single slashes, not starting or ending with a slash, and no part of it \".\" or \"..\"'"
	Prefix string `json:"prefix,omitempty"`

	// Endpoint is the URL of the server, such as "https://minio.storage.svc:9000".
	// With http the whole database is sent unencrypted. Default: Amazon's endpoint
	// of the region.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:.]+[]])(:[0-9]{1,5})?/?$')",message="store.s3.endpoint must be an http or https URL of a host, such as https://minio.storage.svc:9000",messageExpression="'store.s3.endpoint is \"' + self + '\"; it must be an http or https URL of a host, such as https://minio.storage.svc:9000: without user, path and query'"
	Endpoint string `json:"endpoint,omitempty"`

	// Region is the region of the bucket. Default us-east-1, which most other servers expect.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9-]{0,64}$')",message="store.s3.region must be a region such as eu-central-1",messageExpression="'store.s3.region is \"' + self + '\"; it must be a region such as eu-central-1'"
	Region string `json:"region,omitempty"`

	// ForcePathStyle puts the bucket into the path of URLs instead of the host name.
	// Most servers other than Amazon's need this. Default false.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`

	// CredentialsSecretRef names a Secret of this namespace with the keys
	// access-key-id, secret-access-key and, optionally, session-token and
	// manifest-key. The kubelet mounts it into the backup's Pod. The operator never
	// reads it. Default: the Pod's own identity, also beside manifest-key alone.
	// +optional
	CredentialsSecretRef *StoreSecretReference `json:"credentialsSecretRef,omitempty"`

	// CASecretRef names a Secret of this namespace with the key ca.crt: the CAs that
	// may sign the server's certificate. Default: the public CAs.
	// +optional
	CASecretRef *StoreSecretReference `json:"caSecretRef,omitempty"`

	// ServerSideEncryption asks the server to encrypt the backups: AES256 or aws:kms. Default: the setting of the
	// bucket.
	// +optional
	// +kubebuilder:validation:Enum=AES256;"aws:kms"
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`
}

// GCSStore is a bucket of Google Cloud Storage.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caSecretRef) || !has(self.endpoint) || !self.endpoint.startsWith('http:')",message="store.gcs.endpoint must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for",messageExpression="'store.gcs.endpoint is \"' + self.endpoint + '\"; it must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for'"
type GCSStore struct {
	// Bucket is the name of the bucket. It must exist.
	// +required
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$') && !self.contains('..')",message="store.gcs.bucket must be the name of a bucket",messageExpression="'store.gcs.bucket is \"' + self + '\"; it must be the name of a bucket: 3 to 222 lower-case letters, digits, \".\", \"_\" and \"-\", starting and ending with a letter or digit'"
	Bucket string `json:"bucket"`

	// Prefix is the first part of each object's name, such as "etcd/prod". Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9!_.*()-]+(/[a-zA-Z0-9!_.*()-]+)*)?$') && !('/' + self + '/').contains('/../') && !('/' + self + '/').contains('/./')",message="store.gcs.prefix must be a path such as etcd/prod",messageExpression="'store.gcs.prefix is \"' + self + '\"; it must be a path such as etcd/prod: letters, digits and !_.*()- between single slashes, not starting or ending with a slash, and no part of it \".\" or \"..\"'"
	Prefix string `json:"prefix,omitempty"`

	// Endpoint is the URL of a server that speaks Google's protocol. With http the
	// whole database is sent unencrypted. Default: Google's own.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:.]+[]])(:[0-9]{1,5})?/?$')",message="store.gcs.endpoint must be an http or https URL of a host",messageExpression="'store.gcs.endpoint is \"' + self + '\"; it must be an http or https URL of a host: without user, path and query'"
	Endpoint string `json:"endpoint,omitempty"`

	// CredentialsSecretRef names a Secret of this namespace with the key
	// service-account.json, the key of a service account, and, optionally,
	// manifest-key. The kubelet mounts it into the backup's Pod. The operator never
	// reads it. Default: the Pod's own identity, also beside manifest-key alone.
	// +optional
	CredentialsSecretRef *StoreSecretReference `json:"credentialsSecretRef,omitempty"`

	// CASecretRef names a Secret of this namespace with the key ca.crt: the CAs that
	// may sign the server's certificate. Default: the public CAs.
	// +optional
	CASecretRef *StoreSecretReference `json:"caSecretRef,omitempty"`
}

// AzureStore is a container of Azure Blob Storage.
//
// +kubebuilder:validation:XValidation:rule="has(self.endpoint) || has(self.credentialsSecretRef)",message="store.azure must have an endpoint or a credentialsSecretRef: without both, the account is unknown"
// +kubebuilder:validation:XValidation:rule="!has(self.caSecretRef) || !has(self.endpoint) || !self.endpoint.startsWith('http:')",message="store.azure.endpoint must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for",messageExpression="'store.azure.endpoint is \"' + self.endpoint + '\"; it must begin with https where there is a caSecretRef: with http nothing is encrypted and no certificate is asked for'"
type AzureStore struct {
	// Container is the name of the container. It must exist.
	// +required
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$') && !self.contains('--')",message="store.azure.container must be the name of a container",messageExpression="'store.azure.container is \"' + self + '\"; it must be the name of a container: 3 to 63 lower-case letters, digits and single \"-\", starting and ending with a letter or digit'"
	Container string `json:"container"`

	// Prefix is the first part of each object's name, such as "etcd/prod". Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9!_.*()-]+(/[a-zA-Z0-9!_.*()-]+)*)?$') && !('/' + self + '/').contains('/../') && !('/' + self + '/').contains('/./')",message="store.azure.prefix must be a path such as etcd/prod",messageExpression="'store.azure.prefix is \"' + self + '\"; it must be a path such as etcd/prod: letters, digits and !_.*()- between single slashes, not starting or ending with a slash, and no part of it \".\" or \"..\"'"
	Prefix string `json:"prefix,omitempty"`

	// Endpoint is the URL of the account, such as
	// "https://account.blob.core.windows.net". With http the whole database is sent
	// unencrypted. Default: the endpoint of the account in the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:.]+[]])(:[0-9]{1,5})?(/[a-zA-Z0-9._-]+)?/?$')",message="store.azure.endpoint must be an http or https URL, such as https://account.blob.core.windows.net",messageExpression="'store.azure.endpoint is \"' + self + '\"; it must be an http or https URL, such as https://account.blob.core.windows.net: without user and query'"
	Endpoint string `json:"endpoint,omitempty"`

	// CredentialsSecretRef names a Secret of this namespace with the keys
	// account-name, account-key and, optionally, manifest-key. The kubelet mounts it
	// into the backup's Pod. The operator never reads it. Default: the Pod's own
	// identity, also beside manifest-key alone.
	// +optional
	CredentialsSecretRef *StoreSecretReference `json:"credentialsSecretRef,omitempty"`

	// CASecretRef names a Secret of this namespace with the key ca.crt: the CAs that
	// may sign the server's certificate. Default: the public CAs.
	// +optional
	CASecretRef *StoreSecretReference `json:"caSecretRef,omitempty"`
}

// VolumeStore is a directory of a PersistentVolumeClaim.
type VolumeStore struct {
	// ClaimName names a PersistentVolumeClaim of this namespace. Use a claim for
	// backups only: Kubernetes gives its files to the group of the backup's Pod.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="store.volume.claimName must be the name of a PersistentVolumeClaim",messageExpression="'store.volume.claimName is \"' + self + '\"; it must be the name of a PersistentVolumeClaim of this namespace'"
	ClaimName string `json:"claimName"`

	// Path is a directory in the volume, such as "etcd/prod". It is created if it is missing. Default: the volume's
	// root.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9!_.*()-]+(/[a-zA-Z0-9!_.*()-]+)*)?$') && !('/' + self + '/').contains('/../') && !('/' + self + '/').contains('/./')",message="store.volume.path must be a path such as etcd/prod",messageExpression="'store.volume.path is \"' + self + '\"; it must be a path such as etcd/prod: letters, digits and !_.*()- between single slashes, not starting or ending with a slash, and no part of it \".\" or \"..\"'"
	Path string `json:"path,omitempty"`

	// CredentialsSecretRef names a Secret of this namespace with the key
	// manifest-key, which signs what the backups say of themselves. The kubelet
	// mounts it into the backup's Pod. The operator never reads it. Default: nothing
	// is signed.
	// +optional
	CredentialsSecretRef *StoreSecretReference `json:"credentialsSecretRef,omitempty"`
}

// StoreSecretReference names a Secret of the same namespace.
type StoreSecretReference struct {
	// Name of the Secret.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="a Secret of store must be given by its name",messageExpression="'a Secret of a store is called \"' + self + '\"; it must be the name of a Secret of this namespace'"
	Name string `json:"name"`
}

// TaskSpec holds settings of the Pods that do tasks: those that take, test, prune and restore backups.
type TaskSpec struct {
	// Labels are added to the Pods of tasks. By default these say that Istio and Kuma
	// put no proxy into them; a label given here wins. Refused: the operator's prefix
	// etcdsteward.dev/, and those of app.kubernetes.io/ that members' Pods have (name,
	// instance, managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.tasks.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.tasks.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to the Pods of tasks. By default these say that Istio,
	// Linkerd and Consul put no proxy into them; an annotation given here wins. Refused:
	// the operator's prefix etcdsteward.dev/, and what loosens seccomp or AppArmor.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.tasks.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('seccomp.security.alpha.kubernetes.io/') && (!k.startsWith('container.apparmor.security.beta.kubernetes.io/') || self[k] == 'runtime/default' || self[k].startsWith('localhost/')))",message="spec.tasks.annotations must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value runtime/default or localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`

	// Resources of each container of a task. Default: requests of 100m CPU and 128Mi
	// memory, and the limits of CPU and memory that spec.pod.resources has. A limit of
	// memory counts the files that a task writes as well. The Pod that restores a
	// member's volume asks for what the member asks for.
	// +optional
	Resources *ResourceRequirements `json:"resources,omitempty"`

	// Env are environment variables of each container of a task, such as those that
	// name a proxy. Values only: what a store is reached with is named in the store.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []TaskEnv `json:"env,omitempty"`

	// ServiceAccountName is the account that the Pods of tasks run as. It must exist.
	// No token of it is mounted, unless the cloud's webhook does. Where the operator's
	// policies are installed, the annotation etcdsteward.dev/task-accounts of the
	// namespace has to list it. Default: the namespace's default account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.tasks.serviceAccountName must be the name of a ServiceAccount",messageExpression="'spec.tasks.serviceAccountName is \"' + self + '\"; it must be the name of a ServiceAccount: lower-case letters, digits, \"-\" and \".\"'"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// PriorityClassName of the Pods of tasks. Default: the members'.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.tasks.priorityClassName must be the name of a PriorityClass",messageExpression="'spec.tasks.priorityClassName is \"' + self + '\"; it must be the name of a PriorityClass: lower-case letters, digits, \"-\" and \".\"'"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// NodeSelector restricts the nodes that tasks run on, by their labels. Default:
	// the members' nodeSelector and required node affinity. The Pod that restores a
	// member's volume runs where the member will run.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.tasks.nodeSelector must have values of at most 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the Pods of tasks. Default: the members'. The Pod that restores a
	// member's volume has the member's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// TaskEnv is an environment variable of a task.
type TaskEnv struct {
	// Name of the variable. TMPDIR is refused: a task has one place to write to.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$') && self != 'TMPDIR'",message="spec.tasks.env.name must be the name of an environment variable other than TMPDIR",messageExpression="'spec.tasks.env.name is \"' + self + '\"; it must be letters, digits and \"_\", not starting with a digit, and not TMPDIR'"
	Name string `json:"name"`

	// Value of the variable. It is taken as it is: $(NAME) is not replaced. No value
	// comes from a Secret: those that a store needs are in its credentialsSecretRef.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}
