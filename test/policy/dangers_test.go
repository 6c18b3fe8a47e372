package policy

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// danger is a change of a request that a thief may try. It reports whether it fits: Kubernetes itself refuses the rest.
type danger struct {
	name string
	do   func(*rand.Rand, *tried) bool
}

// podSecurityReasons are the checks of Pod Security that the changes must fail.
var podSecurityReasons = []string{"host namespaces", "hostPort", "privileged", "allowPrivilegeEscalation != false", "unrestricted capabilities",
	"runAsNonRoot != true", "runAsUser=0", "seccompProfile", "seLinuxOptions", "procMount", "forbidden sysctls", "restricted volume types",
	"forbidden AppArmor profile", "hostProcess", "probe or lifecycle host"}

// one is one of the values.
func one[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// about changes what is written; nothing of it in a deletion.
func about(name string, do func(*rand.Rand, client.Object)) danger {
	return danger{name, func(r *rand.Rand, t *tried) bool {
		if t.Object == nil || t.Subresource != "" {
			return false
		}
		do(r, t.Object)
		return true
	}}
}

// on changes an object of one kind, new or not.
func on[T client.Object](name string, do func(*rand.Rand, T)) danger {
	return danger{name, func(r *rand.Rand, t *tried) bool {
		object, fits := t.Object.(T)
		if fits && t.Subresource == "" {
			do(r, object)
		}
		return fits && t.Subresource == ""
	}}
}

// onNew changes one that is being made: Kubernetes lets these fields be as they are afterwards.
func onNew[T client.Object](name string, do func(*rand.Rand, T)) danger {
	changed := on(name, do)
	return danger{name, func(r *rand.Rand, t *tried) bool { return t.Operation == admission.Create && changed.do(r, t) }}
}

// inPod changes the Pod that is being made, or those that a new Job is of.
func inPod(name string, do func(*rand.Rand, *metav1.ObjectMeta, *corev1.PodSpec)) danger {
	return danger{name, func(r *rand.Rand, t *tried) bool {
		switch object := t.Object.(type) {
		case *corev1.Pod:
			if t.isNew() {
				do(r, &object.ObjectMeta, &object.Spec)
			}
		case *batchv1.Job:
			if t.isNew() {
				do(r, &object.Spec.Template.ObjectMeta, &object.Spec.Template.Spec)
			}
		default:
			return false
		}
		return t.isNew()
	}}
}

// inSpec is the same, where the metadata does not matter.
func inSpec(name string, do func(*rand.Rand, *corev1.PodSpec)) danger {
	return inPod(name, func(r *rand.Rand, _ *metav1.ObjectMeta, spec *corev1.PodSpec) { do(r, spec) })
}

// inContainer changes one of all containers.
func inContainer(name string, do func(*rand.Rand, *corev1.Container)) danger {
	return inSpec(name, func(r *rand.Rand, spec *corev1.PodSpec) {
		if at := r.IntN(len(spec.Containers) + len(spec.InitContainers)); at < len(spec.Containers) {
			do(r, &spec.Containers[at])
		} else {
			do(r, &spec.InitContainers[at-len(spec.Containers)])
		}
	})
}

// inContext changes the security context of one container.
func inContext(name string, do func(*rand.Rand, *corev1.SecurityContext)) danger {
	return inContainer(name, func(r *rand.Rand, c *corev1.Container) {
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		do(r, c.SecurityContext)
	})
}

func podContext(name string, do func(*rand.Rand, *corev1.PodSecurityContext)) danger {
	return inSpec(name, func(r *rand.Rand, spec *corev1.PodSpec) {
		if spec.SecurityContext == nil {
			spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		do(r, spec.SecurityContext)
	})
}

// deleting changes how something is deleted.
func deleting(name string, do func(*rand.Rand, *metav1.DeleteOptions)) danger {
	return danger{name, func(r *rand.Rand, t *tried) bool {
		if eviction, isEviction := t.Object.(*policyv1.Eviction); isEviction {
			if eviction.DeleteOptions == nil {
				eviction.DeleteOptions = &metav1.DeleteOptions{}
			}
			do(r, eviction.DeleteOptions)
			return true
		}
		if t.Operation == admission.Delete {
			do(r, t.Options)
		}
		return t.Operation == admission.Delete
	}}
}

// projected adds a source to what is mounted.
func projected(name string, source func(*rand.Rand) corev1.VolumeProjection) danger {
	return inSpec(name, func(r *rand.Rand, spec *corev1.PodSpec) {
		given := source(r)
		for _, v := range spec.Volumes {
			if v.Projected != nil && r.IntN(2) == 0 {
				v.Projected.Sources = append(v.Projected.Sources, given)
				return
			}
		}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "given", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{given}}}})
	})
}

