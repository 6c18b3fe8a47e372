package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Sidecar is a container that runs beside etcd in each member's Pod. It is a native sidecar of Kubernetes: it starts
// before etcd and stops after it. It gets the settings of the Pod Security Standard restricted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readinessProbe) || [has(self.readinessProbe.httpGet), has(self.readinessProbe.tcpSocket), has(self.readinessProbe.exec)].exists_one(x, x)",message="spec.pod.sidecars.readinessProbe must have one of httpGet, tcpSocket and exec",fieldPath=".readinessProbe"
// +kubebuilder:validation:XValidation:rule="!has(self.livenessProbe) || [has(self.livenessProbe.httpGet), has(self.livenessProbe.tcpSocket), has(self.livenessProbe.exec)].exists_one(x, x)",message="spec.pod.sidecars.livenessProbe must have one of httpGet, tcpSocket and exec",fieldPath=".livenessProbe"
type Sidecar struct {
	// Name of the container: at most 40 lower-case letters, digits and "-". The name
	// etcd is refused, and so is a name that another sidecar has.
	// +required
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self != 'etcd'",message="spec.pod.sidecars.name must be lower-case letters, digits and '-', and not etcd",messageExpression="'spec.pod.sidecars.name is \"' + self + '\"; it must be lower-case letters, digits and \"-\", and not etcd, which is the container of the member'"
	Name string `json:"name"`

	// Image of the container, with its tag or digest.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\n]+$')",message="spec.pod.sidecars.image must be the name of an image, without spaces",messageExpression="'spec.pod.sidecars.image is \"' + self + '\"; it must be the name of an image, without spaces'"
	Image string `json:"image"`

	// ImagePullPolicy is Always, IfNotPresent or Never. Default IfNotPresent, also for
	// the tag latest: with Always, no member starts while the registry is away.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// Command of the container. Default: the entry point of the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Command []string `json:"command,omitempty"`

	// Args are the arguments of the command. Default: those of the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Args []string `json:"args,omitempty"`

	// Env are environment variables. Default none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []SidecarEnv `json:"env,omitempty"`

	// Ports that the container listens on. They are shared with etcd, whose ports are refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Ports []SidecarPort `json:"ports,omitempty"`

	// Resources of the container. Default none.
	// +optional
	Resources *ResourceRequirements `json:"resources,omitempty"`

	// ReadinessProbe says when the sidecar is ready. While it is not, Kubernetes does
	// not call the Pod ready, and the disruption budget counts the member as missing.
	// The member serves on, and clients reach it.
	// +optional
	ReadinessProbe *SidecarProbe `json:"readinessProbe,omitempty"`

	// LivenessProbe says when the sidecar is restarted. etcd is not. There is no
	// startupProbe, which etcd would wait for: use initialDelaySeconds.
	// +optional
	LivenessProbe *SidecarProbe `json:"livenessProbe,omitempty"`

	// Mounts are directories of the container. Default none. A sidecar mounts no volume
	// of the Pod, and never the data of etcd, so there are no volumeMounts.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=8
	Mounts []SidecarMount `json:"mounts,omitempty"`

	// SecurityContext of the container, within Pod Security restricted. All
	// capabilities are dropped, and no process gains privileges.
	// +optional
	SecurityContext *SidecarSecurityContext `json:"securityContext,omitempty"`
}

// SidecarEnv is an environment variable of a sidecar.
//
// +kubebuilder:validation:XValidation:rule="!has(self.value) || !has(self.valueFrom)",message="spec.pod.sidecars.env must have value or valueFrom, not both",fieldPath=".valueFrom"
type SidecarEnv struct {
	// Name of the variable: letters, digits, "_", "-" and ".", not starting with a digit.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z][-._a-zA-Z0-9]*$')",message="spec.pod.sidecars.env.name must be the name of an environment variable",messageExpression="'spec.pod.sidecars.env.name is \"' + self + '\"; it must be letters, digits, \"_\", \"-\" and \".\", not starting with a digit'"
	Name string `json:"name"`

	// Value of the variable. Kubernetes replaces $(NAME) as in every container.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Value string `json:"value,omitempty"`

	// ValueFrom says where the value comes from instead.
	// +optional
	ValueFrom *SidecarEnvSource `json:"valueFrom,omitempty"`
}

