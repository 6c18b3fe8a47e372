package apply

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// wholeCluster is everything that a bootstrap makes.
func wholeCluster(t *testing.T, w *world) {
	t.Helper()
	w.mustDo(t, bootstrapped(), begin())
	w.mustDo(t, bootstrapped(), bootstrap(w.cluster))
	w.writes = 0
}

func (w *world) isGone(t *testing.T, object ctrlclient.Object, name string) {
	t.Helper()
	err := w.inner.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "prod", Name: name}, object)
	if !apierrors.IsNotFound(err) {
		t.Errorf("%T %s is still there: %v", object, name, err)
	}
}

func (w *world) edit(t *testing.T, object ctrlclient.Object, edit func()) {
	t.Helper()
	edit()
	if err := w.inner.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func holdsCertificates(t *testing.T, w *world, secret string, certificates []resources.Certificate) {
	t.Helper()
	data := w.secret(t, secret).Data
	for _, certificate := range certificates {
		ca := w.secret(t, certificate.CA).Data[resources.KeyCert]
		if !bytes.Equal(data[certificate.CAKey], ca) {
			t.Errorf("%s: %s is not the authority", secret, certificate.CAKey)
		}
		if reason, renew := pki.NeedsRenewal(data[certificate.CertKey], ca, certificate.Leaf,
			now); renew {
			t.Errorf("%s: %s is %s", secret, certificate.CertKey, reason)
		}
	}
}

func objectEffects() []effect {
	drifted := changes.ApplyObjects{
		Objects: []facts.Object{{Kind: "Service", Name: "demo"}, {Kind: "Service", Name: "demo-peers"},
			{Kind: "Secret", Name: "demo-client-tls"}},
		Secrets: []string{"demo-1"},
	}
	return []effect{
		{
			name: "put drifted objects right",
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				client, peers := w.service(t, "demo"), w.service(t, "demo-peers")
				w.edit(t, client, func() { delete(client.Spec.Selector, v1alpha1.LabelRole); client.Spec.Ports = nil })
				w.edit(t, peers, func() { peers.Labels = nil; peers.Spec.Ports = nil })
				users, member := w.secret(t, "demo-client-tls"), w.secret(t, "demo-1-tls")
				w.edit(t, users, func() { users.Data[resources.KeyCert] = []byte("x") })
				w.edit(t, member, func() { delete(member.Data, resources.KeyPeerKey) })
			},
			change: func(*testing.T, *world) changes.Change { return drifted },
			holds: func(t *testing.T, w *world) {
				holdsBootstrap(t, w)
				if drift := resources.ServiceDrift(w.service(t, "demo"),
					resources.BuildClientService(w.cluster)); drift != "" {
					t.Errorf("client Service: %s", drift)
				}
				peers := w.service(t, "demo-peers")
				if drift := resources.ServiceDrift(peers, resources.PeerServiceShape(w.cluster)); drift != "" ||
					peers.Annotations[v1alpha1.AnnotationBootstrap] == "" {
					t.Errorf("peer Service: %s, %v", drift, peers.Annotations)
				}
			},
		},
		{
			name:   "create the budget",
			change: func(*testing.T, *world) changes.Change { return changes.SetBudget{MinAvailable: 2} },
			holds:  holdsBudget(2),
		},
		{
			name:   "lower the budget",
			world:  func(t *testing.T, w *world) { w.put(t, resources.BuildBudget(w.cluster, 3)) },
			change: func(*testing.T, *world) changes.Change { return changes.SetBudget{MinAvailable: 2} },
			holds:  holdsBudget(2),
		},
		{
			name: "make a budget of another kind anew",
			world: func(t *testing.T, w *world) {
				budget := resources.BuildBudget(w.cluster, 2)
				budget.Spec.MinAvailable, budget.Spec.MaxUnavailable = nil, new(intstr.FromInt32(2))
				w.put(t, budget)
			},
			change: func(*testing.T, *world) changes.Change { return changes.SetBudget{MinAvailable: 2} },
			holds:  holdsBudget(2),
		},
		{
			name:   "delete the budget",
			world:  func(t *testing.T, w *world) { w.put(t, resources.BuildBudget(w.cluster, 2)) },
			change: func(*testing.T, *world) changes.Change { return changes.SetBudget{} },
			holds:  func(t *testing.T, w *world) { w.isGone(t, resources.BuildBudget(w.cluster, 2), "demo") },
		},
		{
			name:   "create the NetworkPolicy",
			world:  func(_ *testing.T, w *world) { askForNetworkPolicy(w) },
			change: func(*testing.T, *world) changes.Change { return networkPolicyApplied },
			holds:  holdsNetworkPolicy,
		},
		{
			name: "put the NetworkPolicy right",
			world: func(t *testing.T, w *world) {
				askForNetworkPolicy(w)
				policy := resources.BuildNetworkPolicy(w.cluster, operator)
				policy.Spec.Ingress, policy.Labels = policy.Spec.Ingress[:1], nil
				w.put(t, policy)
			},
			change: func(*testing.T, *world) changes.Change { return networkPolicyApplied },
			holds:  holdsNetworkPolicy,
		},
		{
			name: "delete the NetworkPolicy that the spec asks for no more",
			world: func(t *testing.T, w *world) {
				askForNetworkPolicy(w)
				w.put(t, resources.BuildNetworkPolicy(w.cluster, operator))
				w.cluster.Spec.NetworkPolicy = nil
			},
			change: func(*testing.T, *world) changes.Change { return networkPolicyApplied },
			holds:  func(t *testing.T, w *world) { w.isGone(t, &networkingv1.NetworkPolicy{}, "demo-members") },
		},
		{
			name: "delete a Secret", world: wholeCluster,
			change: func(*testing.T, *world) changes.Change { return changes.DeleteSecret{Name: "demo-2"} },
			holds:  func(t *testing.T, w *world) { w.isGone(t, &corev1.Secret{}, "demo-2-tls") },
		},
		{
			name: "own data", world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.FollowPolicy{Retain: false, Items: w.data(t)}
			},
			holds: holdsOwnership(true),
		},
		{
			name: "release data",
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				w.mustDo(t, bootstrapped(), changes.FollowPolicy{Retain: false, Items: w.data(t)})
				other := w.volume(t, "demo-0")
				w.edit(t, other, func() {
					other.OwnerReferences = append(other.OwnerReferences,
						metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
				})
			},
			change: func(t *testing.T, w *world) changes.Change {
				return changes.FollowPolicy{Retain: true, Items: w.data(t)}
			},
			holds: holdsOwnership(false),
		},
	}
}

