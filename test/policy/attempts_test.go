package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func cluster() *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo", UID: "uid-of-demo"},
		Spec: v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.6.16"}}
}

// like is an object of the operator with one thing changed.
func like[T client.Object](object T, change func(T)) T {
	change(object)
	return object
}

func secret() *corev1.Secret { return resources.BuildMemberSecret(cluster(), "demo-0", nil) }

func volume() *corev1.PersistentVolumeClaim {
	return resources.BuildVolume(cluster(), resources.Volume{Name: "demo-0", Incarnation: "1a2b3c4d", Bytes: 8 << 30})
}

func service() *corev1.Service { return resources.BuildClientService(cluster()) }

func networkPolicy() *networkingv1.NetworkPolicy {
	return resources.BuildNetworkPolicy(like(cluster(), func(c *v1alpha1.EtcdCluster) {
		c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{}
	}), "etcd-steward-system/etcd-steward")
}

func budget() *policyv1.PodDisruptionBudget { return resources.BuildBudget(cluster(), 2) }

func member(t *testing.T) *corev1.Pod {
	t.Helper()
	pod, err := resources.BuildPod(cluster(), resources.PodStart{Name: "demo-0", Incarnation: "1a2b3c4d",
		Flags: resources.StartSealed, Inputs: resources.Inputs(cluster())})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func job() *batchv1.Job {
	b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", UID: "0b4c2d1e"},
		Spec: v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: "demo"},
			Store: store()}}
	return resources.BuildBackupJob(b, cluster(), resources.BackupStart{Platform: resources.Platform{AgentImage: "agent"}, EtcdImage: "etcd"})
}

func foreign(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "prod", Name: name} }

func backup(labels map[string]string, cluster string) *v1alpha1.EtcdBackup {
	return &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "nightly", Labels: labels},
		Spec: v1alpha1.EtcdBackupSpec{ClusterRef: v1alpha1.ClusterReference{Name: cluster}, Store: store()}}
}

func schedule(keep int32) *v1alpha1.EtcdBackupSchedule {
	return &v1alpha1.EtcdBackupSchedule{ObjectMeta: foreign("nightly"), Spec: v1alpha1.EtcdBackupScheduleSpec{
		ClusterRef: v1alpha1.ClusterReference{Name: "demo"}, Schedule: "0 3 * * *", Store: store(),
		Retention: &v1alpha1.BackupRetention{KeepLast: &keep}}}
}

func store() v1alpha1.BackupStore {
	return v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}
}

func ofSchedule() *v1alpha1.EtcdBackup {
	return backup(map[string]string{v1alpha1.LabelSchedule: "nightly"}, "demo")
}

// access is a client of the cluster that a person made.
func access() *v1alpha1.EtcdClient {
	return &v1alpha1.EtcdClient{ObjectMeta: foreign("shop"), Spec: v1alpha1.EtcdClientSpec{
		ClusterRef:  v1alpha1.ClientClusterReference{Name: "demo"},
		Permissions: []v1alpha1.ClientPermission{{Prefix: "shop/", Access: v1alpha1.AccessReadOnly}}}}
}

// attempt is one way to gain more with the operator's account than its work needs.
type attempt struct {
	name string
	Request
	says    string // part of the refusal
	already string // what an API server may say before it asks a policy
}

func create(object client.Object) Request {
	return Request{Operation: admission.Create, Object: object}
}

func remove(object client.Object) Request { return Request{Operation: admission.Delete, Old: object} }

func change(before, after client.Object) Request {
	return Request{Operation: admission.Update, Old: before, Object: after}
}

func evict(pod string) Request {
	return Request{Operation: admission.Create, Subresource: "eviction",
		Object: &policyv1.Eviction{ObjectMeta: foreign(pod)}}
}

// taken is a foreign object before and after the operator's marks are put on it.
func taken[T client.Object](build func() T) Request {
	after := build()
	after.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	after.SetOwnerReferences([]metav1.OwnerReference{resources.OwnerReference(cluster())})
	return change(build(), after)
}

const (
	notMade   = "was not made by the operator, which changes and deletes no other objects"
	unlabeled = "does not have the label app.kubernetes.io/managed-by=etcd-steward"
	unowned   = "would be owned by no object of etcdsteward.dev"
	misowned  = "would get an owner that the operator never names"
	held      = "would get a finalizer"
)

