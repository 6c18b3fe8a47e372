package policy

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	podsecurity "k8s.io/pod-security-admission/api"
	checks "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// place is a namespace, and what its administrator said of it.
type place struct {
	name           string
	isClosed       bool // of Kubernetes itself, and not given to clusters
	isUnrestricted bool
	accounts       []string
}

var places = []place{
	{name: "prod"}, {name: "prod"}, {name: "prod"}, {name: "shop"},
	{name: metav1.NamespaceSystem, isClosed: true}, {name: corev1.NamespaceNodeLease, isClosed: true}, {name: metav1.NamespacePublic},
	{name: Unrestricted, isUnrestricted: true}, {name: Named, accounts: []string{"etcd-backup", "default"}},
}

// tried is a request, and what it does not show.
type tried struct {
	Request
	place
	isOurs bool // what there was before is the operator's own
}

// harm is what SECURITY.md says that a thief of the token cannot do. It goes by what Kubernetes makes of a request, and
// by nothing that the policies say.
type harm struct {
	name string
	does func(tried) bool
}

var harms = []harm{
	{"makes an object in a namespace of Kubernetes itself", func(t tried) bool { return t.isNew() && t.isClosed }},
	{"changes or deletes what the operator did not make", func(t tried) bool {
		_, isBackup := t.Old.(*v1alpha1.EtcdBackup) // on which it writes what came of it
		_, isSchedule := t.Old.(*v1alpha1.EtcdBackupSchedule)
		_, isClient := t.Old.(*v1alpha1.EtcdClient) // which it keeps until its access is taken away
		return t.Old != nil && !t.isOurs && !isSchedule && !isClient && (!isBackup || t.Operation == admission.Delete)
	}},
	{"lasts without a cluster, a backup or a schedule", lasts},
	{"may be adopted by a controller of others", isAdoptable},
	{"is kept by a finalizer", func(t tried) bool { return t.Object != nil && isKept(t) }},
	{"runs on for more than an hour when it is deleted", func(t tried) bool { return t.grace() > 3600 }},
	{"leaves what a deleted object owns", leavesDependents},
	{"has Kubernetes delete a backup or a schedule", func(t tried) bool {
		return t.Operation == admission.Update && isOfPeople(t.Object) &&
			!equality.Semantic.DeepEqual(t.Old.GetOwnerReferences(), t.Object.GetOwnerReferences())
	}},
	{"makes a backup that no schedule asked for", func(t tried) bool {
		b, isBackup := t.Object.(*v1alpha1.EtcdBackup)
		return t.isNew() && isBackup && !isScheduled(b)
	}},
	{"makes a person's backup one that it may delete", func(t tried) bool {
		b, isBackup := t.Object.(*v1alpha1.EtcdBackup)
		return t.Operation == admission.Update && isBackup && !t.isOurs && isScheduled(b)
	}},
	{"asks for another backup or schedule", asksForAnother},
	{"runs as an account that the namespace does not list", func(t tried) bool {
		pod := t.pod()
		return pod != nil && account(pod) != "default" && !slices.Contains(t.accounts, account(pod))
	}},
	{"holds a token that Kubernetes accepts", func(t tried) bool {
		pod := t.pod()
		return pod != nil && !t.isUnrestricted &&
			(pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken || holds(pod, isForKubernetes))
	}},
	{"holds a token for a cloud, of an account that the namespace does not list", func(t tried) bool {
		pod := t.pod()
		return pod != nil && holds(pod, isForCloud) && !slices.Contains(t.accounts, account(pod))
	}},
	{"holds a certificate of its account", func(t tried) bool {
		return t.pod() != nil && !t.isUnrestricted && projects(t.pod(), func(p corev1.VolumeProjection) bool { return p.PodCertificate != nil })
	}},
	{"has Kubernetes make a claim", func(t tried) bool {
		return t.pod() != nil && !t.isUnrestricted && slices.ContainsFunc(t.pod().Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	}},
	{"makes a Secret of another type", func(t tried) bool {
		s, isSecret := t.Object.(*corev1.Secret)
		return t.isNew() && isSecret && s.Type != corev1.SecretTypeTLS
	}},
	{"makes a Secret by a name that none of its certificates has", func(t tried) bool {
		_, isSecret := t.Object.(*corev1.Secret)
		return t.isNew() && isSecret && !isOfCertificates(t.Object.GetName())
	}},
	{"chooses its volume, or copies one", choosesVolume},
	{"leads clients out of Kubernetes", func(t tried) bool {
		s, isService := t.Object.(*corev1.Service)
		return isService && s.Spec.Type == corev1.ServiceTypeExternalName && !t.isSameSpec()
	}},
	{"takes an address from others", takesAddress},
	{"selects Pods that are no members", func(t tried) bool { return t.selects(foreigners...) > 0 && !t.isSameSpec() }},
	{"selects members of several clusters", func(t tried) bool {
		return t.selects(memberOf("demo"), memberOf("other")) > 1 && !t.isSameSpec()
	}},
	{"takes over the Pods of others", func(t tried) bool {
		j, isJob := t.Object.(*batchv1.Job)
		return isJob && t.isNew() && j.Spec.ManualSelector != nil && *j.Spec.ManualSelector
	}},
	{"evicts a Pod that is not named as a member", func(t tried) bool {
		at := strings.LastIndex(t.name(), "-")
		return t.Subresource == "eviction" && (at < 1 || !isNumber(t.name()[at+1:]))
	}},
	{"evicts a Pod without its time to stop", func(t tried) bool {
		return t.Subresource == "eviction" && t.deletion() != nil && t.deletion().GracePeriodSeconds != nil && *t.deletion().GracePeriodSeconds == 0
	}},
}

func (t tried) isNew() bool { return t.Operation == admission.Create && t.Subresource == "" }

func (t tried) name() string {
	if t.Object != nil {
		return t.Object.GetName()
	}
	return t.Old.GetName()
}

// pod is what is run anew because of this; nil where nothing is.
func (t tried) pod() *corev1.PodTemplateSpec {
	switch object := t.Object.(type) {
	case *corev1.Pod:
		if t.isNew() {
			return &corev1.PodTemplateSpec{ObjectMeta: object.ObjectMeta, Spec: object.Spec}
		}
	case *batchv1.Job:
		if t.isNew() || !equality.Semantic.DeepEqual(t.Old.(*batchv1.Job).Spec.Template, object.Spec.Template) {
			return &object.Spec.Template
		}
	}
	return nil
}

// deletion is how an object is deleted; nil where none is.
func (t tried) deletion() *metav1.DeleteOptions {
	if eviction, ok := t.Object.(*policyv1.Eviction); ok {
		return eviction.DeleteOptions
	}
	options, _ := t.options().(*metav1.DeleteOptions)
	return options
}

// grace is the longest time that what is deleted may run on, in seconds. That of the deletion goes before the Pod's own
// (kubernetes/kubernetes:pkg/registry/core/pod/strategy.go, CheckGracefulDelete), and the next deletion can only shorten
// it if it names a time (k8s.io/apiserver/pkg/registry/rest/delete.go). The garbage collector names none.
func (t tried) grace() int64 {
	_, isPod := t.Old.(*corev1.Pod)
	if d := t.deletion(); d != nil && d.GracePeriodSeconds != nil && (isPod || t.Subresource == "eviction") {
		return *d.GracePeriodSeconds
	}
	if pod := t.pod(); pod != nil && t.isNew() && pod.Spec.TerminationGracePeriodSeconds != nil {
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 0
}

// before is the metadata that there was.
func (t tried) before() metav1.ObjectMeta {
	if t.Old == nil {
		return metav1.ObjectMeta{}
	}
	return metav1.ObjectMeta{OwnerReferences: t.Old.GetOwnerReferences(), Finalizers: t.Old.GetFinalizers()}
}

// isSameSpec reports that a Service, a NetworkPolicy or a budget stays what a person made of it.
func (t tried) isSameSpec() bool {
	if t.Old == nil || t.Object == nil {
		return false
	}
	switch object := t.Object.(type) {
	case *corev1.Service:
		return equality.Semantic.DeepEqual(t.Old.(*corev1.Service).Spec, object.Spec)
	case *networkingv1.NetworkPolicy:
		return equality.Semantic.DeepEqual(t.Old.(*networkingv1.NetworkPolicy).Spec, object.Spec)
	case *policyv1.PodDisruptionBudget:
		return equality.Semantic.DeepEqual(t.Old.(*policyv1.PodDisruptionBudget).Spec, object.Spec)
	}
	return false
}

// isCollected reports an owner that the garbage collector can look up: of a kind that is served. Then it deletes what
// that owned, if it is gone. Another owner may live.
func isCollected(o metav1.OwnerReference) bool {
	return o.APIVersion == v1alpha1.GroupVersion.String() &&
		slices.Contains([]string{"EtcdCluster", "EtcdBackup", "EtcdBackupSchedule", "EtcdClient", "EtcdRestore"}, o.Kind)
}

func lasts(t tried) bool {
	if t.Object == nil || t.Subresource == "eviction" || isOfPeople(t.Object) {
		return false
	}
	before, owners := t.before().OwnerReferences, t.Object.GetOwnerReferences()
	isMisowned := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
		return !isCollected(o) && !slices.ContainsFunc(before, func(b metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(o, b) })
	})
	switch t.Object.(type) {
	case *corev1.Secret, *corev1.PersistentVolumeClaim: // data, which may outlive its cluster
		return isMisowned
	}
	return isMisowned || len(owners) == 0 && (t.isNew() || len(before) > 0)
}

