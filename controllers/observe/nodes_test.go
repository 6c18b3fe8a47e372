package observe_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const selectedNode = "volume.kubernetes.io/selected-node"

// place is demo-0 with the volume and the node that it lives on.
type place struct {
	world  *world
	pod    *corev1.Pod
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	node   *corev1.Node
}

// newPlace holds a cluster that lives, and of which demo-0 is silent on worker-0, where its local volume is.
func newPlace(t *testing.T) place {
	w := newBootstrappedWorld(t)
	w.bear()
	w.stop("demo-0")
	p := place{world: w, pod: w.pod("demo-0", resources.StartSealed)}
	p.pod.Spec.NodeName = "worker-0"
	p.pod.Status.Conditions[0].Status = corev1.ConditionFalse
	w.put(p.pod)
	p.claim = w.objects["*v1.PersistentVolumeClaim demo-0"].(*corev1.PersistentVolumeClaim)
	p.claim.Spec.VolumeName = "pv-0"
	p.claim.Annotations[selectedNode] = "worker-0"
	p.volume = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-0"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "demo-0", UID: p.claim.UID},
	}}
	p.pin(onHost("worker-0"))
	w.put(p.volume)
	p.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0", Labels: map[string]string{corev1.LabelHostname: "worker-0"}}}
	p.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.put(p.node)
	return p
}

func (p place) pin(terms ...corev1.NodeSelectorTerm) {
	p.volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

func (p place) deleteNode() { p.world.remove(p.node) }

func (p place) deletePod() { p.world.remove(p.pod) }

// shutDown is what an administrator and the node controller say of a machine that is off.
func (p place) shutDown() {
	p.node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}}
	p.node.Status.Conditions[0].Status = corev1.ConditionUnknown
}

func onHost(hosts ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: hosts},
	}}
}

func onNode(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
	}}
}

func TestAMemberThatAnotherContainerKeptUnreadyIsNotReadyOnceItsNodeIsSilent(t *testing.T) {
	for _, isSilent := range []bool{false, true} {
		p := newPlace(t)
		besideUnready(p.pod, true)
		if isSilent {
			p.node.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(p.world.now.Add(-time.Minute))}
		}
		pod := p.world.replica("demo-0").Pod
		if pod.Ready == isSilent || isSilent && !pod.ReadySince.Equal(p.world.now.Add(-time.Minute)) {
			t.Errorf("its node is silent: %v; %+v", isSilent, pod)
		}
	}
}