func objectAttempts(t *testing.T) []attempt {
	t.Helper()
	otherSecret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: foreign("web-1-tls"), Type: corev1.SecretTypeTLS}
	}
	otherPod := func() *corev1.Pod { return &corev1.Pod{ObjectMeta: foreign("web-0"), Spec: member(t).Spec} }
	otherClaim := func() *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: foreign("data"), Spec: volume().Spec}
	}
	otherService := func() *corev1.Service { return &corev1.Service{ObjectMeta: foreign("web"), Spec: service().Spec} }
	otherBudget := func() *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: foreign("web"), Spec: budget().Spec}
	}
	otherJob := func() *batchv1.Job {
		other := &batchv1.Job{ObjectMeta: foreign("migrate"), Spec: job().Spec}
		other.Spec.Template.Labels = nil // a Job without labels gets these
		return other
	}
	otherPolicy := func() *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: foreign("web"), Spec: networkPolicy().Spec}
	}
	resize := change(otherPod(), otherPod())
	resize.Subresource = "resize"
	timed := func(seconds int64) Request {
		r := evict("demo-0")
		r.Object.(*policyv1.Eviction).DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: &seconds}
		return r
	}
	return []attempt{
		{"create a Secret without the label", create(otherSecret()), "secrets prod/web-1-tls " + unlabeled, ""},
		{"create a Pod without the label", create(otherPod()), "pods prod/web-0 " + unlabeled, ""},
		{"create a claim without the label", create(otherClaim()), unlabeled, ""},
		{"create a Service without the label", create(otherService()), unlabeled, ""},
		{"create a budget without the label", create(otherBudget()), unlabeled, ""},
		{"create a Job without the label", create(otherJob()), unlabeled, ""},
		{"create a NetworkPolicy without the label", create(otherPolicy()), unlabeled, ""},
		{"create a Pod with the label and no owner", create(like(member(t), func(p *corev1.Pod) { p.OwnerReferences = nil })), unowned, ""},
		{"create a Pod that a Deployment owns", create(like(member(t), func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion = "apps/v1"
		})), misowned, ""},
		{"create a Job with the label and no owner", create(like(job(), func(j *batchv1.Job) { j.OwnerReferences = nil })), unowned, ""},
		{"create a Service with the label and no owner", create(like(service(), func(s *corev1.Service) { s.OwnerReferences = nil })), unowned, ""},
		{"create a Pod that says that the operator wrote it", create(like(otherPod(), func(p *corev1.Pod) {
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "etcd-steward"}}
		})), unlabeled, ""},
		{"delete a foreign Pod", remove(otherPod()), "pods prod/web-0 " + notMade, ""},
		{"delete a foreign claim", remove(otherClaim()), notMade, ""},
		{"delete a foreign Secret", remove(otherSecret()), notMade, ""},
		{"delete a foreign budget", remove(otherBudget()), notMade, ""},
		{"delete a foreign Job", remove(otherJob()), notMade, ""},
		{"delete a foreign NetworkPolicy", remove(otherPolicy()), notMade, ""},
		{"delete an object of another manager", remove(like(otherPod(), func(p *corev1.Pod) {
			p.Labels = map[string]string{v1alpha1.LabelManagedBy: "Helm"}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"}}
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager"}}
		})), notMade, ""},
		{"take over a foreign Secret", taken(otherSecret), notMade, ""},
		{"take over a foreign Pod", taken(otherPod), notMade, ""},
		{"take over a foreign claim", taken(otherClaim), notMade, ""},
		{"take over a foreign Service", taken(otherService), notMade, ""},
		{"take over a foreign budget", taken(otherBudget), notMade, ""},
		{"take over a foreign Job", taken(otherJob), notMade, ""},
		{"take over a foreign NetworkPolicy", taken(otherPolicy), notMade, ""},
		{"give a foreign Pod other amounts", resize, notMade, ""},
		{"evict a Pod and let it run on", timed(1 << 30), "pods prod/demo-0 would get another time to stop", ""},
		{"evict a Pod and make another while it runs", timed(0), "pods prod/demo-0 would get another time to stop", ""},
		{"evict a Pod of a Deployment", evict("web-7d4b9c6f5-x2x1p"), "pods prod/web-7d4b9c6f5-x2x1p is no member", ""},
	}
}