// SidecarEnvSource is where the value of a variable comes from.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fieldRef), has(self.secretKeyRef), has(self.configMapKeyRef)].exists_one(x, x)",message="spec.pod.sidecars.env.valueFrom must have one of fieldRef, secretKeyRef and configMapKeyRef"
type SidecarEnvSource struct {
	// FieldRef is a field of the Pod.
	// +optional
	FieldRef *SidecarFieldRef `json:"fieldRef,omitempty"`

	// SecretKeyRef is a key of a Secret of this namespace. While it does not exist,
	// the sidecar starts without the variable.
	// +optional
	SecretKeyRef *SidecarKeyRef `json:"secretKeyRef,omitempty"`

	// ConfigMapKeyRef is a key of a ConfigMap of this namespace. While it does not
	// exist, the sidecar starts without the variable.
	// +optional
	ConfigMapKeyRef *SidecarKeyRef `json:"configMapKeyRef,omitempty"`
}

// SidecarFieldRef is a field of the Pod.
type SidecarFieldRef struct {
	// FieldPath is the path of the field, such as metadata.name or status.podIP.
	// +required
	// +kubebuilder:validation:Enum=metadata.name;metadata.namespace;metadata.uid;spec.nodeName;spec.serviceAccountName;status.hostIP;status.hostIPs;status.podIP;status.podIPs
	FieldPath string `json:"fieldPath"`
}