func TestOfAMemberThatIsNotReadyItIsSaidSinceWhenItsNodeIsNotAndWhy(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 3, 1, 11, 58, 0, 0, time.UTC))
	for _, row := range []struct {
		name                string
		ready               corev1.NodeCondition
		isSilent, isUnready bool
		want                string
	}{
		{"it answers", corev1.NodeCondition{Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
			Message: "PLEG is not healthy: pleg was last seen active 3m0.5s ago"}, false, true,
			"since 2026-03-01T11:58:00Z (KubeletNotReady)"},
		{"it answers, and its kubelet is silent", corev1.NodeCondition{Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}, false, true,
			"since 2026-03-01T11:58:00Z (NodeStatusUnknown)"},
		{"it does not answer", corev1.NodeCondition{Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}, true, true,
			"since 2026-03-01T11:58:00Z (NodeStatusUnknown)"},
		{"its node is ready", corev1.NodeCondition{Status: corev1.ConditionTrue, Reason: "KubeletReady"}, false, true, ""},
		{"it is ready", corev1.NodeCondition{Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}, false, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlace(t)
			row.ready.Type, row.ready.LastTransitionTime = corev1.NodeReady, since
			p.node.Status.Conditions = []corev1.NodeCondition{row.ready}
			if !row.isSilent {
				p.world.start("demo-0", etcdutil.StateNew, "demo-0", "demo-1", "demo-2") // on the data it has
			}
			if !row.isUnready {
				p.pod.Status.Conditions[0].Status = corev1.ConditionTrue
			}
			r := p.world.replica("demo-0")
			if (r.Answer == nil) != row.isSilent || r.Pod.NodeNotReady != row.want {
				t.Errorf("%+v", r.Pod)
			}
			if !row.isSilent && (!r.Pod.NodeUnheard.IsZero() || r.Pod.NodeGone != "") {
				t.Errorf("a node is held against a member that answers: %+v", r.Pod)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	const deleted, outOfService = "node worker-0 was deleted", "node worker-0 is out of service"
	for _, row := range []struct {
		name               string
		given              func(place)
		stranded, nodeGone string
	}{
		{"a node that is well strands nothing", func(place) {}, "", ""},
		{"a node that is merely silent strands nothing", func(p place) { p.node.Status.Conditions[0].Status = corev1.ConditionUnknown }, "", ""},
		{"a node that was deleted", place.deleteNode, deleted, deleted},
		{"a node that is out of service", place.shutDown, outOfService, outOfService},
		{"a node that is back, with its taint forgotten", func(p place) {
			p.shutDown()
			p.node.Status.Conditions[0].Status = corev1.ConditionTrue
		}, "", ""},
		{"a node that was deleted after its Pod", func(p place) { p.deleteNode(); p.deletePod() }, deleted, ""},
		{"a node that was deleted, and the next Pod finds none", func(p place) {
			p.deleteNode()
			p.pod.Spec.NodeName, p.pod.Status.Phase = "", corev1.PodPending
		}, deleted, ""},
		{"a Pod that the kubelet calls ready", func(p place) { p.deleteNode(); p.pod.Status.Conditions[0].Status = corev1.ConditionTrue }, "", ""},
		{"a volume that any node can use", func(p place) { p.deleteNode(); p.volume.Spec.NodeAffinity = nil }, "", deleted},
		{"a volume that another node can use too", func(p place) { p.deleteNode(); p.pin(onHost("worker-0", "worker-1")) }, "", deleted},
		{"a volume that another node can use by another term", func(p place) { p.deleteNode(); p.pin(onHost("worker-0"), onHost("worker-1")) }, "", deleted},
		{"a volume whose terms all say the same", func(p place) { p.deleteNode(); p.pin(onHost("worker-0"), onHost("worker-0")) }, deleted, deleted},
		{"a volume of a zone", func(p place) {
			p.deleteNode()
			p.pin(corev1.NodeSelectorTerm{MatchExpressions: onHost().MatchExpressions[:1]})
		}, "", deleted},
		{"a volume that names its node", func(p place) { p.deleteNode(); p.pin(onNode("worker-0")); p.deletePod() }, deleted, ""},
		{"a volume that was bound to another claim since", func(p place) { p.deleteNode(); p.volume.Spec.ClaimRef.UID = "another" }, "", deleted},
		{"a volume that is not bound yet", func(p place) { p.deleteNode(); p.claim.Status.Phase = corev1.ClaimPending }, "", deleted},
		{"a volume whose object is gone", func(p place) { p.deleteNode(); p.world.remove(p.volume) }, "", deleted},
		{"a node with another host name, deleted", func(p place) { p.deleteNode(); p.pin(onHost("host-0")) }, deleted, deleted},
		{"a node with another host name, well", func(p place) { p.pin(onHost("host-0")); p.node.Labels[corev1.LabelHostname] = "host-0" }, "", ""},
		{"a node with another host name, out of service", func(p place) {
			p.pin(onHost("host-0"))
			p.shutDown()
			p.node.Labels[corev1.LabelHostname] = "host-0"
		}, outOfService, outOfService},
		{"a volume that was made for one node and lies on another", func(p place) { p.pin(onHost("host-1")); p.shutDown() }, "", outOfService},
		{"a volume that was made for a node that is gone and lies on one that is there", func(p place) {
			p.claim.Annotations[selectedNode] = "gone"
			p.deletePod()
		}, "", ""},
		{"a host name that may be the name of no node", func(p place) {
			p.deleteNode()
			p.deletePod()
			delete(p.claim.Annotations, selectedNode)
		}, "", ""},
		{"a host name that is the name of a node out of service", func(p place) {
			p.shutDown()
			p.deletePod()
			delete(p.claim.Annotations, selectedNode)
		}, outOfService, ""},
		{"a birth is not kept waiting", func(p place) {
			p.deleteNode()
			p.world.put(resources.BuildPeerService(p.world.cluster, bootstrapRecord("demo-0", "demo-1", "demo-2"), "ops/etcd-steward"))
		}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlace(t)
			row.given(p)
			r := p.world.replica("demo-0")
			gone := ""
			if r.Pod != nil {
				gone = r.Pod.NodeGone
			}
			if r.Volume.Stranded != row.stranded || gone != row.nodeGone {
				t.Errorf("stranded %q, node %q", r.Volume.Stranded, gone)
			}
		})
	}
}

func TestAVolumeIsToldApartThatSharesTheDiskOfItsNode(t *testing.T) {
	for name, row := range map[string]struct {
		source    corev1.PersistentVolumeSource
		directory string
	}{
		"a directory of the node":    {corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/opt/a"}}, "/opt/a"},
		"a local volume of the node": {corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/b"}}, "/mnt/b"},
		"a disk":                     {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}, ""},
	} {
		p := newPlace(t)
		p.volume.Spec.PersistentVolumeSource = row.source
		if v := p.world.replica("demo-0").Volume; v.Directory != row.directory || v.IsOwnDisk != (row.directory == "") {
			t.Errorf("%s: %q, %v", name, v.Directory, v.IsOwnDisk)
		}
		p.world.remove(p.volume)
		if v := p.world.replica("demo-0").Volume; v.Directory != "" || v.IsOwnDisk {
			t.Errorf("%s, which cannot be read: %q, %v", name, v.Directory, v.IsOwnDisk)
		}
	}
}

func TestAnEphemeralMemberIsToldThatItsNodeIsGone(t *testing.T) {
	p := newPlace(t)
	p.world.cluster.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		p.world.remove(p.world.objects["*v1.PersistentVolumeClaim "+name])
	}
	p.deleteNode()
	if r := p.world.replica("demo-0"); r.Pod.NodeGone != "node worker-0 was deleted" || r.Volume != nil {
		t.Errorf("%+v", r.Pod)
	}
}

func TestAMemberThatAnswersIsNotSilentAlsoWhereItsKubeletSaysSo(t *testing.T) {
	p := newPlace(t)
	p.deleteNode()
	pod := p.world.pod("demo-1", resources.StartSealed)
	pod.Spec.NodeName = "worker-0"
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	p.world.put(pod)
	if r := p.world.replica("demo-1"); r.Answer == nil || r.Pod.Ready || r.Pod.NodeGone != "" {
		t.Errorf("answer %v, node %q", r.Answer, r.Pod.NodeGone)
	}
}

func TestAVolumeThatIsRestoredIsKnownToBeStrandedBeforeTheClusterMovesToIt(t *testing.T) {
	p := newPlace(t)
	p.world.putBootstrap(func(r *record.Bootstrap) {
		r.ClusterID, r.NextOrdinal, r.LastCounter, r.Next = p.world.processes["demo-1"].ClusterID(), 4, 2, comingIncarnation("demo-3")
	})
	claim := p.world.volumeOf("demo-3", later)
	claim.Spec.VolumeName = "pv-3"
	claim.Annotations[selectedNode] = "worker-3"
	p.world.put(claim)
	volume := p.volume.DeepCopy()
	volume.Name = "pv-3"
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "demo-3", UID: claim.UID}
	volume.Spec.NodeAffinity.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{onHost("worker-3")}
	p.world.put(volume)
	if got := p.world.look().Next.Members[0].Volume.Stranded; got != "node worker-3 was deleted" {
		t.Errorf("stranded: %q", got)
	}
}

