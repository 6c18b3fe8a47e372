package resources

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// dressedFor is a cluster whose spec has these labels and annotations.
func dressedFor(labels, annotations map[string]string) *v1alpha1.EtcdCluster {
	return cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{Labels: labels, Annotations: annotations}
	})
}

func TestDressing(t *testing.T) {
	before := dressedFor(map[string]string{"team": "storage", "tier": "gold"}, map[string]string{"example.com/note": "hello"})
	for _, row := range []struct {
		name   string
		after  *v1alpha1.EtcdCluster
		given  func(*corev1.Pod)
		writes bool
		holds  func(*corev1.Pod) bool
	}{
		{"a Pod as it was made needs nothing", before, func(*corev1.Pod) {}, false, nil},
		{"a value follows the spec", dressedFor(map[string]string{"team": "data", "tier": "gold"}, map[string]string{"example.com/note": "hello"}), func(*corev1.Pod) {}, true,
			func(p *corev1.Pod) bool { return p.Labels["team"] == "data" }},
		{"new keys come", dressedFor(map[string]string{"team": "storage", "tier": "gold", "new": ""}, map[string]string{"example.com/note": "hello", "example.com/more": "x"}),
			func(*corev1.Pod) {}, true, func(p *corev1.Pod) bool {
				value, ok := p.Labels["new"]
				return ok && value == "" && p.Annotations["example.com/more"] == "x"
			}},
		{"keys that left the spec go, and only those", dressedFor(map[string]string{"team": "storage"}, nil), func(p *corev1.Pod) { p.Labels["of-a-webhook"] = "x" }, true,
			func(p *corev1.Pod) bool {
				_, label := p.Labels["tier"]
				_, annotation := p.Annotations["example.com/note"]
				return !label && !annotation && p.Labels["of-a-webhook"] == "x" && p.Labels["team"] == "storage"
			}},
		{"the last key takes the record with it", cluster(), func(*corev1.Pod) {}, true, func(p *corev1.Pod) bool {
			_, ok := p.Annotations[v1alpha1.AnnotationDressed]
			return !ok && p.Labels["team"] == "" && p.Labels["tier"] == ""
		}},
		{"what somebody took off comes back", before, func(p *corev1.Pod) { delete(p.Labels, "team"); p.Annotations["example.com/note"] = "other" }, true,
			func(p *corev1.Pod) bool {
				return p.Labels["team"] == "storage" && p.Annotations["example.com/note"] == "hello"
			}},
		{"a Pod that was made before keys were written down needs nothing", before, func(p *corev1.Pod) { delete(p.Annotations, v1alpha1.AnnotationDressed) }, false, nil},
		{"a Pod that was made before keys were written down gets what it lacks", before, func(p *corev1.Pod) {
			delete(p.Annotations, v1alpha1.AnnotationDressed)
			delete(p.Labels, "tier")
		}, true, func(p *corev1.Pod) bool {
			return p.Labels["tier"] == "gold" && p.Annotations[v1alpha1.AnnotationDressed] != ""
		}},
		{"a record that cannot be read is written anew, and takes nothing away", dressedFor(map[string]string{"team": "storage"}, nil), func(p *corev1.Pod) {
			p.Annotations[v1alpha1.AnnotationDressed] = "{"
		}, true, func(p *corev1.Pod) bool {
			return p.Labels["tier"] == "gold" && p.Annotations["example.com/note"] == "hello"
		}},
		{"a record that names keys of ours takes none of them away", dressedFor(map[string]string{"team": "storage"}, nil), func(p *corev1.Pod) {
			p.Annotations[v1alpha1.AnnotationDressed] = `{"labels":["etcdsteward.dev/role","app.kubernetes.io/instance"],"annotations":["etcdsteward.dev/initial-cluster","x.etcdsteward.dev/y"]}`
			p.Annotations["x.etcdsteward.dev/y"] = "z"
		}, true, func(p *corev1.Pod) bool {
			return p.Labels[v1alpha1.LabelRole] == "voter" && p.Labels[v1alpha1.LabelInstance] == "demo" &&
				p.Annotations[v1alpha1.AnnotationInitialCluster] != "" && p.Annotations["x.etcdsteward.dev/y"] == "z"
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := mustPod(t, before, sealed(before))
			row.given(pod)
			d := DressingOf(row.after, pod)
			if d.IsZero() == row.writes {
				t.Fatalf("the Pod is to be given %v, %v", d.Labels, d.Annotations)
			}
			d.Put(pod)
			if again := DressingOf(row.after, pod); !again.IsZero() {
				t.Errorf("it needs still more: %v, %v", again.Labels, again.Annotations)
			}
			if row.holds != nil && !row.holds(pod) {
				t.Errorf("it has %v and %v", pod.Labels, pod.Annotations)
			}
		})
	}
}