var networkPolicyApplied = changes.ApplyObjects{Objects: []facts.Object{
	{Kind: resources.KindPolicy, Name: "demo-members"}}}

func askForNetworkPolicy(w *world) { w.cluster.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{} }

func holdsNetworkPolicy(t *testing.T, w *world) {
	t.Helper()
	policy := read(t, w, "demo-members", &networkingv1.NetworkPolicy{})
	want := resources.BuildNetworkPolicy(w.cluster, operator)
	if drift := resources.NetworkPolicyDrift(policy, want); drift != "" ||
		resources.MetadataDrift(w.cluster, policy) != "" || !resources.IsControlledBy(policy, w.cluster.UID) {
		t.Errorf("the NetworkPolicy: %s, %+v", drift, policy.ObjectMeta)
	}
}

func holdsBudget(bound int) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		budget := w.budget(t)
		if got := resources.BudgetBound(budget); got != bound || budget.Spec.MaxUnavailable != nil {
			t.Errorf("the bound is %d", got)
		}
	}
}

func holdsOwnership(isOwned bool) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		t.Helper()
		for _, object := range []ctrlclient.Object{
			w.volume(t, "demo-0"), w.volume(t, "demo-1"), w.volume(t, "demo-2"), w.secret(t, "demo-ca"),
			w.secret(t, "demo-ca-peer"),
		} {
			if !resources.FollowsPolicy(object, w.cluster.UID, !isOwned) {
				t.Errorf("%s has owners %v", object.GetName(), object.GetOwnerReferences())
			}
		}
		if refs := w.volume(t, "demo-0").OwnerReferences; !isOwned && len(refs) != 1 {
			t.Errorf("another's owner reference was taken off: %v", refs)
		}
	}
}