// ownerAttempts are ways to make what the garbage collector leaves alone.
func ownerAttempts(t *testing.T) []attempt {
	t.Helper()
	owner := func(change func(*metav1.OwnerReference)) *corev1.Pod {
		return like(member(t), func(p *corev1.Pod) { change(&p.OwnerReferences[0]) })
	}
	incarnations := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", UID: "uid-of-another"}
	endless, forever := new(int64(1<<30)), "would have more than 3600 seconds to stop"
	without := func(object client.Object, options metav1.DeleteOptions) Request {
		return Request{Operation: admission.Delete, Old: object, Options: &options}
	}
	orphans := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}
	placed := like(member(t), func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }) // one without a node ends at once
	const protection = "kubernetes.io/pvc-protection"
	return []attempt{
		{"create a Pod whose owner is of no version that there is", create(owner(func(o *metav1.OwnerReference) {
			o.APIVersion = "etcdsteward.dev/v9"
		})), "pods prod/demo-0 " + misowned, ""},
		{"create a Pod whose owner is of no kind that there is", create(owner(func(o *metav1.OwnerReference) { o.Kind = "Nothing" })), misowned, ""},
		{"create a Pod whose owner is not its controller", create(owner(func(o *metav1.OwnerReference) { o.Controller = nil })), misowned, ""},
		{"create a Pod with a second owner, which lives", create(like(member(t), func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, incarnations)
		})), misowned, ""},
		{"create a claim whose owner is of no kind that there is", create(like(volume(), func(p *corev1.PersistentVolumeClaim) {
			p.OwnerReferences = []metav1.OwnerReference{resources.DataOwnerReference(cluster())}
			p.OwnerReferences[0].Kind = "Nothing"
		})), misowned, ""},
		{"create a Secret that another object owns", create(like(secret(), func(s *corev1.Secret) {
			s.OwnerReferences = []metav1.OwnerReference{incarnations}
		})), misowned, ""},
		{"take its owner from a Pod", change(member(t), like(member(t), func(p *corev1.Pod) { p.OwnerReferences = nil })), unowned, ""},
		{"give a Pod another owner", change(member(t), like(member(t), func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{incarnations}
		})), misowned, ""},
		{"create a Service with a finalizer", create(like(service(), func(s *corev1.Service) { s.Finalizers = []string{"a.b/c"} })), held, ""},
		{"give a Job a finalizer", change(job(), like(job(), func(j *batchv1.Job) { j.Finalizers = []string{"orphan"} })), held, ""},
		{"create a Pod that never stops", create(like(member(t), func(p *corev1.Pod) {
			p.Spec.TerminationGracePeriodSeconds = endless
		})), forever, ""},
		{"create a Job whose Pods never stop", create(like(job(), func(j *batchv1.Job) {
			j.Spec.Template.Spec.TerminationGracePeriodSeconds = endless
		})), forever, ""},
		{"delete a Pod and let it run on", without(placed, metav1.DeleteOptions{GracePeriodSeconds: endless}), forever, ""},
		{"delete a Job and leave its Pods", without(job(), metav1.DeleteOptions{}), "would leave its Pods behind", ""},
		{"delete a backup of a schedule and leave its Job", without(ofSchedule(), orphans), "would leave its Job behind", ""},
		{"create a Service with the finalizer of claims", create(like(service(), func(s *corev1.Service) { s.Finalizers = []string{protection} })), held, ""},
		{"give a NetworkPolicy the finalizer of claims", change(networkPolicy(), like(networkPolicy(), func(p *networkingv1.NetworkPolicy) {
			p.Finalizers = []string{protection}
		})), held, ""},
		{"create a Job whose Pods have a finalizer", create(like(job(), func(j *batchv1.Job) {
			j.Spec.Template.Finalizers = []string{"a.b/c"}
		})), held, ""},
		{"create a backup with a finalizer", create(like(ofSchedule(), func(b *v1alpha1.EtcdBackup) { b.Finalizers = []string{"orphan"} })), held, ""},
		{"give a schedule a finalizer", change(schedule(7), like(schedule(7), func(s *v1alpha1.EtcdBackupSchedule) {
			s.Finalizers = []string{"a.b/c"}
		})), held, ""},
		{"keep a client by another finalizer", change(access(), like(access(), func(c *v1alpha1.EtcdClient) {
			c.Finalizers = []string{"a.b/c"}
		})), "would get or lose a finalizer other than", ""},
		{"have a client deleted by an owner that is gone", change(access(), like(access(), func(c *v1alpha1.EtcdClient) {
			c.OwnerReferences = []metav1.OwnerReference{resources.OwnerReference(cluster())}
		})), "would get another owner, label or annotation", ""},
		{"have a Pod owned by a client", create(like(member(t), func(p *corev1.Pod) {
			p.OwnerReferences[0].Kind = resources.KindClient
		})), misowned, ""},
		{"have a person's backup deleted by an owner that is gone", change(backup(nil, "demo"), like(backup(nil, "demo"), func(b *v1alpha1.EtcdBackup) {
			b.OwnerReferences = []metav1.OwnerReference{resources.OwnerReference(cluster())}
		})), "would get another owner or label", ""},
		{"have a schedule deleted by an owner that is gone", change(schedule(7), like(schedule(7), func(s *v1alpha1.EtcdBackupSchedule) {
			s.OwnerReferences = []metav1.OwnerReference{resources.OwnerReference(cluster())}
		})), "would get another owner or label", ""},
		{"make a person's backup one of a schedule, to delete it", change(backup(nil, "demo"), ofSchedule()), "would get another owner or label", ""},
	}
}