var dangers = sync.OnceValue(func() []danger {
	return slices.Concat(metadataDangers, contextDangers, podDangers, identityDangers, plainDangers, deletionDangers)
})

var someKeys = []string{v1alpha1.LabelManagedBy, v1alpha1.LabelName, v1alpha1.LabelInstance, v1alpha1.LabelComponent,
	v1alpha1.LabelSchedule, v1alpha1.LabelCluster, v1alpha1.LabelBackup, "app", "argocd.argoproj.io/secret-type"}

// someOwner is an owner as the operator names them, with up to two things wrong.
func someOwner(r *rand.Rand) metav1.OwnerReference {
	o := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Name: "demo", UID: "uid-of-demo", Controller: new(true),
		Kind: one(r, "EtcdCluster", "EtcdBackup", "EtcdBackupSchedule", "EtcdClient")}
	for range r.IntN(3) {
		switch r.IntN(5) {
		case 0:
			o.APIVersion = one(r, "etcdsteward.dev/v9", "etcdsteward.dev/v1alpha1x", "etcdsteward.dev", "v1", "apps/v1", "x.etcdsteward.dev/v1alpha1", "")
		case 1:
			o.Kind = one(r, "Nothing", "ConfigMap", "Namespace", "etcdcluster", "EtcdClusterList", "EtcdRestore", "")
		case 2:
			o.Controller = one(r, nil, new(false))
		case 3:
			o.UID = types.UID(one(r, "", "0"))
		case 4:
			o.BlockOwnerDeletion = new(true)
		}
	}
	return o
}

var metadataDangers = []danger{
	about("owners that are gone", func(_ *rand.Rand, o client.Object) { o.SetOwnerReferences(nil) }),
	about("another owner", func(r *rand.Rand, o client.Object) { o.SetOwnerReferences([]metav1.OwnerReference{someOwner(r)}) }),
	about("a further owner", func(r *rand.Rand, o client.Object) {
		o.SetOwnerReferences(append(o.GetOwnerReferences(), someOwner(r)))
	}),
	about("a finalizer", func(r *rand.Rand, o client.Object) {
		o.SetFinalizers(append(o.GetFinalizers(), one(r, "kubernetes.io/pvc-protection", "orphan", "foregroundDeletion", "a.b/c",
			"batch.kubernetes.io/job-tracking", "service.kubernetes.io/load-balancer-cleanup")))
	}),
	about("finalizers that are gone", func(_ *rand.Rand, o client.Object) { o.SetFinalizers(nil) }),
	about("no labels", func(_ *rand.Rand, o client.Object) { o.SetLabels(nil) }),
	about("the labels of the operator's own", func(_ *rand.Rand, o client.Object) { o.SetLabels(resources.Labels(cluster())) }),
	about("a label", func(r *rand.Rand, o client.Object) {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[one(r, someKeys...)] = one(r, "", "web", "etcd", "etcd-steward", "Etcd-Steward", "nightly", "member", "cluster")
		o.SetLabels(labels)
	}),
	about("a label less", func(r *rand.Rand, o client.Object) { delete(o.GetLabels(), one(r, someKeys...)) }),
	about("an annotation", func(r *rand.Rand, o client.Object) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[one(r, "kubernetes.io/service-account.name", v1alpha1.AnnotationBackupRecord, "etcdsteward.dev/task-accounts",
			"kubernetes.io/config.mirror", "pv.kubernetes.io/bind-completed", "volume.beta.kubernetes.io/storage-class")] = one(r, "", "admin")
		o.SetAnnotations(annotations)
	}),
	{"the operator as field manager, of what is new", func(_ *rand.Rand, t *tried) bool {
		if t.isNew() {
			t.Object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "etcd-steward"}})
		}
		return t.isNew()
	}},
	{"another name", func(r *rand.Rand, t *tried) bool {
		name := one(r, "web", "web-tls", "registry", "default-token", "web-0", "x-ca", "-ca", "ca", "web-7d4b9c6f5-x2x1p", "demo-0-tls", "demo-tls",
			"demo-0x", "demo-", "")
		if _, isPod := t.Object.(*corev1.Pod); isPod && t.Operation == admission.Update {
			return false
		}
		if t.Operation != admission.Create {
			return false
		}
		t.Object.SetName(name)
		if name == "" {
			t.Object.SetGenerateName("demo-")
		}
		return name != "" || t.Subresource == ""
	}},
}

