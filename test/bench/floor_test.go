package main

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
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
			Name: etcdutil.MemberName(clusterName, 0), Flags: resources.StartBootstrap, Inputs: resources.Inputs(cluster),
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
			"TLS":       {slices.DeleteFunc(floor.Args, isNotTLS), slices.DeleteFunc(ours.Args, isNotTLS)},
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

func TestTheFloorHasTLSWhereOursHasAndNothingOfTheOperator(t *testing.T) {
	for _, plain := range []bool{false, true} {
		set, err := floorSet(shape{namespace: "bench-x", name: clusterName, size: 3, ephemeral: true, plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		pod := set.Spec.Template
		args := strings.Join(pod.Spec.Containers[0].Args, " ")
		if hasFlags := strings.Contains(args, "--peer-cert-file="); hasFlags == plain || strings.Contains(args, "=https://") == plain {
			t.Errorf("without TLS %v: %s", plain, args)
		}
		if mounts, secret := len(pod.Spec.Containers[0].VolumeMounts), pod.Spec.Volumes[0].Secret; (secret == nil) != plain || mounts != len(pod.Spec.Volumes) {
			t.Errorf("without TLS %v: %d mounts, %+v", plain, mounts, secret)
		}
		for key := range pod.Labels {
			if key == v1alpha1.LabelInstance || strings.HasPrefix(key, v1alpha1.Group) {
				t.Errorf("the operator takes notice of a Pod with the label %s", key)
			}
		}
	}
}

func TestMembersAndClientsOfTheFloorTrustItsOneCertificate(t *testing.T) {
	like, now := shape{namespace: "bench-x", name: clusterName, size: 3}, time.Now()
	secret, err := floorSecret(like, now)
	if err != nil {
		t.Fatal(err)
	}
	pair := pki.Pair{Cert: secret.Data[resources.KeyCert], Key: secret.Data[resources.KeyKey]}
	config, err := pki.ClientTLS(secret.Data[resources.KeyPeerCA], pair)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.1", etcdutil.PeerHost(etcdutil.MemberName(clusterName, 2), clusterName, like.namespace),
		resources.ClientService(clusterName) + "." + like.namespace + ".svc"} {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: config.RootCAs, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