func TestAPlaceIsNoneOnceItsNodeWouldTakeTheMemberNoMore(t *testing.T) {
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "full", Effect: effect}} }
	}
	for want, edit := range map[string]func(*corev1.Node){
		"": func(*corev1.Node) {},
		"node worker-3 has the taint node.kubernetes.io/unschedulable:NoSchedule, which the member does not tolerate": func(n *corev1.Node) {
			n.Spec.Unschedulable = true
		},
		"node worker-3 has the taint full:NoSchedule, which the member does not tolerate": taint(corev1.TaintEffectNoSchedule),
		"node worker-3 has the taint full:NoExecute, which the member does not tolerate":  taint(corev1.TaintEffectNoExecute),
		"node worker-3 is not ready": func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
		"node worker-3 was deleted":  func(n *corev1.Node) { n.Name = "another" },
	} {
		p := newPlace(t)
		p.world.putBootstrap(func(r *record.Bootstrap) {
			r.ClusterID, r.NextOrdinal, r.LastCounter, r.Next = p.world.processes["demo-1"].ClusterID(), 4, 2, comingIncarnation("demo-3")
		})
		p.world.put(p.world.volumeOf("demo-3", later))
		pod, err := resources.BuildPlacePod(p.world.cluster, resources.RestoreStart{Member: "demo-3",
			Next: comingIncarnation("demo-3"), Inputs: resources.Inputs(p.world.cluster), Platform: resources.Platform{AgentImage: "steward:1"}})
		if err != nil {
			t.Fatal(err)
		}
		pod.Spec.NodeName, pod.Status.Phase = "worker-3", corev1.PodRunning
		p.world.put(pod)
		node := p.node.DeepCopy()
		node.Name = "worker-3"
		edit(node)
		p.world.put(node)
		if got := p.world.look().Next.Members[0].Restoring; got == nil || !got.Holds || got.Unwanted != want {
			t.Errorf("want %q: %+v", want, got)
		}
	}
}

