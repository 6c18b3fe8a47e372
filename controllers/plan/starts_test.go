package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestWhatHelpsAPodThatNoNodeTakesGoesByWhatKeepsEachOfThemFromThat(t *testing.T) {
	selecting := facts.Settings{Inputs: `{"pod":{"nodeSelector":{"pool":"blue","disk":"fast"}}}`}.NodeSelector()
	const room, noSelector = "Make room on the nodes, or correct what spec.pod asks for.", ""
	for says, want := range map[string]map[string]string{
		"3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful.": {
			selecting: "No node has what spec.pod asks for: correct spec.pod.nodeSelector (disk=fast,pool=blue) or spec.pod.affinity. Or label " +
				"nodes, one for each member: kubectl label node NODE disk=fast pool=blue. kubectl get nodes -L disk,pool shows their labels.",
			noSelector: "No node has the labels that its Pod asks for: correct spec.pod.affinity, or label nodes.",
		},
		"1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.": {selecting: room, noSelector: room},
		"3 Insufficient memory.": {selecting: room},
		"1 node(s) had untolerated taint {a: b}, 2 node(s) had untolerated taint(s).": {
			noSelector: "Every node keeps it out by a taint: add to spec.pod.tolerations what they ask for, or a node without."},
		"3 node(s) were unschedulable. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.": {
			noSelector: "Every node is cordoned, and takes no new Pod: kubectl uncordon NODE, or add a node."},
		"1 node(s) had untolerated taint(s), 3 node(s) didn't match pod anti-affinity rules.": {
			noSelector: "Rules that keep Pods apart leave it no node: add one, bring one back, or correct spec.pod.affinity or " +
				"spec.pod.topologySpreadConstraints."},
		"1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector.":             {noSelector: room},
		"2 node(s) didn't match pod topology spread constraints (missing required label).":                     {noSelector: room},
		"2 node(s) didn't satisfy existing pods anti-affinity rules.":                                          {noSelector: room},
		"1 node(s) didn't match pod anti-affinity rules, 2 node(s) didn't match Pod's node affinity/selector.": {noSelector: room},
		"1 Insufficient cpu, 2 node(s) didn't match pod topology spread constraints.":                          {noSelector: room},
		"1 Insufficient cpu, 2 node(s) were unschedulable.": {
			selecting: "Make room on the nodes, uncordon one (kubectl uncordon NODE), or correct what spec.pod asks for."},
	} {
		for selector, help := range want {
			got := howToStart("Unschedulable", "0/3 nodes are available: "+says, selector)
			if !strings.HasSuffix(got, says+" "+help) {
				t.Errorf("%q, with the selector %q: %s", says, selector, got)
			}
		}
	}
	if got := (facts.Settings{Inputs: "{"}).NodeSelector(); got != "" {
		t.Errorf("of settings that cannot be read: %q", got)
	}
}

func TestANodeThatDoesNotReachARegistryIsToldFromAnImageThatIsNotThere(t *testing.T) {
	for says, want := range map[string]string{
		"dial tcp: lookup registry.corp.example: no such host": "mend its DNS or network",
		"not found": "Correct spec.image.repository, spec.image.digests",
	} {
		if got := howToStart("ImagePullBackOff", says, ""); !strings.HasPrefix(got, says+".") || !strings.Contains(got, want) {
			t.Errorf("%s", got)
		}
	}
}

// A roll to another repository stops at the first member. Nothing but the spec has to be put back.
func TestAMemberWhoseImageCannotBePulledIsHealedByPuttingTheRepositoryBack(t *testing.T) {
	before, mirrored := inputs(`{"version":"3.6.16"}`), inputs(`{"version":"3.6.16","image":{"repository":"mirror.example/etcd"}}`)
	o := wanting(settledWorld(3), mirrored).edit(0, madeFrom(before)).edit(1, madeFrom(before)).edit(2, madeFrom(mirrored)).edit(2, unpullable)
	stops := Decide(o.Observation)
	const says = "Kubernetes tries again by itself. Once spec.image is put right or put back, the operator makes the Pod of demo-2 anew. " +
		"To go back to what demo-0 serves with, take spec.image.repository out."
	if stops.Reason != facts.ReasonImagePull || !strings.Contains(stops.Message, says) {
		t.Errorf("it says %s: %s", stops.Reason, stops.Message)
	}
	back := wanting(o, before)
	if written, isWrite := Decide(back.Observation).Change.(changes.WriteSettings); !isWrite || written.Volumes[0].Name != "demo-2" || written.Settings != before {
		t.Fatalf("the spec is put back: %s", Decide(back.Observation).Message)
	}
	back = back.edit(2, func(r *facts.Replica) { r.Volume.Settings = before })
	if deleted, isDeletion := Decide(back.Observation).Change.(changes.DeletePods); !isDeletion || len(deleted.Pods) != 1 || deleted.Pods[0].Name != "demo-2" {
		t.Errorf("and its volume says so: %s", Decide(back.Observation).Message)
	}
}