// isAdoptable reports a Pod that a ReplicaSet or another controller takes for its own by its labels, and then owns
// (kubernetes/kubernetes:pkg/controller/controller_ref_manager.go).
func isAdoptable(t tried) bool {
	pod, isPod := t.Object.(*corev1.Pod)
	if !isPod || metav1.GetControllerOf(pod) != nil {
		return false
	}
	return t.isNew() || metav1.GetControllerOf(t.Old) != nil
}

// isKept reports a finalizer that the object did not have. A Job gives those of its template to its Pods
// (kubernetes/kubernetes:pkg/controller/controller_utils.go, GetPodFromTemplate). Kubernetes itself takes one from claims,
// and from claims alone (kubernetes/kubernetes:pkg/controller/volume/pvcprotection).
func isKept(t tried) bool {
	given := t.Object.GetFinalizers()
	if job, isJob := t.Object.(*batchv1.Job); isJob && t.isNew() {
		given = append(slices.Clone(given), job.Spec.Template.Finalizers...)
	}
	_, isClaim := t.Object.(*corev1.PersistentVolumeClaim)
	_, isClient := t.Object.(*v1alpha1.EtcdClient)
	return slices.ContainsFunc(given, func(f string) bool {
		return !slices.Contains(t.before().Finalizers, f) &&
			(!isClaim || f != "kubernetes.io/pvc-protection") && (!isClient || f != v1alpha1.FinalizerAccess)
	})
}

