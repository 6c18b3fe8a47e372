package main

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestTheFloorDiffersFromOursOnlyInWhoMakesIt(t *testing.T) {
	for _, ephemeral := range []bool{false, true} {
		like := shape{namespace: "bench-x", name: clusterName, size: 3, ephemeral: ephemeral}
		set, err := floorSet(like)
		if err != nil {
			t.Fatal(err)
		}
		cluster := manifest(like)
		built, err := resources.BuildPod(cluster, resources.PodStart{
			Name: etcdutil.MemberName(clusterName, 0), Flags: resources.StartBirth, Inputs: resources.Inputs(cluster),
		})
		if err != nil {
			t.Fatal(err)
		}
		floor, ours := set.Spec.Template.Spec.Containers[0], built.Spec.Containers[0]
		for what, pair := range map[string][2]any{
			"image":     {floor.Image, ours.Image},
			"probes":    {[]any{floor.StartupProbe, floor.ReadinessProbe, floor.LivenessProbe}, []any{ours.StartupProbe, ours.ReadinessProbe, ours.LivenessProbe}},
			"resources": {floor.Resources, ours.Resources},
			"leaving":   {floor.Lifecycle, ours.Lifecycle},
			"grace":     {set.Spec.Template.Spec.TerminationGracePeriodSeconds, built.Spec.TerminationGracePeriodSeconds},
			"security":  {set.Spec.Template.Spec.SecurityContext, built.Spec.SecurityContext},
		} {
			if !equality.Semantic.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s: the floor has %v, ours %v", what, pair[0], pair[1])
			}
		}
		if hasClaims := len(set.Spec.VolumeClaimTemplates) == 1; hasClaims == ephemeral {
			t.Errorf("ephemeral %v: claims %v", ephemeral, hasClaims)
		}
	}
}

func TestTheFloorHasNoTLSAndNothingOfTheOperator(t *testing.T) {
	set, err := floorSet(shape{namespace: "bench-x", name: clusterName, size: 3, ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template
	if slices.ContainsFunc(pod.Spec.Containers[0].Args, func(arg string) bool { return strings.Contains(arg, "https://") || strings.Contains(arg, "cert") }) {
		t.Errorf("TLS: %q", pod.Spec.Containers[0].Args)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			t.Errorf("a Secret is mounted: %v", v)
		}
	}
	for key := range pod.Labels {
		if key == v1alpha1.LabelInstance || strings.HasPrefix(key, v1alpha1.Group) {
			t.Errorf("the operator takes notice of a Pod with the label %s", key)
		}
	}
}