var contextDangers = []danger{
	inSpec("the node's namespaces", func(r *rand.Rand, s *corev1.PodSpec) {
		*one(r, &s.HostNetwork, &s.HostPID, &s.HostIPC) = true
	}),
	inContainer("a port of the node", func(r *rand.Rand, c *corev1.Container) {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "x", ContainerPort: 80, HostPort: int32(r.IntN(2) * 80)})
	}),
	inContext("privileges", func(_ *rand.Rand, c *corev1.SecurityContext) { c.Privileged = new(true) }),
	inContext("escalation", func(r *rand.Rand, c *corev1.SecurityContext) { c.AllowPrivilegeEscalation = one(r, nil, new(true)) }),
	inContext("capabilities that are added", func(r *rand.Rand, c *corev1.SecurityContext) {
		if c.Capabilities == nil {
			c.Capabilities = &corev1.Capabilities{}
		}
		c.Capabilities.Add = append(c.Capabilities.Add, one[corev1.Capability](r, "SYS_ADMIN", "NET_BIND_SERVICE", "ALL", "NET_RAW", "sys_admin", "CAP_NET_BIND_SERVICE"))
	}),
	inContext("capabilities that are not dropped", func(r *rand.Rand, c *corev1.SecurityContext) {
		c.Capabilities = one(r, nil, &corev1.Capabilities{}, &corev1.Capabilities{Drop: []corev1.Capability{"NET_RAW"}}, &corev1.Capabilities{Drop: []corev1.Capability{"all"}})
	}),
	inContext("a user or none", func(r *rand.Rand, c *corev1.SecurityContext) {
		c.RunAsUser, c.RunAsNonRoot = one(r, nil, new(int64(0)), new(int64(1))), one(r, nil, new(true), new(false))
	}),
	inContext("a profile", func(r *rand.Rand, c *corev1.SecurityContext) {
		c.SeccompProfile = one(r, nil, &corev1.SeccompProfile{Type: "Unconfined"}, &corev1.SeccompProfile{Type: "Localhost", LocalhostProfile: new("x")})
		c.AppArmorProfile = one(r, nil, &corev1.AppArmorProfile{Type: "Unconfined"}, &corev1.AppArmorProfile{Type: "RuntimeDefault"})
	}),
	inContext("options of SELinux, Windows and /proc", func(r *rand.Rand, c *corev1.SecurityContext) {
		c.SELinuxOptions = one(r, nil, &corev1.SELinuxOptions{Type: "spc_t"}, &corev1.SELinuxOptions{User: "u"}, &corev1.SELinuxOptions{Role: "r"}, &corev1.SELinuxOptions{Level: "s0"})
		c.WindowsOptions = one(r, nil, nil, &corev1.WindowsSecurityContextOptions{HostProcess: new(true)})
		c.ProcMount = one(r, nil, new(corev1.DefaultProcMount), new(corev1.UnmaskedProcMount))
	}),
	inContainer("no security context", func(_ *rand.Rand, c *corev1.Container) { c.SecurityContext = nil }),
	inSpec("no security context of the Pod", func(_ *rand.Rand, s *corev1.PodSpec) { s.SecurityContext = nil }),
	podContext("a user of the Pod, or none", func(r *rand.Rand, c *corev1.PodSecurityContext) {
		c.RunAsUser, c.RunAsNonRoot = one(r, nil, new(int64(0)), new(int64(1))), one(r, nil, new(true), new(false))
	}),
	podContext("groups of the Pod", func(_ *rand.Rand, c *corev1.PodSecurityContext) {
		c.RunAsGroup, c.FSGroup, c.SupplementalGroups = new(int64(0)), new(int64(0)), []int64{0}
	}),
	podContext("a profile of the Pod", func(r *rand.Rand, c *corev1.PodSecurityContext) {
		c.SeccompProfile = one(r, nil, &corev1.SeccompProfile{Type: "Unconfined"}, &corev1.SeccompProfile{Type: "RuntimeDefault"})
		c.AppArmorProfile = one(r, nil, &corev1.AppArmorProfile{Type: "Unconfined"})
	}),
	podContext("sysctls and options of the Pod", func(r *rand.Rand, c *corev1.PodSecurityContext) {
		c.Sysctls = one(r, nil, []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}, []corev1.Sysctl{{Name: "net.ipv4.tcp_syncookies", Value: "1"}})
		c.SELinuxOptions = one(r, nil, &corev1.SELinuxOptions{Type: "spc_t"}, &corev1.SELinuxOptions{Type: "container_t"})
		c.WindowsOptions = one(r, nil, &corev1.WindowsSecurityContextOptions{HostProcess: new(true)})
	}),
	inPod("an annotation that loosens", func(r *rand.Rand, m *metav1.ObjectMeta, s *corev1.PodSpec) { loosen(r, m, s.Containers[0].Name) }),
	on("an annotation that loosens a Job that waits", func(r *rand.Rand, j *batchv1.Job) {
		if j.Spec.Suspend != nil && *j.Spec.Suspend {
			loosen(r, &j.Spec.Template.ObjectMeta, j.Spec.Template.Spec.Containers[0].Name)
		}
	}),
	inContainer("a probe", func(r *rand.Rand, c *corev1.Container) {
		*one(r, &c.LivenessProbe, &c.ReadinessProbe, &c.StartupProbe) = &corev1.Probe{ProbeHandler: corev1.ProbeHandler(someHandler(r)),
			TerminationGracePeriodSeconds: new(int64(30))}
	}),
	inContainer("a hook", func(r *rand.Rand, c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{}
		asked := someHandler(r)
		*one(r, &c.Lifecycle.PostStart, &c.Lifecycle.PreStop) = &corev1.LifecycleHandler{Exec: asked.Exec, HTTPGet: asked.HTTPGet, TCPSocket: asked.TCPSocket}
	}),
}

