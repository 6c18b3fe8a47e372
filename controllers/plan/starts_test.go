package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestWhatHelpsAPodThatNoNodeTakesGoesByWhatKeepsEachOfThemFromThat(t *testing.T) {
	selecting := facts.Settings{Inputs: `{"pod":{"nodeSelector":{"pool":"blue","disk":"fast"}}}`}.NodeSelector()
	const room, noSelector = "Make room on the nodes, or correct what spec.pod asks for.", ""
	for says, want := range map[string]map[string]string{
		"3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful.": {
			selecting: "No node has what spec.pod asks for: correct spec.pod.nodeSelector (disk=fast,pool=blue) or spec.pod.affinity. Or label a " +
				"node: kubectl label node NODE disk=fast pool=blue. kubectl get nodes -L disk,pool shows their labels.",
			noSelector: "No node has the labels that its Pod asks for: correct spec.pod.affinity, or label a node.",
		},
		"1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.": {selecting: room, noSelector: room},
		"3 Insufficient memory.": {selecting: room},
		"1 node(s) had untolerated taint {a: b}, 2 node(s) had untolerated taint(s).": {
			noSelector: "Every node keeps it out by a taint: add to spec.pod.tolerations what they ask for, or a node without."},
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