func memberEffects() []effect {
	return []effect{
		{
			name: "prepare a member", world: wholeCluster, again: 1,
			change: func(_ *testing.T, w *world) changes.Change {
				return changes.PrepareMember{Volume: changes.NewVolume{Name: "demo-3", Bytes: 1 << 30,
					Settings: settings(w.cluster)}, Secret: true}
			},
			holds: func(t *testing.T, w *world) {
				holdsCertificates(t, w, "demo-3-tls", resources.MemberCertificates(w.cluster, "demo-3", ""))
				if v := w.volume(t, "demo-3"); v.Annotations[v1alpha1.AnnotationRecord] != "" {
					t.Errorf("a promise is recorded: %v", v.Annotations)
				}
			},
		},
		{
			name: "record members", world: wholeCluster, again: 2,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.RecordMembers{Members: []changes.MemberRecord{
					{Name: "demo-0", VolumeUID: string(w.volume(t, "demo-0").UID), Record: recorded()},
					{Name: "demo-1", PodUID: string(w.pod(t, "demo-1").UID), Record: recorded()},
				}}
			},
			holds: func(t *testing.T, w *world) {
				for _, annotations := range []map[string]string{w.volume(t, "demo-0").Annotations,
					w.pod(t, "demo-1").Annotations} {
					if got, err := record.DecodeMember(annotations[v1alpha1.AnnotationRecord]); err != nil ||
						got != recorded() {
						t.Errorf("recorded is %+v, %v", got, err)
					}
				}
			},
		},
		{
			name: "seal Pods", world: wholeCluster, again: 2,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.SealPods{Pods: []changes.Seal{
					{Pod: ref(w.pod(t, "demo-0")), Role: v1alpha1.RoleVoter},
					{Pod: ref(w.pod(t, "demo-1")), Role: v1alpha1.RoleLearner},
				}}
			},
			holds: func(t *testing.T, w *world) {
				for name, role := range map[string]string{"demo-0": v1alpha1.RoleVoter,
					"demo-1": v1alpha1.RoleLearner} {
					pod := w.pod(t, name)
					if resources.FlagsOf(w.cluster, name, pod.Annotations) != resources.StartSealed ||
						pod.Labels[v1alpha1.LabelRole] != role {
						t.Errorf("%s: %v, %v", name, pod.Annotations, pod.Labels)
					}
				}
			},
		},
		{
			name: "take a role away", again: 1,
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				w.mustDo(t, bootstrapped(), changes.LabelRole{Pod: ref(w.pod(t, "demo-0")), Role: v1alpha1.RoleVoter})
			},
			change: func(t *testing.T, w *world) changes.Change {
				return changes.LabelRole{Pod: ref(w.pod(t, "demo-0"))}
			},
			holds: func(t *testing.T, w *world) {
				if role, ok := w.pod(t, "demo-0").Labels[v1alpha1.LabelRole]; ok {
					t.Errorf("the role is %q", role)
				}
			},
		},
		{
			name: "set choices", world: wholeCluster, again: 1,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-0",
					UID: string(w.volume(t, "demo-0").UID)}}, Settings: facts.Settings{Inputs: `{"version":"3.7.3"}`}}
			},
			holds: func(t *testing.T, w *world) {
				if got := w.volume(t, "demo-0").Annotations[v1alpha1.AnnotationInputs]; got != `{"version":"3.7.3"}` {
					t.Errorf("choices are %s", got)
				}
			},
		},
		{
			name: "dress Pods",
			world: func(t *testing.T, w *world) {
				w.cluster.Spec.Pod = &v1alpha1.PodSpec{Labels: map[string]string{"team": "storage"},
					Annotations: map[string]string{"example.com/note": "x"}}
				wholeCluster(t, w)
				w.cluster.Spec.Pod = &v1alpha1.PodSpec{Labels: map[string]string{"tier": "gold"}}
			},
			change: func(t *testing.T, w *world) changes.Change {
				return changes.DressPods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0")), ref(w.pod(t, "demo-2"))}}
			},
			holds: func(t *testing.T, w *world) {
				for name, isDressed := range map[string]bool{"demo-0": true, "demo-1": false, "demo-2": true} {
					if pod := w.pod(t, name); resources.DressingOf(w.cluster, pod).IsZero() != isDressed ||
						(pod.Labels["team"] == "") != isDressed {
						t.Errorf("%s: %v, %v", name, pod.Labels, pod.Annotations)
					}
				}
			},
		},
		{
			name: "restore what a Pod was made from", again: 1,
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				pod := w.pod(t, "demo-1")
				w.edit(t, pod, func() { delete(pod.Annotations, v1alpha1.AnnotationInputs) })
			},
			change: func(t *testing.T, w *world) changes.Change {
				return changes.RestoreInputs{Pod: ref(w.pod(t, "demo-1")), Settings: settings(w.cluster)}
			},
			holds: func(t *testing.T, w *world) {
				if got := w.pod(t, "demo-1").Annotations[v1alpha1.AnnotationInputs]; got != settings(w.cluster).Inputs {
					t.Errorf("it says that it was made from %q", got)
				}
			},
		},
		{
			name: "give a Pod other amounts", again: 2, world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.ResizePod{Pod: ref(w.pod(t, "demo-1")), Settings: withAmounts(w.cluster, "300m", "1Gi", "")}
			},
			holds: func(t *testing.T, w *world) {
				pod, want := w.pod(t, "demo-1"), withAmounts(w.cluster, "300m", "1Gi", "")
				if pod.Annotations[v1alpha1.AnnotationInputs] != want.Inputs || !resources.HasItsAmounts(pod) {
					t.Errorf("%+v of %q", pod.Spec.Containers[0].Resources, pod.Annotations[v1alpha1.AnnotationInputs])
				}
			},
		},
		{
			name: "have a claim ask for more, and say on it what the spec asks for", again: 1, world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				volume := w.volume(t, "demo-1")
				return changes.ExpandVolume{Volume: facts.VolumeRef{Name: volume.Name, UID: string(volume.UID)}, Bytes: 20 << 30}
			},
			holds: func(t *testing.T, w *world) {
				asked, size := w.volume(t, "demo-1").Spec.Resources.Requests.Storage(), w.cluster.Spec.StorageSizeOrDefault()
				if said := w.volume(t, "demo-1").Annotations[v1alpha1.AnnotationStorageSize]; asked.Value() != 20<<30 ||
					said != size.String() {
					t.Errorf("it asks for %s, and says that the spec asked for %q", asked, said)
				}
			},
		},
		{
			name: "have a claim ask for another VolumeAttributesClass, and say on it what the spec asks for", again: 1,
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				w.cluster.Spec.Storage = &v1alpha1.StorageSpec{VolumeAttributesClassName: "fast"}
			},
			change: func(t *testing.T, w *world) changes.Change {
				volume := w.volume(t, "demo-1")
				return changes.ModifyVolume{Volume: facts.VolumeRef{Name: volume.Name, UID: string(volume.UID)}, Class: "fast"}
			},
			holds: func(t *testing.T, w *world) {
				volume := w.volume(t, "demo-1")
				asked, said := volume.Spec.VolumeAttributesClassName, volume.Annotations[v1alpha1.AnnotationAttributesClass]
				if asked == nil || *asked != "fast" || said != "fast" {
					t.Errorf("it asks for %v, and says that the spec asked for %q", asked, said)
				}
			},
		},
		{
			name: "adopt what an earlier cluster left",
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				w.cluster.UID = "the-next-one"
			},
			change: func(t *testing.T, w *world) changes.Change {
				c := changes.AdoptData{}
				for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
					volume := w.volume(t, name)
					c.Items = append(c.Items, facts.Retained{Kind: resources.KindVolume, Name: name,
						UID: string(volume.UID), Owner: earlierOwner(volume)})
				}
				ca := w.secret(t, "demo-ca")
				return changes.AdoptData{Items: append(c.Items, facts.Retained{Kind: resources.KindSecret,
					Name: "demo-ca", UID: string(ca.UID), Owner: earlierOwner(ca)})}
			},
			holds: func(t *testing.T, w *world) {
				for _, data := range []ctrlclient.Object{w.volume(t, "demo-0"), w.volume(t, "demo-1"),
					w.volume(t, "demo-2"), w.secret(t, "demo-ca")} {
					if !resources.IsDataOf(data, w.cluster.UID) {
						t.Errorf("%s is not ours: %v", data.GetName(), data.GetLabels())
					}
				}
			},
		},
		{
			name: "evict a Pod", world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))}
			},
			holds: func(t *testing.T, w *world) {
				w.isGone(t, &corev1.Pod{}, "demo-0")
				w.pod(t, "demo-1")
			},
		},
		{
			name: "delete Pods and leave what came after them", world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0")),
					{Name: "demo-1", UID: "an earlier one"}}}
			},
			holds: func(t *testing.T, w *world) {
				w.isGone(t, &corev1.Pod{}, "demo-0")
				w.pod(t, "demo-1")
			},
		},
		{
			name: "stop members and leave what came after them", world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.StopMembers{Pods: []facts.PodRef{ref(w.pod(t, "demo-0")), {Name: "demo-1", UID: "an earlier one"}}}
			},
			holds: func(t *testing.T, w *world) {
				w.isGone(t, &corev1.Pod{}, "demo-0")
				w.pod(t, "demo-1")
				w.volume(t, "demo-0")
			},
		},
		{
			name: "delete volumes", world: wholeCluster,
			change: func(t *testing.T, w *world) changes.Change {
				return changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-2",
					UID: string(w.volume(t, "demo-2").UID)}}}
			},
			holds: func(t *testing.T, w *world) { w.isGone(t, &corev1.PersistentVolumeClaim{}, "demo-2") },
		},
		{
			name: "start a sealed Pod on its volume", again: 1,
			world: func(t *testing.T, w *world) {
				wholeCluster(t, w)
				w.mustDo(t, bootstrapped(), changes.DeletePods{Pods: []facts.PodRef{ref(w.pod(t, "demo-0"))}})
			},
			change: func(_ *testing.T, w *world) changes.Change {
				return changes.StartPods{Pods: []changes.Start{{Name: "demo-0", Flags: facts.FlagsSealed,
					Settings: settings(w.cluster), Role: v1alpha1.RoleVoter}}}
			},
			holds: func(t *testing.T, w *world) {
				pod := w.pod(t, "demo-0")
				if resources.FlagsOf(w.cluster, "demo-0", pod.Annotations) != resources.StartSealed ||
					pod.Labels[v1alpha1.LabelRole] != v1alpha1.RoleVoter {
					t.Errorf("%v, %v", pod.Annotations, pod.Labels)
				}
			},
		},
	}
}