// leavesDependents reports a deletion after which Pods or Jobs have no owner any more. Jobs leave theirs unasked
// (kubernetes/kubernetes:pkg/registry/batch/job/strategy.go).
func leavesDependents(t tried) bool {
	d := t.deletion()
	if t.Operation != admission.Delete {
		return false
	}
	orphans := d.OrphanDependents //nolint:staticcheck // the API server still goes by it
	isOrphaned := orphans != nil && *orphans || d.PropagationPolicy != nil && *d.PropagationPolicy == metav1.DeletePropagationOrphan
	switch t.Old.(type) {
	case *batchv1.Job:
		return isOrphaned || orphans == nil && d.PropagationPolicy == nil
	case *v1alpha1.EtcdBackup:
		return isOrphaned
	}
	return false
}

// isOfPeople reports what a person may have made for the operator to work on.
func isOfPeople(object client.Object) bool {
	switch object.(type) {
	case *v1alpha1.EtcdBackup, *v1alpha1.EtcdBackupSchedule, *v1alpha1.EtcdClient:
		return true
	}
	return false
}

func isScheduled(b *v1alpha1.EtcdBackup) bool {
	_, isThere := b.Labels[v1alpha1.LabelSchedule]
	return isThere
}

func asksForAnother(t tried) bool {
	if t.Operation != admission.Update {
		return false
	}
	switch object := t.Object.(type) {
	case *v1alpha1.EtcdBackup:
		return !equality.Semantic.DeepEqual(t.Old.(*v1alpha1.EtcdBackup).Spec, object.Spec)
	case *v1alpha1.EtcdBackupSchedule:
		return !equality.Semantic.DeepEqual(t.Old.(*v1alpha1.EtcdBackupSchedule).Spec, object.Spec)
	case *v1alpha1.EtcdClient:
		return !equality.Semantic.DeepEqual(t.Old.(*v1alpha1.EtcdClient).Spec, object.Spec)
	}
	return false
}

func account(pod *corev1.PodTemplateSpec) string {
	for _, name := range []string{pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount} {
		if name != "" {
			return name
		}
	}
	return "default"
}

func projects(pod *corev1.PodTemplateSpec, fits func(corev1.VolumeProjection) bool) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, fits)
	})
}