func contentAttempts() []attempt {
	external := func(name string) *corev1.Service {
		return like(service(), func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalName, s.Spec.IPFamilyPolicy = corev1.ServiceTypeExternalName, name, nil
		})
	}
	scheduled := map[string]string{v1alpha1.LabelSchedule: "nightly"}
	waits := func() *batchv1.Job { return like(job(), func(j *batchv1.Job) { j.Spec.Suspend = new(true) }) }
	return []attempt{
		{"create a Secret for the token of an account", create(like(secret(), func(s *corev1.Secret) {
			s.Type = corev1.SecretTypeServiceAccountToken
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "admin"}
		})), `secrets prod/demo-0-tls has the type "kubernetes.io/service-account-token"`, ""},
		{"create a Secret of any kind", create(like(secret(), func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque })),
			`has the type "Opaque"`, ""},
		{"create a Secret of another name", create(like(secret(), func(s *corev1.Secret) { s.Name = "registry" })),
			"secrets prod/registry has no name of the operator", ""},
		{"create a Secret for the Ingress of another", create(like(secret(), func(s *corev1.Secret) { s.Name = "web-tls" })),
			"secrets prod/web-tls has no name of the operator", ""},
		{"create a Secret without a name", create(like(secret(), func(s *corev1.Secret) { s.Name, s.GenerateName = "", "x-" })),
			"has no name of the operator", ""},
		{"claim a certain volume", create(like(volume(), func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeName = "pv-1" })),
			"persistentvolumeclaims prod/demo-0 would choose its volume", ""},
		{"claim a certain volume later", change(volume(), like(volume(), func(p *corev1.PersistentVolumeClaim) {
			p.Spec.VolumeName = "pv-1"
		})), "would choose its volume", "spec is immutable"},
		{"claim a volume by its labels", create(like(volume(), func(p *corev1.PersistentVolumeClaim) {
			p.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"of": "another"}}
		})), "would choose its volume", ""},
		{"copy a volume", create(like(volume(), func(p *corev1.PersistentVolumeClaim) {
			p.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		})), "would choose its volume or take the data of another one", ""},
		{"copy a volume by reference", create(like(volume(), func(p *corev1.PersistentVolumeClaim) {
			p.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		})), "would choose its volume or take the data of another one", ""},
		{"take addresses from others", create(like(service(), func(s *corev1.Service) {
			s.Spec.ExternalIPs = []string{"10.0.0.1"}
		})), "services prod/demo would lead away from its Pods", ""},
		{"take addresses from others later", change(service(), like(service(), func(s *corev1.Service) {
			s.Spec.ExternalIPs = []string{"10.0.0.1"}
		})), "would lead away from its Pods", ""},
		{"lead clients to another name than a person did", change(external("db.example.com"), external("example.com")), "would lead away from its Pods", ""},
		{"lead clients to another name", change(service(), like(service(), func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
		})), "would lead away from its Pods", ""},
		{"loosen AppArmor of a Job that waits", change(waits(), like(waits(), func(j *batchv1.Job) {
			j.Spec.Template.Annotations = map[string]string{
				"container.apparmor.security.beta.kubernetes.io/" + j.Spec.Template.Spec.Containers[0].Name: "unconfined"}
		})), "jobs prod/demo-backup-0b4c2d1e has an annotation that loosens", "is not confined"},
		{"take over Pods of others by a Job", create(like(job(), func(j *batchv1.Job) {
			j.Spec.ManualSelector, j.Spec.Parallelism = new(true), new(int32(0))
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			j.Spec.Template.Labels = map[string]string{"app": "web"}
		})), "would select its Pods itself", ""},
		{"create a backup by hand", create(backup(nil, "demo")), "etcdbackups prod/nightly has no label etcdsteward.dev/schedule", ""},
		{"delete a backup that a person made", remove(backup(nil, "demo")), "has no label etcdsteward.dev/schedule", ""},
		{"back another cluster up", change(backup(scheduled, "demo"), backup(scheduled, "other")), "would get another spec", "spec cannot change"},
		{"give a client more keys", change(access(), like(access(), func(c *v1alpha1.EtcdClient) {
			c.Spec.Permissions[0].Access = v1alpha1.AccessReadWrite
		})), "etcdclients prod/shop would get another spec", ""},
		{"let a schedule keep little", change(schedule(7), schedule(1)), "etcdbackupschedules prod/nightly would get another spec", ""},
	}
}

// placeAttempts are ways to use namespaces that no administrator gave to clusters.
func placeAttempts(t *testing.T) []attempt {
	t.Helper()
	const refused = " would be in a namespace of Kubernetes itself"
	var all []attempt
	for _, object := range []client.Object{member(t), job(), secret(), volume(), service(), budget(), networkPolicy(), ofSchedule()} {
		object.SetNamespace(metav1.NamespaceSystem)
		all = append(all, attempt{fmt.Sprintf("create a %T of Kubernetes itself", object), create(object), refused, ""})
	}
	return all
}

