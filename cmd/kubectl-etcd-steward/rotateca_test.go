package main

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestNewCAsAreAskedForByTheAnnotationThatTheOperatorReads(t *testing.T) {
	for _, c := range []struct {
		change  func(*v1alpha1.EtcdCluster)
		args    []string
		says    string
		overlap time.Duration // 0: nothing is written
	}{
		{nil, nil, "The operator replaces the CAs now. Clients get 24h0m0s to read Secret demo-client-tls", 24 * time.Hour},
		{nil, []string{"--overlap", "90s"}, "To call it off: `kubectl annotate etcd demo -n prod etcdsteward.dev/rotate-ca-`", 90 * time.Second},
		{nil, []string{"--overlap", "-1h"}, "clients cannot get less than no time", 0},
		{func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true }, nil, "once you set it to false, the operator replaces the CAs.",
			24 * time.Hour},
		{func(c *v1alpha1.EtcdCluster) {
			c.Spec.TLS = &v1alpha1.TLSSpec{PeerCA: &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: "corp"}}}
		}, nil, "The operator does not replace the CAs that come from elsewhere: Secret corp.", 24 * time.Hour},
		{func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} }, nil,
			"spec.tls.mode: Disabled, and no CA. Nothing was written.", 0},
	} {
		all := objects(t, "healthy")
		for _, object := range all {
			if cluster, isCluster := object.(*v1alpha1.EtcdCluster); isCluster && c.change != nil {
				c.change(cluster)
			}
		}
		s := sessionOf(all, interceptor.Funcs{})
		got := plugin(t, s, append([]string{"rotate-ca", "demo"}, c.args...)...)
		now, err := s.cluster(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		asked, overlap := now.CARotationAsked()
		if said := got.out + got.errOut; !strings.Contains(said, c.says) || asked.IsZero() != (c.overlap == 0) || overlap != c.overlap {
			t.Errorf("%v: %q, asked for CAs from before %s with %s", c.args, said, asked, overlap)
		}
	}
}