// earlierOwner is the UID that data says it belongs to; some of it may be ours by now.
func earlierOwner(data ctrlclient.Object) string {
	if owner := data.GetLabels()[v1alpha1.LabelClusterUID]; owner != "the-next-one" {
		return owner
	}
	return "somebody"
}

func ref(pod *corev1.Pod) facts.PodRef {
	return facts.PodRef{Name: pod.Name, UID: string(types.UID(pod.UID))}
}

// What a Service can never become is refused in the user's words. The rest of it is put right all the same, and the old
// value heals.
func TestTheFirstFamilyOfTheClientServiceStays(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	client := w.service(t, "demo")
	w.edit(t, client, func() {
		client.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		delete(client.Spec.Selector, v1alpha1.LabelRole)
	})
	w.cluster.Spec.Service = &v1alpha1.ServiceSpec{
		IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}, IPFamilyPolicy: corev1.IPFamilyPolicySingleStack,
	}
	putRight := changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"}}}
	var rejected Rejected
	if err := w.do(t, bootstrapped(), putRight); !errors.As(err, &rejected) || rejected.Reason != RejectedInvalid ||
		!strings.Contains(rejected.Message, "Put IPv4 first, or delete the Service") {
		t.Errorf("another first family: %v", err)
	}
	client = w.service(t, "demo")
	if client.Spec.IPFamilies[0] != corev1.IPv4Protocol ||
		*client.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyPreferDualStack {
		t.Errorf("it was changed: %v, %s", client.Spec.IPFamilies, *client.Spec.IPFamilyPolicy)
	}
	if client.Spec.Selector[v1alpha1.LabelRole] == "" {
		t.Error("the selector was not put right")
	}
	w.cluster.Spec.Service.IPFamilies[0] = corev1.IPv4Protocol
	w.mustDo(t, bootstrapped(), putRight)
	if policy := *w.service(t, "demo").Spec.IPFamilyPolicy; policy != corev1.IPFamilyPolicySingleStack {
		t.Errorf("with its first family back, its policy is %s", policy)
	}
}