func loosen(r *rand.Rand, m *metav1.ObjectMeta, container string) {
	m.Annotations = map[string]string{
		one(r, "container.apparmor.security.beta.kubernetes.io/"+container, "seccomp.security.alpha.kubernetes.io/pod",
			"container.seccomp.security.alpha.kubernetes.io/"+container, "container.apparmor.security.beta.kubernetes.io/other"): one(r,
			"unconfined", "runtime/default", "localhost/x", "", "Unconfined")}
}

type handler corev1.ProbeHandler

func someHandler(r *rand.Rand) handler {
	host := one(r, "", "169.254.169.254", "kubernetes.default", "127.0.0.1")
	return one(r, handler{HTTPGet: &corev1.HTTPGetAction{Host: host, Port: intstr.FromInt32(80)}},
		handler{TCPSocket: &corev1.TCPSocketAction{Host: host, Port: intstr.FromInt32(80)}}, handler{Exec: &corev1.ExecAction{Command: []string{"sh"}}})
}

var podDangers = []danger{
	// Each source of a volume that Kubernetes knows.
	inSpec("a volume of some kind", func(r *rand.Rand, s *corev1.PodSpec) {
		source := corev1.VolumeSource{}
		fields := reflect.ValueOf(&source).Elem()
		chosen := fields.Field(r.IntN(fields.NumField()))
		chosen.Set(reflect.New(chosen.Type().Elem()))
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "some", VolumeSource: source})
	}),
	inSpec("a directory of the node", func(r *rand.Rand, s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: one(r, "/", "/var/run")}}})
	}),
	inSpec("a claim that Kubernetes makes", func(_ *rand.Rand, s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "made", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}}}}})
	}),
	inSpec("a Secret of others", func(_ *rand.Rand, s *corev1.PodSpec) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "of-others", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "registry"}}})
		s.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "registry"}}}}
	}),
	inSpec("a further container, with nothing said of it", func(r *rand.Rand, s *corev1.PodSpec) {
		list := one(r, &s.Containers, &s.InitContainers)
		*list = append(*list, corev1.Container{Name: "more", Image: "any"})
	}),
	inSpec("a further container like the first", func(r *rand.Rand, s *corev1.PodSpec) {
		more := *s.Containers[0].DeepCopy()
		more.Name, more.RestartPolicy = "more", one(r, nil, new(corev1.ContainerRestartPolicyAlways))
		list := one(r, &s.Containers, &s.InitContainers)
		*list = append(*list, more)
	}),
	inSpec("a time to stop", func(r *rand.Rand, s *corev1.PodSpec) {
		s.TerminationGracePeriodSeconds = one(r, nil, new(int64(0)), new(int64(-1)), new(int64(3600)), new(int64(3601)), new(int64(1<<40)))
	}),
	inSpec("where it runs", func(r *rand.Rand, s *corev1.PodSpec) {
		s.NodeName, s.NodeSelector = one(r, "", "node-1"), one(r, nil, map[string]string{"node-role.kubernetes.io/control-plane": ""})
		s.Tolerations = append(s.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
		s.SchedulerName, s.RuntimeClassName = one(r, "", "other"), one(r, nil, new("other"))
	}),
	inSpec("how important it is", func(r *rand.Rand, s *corev1.PodSpec) {
		s.PriorityClassName, s.PreemptionPolicy = one(r, "system-node-critical", "high"), new(corev1.PreemptLowerPriority)
	}),
	inSpec("names, users and restarts", func(r *rand.Rand, s *corev1.PodSpec) {
		s.HostAliases, s.HostUsers = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"db"}}}, one(r, nil, new(true), new(false))
		s.RestartPolicy, s.ShareProcessNamespace = one(r, corev1.RestartPolicyAlways, corev1.RestartPolicyNever), new(true)
		s.OS = one(r, nil, &corev1.PodOS{Name: corev1.Linux})
	}),
	onNew("Pods that it takes from others", func(r *rand.Rand, j *batchv1.Job) {
		j.Spec.ManualSelector, j.Spec.Parallelism = one(r, new(true), new(false)), new(int32(0))
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		j.Spec.Template.Labels = map[string]string{"app": "web"}
	}),
	onNew("a finalizer of a Job's Pods", func(r *rand.Rand, j *batchv1.Job) {
		j.Spec.Template.Finalizers = []string{one(r, "a.b/c", "kubernetes.io/pvc-protection")}
	}),
	on("how many Pods a Job is of", func(r *rand.Rand, j *batchv1.Job) {
		j.Spec.Parallelism, j.Spec.TTLSecondsAfterFinished, j.Spec.Suspend = new(r.Int32()), one(r, nil, new(r.Int32())), one(r, nil, new(false), new(true))
	}),
	on("another image", func(_ *rand.Rand, p *corev1.Pod) { p.Spec.Containers[0].Image = "any" }),
	{"other amounts", func(_ *rand.Rand, t *tried) bool {
		if p, isPod := t.Object.(*corev1.Pod); isPod {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("99")}
			return t.Subresource == "resize" || t.isNew()
		}
		return false
	}},
}