// SidecarKeyRef is a key of a Secret or ConfigMap of this namespace.
type SidecarKeyRef struct {
	// Name of the Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Key in it.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// SidecarPort is a port that a sidecar listens on.
type SidecarPort struct {
	// Name of the port: at most 15 lower-case letters, digits and "-". The names client, peer and metrics are etcd's.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && !(self in ['client', 'peer', 'metrics'])",message="spec.pod.sidecars.ports.name must be lower-case letters, digits and '-', and not client, peer or metrics",messageExpression="'spec.pod.sidecars.ports.name is \"' + self + '\"; it must be lower-case letters, digits and \"-\", and not client, peer or metrics, which are the names of the ports of etcd'"
	Name string `json:"name,omitempty"`

	// ContainerPort is the number of the port, from 1 to 65535. 2379, 2380 and 2381 are etcd's.
	// +required
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535 && !(self in [2379, 2380, 2381])",message="spec.pod.sidecars.ports.containerPort must be from 1 to 65535, and not 2379, 2380 or 2381",messageExpression="'spec.pod.sidecars.ports.containerPort is ' + string(dyn(self)) + '; it must be from 1 to 65535, and not 2379, 2380 or 2381, which are the ports of etcd'"
	ContainerPort int32 `json:"containerPort"`

	// Protocol is TCP (default) or UDP.
	// +optional
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

// SidecarProbe asks a sidecar how it is. It has one of httpGet, tcpSocket and exec.
type SidecarProbe struct {
	// HTTPGet asks by HTTP. A status from 200 to 399 is good.
	// +optional
	HTTPGet *SidecarHTTPGet `json:"httpGet,omitempty"`

	// TCPSocket connects to a port.
	// +optional
	TCPSocket *SidecarTCPSocket `json:"tcpSocket,omitempty"`

	// Exec runs a command in the container. An exit with 0 is good.
	// +optional
	Exec *SidecarExec `json:"exec,omitempty"`

	// InitialDelaySeconds is when the first probe comes. Default 0, at most 3600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	InitialDelaySeconds int32 `json:"initialDelaySeconds,omitempty"`

	// PeriodSeconds is the time between two probes. Default 10, from 1 to 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	PeriodSeconds int32 `json:"periodSeconds,omitempty"`

	// TimeoutSeconds is how long an answer may take. Default 1, from 1 to 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`

	// FailureThreshold is how many probes in a row must fail. Default 3, from 1 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

// SidecarHTTPGet is a request by HTTP.
type SidecarHTTPGet struct {
	// Path of the request. Default /.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// Port of the request, as a number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Scheme is HTTP (default) or HTTPS.
	// +optional
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Scheme corev1.URIScheme `json:"scheme,omitempty"`
}

// SidecarTCPSocket is a port to connect to.
type SidecarTCPSocket struct {
	// Port to connect to, as a number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// SidecarExec is a command to run in the container.
type SidecarExec struct {
	// Command and its arguments.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Command []string `json:"command"`
}

// SidecarMount is a directory of a sidecar, with one of emptyDir, configMap, secret and clientCertificate.
//
// +kubebuilder:validation:XValidation:rule="[has(self.emptyDir), has(self.configMap), has(self.secret), has(self.clientCertificate)].exists_one(x, x)",message="spec.pod.sidecars.mounts must each have one of emptyDir, configMap, secret and clientCertificate; no other volume is mounted, neither a hostPath nor the data of etcd"
type SidecarMount struct {
	// MountPath is the absolute path of the directory in the container.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:]+$')",message="spec.pod.sidecars.mounts.mountPath must be an absolute path without ':', and not /",messageExpression="'spec.pod.sidecars.mounts.mountPath is \"' + self + '\"; it must be an absolute path without \":\", and not /'"
	MountPath string `json:"mountPath"`

	// EmptyDir is a directory of this sidecar alone. It goes with the Pod.
	// +optional
	EmptyDir *SidecarEmptyDir `json:"emptyDir,omitempty"`

	// ConfigMap of this namespace. While it does not exist, the directory is empty.
	// +optional
	ConfigMap *SidecarObjectRef `json:"configMap,omitempty"`

	// Secret of this namespace. While it does not exist, the directory is empty.
	// +optional
	Secret *SidecarObjectRef `json:"secret,omitempty"`

	// ClientCertificate is what clients of this cluster connect with: ca.crt, tls.crt
	// and tls.key. The operator renews it in place. Refused where spec.tls.mode is
	// Disabled. Write {} for it.
	// +optional
	ClientCertificate *SidecarClientCertificate `json:"clientCertificate,omitempty"`
}

// SidecarEmptyDir is a directory that goes with the Pod.
type SidecarEmptyDir struct {
	// Medium is empty (default: the disk of the node) or Memory.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`

	// SizeLimit is the most that the directory may hold. Default none. The kubelet
	// evicts the Pod, and with it etcd, when a directory on disk grows beyond it.
	// +optional
	SizeLimit Amount `json:"sizeLimit,omitempty"`
}

// SidecarObjectRef names a Secret or ConfigMap of this namespace.
type SidecarObjectRef struct {
	// Name of the Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// SidecarClientCertificate mounts the Secret that status.clientSecretRef names. It has no fields.
type SidecarClientCertificate struct{}

// SidecarSecurityContext is what a sidecar may choose within Pod Security restricted.
//
// +kubebuilder:validation:XValidation:rule="self.?runAsUser.orValue(1) > 0",message="spec.pod.sidecars.securityContext.runAsUser must be above 0: sidecars are held to Pod Security restricted, and 0 is root",fieldPath=".runAsUser"
type SidecarSecurityContext struct {
	// ReadOnlyRootFilesystem keeps the container from writing to its image. Default
	// true. Rather than false, mount an emptyDir where it writes.
	// +optional
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty"`

	// RunAsUser is the user ID of the container, above 0. Default: that of the Pod.
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`
}