func holds(pod *corev1.PodTemplateSpec, isFor func(audience string) bool) bool {
	return projects(pod, func(p corev1.VolumeProjection) bool {
		return p.ServiceAccountToken != nil && isFor(p.ServiceAccountToken.Audience)
	})
}

// isForKubernetes reports an audience by which a distribution has its API server accept a token.
func isForKubernetes(audience string) bool {
	return audience == "" || strings.Contains(audience, "kubernetes") || strings.Contains(audience, "k3s") || audience == "api" ||
		strings.Contains(audience, "rke2") || strings.HasPrefix(audience, "https://oidc.")
}

func isForCloud(audience string) bool {
	return slices.ContainsFunc([]string{"amazonaws.com", "aliyuncs.com", "iam.googleapis.com", "AzureAD"}, func(cloud string) bool {
		return strings.Contains(audience, cloud)
	}) && !strings.HasSuffix(audience, ".example") && !isForKubernetes(audience)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isOfCertificates reports a name that controllers/resources gives: of the two CAs, the client, the operator, the
// records of backups or a member.
func isOfCertificates(name string) bool {
	for _, suffix := range []string{"-ca", "-ca-peer", "-client-tls", "-operator-tls", "-records-tls"} {
		if cluster, isIt := strings.CutSuffix(name, suffix); isIt && cluster != "" {
			return true
		}
	}
	member, isIt := strings.CutSuffix(name, "-tls")
	at := strings.LastIndex(member, "-")
	return isIt && at > 0 && isNumber(member[at+1:])
}

func choosesVolume(t tried) bool {
	claim, isClaim := t.Object.(*corev1.PersistentVolumeClaim)
	if !isClaim {
		return false
	}
	before := corev1.PersistentVolumeClaimSpec{}
	if old, isThere := t.Old.(*corev1.PersistentVolumeClaim); isThere {
		before = old.Spec
	}
	return claim.Spec.VolumeName != before.VolumeName || !equality.Semantic.DeepEqual(claim.Spec.Selector, before.Selector) ||
		!equality.Semantic.DeepEqual(claim.Spec.DataSource, before.DataSource) ||
		!equality.Semantic.DeepEqual(claim.Spec.DataSourceRef, before.DataSourceRef)
}

func takesAddress(t tried) bool {
	service, isService := t.Object.(*corev1.Service)
	if !isService {
		return false
	}
	var before []string
	if old, isThere := t.Old.(*corev1.Service); isThere {
		before = old.Spec.ExternalIPs
	}
	return slices.ContainsFunc(service.Spec.ExternalIPs, func(ip string) bool { return !slices.Contains(before, ip) })
}

// foreigners are Pods that others run: of nothing, of a Deployment, of Kubernetes, and of other charts for etcd.
var foreigners = []labels.Set{
	{}, {"app": "web"}, {"k8s-app": "kube-dns"},
	{"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/component": "etcd"},
	{"app.kubernetes.io/name": "shop", "app.kubernetes.io/instance": "demo", "app.kubernetes.io/component": "member"},
	{"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": "demo"},
}

func memberOf(cluster string) labels.Set { return resources.MemberSelector(cluster) }

// selects counts the Pods that a Service, a NetworkPolicy or a budget acts on. A Service that selects none leads to where
// another account says, as if it selected all.
func (t tried) selects(pods ...labels.Set) int {
	var selector labels.Selector
	switch object := t.Object.(type) {
	case *corev1.Service:
		selector = labels.SelectorFromSet(object.Spec.Selector)
	case *networkingv1.NetworkPolicy:
		selector, _ = metav1.LabelSelectorAsSelector(&object.Spec.PodSelector)
	case *policyv1.PodDisruptionBudget:
		selector, _ = metav1.LabelSelectorAsSelector(object.Spec.Selector)
	}
	count := 0
	for _, pod := range pods {
		if selector != nil && selector.Matches(pod) {
			count++
		}
	}
	return count
}

// judge names all harm that a request does. What a restricted Pod is, is Kubernetes' own code.
func judge(t *testing.T) func(tried) []string {
	t.Helper()
	evaluator, err := checks.NewEvaluator(checks.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	return func(t tried) []string {
		var all []string
		for _, h := range harms {
			if h.does(t) {
				all = append(all, h.name)
			}
		}
		if pod := t.pod(); pod != nil && !t.isUnrestricted {
			for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					all = append(all, "Pod Security restricted: "+result.ForbiddenReason)
				}
			}
		}
		return all
	}
}
