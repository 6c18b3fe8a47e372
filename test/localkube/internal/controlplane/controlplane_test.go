package controlplane

import (
	"bytes"
	"slices"
	"testing"

	"github.com/coredns/caddy/caddyfile"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/dns"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

func TestExactlyThePluginsThatTheCorefileNamesAreLinked(t *testing.T) {
	var corefile bytes.Buffer
	values := map[string]string{"Addresses": "198.18.0.2 2001:2::2", "Kubeconfig": "/kubeconfig",
		"Domain": layout.Domain}
	if err := configs.ExecuteTemplate(&corefile, "Corefile", values); err != nil {
		t.Fatal(err)
	}
	blocks, err := caddyfile.Parse("Corefile", &corefile, nil)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, block := range blocks {
		for plugin := range block.Tokens {
			named[plugin] = true
			if !slices.Contains(dns.Plugins, plugin) {
				t.Errorf("the Corefile names %s, which is not linked", plugin)
			}
		}
	}
	for _, plugin := range dns.Plugins {
		if !named[plugin] {
			t.Errorf("%s is linked, and the Corefile does not name it", plugin)
		}
	}
}