func TestAPodDressedInPlaceLooksLikeOneThatWasMadeSo(t *testing.T) {
	before, after := dressedFor(map[string]string{"a": "1", "b": "2"}, nil), dressedFor(map[string]string{"b": "3"}, map[string]string{"c": "4"})
	pod, want := mustPod(t, before, sealed(before)), mustPod(t, after, sealed(after))
	DressingOf(after, pod).Put(pod)
	if !maps.Equal(pod.Labels, want.Labels) || !maps.Equal(pod.Annotations, want.Annotations) {
		t.Errorf("%v, %v\nwant %v, %v", pod.Labels, pod.Annotations, want.Labels, want.Annotations)
	}
}

// The spec is refused for such keys; a member whose Pod is lost meanwhile must come back all the same.
func TestALabelThatKubernetesRefusesDoesNotKeepAMemberFromStarting(t *testing.T) {
	c := dressedFor(map[string]string{"team": "storage team", "my team": "storage", "tier": "gold"}, map[string]string{"my note": "x", "Example.com/Note": "y"})
	pod := mustPod(t, c, sealed(c))
	_, hasValue := pod.Labels["team"]
	_, hasKey := pod.Labels["my team"]
	_, hasNote := pod.Annotations["my note"]
	if hasValue || hasKey || hasNote || pod.Labels["tier"] != "gold" || pod.Annotations["Example.com/Note"] != "y" {
		t.Errorf("labels %v, annotations %v", pod.Labels, slices.Sorted(maps.Keys(pod.Annotations)))
	}
}

// made are the objects that are made for a cluster, beside its members' Pods, as they are when nothing has changed
// since.
func made(c *v1alpha1.EtcdCluster) []metav1.Object {
	return []metav1.Object{
		BuildClientService(c), BuildPeerService(c, record.Bootstrap{}, "ops/etcd-steward"), BuildBudget(c, 2),
		BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation, Bytes: 1}), BuildCA(c, CASecret(c.Name), nil),
		BuildLeafSecret(c, ClientSecret(c.Name), nil), BuildMemberSecret(c, "demo-0", nil),
	}
}

func inheriting(labels, annotations map[string]string) *v1alpha1.EtcdCluster {
	return cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.InheritedMetadata = &v1alpha1.InheritedMetadata{Labels: labels, Annotations: annotations}
	})
}

func TestEverythingThatIsMadeInheritsAndFollowsInPlaceAndLosesWhatLeftTheSpec(t *testing.T) {
	c := inheriting(map[string]string{"team": "a", "tier": "gold"}, map[string]string{"example.com/owner": "x"})
	after := inheriting(map[string]string{"team": "b"}, nil)
	for component, pod := range tasksOf(t, c, nil) {
		if pod.Labels["team"] != "a" || pod.Annotations["example.com/owner"] != "x" {
			t.Errorf("%s: %+v", component, pod.ObjectMeta)
		}
	}
	for _, object := range append(made(c), mustPod(t, c, sealed(c))) {
		follow := func(c *v1alpha1.EtcdCluster) Dressing {
			if pod, ok := object.(*corev1.Pod); ok {
				return DressingOf(c, pod)
			}
			return Remarking(c, object, record.Bootstrap{})
		}
		if object.GetLabels()["team"] != "a" || object.GetLabels()["tier"] != "gold" || object.GetAnnotations()["example.com/owner"] != "x" {
			t.Errorf("%T is made with %v and %v", object, object.GetLabels(), object.GetAnnotations())
		}
		if change := follow(c); !change.IsZero() {
			t.Errorf("a new %T is changed: %v", object, change)
		}
		Dressing{Labels: map[string]*string{"of-others": new("y")}}.Put(object)
		follow(after).Put(object)
		_, tier := object.GetLabels()["tier"]
		_, owner := object.GetAnnotations()["example.com/owner"]
		if object.GetLabels()["team"] != "b" || tier || owner || object.GetLabels()["of-others"] != "y" {
			t.Errorf("%T follows to %v and %v", object, object.GetLabels(), object.GetAnnotations())
		}
		if change := follow(after); !change.IsZero() {
			t.Errorf("%T needs still more: %v", object, change)
		}
	}
}