// selectAttempts are ways to act on Pods that are no members.
func selectAttempts() []attempt {
	others, all := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, &metav1.LabelSelector{}
	budgetOf := func(s *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return like(budget(), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s })
	}
	policyOf := func(s *metav1.LabelSelector) *networkingv1.NetworkPolicy {
		return like(networkPolicy(), func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = *s })
	}
	serviceOf := func(labels map[string]string) *corev1.Service {
		return like(service(), func(s *corev1.Service) { s.Spec.Selector = labels })
	}
	atAll := intstr.FromInt32(0)
	unnamed := resources.MemberSelector("demo")
	delete(unnamed, v1alpha1.LabelInstance)
	const foreigners = "would select other Pods than members"
	return []attempt{
		{"keep all Pods from being evicted", create(budgetOf(all)), "poddisruptionbudgets prod/demo " + foreigners, ""},
		{"keep a Deployment's Pods from being evicted later", change(budget(), budgetOf(others)), foreigners, ""},
		{"cut all Pods off", create(policyOf(all)), "networkpolicies prod/demo-members " + foreigners, ""},
		{"cut a Deployment's Pods off later", change(networkPolicy(), policyOf(others)), foreigners, ""},
		{"cut members of each cluster off", create(policyOf(&metav1.LabelSelector{MatchLabels: unnamed})), foreigners, ""},
		{"lead clients to a Deployment's Pods", create(serviceOf(others.MatchLabels)), "services prod/demo " + foreigners, ""},
		{"open what a person turned to other Pods", change(serviceOf(others.MatchLabels), like(serviceOf(others.MatchLabels), func(s *corev1.Service) {
			s.Spec.Type = corev1.ServiceTypeLoadBalancer
		})), foreigners, ""},
		{"keep all Pods from being evicted by what a person turned to them", change(budgetOf(all), like(budgetOf(all), func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &atAll
		})), foreigners, ""},
		{"cut all Pods off by what a person turned to them", change(policyOf(all), like(policyOf(all), func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = nil
		})), foreigners, ""},
		{"lead clients there later", change(service(), serviceOf(others.MatchLabels)), foreigners, ""},
		{"lead clients to what another account names", create(serviceOf(nil)), foreigners, ""},
	}
}

// podAttempt is a way to gain more by a Pod, which may be one of a Job.
type podAttempt struct {
	name    string
	change  func(*corev1.PodTemplateSpec)
	says    string
	already string
}

func podAttempts() []podAttempt {
	first := func(p *corev1.PodTemplateSpec) *corev1.Container { return &p.Spec.Containers[0] }
	token := func(audience string) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
					ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: audience},
				}}},
			}})
		}
	}
	privileged := func(c *corev1.Container) {
		c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), new(true)
	}
	annotation := func(key, value string) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{key: value} }
	}
	asks := func(host string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: host, Port: intstr.FromInt32(80)}}
	}
	const elsewhere, asked = "169.254.169.254", "has a probe or a hook that asks another host"
	const node, root, gains, confined = "uses a namespace or a port of its node", "may run as root",
		"has a container that is privileged", "is not confined"
	const loosened, holds = "has an annotation that loosens seccomp or AppArmor", "holds a service account token"
	return []podAttempt{
		{"the node's network", func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true }, node, ""},
		{"the node's processes", func(p *corev1.PodTemplateSpec) { p.Spec.HostPID = true }, node, ""},
		{"the node's IPC", func(p *corev1.PodTemplateSpec) { p.Spec.HostIPC = true }, node, ""},
		{"a port of the node", func(p *corev1.PodTemplateSpec) {
			first(p).Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}, node, ""},
		{"a directory of the node", func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "root",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
		}, "mounts a directory of its node", ""},
		{"a share of NFS", func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "nfs",
				VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "x", Path: "/"}}})
		}, "mounts a directory of its node, or another volume", ""},
		{"a claim that Kubernetes makes", func(p *corev1.PodTemplateSpec) {
			claim := &corev1.PersistentVolumeClaimTemplate{Spec: volume().Spec}
			claim.Spec.VolumeName = "pv-1"
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "claim", VolumeSource: corev1.VolumeSource{
				Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: claim}}})
		}, "mounts a directory of its node, or another volume", ""},
		{"root, by saying nothing", func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext.RunAsNonRoot = nil }, root, ""},
		{"no security context", func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext = nil }, root, ""},
		{"root by number", func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext.RunAsUser = new(int64(0)) }, root, ""},
		{"root in one container", func(p *corev1.PodTemplateSpec) { first(p).SecurityContext.RunAsNonRoot = new(false) }, root, ""},
		{"root by number in one container", func(p *corev1.PodTemplateSpec) { first(p).SecurityContext.RunAsUser = new(int64(0)) }, root, ""},
		{"a privileged container", func(p *corev1.PodTemplateSpec) { privileged(first(p)) }, gains, ""},
		{"a privileged init container", func(p *corev1.PodTemplateSpec) {
			init := corev1.Container{Name: "first", Image: "any", SecurityContext: first(p).SecurityContext.DeepCopy()}
			privileged(&init)
			p.Spec.InitContainers = append(p.Spec.InitContainers, init)
		}, gains, ""},
		{"escalation", func(p *corev1.PodTemplateSpec) { first(p).SecurityContext.AllowPrivilegeEscalation = nil }, gains, ""},
		{"a container without a security context", func(p *corev1.PodTemplateSpec) { first(p).SecurityContext = nil }, gains, ""},
		{"capabilities that are kept", func(p *corev1.PodTemplateSpec) { first(p).SecurityContext.Capabilities = nil }, gains, ""},
		{"a capability that is added", func(p *corev1.PodTemplateSpec) {
			first(p).SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		}, gains, ""},
		{"no seccomp", func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext.SeccompProfile = nil }, confined, ""},
		{"seccomp that is off", func(p *corev1.PodTemplateSpec) {
			first(p).SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}, confined, ""},
		{"AppArmor that is off", func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}, confined, ""},
		{"a SELinux type", func(p *corev1.PodTemplateSpec) {
			first(p).SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"}
		}, confined, ""},
		{"a SELinux user", func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{User: "system_u"}
		}, confined, ""},
		{"a /proc without masks", func(p *corev1.PodTemplateSpec) {
			first(p).SecurityContext.ProcMount, p.Spec.HostUsers = new(corev1.UnmaskedProcMount), new(false)
		}, confined, ""},
		{"a sysctl", func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}
		}, confined, ""},
		{"a process of a Windows host", func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: new(true)}
		}, confined, "hostNetwork must be true"},
		{"AppArmor that is off by annotation", func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/" + first(p).Name: "unconfined"}
		}, loosened, confined},
		{"seccomp that is off by annotation", annotation("seccomp.security.alpha.kubernetes.io/pod", "unconfined"),
			loosened, "seccomp type in annotation and field must match"},
		{"seccomp of a container that is off by annotation",
			annotation("container.seccomp.security.alpha.kubernetes.io/etcd", "unconfined"),
			loosened, "seccomp type in annotation and field must match"},
		{"a liveness probe of another host", func(p *corev1.PodTemplateSpec) {
			first(p).LivenessProbe = &corev1.Probe{ProbeHandler: asks(elsewhere)}
		}, asked, ""},
		{"a readiness probe that connects to another host", func(p *corev1.PodTemplateSpec) {
			first(p).ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Host: elsewhere, Port: intstr.FromInt32(80)}}}
		}, asked, ""},
		{"a startup probe of another host", func(p *corev1.PodTemplateSpec) {
			first(p).StartupProbe = &corev1.Probe{ProbeHandler: asks(elsewhere)}
		}, asked, ""},
		{"a hook that asks another host at the start", func(p *corev1.PodTemplateSpec) {
			first(p).Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: asks(elsewhere).HTTPGet}}
		}, asked, ""},
		{"a hook that asks another host at the end", func(p *corev1.PodTemplateSpec) {
			first(p).Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: asks(elsewhere).HTTPGet}}
		}, asked, ""},
		{"another account", func(p *corev1.PodTemplateSpec) { p.Spec.ServiceAccountName = "admin" },
			"would run as the service account admin", "error looking up service account"},
		{"a token for a cloud", token("sts.amazonaws.com"), "would hold a token of the service account default for a cloud", ""},
		{"the token that Kubernetes mounts", func(p *corev1.PodTemplateSpec) { p.Spec.AutomountServiceAccountToken = nil }, holds, ""},
		{"a token for Kubernetes", token(""), holds, ""},
		{"a token for Kubernetes by its URL", token("https://kubernetes.default.svc"), holds, ""},
		{"a token for Kubernetes by its name", token("k3s"), holds, ""},
		{"a token for a name that begins as another", token("istio-ca.k3s"), holds, ""},
	}
}