func TestOnlySilentMembersCostAReadOfTheirNodes(t *testing.T) {
	p := newPlace(t)
	p.world.look()
	reads := slices.DeleteFunc(p.world.live, func(read string) bool { return !isOutside(read) })
	slices.Sort(reads)
	if !slices.Equal(reads, []string{"*v1.Node worker-0", "*v1.PersistentVolume pv-0"}) {
		t.Errorf("%q", reads)
	}
}

func TestWhoMayNotReadNodesKnowsNothingAndDoesNotGoOnAsking(t *testing.T) {
	p := newPlace(t)
	p.deleteNode()
	p.world.denied = true
	observer := p.world.observer()
	for _, row := range []struct {
		after time.Duration
		reads int
	}{{0, 2}, {time.Second, 0}, {4 * time.Minute, 0}, {time.Minute, 2}, {time.Second, 0}} {
		p.world.now = p.world.now.Add(row.after)
		p.world.live = nil
		view, _, err := observer.Observe(t.Context(), p.world.cluster, "")
		if err != nil {
			t.Fatal(err)
		}
		if r := view.Current.Members[0]; r.Volume.Stranded != "" || r.Pod.NodeGone != "" {
			t.Errorf("stranded %q, node %q", r.Volume.Stranded, r.Pod.NodeGone)
		}
		if reads := slices.DeleteFunc(p.world.live, func(read string) bool { return !isOutside(read) }); len(reads) != row.reads {
			t.Errorf("%s later: %q", row.after, reads)
		}
	}
}

func TestANodeThatCannotBeReadEndsTheLook(t *testing.T) {
	p := newPlace(t)
	p.world.nodeErr = errors.New("the API server is away")
	if _, err := p.world.tryLook(""); !errors.Is(err, p.world.nodeErr) {
		t.Errorf("the error is %v", err)
	}
}

func isOutside(read string) bool {
	return strings.HasPrefix(read, "*v1.Node ") || strings.HasPrefix(read, "*v1.PersistentVolume ")
}