var identityDangers = []danger{
	inSpec("an account", func(r *rand.Rand, s *corev1.PodSpec) {
		s.ServiceAccountName = one(r, "admin", "default", "etcd-backup", "etcd-backup2", "etcd", "", ",", "etcd-backup, default")
		s.DeprecatedServiceAccount = s.ServiceAccountName // as the API server reads both (kubernetes/kubernetes:pkg/apis/core/v1/conversion.go)
	}),
	inSpec("the token that Kubernetes mounts", func(r *rand.Rand, s *corev1.PodSpec) {
		s.AutomountServiceAccountToken = one(r, nil, new(true), new(false))
	}),
	projected("a token", func(r *rand.Rand) corev1.VolumeProjection {
		return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: one(r, nil, new(int64(1<<31))),
			Audience: one(r, "", "https://kubernetes.default.svc", "https://kubernetes.default.svc.cluster.local", "k3s", "rke2", "api", "kubernetes",
				"sts.amazonaws.com", "sts.amazonaws.com.example", "pods.eks.amazonaws.com", "sts.aliyuncs.com", "api://AzureADTokenExchange",
				"https://iam.googleapis.com/projects/1", "//iam.googleapis.com/projects/1", "https://oidc.eks.eu.amazonaws.com/id/1", "istio-ca", "istio-ca ",
				"identity.l5d.io", "vault")}}
	}),
	projected("a certificate", func(r *rand.Rand) corev1.VolumeProjection {
		return corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{KeyType: "ED25519",
			SignerName: one(r, "kubernetes.io/kube-apiserver-client-pod", "example.com/mesh")}}
	}),
	projected("something of others", func(r *rand.Rand) corev1.VolumeProjection {
		return one(r, corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "registry"}}},
			corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Path: "ca"}})
	}),
	inSpec("Secrets to pull images with", func(_ *rand.Rand, s *corev1.PodSpec) {
		s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	}),
}

