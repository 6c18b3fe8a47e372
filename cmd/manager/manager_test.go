package main

import "testing"

func TestAnOperatorOfOneNamespaceWatchesNothingOutsideIt(t *testing.T) {
	o, err := parseOptions([]string{"--namespace=", "--namespace=team-a"}) // as a patch of the manifests appends it
	if err != nil {
		t.Fatal(err)
	}
	options := cacheOptions(o.namespace)
	if len(options.DefaultNamespaces) != 1 {
		t.Errorf("watched: %v", options.DefaultNamespaces)
	}
	if _, ok := options.DefaultNamespaces["team-a"]; !ok {
		t.Errorf("watched: %v", options.DefaultNamespaces)
	}
	for kind, settings := range options.ByObject {
		if settings.Namespaces != nil {
			t.Errorf("%T is watched otherwise than all kinds: %+v", kind, settings)
		}
	}
}

func TestAnOperatorOfAllNamespacesWatchesAll(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if watched := cacheOptions(o.namespace).DefaultNamespaces; watched != nil {
		t.Errorf("watched: %v", watched)
	}
}

func TestAnInstallIsNamedByItsNamespaceAndNotByItsPod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "team-a")
	if got := identity(); got != "team-a/etcd-steward" {
		t.Error(got)
	}
	t.Setenv("POD_NAMESPACE", "")
	if got := identity(); got != "local/etcd-steward" {
		t.Error(got)
	}
}