func attempts(t *testing.T) []attempt {
	t.Helper()
	all := slices.Concat(objectAttempts(t), ownerAttempts(t), contentAttempts(), placeAttempts(t), selectAttempts())
	for _, row := range podAttempts() {
		pod, task := member(t), job()
		template := corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
		row.change(&template)
		pod.Annotations, pod.Spec = template.Annotations, template.Spec
		row.change(&task.Spec.Template)
		all = append(all, attempt{"create a Pod with " + row.name, create(pod), "pods prod/demo-0 " + row.says, row.already},
			attempt{"create a Job of Pods with " + row.name, create(task), "jobs prod/demo-backup-0b4c2d1e " + row.says, row.already})
	}
	return all
}

func TestTheOperatorsAccountGainsNothingBeyondItsWork(t *testing.T) {
	for _, a := range attempts(t) {
		err := Ask(t.Context(), a.Request)
		switch {
		case err == nil:
			t.Errorf("%s: it was let", a.name)
		case !strings.Contains(err.Error(), a.says):
			t.Errorf("%s: want %q, got %v", a.name, a.says, err)
		}
		a.User = "system:serviceaccount:kube-system:job-controller"
		if err := Ask(t.Context(), a.Request); err != nil {
			t.Errorf("%s, by another account: %v", a.name, err)
		}
	}
}

func TestARefusedPodSaysWhatCanBeDone(t *testing.T) {
	pod := like(member(t), func(p *corev1.Pod) { p.Spec.HostNetwork = true })
	err := Ask(t.Context(), create(pod))
	if err == nil || !strings.Contains(err.Error(), "If a webhook of yours adds this, keep it from these Pods, or label the "+
		"namespace etcdsteward.dev/unrestricted-pods.") {
		t.Error(err)
	}
}