// someSelector has some of the labels of members, or none.
func someSelector(r *rand.Rand) map[string]string {
	selector := one(r, map[string]string{"app": "web"}, map[string]string{}, nil, map[string]string(memberOf("other")))
	if r.IntN(2) == 0 {
		selector = map[string]string(memberOf("demo"))
		switch key := one(r, v1alpha1.LabelManagedBy, v1alpha1.LabelInstance, v1alpha1.LabelComponent); r.IntN(3) {
		case 0:
			delete(selector, key)
		case 1:
			selector[key] = one(r, "", "web", "shop")
		case 2:
			selector["app"] = "web"
		}
	}
	return selector
}

func someLabelSelector(r *rand.Rand) metav1.LabelSelector {
	s := metav1.LabelSelector{MatchLabels: someSelector(r)}
	if r.IntN(3) == 0 {
		s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: one(r, v1alpha1.LabelInstance, "app"), Operator: one(r, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}
	}
	return s
}

var plainDangers = []danger{
	onNew("a type of Secret", func(r *rand.Rand, s *corev1.Secret) {
		s.Type = one(r, corev1.SecretTypeServiceAccountToken, corev1.SecretTypeOpaque, corev1.SecretTypeBootstrapToken, corev1.SecretTypeDockerConfigJson,
			"helm.sh/release.v1", "", corev1.SecretTypeTLS)
		s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "admin"}
	}),
	on("what a Secret holds", func(r *rand.Rand, s *corev1.Secret) {
		s.Data, s.Immutable = map[string][]byte{"tls.key": nil, "x": nil}, one(r, nil, new(true))
	}),
	on("a volume by its name", func(r *rand.Rand, c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = one(r, "", "pv-2") }),
	onNew("a volume by a selector", func(_ *rand.Rand, c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }),
	onNew("the data of another volume", func(r *rand.Rand, c *corev1.PersistentVolumeClaim) {
		if r.IntN(2) == 0 {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		} else {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "VolumeSnapshot", Name: "data", Namespace: one(r, nil, new("shop"))}
		}
	}),
	onNew("how a volume is", func(r *rand.Rand, c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes, c.Spec.VolumeMode = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, one(r, nil, new(corev1.PersistentVolumeBlock))
		c.Spec.StorageClassName = one(r, nil, new(""), new("fast"))
	}),
	on("how big a volume is", func(_ *rand.Rand, c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("99Ti")}
		c.Spec.VolumeAttributesClassName = new("fast")
	}),
	on("where a Service leads", func(r *rand.Rand, s *corev1.Service) { s.Spec.Selector = someSelector(r) }),
	on("an external name", func(r *rand.Rand, s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalName = one(r, corev1.ServiceTypeExternalName, s.Spec.Type), one(r, "", "example.com")
	}),
	on("addresses", func(r *rand.Rand, s *corev1.Service) {
		s.Spec.ExternalIPs = one(r, nil, []string{"10.0.0.1"}, []string{"10.0.0.1", "10.0.0.2"})
	}),
	on("how a Service is reached", func(r *rand.Rand, s *corev1.Service) {
		s.Spec.Type = one(r, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort, corev1.ServiceTypeClusterIP)
		s.Spec.LoadBalancerIP, s.Spec.LoadBalancerClass = one(r, "", "10.0.0.3"), one(r, nil, new("other"))
		s.Spec.Ports, s.Spec.PublishNotReadyAddresses = []corev1.ServicePort{{Port: 443, NodePort: 30443}}, true
	}),
	on("whom a NetworkPolicy is of", func(r *rand.Rand, p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = someLabelSelector(r) }),
	on("what a NetworkPolicy lets", func(r *rand.Rand, p *networkingv1.NetworkPolicy) {
		p.Spec.Ingress, p.Spec.Egress = one(r, nil, []networkingv1.NetworkPolicyIngressRule{{}}), nil
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}),
	on("whom a budget is of", func(r *rand.Rand, b *policyv1.PodDisruptionBudget) {
		s := someLabelSelector(r)
		b.Spec.Selector = one(r, &s, &s, nil)
	}),
	on("what a budget lets", func(r *rand.Rand, b *policyv1.PodDisruptionBudget) {
		b.Spec.MaxUnavailable, b.Spec.MinAvailable = one(r, nil, new(intstr.FromInt32(0))), one(r, nil, new(intstr.FromString("100%")))
	}),
	on("what a backup asks for", func(r *rand.Rand, b *v1alpha1.EtcdBackup) {
		b.Spec.ClusterRef.Name = one(r, "other", "demo")
		b.Spec.Tasks = one(r, nil, &v1alpha1.TaskSpec{ServiceAccountName: "admin"})
	}),
	on("the label of a schedule", func(r *rand.Rand, b *v1alpha1.EtcdBackup) {
		b.Labels = one(r, nil, map[string]string{v1alpha1.LabelSchedule: ""}, map[string]string{v1alpha1.LabelSchedule: "nightly"})
	}),
	on("what a client asks for", func(r *rand.Rand, c *v1alpha1.EtcdClient) {
		c.Spec.User, c.Spec.SecretName = one(r, "root", c.Spec.User), one(r, "web-etcd", c.Spec.SecretName)
	}),
	on("what a schedule asks for", func(r *rand.Rand, s *v1alpha1.EtcdBackupSchedule) {
		s.Spec.Schedule, s.Spec.Retention = one(r, "* * * * *", s.Spec.Schedule), one(r, nil, s.Spec.Retention)
	}),
}

var deletionDangers = []danger{
	deleting("dependents that are left", func(r *rand.Rand, d *metav1.DeleteOptions) {
		d.PropagationPolicy = one(r, nil, new(metav1.DeletePropagationOrphan), new(metav1.DeletePropagationForeground))
		d.OrphanDependents = nil //nolint:staticcheck // a thief is free to use it
		if d.PropagationPolicy == nil {
			d.OrphanDependents = one(r, nil, new(true), new(false)) //nolint:staticcheck // a thief is free to use it
		}
	}),
	deleting("a time to stop", func(r *rand.Rand, d *metav1.DeleteOptions) {
		d.GracePeriodSeconds = one(r, nil, new(int64(0)), new(int64(30)), new(int64(3600)), new(int64(1<<40)))
	}),
	{"another Pod to evict", func(r *rand.Rand, t *tried) bool {
		if t.Subresource == "eviction" {
			t.Object.SetName(strings.TrimSuffix(one(r, "web-7d4b9c6f5-x2x1p", "web", "web-0-x", "shop-3", "-1", "web-1-"), "-"))
		}
		return t.Subresource == "eviction"
	}},
}