func TestLabelsOfTheServiceComeAndGoWithTheSpec(t *testing.T) {
	service := BuildClientService(cluster())
	service.Labels["example.com/of-others"] = "x"
	Remarking(cluster(full), service, record.Bootstrap{}).Put(service)
	if service.Labels["example.com/pool"] != "etcd" {
		t.Errorf("it lacks what the spec has: %v", service.Labels)
	}
	Remarking(cluster(), service, record.Bootstrap{}).Put(service)
	if _, ok := service.Labels["example.com/pool"]; ok || service.Labels["example.com/of-others"] != "x" {
		t.Errorf("%v", service.Labels)
	}
}

func TestAnAnnotationOfTheServiceThatLeftTheSpecGoesAndThatOfOthersStays(t *testing.T) {
	before, after := cluster(full), cluster()
	service := BuildClientService(before)
	service.Annotations["example.com/of-others"] = "x"
	Remarking(after, service, record.Bootstrap{}).Put(service)
	if _, ok := service.Annotations["example.com/lb"]; ok || service.Annotations["example.com/of-others"] != "x" {
		t.Errorf("%v", service.Annotations)
	}
	older := BuildClientService(before) // by a release that wrote down no keys
	delete(older.Annotations, v1alpha1.AnnotationDressed)
	Remarking(before, older, record.Bootstrap{}).Put(older)
	Remarking(after, older, record.Bootstrap{}).Put(older)
	if _, ok := older.Annotations["example.com/lb"]; ok {
		t.Errorf("of a Service that an earlier release made: %v", older.Annotations)
	}
}

func TestAProfileOfAppArmorStaysOnAPodThatExists(t *testing.T) {
	const profile, note = "container.apparmor.security.beta.kubernetes.io/etcd", "example.com/note"
	pod := mustPod(t, cluster(), sealed(cluster()))
	pod.UID, pod.Annotations[profile], pod.Annotations[note] = "uid", "unconfined", "x"
	pod.Annotations[v1alpha1.AnnotationDressed] = `{"annotations":["` + profile + `","` + note + `"]}`
	for name, annotations := range map[string]map[string]string{
		"that left the spec": nil, "that is refused": {profile: "unconfined"}, "that changed": {profile: "runtime/default"},
	} {
		d := DressingOf(dressedFor(nil, annotations), pod)
		if _, changes := d.Annotations[profile]; changes || d.Annotations[note] != nil || len(d.Annotations) < 2 {
			t.Errorf("one %s: the Pod would get %v", name, d.Annotations)
		}
		after := pod.DeepCopy()
		d.Put(after)
		if !DressingOf(dressedFor(nil, annotations), after).IsZero() {
			t.Errorf("one %s: the Pod is dressed again and again", name)
		}
	}
}

// The spec is refused for such annotations, and a member whose Pod is lost meanwhile comes back all the same.
func TestAnAnnotationThatLoosensAPodIsLeftOut(t *testing.T) {
	const seccomp, apparmor = "seccomp.security.alpha.kubernetes.io/pod", "container.apparmor.security.beta.kubernetes.io/"
	loose := map[string]string{seccomp: "unconfined", apparmor + "etcd": "unconfined", apparmor + "snapshot": "unconfined", apparmor + "fetch": "localhost/fetch"}
	c := dressedFor(nil, loose)
	c.Spec.Tasks = &v1alpha1.TaskSpec{Annotations: loose}
	everywhere := cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.InheritedMetadata = &v1alpha1.InheritedMetadata{Annotations: loose}
	})
	for name, annotations := range map[string]map[string]string{
		"a member": mustPod(t, c, sealed(c)).Annotations, "a task": task{component: v1alpha1.ComponentBackup, steps: []step{agentStep("step", "image", nil)}}.template(c).Annotations,
		"a member by what all objects have": mustPod(t, everywhere, sealed(everywhere)).Annotations,
	} {
		if annotations[apparmor+"fetch"] != "localhost/fetch" {
			t.Errorf("%s has lost a profile: %v", name, annotations)
		}
		for key, value := range annotations {
			if v1alpha1.Loosens(key, value) {
				t.Errorf("%s has %s=%s", name, key, value)
			}
		}
	}
}