// No attempt, since a server takes it out unseen where the feature gate PodCertificateRequest is off.
func TestAPodHoldsNoCertificateOfItsAccount(t *testing.T) {
	pod := like(member(t), func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "certificate", VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{PodCertificate: &corev1.PodCertificateProjection{
				SignerName: "kubernetes.io/kube-apiserver-client-pod", KeyType: "ED25519", CredentialBundlePath: "bundle"}}}}}})
	})
	task := like(job(), func(j *batchv1.Job) { j.Spec.Template.Spec.Volumes = pod.Spec.Volumes })
	for _, object := range []client.Object{pod, task} {
		if err := Ask(t.Context(), create(object)); err == nil || !strings.Contains(err.Error(), "holds a certificate of its service account") {
			t.Errorf("%T: %v", object, err)
		}
	}
}

// What webhooks add, a policy sees. The operator rehearses a start before it stops a member
// (TestNothingIsStoppedForAPodThatWouldNotBeAdmitted).
func TestAContainerThatAWebhookAddsIsRefusedByItsName(t *testing.T) {
	pod := like(member(t), func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "proxy-init", Image: "any",
			SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}})
	})
	const want = "pods prod/demo-0 has a container that is privileged, may escalate privileges or keeps capabilities: proxy-init. The operator"
	if err := Ask(t.Context(), create(pod)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestARefusedAccountSaysWhatToWriteOnTheNamespace(t *testing.T) {
	err := Ask(t.Context(), create(like(member(t), func(p *corev1.Pod) { p.Spec.ServiceAccountName = "etcd-backup" })))
	if err == nil || !strings.Contains(err.Error(), "add etcd-backup to its annotation etcdsteward.dev/task-accounts") {
		t.Error(err)
	}
}

func TestTheAccountIsKnownInEachNamespaceAndByEachPrefix(t *testing.T) {
	attempt := remove(&corev1.Pod{ObjectMeta: foreign("web-0")})
	for name, isOperator := range map[string]bool{
		Operator: true,
		"system:serviceaccount:etcd:etcd-steward-controller-manager":          true,
		"system:serviceaccount:team-a:team-a-etcd-steward-controller-manager": true,
		"etcd-steward-controller-manager":                                     false,
		"system:serviceaccount:kube-system:cloud-controller-manager":          false,
		"system:serviceaccount:etcd-steward-system:default":                   false,
		"system:node:etcd-steward-controller-manager":                         false,
	} {
		attempt.User = name
		if err := Ask(t.Context(), attempt); (err != nil) != isOperator {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatTheOperatorDoesToItsOwnObjectsPasses(t *testing.T) {
	bare := func() *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo-0",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: "etcd-steward"}}}}
	}
	withIPs := func() *corev1.Service {
		return like(service(), func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"10.0.0.1"} })
	}
	external := func() *corev1.Service {
		return like(service(), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })
	}
	resize := change(member(t), member(t))
	resize.Subresource = "resize"
	injected := like(member(t), func(p *corev1.Pod) {
		p.Namespace = Unrestricted
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy",
			SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}})
	})
	ofOthers := func() *corev1.Pod { // what a person put on it stays there
		return like(member(t), func(p *corev1.Pod) {
			p.OwnerReferences, p.Finalizers = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "a"}}, []string{"a.b/c"}
		})
	}
	ownerless := func() *corev1.Pod { return like(member(t), func(p *corev1.Pod) { p.OwnerReferences = nil }) }
	protected := func() *corev1.PersistentVolumeClaim {
		return like(volume(), func(p *corev1.PersistentVolumeClaim) { p.Finalizers = []string{"kubernetes.io/pvc-protection"} })
	}
	goes := like(protected(), func(p *corev1.PersistentVolumeClaim) {
		p.OwnerReferences = []metav1.OwnerReference{resources.DataOwnerReference(cluster())}
	})
	bound := func(bytes int64) *corev1.PersistentVolumeClaim {
		claim := resources.BuildVolume(cluster(), resources.Volume{Name: "demo-0", Bytes: bytes})
		claim.Spec.VolumeName = "pv-1"
		return claim
	}
	turned := func() *corev1.Service {
		return like(service(), func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })
	}
	classless := like(cluster(), func(c *v1alpha1.EtcdCluster) {
		c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: new("")}
	})
	injectedJob := func() *batchv1.Job { // by a webhook, before there was this policy
		return like(job(), func(j *batchv1.Job) { j.Spec.Template.Spec.SecurityContext = nil })
	}
	for name, request := range map[string]Request{
		"write on a Job to whose Pods a webhook added": change(injectedJob(), like(injectedJob(), func(j *batchv1.Job) {
			j.Annotations = map[string]string{"a": "b"}
		})),
		"mark a Service whose selector a person changed":            change(turned(), like(turned(), func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} })),
		"select members again":                                      change(turned(), service()),
		"create a NetworkPolicy":                                    create(networkPolicy()),
		"change whom it lets in":                                    change(networkPolicy(), like(networkPolicy(), func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = nil })),
		"create a volume without a class":                           create(resources.BuildVolume(classless, resources.Volume{Name: "demo-0", Bytes: 8 << 30})),
		"grow a volume that is bound":                               change(bound(8<<30), bound(16<<30)),
		"create a volume that Kubernetes protects":                  create(protected()),
		"have a volume go with its cluster":                         change(protected(), goes),
		"have it stay":                                              change(goes, protected()),
		"change a Pod that a person gave an owner and a finalizer":  change(ofOthers(), ofOthers()),
		"change a Pod that lost its owner":                          change(ownerless(), ownerless()),
		"give a Pod its owner again":                                change(ownerless(), member(t)),
		"dress a volume again that lost all labels and annotations": change(bare(), volume()),
		"dress a Pod again that lost its labels":                    change(like(member(t), func(p *corev1.Pod) { p.Labels = nil }), member(t)),
		"delete a volume":                                           remove(volume()), "delete a Secret": remove(secret()), "delete a Pod": remove(member(t)),
		"delete a Job": remove(job()), "delete a budget": remove(budget()),
		"change a Pod in place": resize, "evict a member": evict("demo-12"),
		"correct a Service to which a person gave addresses": change(withIPs(), withIPs()),
		"mark a Service that a person turned away":           change(external(), external()),
		"correct it":                           change(external(), service()),
		"write on a backup that a person made": change(backup(nil, "demo"), backup(map[string]string{v1alpha1.LabelCluster: "demo"}, "demo")),
		"delete a backup of a schedule":        remove(backup(map[string]string{v1alpha1.LabelSchedule: "nightly"}, "demo")),
		"start a task as an account that the namespace names": create(like(job(), func(j *batchv1.Job) {
			j.Namespace, j.Spec.Template.Spec.ServiceAccountName = Named, "etcd-backup"
		})),
		"start a member in a namespace of Kubernetes that may have clusters": create(like(member(t), func(p *corev1.Pod) {
			p.Namespace = metav1.NamespacePublic
		})),
		"start a member where webhooks may add to Pods": create(injected),
	} {
		if err := Ask(t.Context(), request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// builtAs says what the reviewed objects of controllers/resources are, by what their names begin with.
var builtAs = map[string]func() client.Object{
	"budget":        func() client.Object { return &policyv1.PodDisruptionBudget{} },
	"defrag-pod-":   func() client.Object { return &corev1.Pod{} },
	"job-":          func() client.Object { return &batchv1.Job{} },
	"network-":      func() client.Object { return &networkingv1.NetworkPolicy{} },
	"pod-":          func() client.Object { return &corev1.Pod{} },
	"place-pod":     func() client.Object { return &corev1.Pod{} },
	"preflight-pod": func() client.Object { return &corev1.Pod{} },
	"prune-":        func() client.Object { return &batchv1.Job{} },
	"restore-pod-":  func() client.Object { return &corev1.Pod{} },
	"secret-":       func() client.Object { return &corev1.Secret{} },
	"service-":      func() client.Object { return &corev1.Service{} },
	"test-restore-": func() client.Object { return &batchv1.Job{} },
	"volume":        func() client.Object { return &corev1.PersistentVolumeClaim{} },
	"wal":           func() client.Object { return &corev1.PersistentVolumeClaim{} },
}

// builtObjects are those, by the names of their files.
func builtObjects(t *testing.T) map[string]client.Object {
	t.Helper()
	files, err := filepath.Glob(filepath.FromSlash("../../controllers/resources/testdata/*.yaml"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d reviewed objects: %v", len(files), err)
	}
	objects := map[string]client.Object{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "certificates-") { // contents of a Secret
			continue
		}
		if strings.HasPrefix(name, "disk") {
			continue // a person creates it, with the plugin: no policy on the operator's requests is about it
		}
		for prefix, build := range builtAs {
			if strings.HasPrefix(name, prefix) {
				objects[name] = build()
			}
		}
		if objects[name] == nil {
			t.Fatalf("%s: say in builtAs what it is", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, objects[name]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	objects["records"] = resources.BuildRecordsSecret(cluster(), []byte("key"))
	return objects
}

func TestEveryObjectThatIsBuiltPasses(t *testing.T) {
	for name, object := range builtObjects(t) {
		if err := Ask(t.Context(), create(object)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// forClouds are audiences of tokens that webhooks of clouds add.
var forClouds = []string{"sts.amazonaws.com", "pods.eks.amazonaws.com", "sts.aliyuncs.com",
	"api://AzureADTokenExchange", "api://AzureADTokenExchangeChina",
	"https://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
	"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"}

func TestTokensForMeshesPassAndThoseForCloudsWhereTheNamespaceNamesTheAccount(t *testing.T) {
	for _, audience := range append([]string{"istio-ca", "identity.l5d.io"}, forClouds...) {
		isForCloud := slices.Contains(forClouds, audience)
		pod := like(member(t), func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
					Path: "token", Audience: audience}}}}}})
		})
		if err := Ask(t.Context(), create(pod)); (err != nil) != isForCloud {
			t.Errorf("%s: %v", audience, err)
		}
		pod.Namespace = Named
		if err := Ask(t.Context(), create(pod)); err != nil {
			t.Errorf("%s of an account that is named: %v", audience, err)
		}
	}
}
