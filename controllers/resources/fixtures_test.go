package resources

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var update = flag.Bool("update", false, "write the golden files anew")

const incarnation = "1a2b3c4d"

// cluster is the smallest cluster that a user writes; options add to it.
func cluster(options ...func(*v1alpha1.EtcdCluster)) *v1alpha1.EtcdCluster {
	c := &v1alpha1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo", UID: "8f0d8f6e-0000-4000-8000-000000000001"},
		Spec:       v1alpha1.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	for _, option := range options {
		option(c)
	}
	return c
}

func version(v string) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Version = v }
}

func withoutTLS(c *v1alpha1.EtcdCluster) {
	c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
}

func ephemeral(c *v1alpha1.EtcdCluster) {
	c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
}

func deletedWithCluster(c *v1alpha1.EtcdCluster) {
	c.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete}
}

func urls(c *v1alpha1.EtcdCluster, members ...string) []etcdutil.NamedURL {
	var list []etcdutil.NamedURL
	for _, member := range members {
		list = append(list, etcdutil.NamedURL{Name: member, URL: PeerURL(c, member)})
	}
	return list
}

func atBootstrap(c *v1alpha1.EtcdCluster) PodStart {
	return PodStart{
		Name: "demo-0", Incarnation: incarnation, Token: "token-" + incarnation, Flags: StartBootstrap,
		Initial: urls(c, "demo-0", "demo-1", "demo-2"), Inputs: Inputs(c), Operator: operatorName,
	}
}

func joining(c *v1alpha1.EtcdCluster) PodStart {
	s := atBootstrap(c)
	s.Name, s.Flags, s.Initial = "demo-3", StartJoin, urls(c, "demo-0", "demo-1", "demo-2", "demo-3")
	return s
}

func sealed(c *v1alpha1.EtcdCluster) PodStart {
	s := atBootstrap(c)
	s.Flags, s.Initial, s.Role = StartSealed, nil, v1alpha1.RoleVoter
	return s
}

// golden compares an object with what was reviewed last.
func golden(t *testing.T, name string, object any) {
	t.Helper()
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what was reviewed (-want +got); if it is meant, run with -update, and raise Renderer if Pods changed:\n%s", path, diff)
	}
}
