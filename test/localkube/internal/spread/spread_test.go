//go:build scheduler

// Package spread asks the scoring of the real kube-scheduler where it would put members' Pods, as they were reviewed
// last. It needs Kubernetes itself, which this module does not: `make test-spread` hands it the module file that
// localkube builds Kubernetes with.
package spread

import (
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	plugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins/testing"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"sigs.k8s.io/yaml"
)

const (
	first     = "birth-plain"
	successor = "successor-plain" // it follows demo-2
)

func TestMembersLandOnNodesAndInZonesOfTheirOwnWhereThereAreSome(t *testing.T) {
	withZones, without := nodes(6, true), nodes(6, false)
	three, zones := without[:3], withZones[:3]
	for name, row := range map[string]struct {
		incoming string // which Pod is scheduled
		nodes    []*corev1.Node
		pods     []*corev1.Pod // those that have a node
		want     []string      // the nodes that suit it best
	}{
		"the second one":                      {first, zones, members(t, 1), []string{"node-1", "node-2"}},
		"the second one, without zones":       {first, three, members(t, 1), []string{"node-1", "node-2"}},
		"the third one":                       {first, zones, members(t, 2), []string{"node-2"}},
		"the third one, without zones":        {first, three, members(t, 2), []string{"node-2"}},
		"the third one, in the third zone":    {first, withZones, members(t, 2), []string{"node-2", "node-5"}},
		"the third one, on a node of its own": {first, without, members(t, 2), []string{"node-2", "node-3", "node-4", "node-5"}},

		"a successor, in the place of the one that it follows": {successor, zones, members(t, 3), []string{"node-2"}},
		"the same without zones":                               {successor, three, members(t, 3), []string{"node-2"}},
		"a successor, in the zone of the one that it follows":  {successor, withZones, members(t, 3), []string{"node-5"}},
		"a successor, on a node that is free":                  {successor, without, members(t, 3), []string{"node-3", "node-4", "node-5"}},

		"the successor of one on a dead node, in its zone": {first, cordoned(withZones, 2), deleted(members(t, 3), 2), []string{"node-5"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := best(t, member(t, row.incoming, 3), row.nodes, row.pods); !slices.Equal(got, row.want) {
				t.Errorf("it lands on one of %v, want %v", got, row.want)
			}
		})
	}
}

// best are the nodes that score highest by where other Pods are. Both plugins have the same weight by default
// (kubernetes/kubernetes:pkg/scheduler/apis/config/v1/default_plugins.go).
func best(t *testing.T, incoming *corev1.Pod, all []*corev1.Node, pods []*corev1.Pod) []string {
	t.Helper()
	metrics.Register()
	snapshot := cache.NewSnapshot(pods, all)
	infos, err := snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	may := slices.DeleteFunc(slices.Clone(infos), func(n fwk.NodeInfo) bool { return n.Node().Spec.Unschedulable })
	spread := plugins.SetupPluginWithInformers(t.Context(), t, frameworkruntime.FactoryAdapter(enabled, podtopologyspread.New),
		&config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting}, snapshot, nil)
	apart := plugins.SetupPluginWithInformers(t.Context(), t, frameworkruntime.FactoryAdapter(enabled, interpodaffinity.New),
		&config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, snapshot, []runtime.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: incoming.Namespace}}})
	scores := map[string]int64{}
	for _, plugin := range []fwk.Plugin{spread, apart} {
		for _, s := range scoresOf(t, plugin, incoming, may) {
			scores[s.Name] += s.Score
		}
	}
	var names []string
	for _, n := range may {
		if isBest := !slices.ContainsFunc(may, func(other fwk.NodeInfo) bool {
			return scores[other.Node().Name] > scores[n.Node().Name]
		}); isBest {
			names = append(names, n.Node().Name)
		}
	}
	slices.Sort(names)
	return names
}

func scoresOf(t *testing.T, plugin fwk.Plugin, incoming *corev1.Pod, may []fwk.NodeInfo) fwk.NodeScoreList {
	t.Helper()
	state := framework.NewCycleState()
	if before := plugin.(fwk.PreScorePlugin).PreScore(t.Context(), state, incoming, may); before.IsSkip() {
		return nil
	} else if !before.IsSuccess() {
		t.Fatal(before)
	}
	var scores fwk.NodeScoreList
	scorer := plugin.(fwk.ScorePlugin)
	for _, n := range may {
		score, status := scorer.Score(t.Context(), state, incoming, n)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		scores = append(scores, fwk.NodeScore{Name: n.Node().Name, Score: score})
	}
	if status := scorer.ScoreExtensions().NormalizeScore(t.Context(), state, incoming, scores); !status.IsSuccess() {
		t.Fatal(status)
	}
	return scores
}

// enabled are the features that a scheduler has by default, as far as these plugins ask for them.
var enabled = feature.Features{EnableNodeInclusionPolicyInPodTopologySpread: true, EnableMatchLabelKeysInPodTopologySpread: true}

// nodes are so many, in three zones or in none.
func nodes(count int, hasZones bool) []*corev1.Node {
	var out []*corev1.Node
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		labels := map[string]string{corev1.LabelHostname: name}
		if hasZones {
			labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%3)
		}
		out = append(out, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	return out
}

func cordoned(all []*corev1.Node, i int) []*corev1.Node {
	out := slices.Clone(all)
	out[i] = out[i].DeepCopy()
	out[i].Spec.Unschedulable = true
	return out
}

// members are so many first members, each on a node of its own.
func members(t *testing.T, count int) []*corev1.Pod {
	t.Helper()
	var out []*corev1.Pod
	for i := range count {
		pod := member(t, first, i)
		pod.Spec.NodeName = fmt.Sprintf("node-%d", i)
		out = append(out, pod)
	}
	return out
}

func deleted(pods []*corev1.Pod, i int) []*corev1.Pod {
	pods[i].DeletionTimestamp = new(metav1.Now())
	return pods
}

func member(t *testing.T, made string, ordinal int) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile("../../../../controllers/resources/testdata/pod-" + made + "-3.6.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict(text, pod); err != nil {
		t.Fatal(err)
	}
	pod.Name = fmt.Sprintf("demo-%d", ordinal)
	pod.Labels["etcdsteward.dev/member"] = pod.Name
	return pod
}
