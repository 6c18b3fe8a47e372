package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func TestPodsAreBuiltAsTheyWereReviewed(t *testing.T) {
	starts := map[string]func(*v1alpha1.EtcdCluster) PodStart{"birth": atBootstrap, "join": joining, "sealed": sealed}
	shapes := map[string][]func(*v1alpha1.EtcdCluster){
		"tls":       {},
		"plain":     {withoutTLS},
		"ephemeral": {ephemeral},
		"full":      {full},
	}
	for _, v := range []string{"3.5.35", "3.6.16", "3.7.3"} {
		for shape, options := range shapes {
			for start, member := range starts {
				if start != "birth" && v != "3.6.16" {
					continue // what differs by minor does not differ by start
				}
				name := "pod-" + start + "-" + shape + "-" + v[:3]
				t.Run(name, func(t *testing.T) {
					c := cluster(append(options, version(v))...)
					golden(t, name, mustPod(t, c, member(c)))
				})
			}
		}
	}
}

func TestTheFirstPodOfASuccessorIsBuiltAsItWasReviewed(t *testing.T) {
	c := cluster(withoutTLS)
	start := joining(c)
	start.Leaving = []string{"demo-2"}
	golden(t, "pod-successor-plain-3.6", mustPod(t, c, start))
}

func TestObjectsAreBuiltAsTheyWereReviewed(t *testing.T) {
	c := cluster()
	bootstrap := record.Bootstrap{Incarnation: incarnation, Token: "token", Names: []string{"demo-0", "demo-1", "demo-2"}}
	volume := Volume{Name: "demo-0", Incarnation: incarnation, Bytes: StorageBytes(c), Inputs: Inputs(c).Canonical(),
		Operator: operatorName}
	data := map[string][]byte{KeyCert: []byte("cert"), KeyKey: []byte("key"), KeyCA: []byte("ca")}
	for name, object := range map[string]any{
		"service-peers":       BuildPeerService(c, bootstrap, "etcd-steward-system/etcd-steward"),
		"service-peers-shape": PeerServiceShape(c),
		"service-client":      BuildClientService(c),
		"service-client-full": BuildClientService(cluster(full)),
		"budget":              BuildBudget(c, 2),
		"network-policy":      BuildNetworkPolicy(cluster(guarded), operatorName),
		"volume":              BuildVolume(c, volume),
		"volume-delete":       BuildVolume(cluster(deletedWithCluster), volume),
		"secret-authority":    BuildCA(c, CASecret(c.Name), data),
		"secret-client":       BuildLeafSecret(c, ClientSecret(c.Name), data),
		"secret-member":       BuildMemberSecret(c, "demo-0", data),
		"certificates-client": Certificates(c, ClientSecret(c.Name)),
		"certificates-member": MemberCertificates(c, "demo-0", ""),
		"certificates-domain": MemberCertificates(c, "demo-0", "example.internal"),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, object) })
	}
}

func TestAVolumeSaysForWhichStorageClassItWasMade(t *testing.T) {
	asking := func(class *string) *v1alpha1.EtcdCluster {
		return cluster(func(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: class} })
	}
	for _, row := range []struct {
		name        string
		before, now *string
		has         *string // what Kubernetes made of the claim
		isOld       bool    // of a release that wrote nothing down
		isSame      bool    // as what the spec asks for now
	}{
		{"a class that stays", new("a"), new("a"), new("a"), false, true},
		{"another class", new("a"), new("b"), new("a"), false, false},
		{"the default class, by its name", nil, nil, new("standard"), false, true},
		{"the default class, and then one by name", nil, new("standard"), new("standard"), false, true},
		{"a class, and then the default one", new("a"), nil, new("a"), false, false},
		{"no class", new(""), new(""), new(""), false, true},
		{"no class, and then the default one", new(""), nil, new(""), false, false},
		{"what a webhook made of it", new("a"), new("a"), new("of-a-webhook"), false, true},
		{"the class of an old claim", new("a"), new("a"), new("a"), true, true},
		{"another one than that", new("a"), new("b"), new("a"), true, false},
		{"the default one, of an old claim", nil, nil, new("standard"), true, true},
		{"an old claim without a class", nil, new("a"), nil, true, false},
	} {
		claim := BuildVolume(asking(row.before), Volume{Name: "demo-0"})
		claim.Spec.StorageClassName = row.has
		if row.isOld {
			delete(claim.Annotations, v1alpha1.AnnotationStorageClass)
		}
		if now := asking(row.now); (ClassOf(now, claim) == AskedClass(now)) != row.isSame {
			t.Errorf("%s: made for %q, and the spec asks for %q", row.name, ClassOf(now, claim), AskedClass(now))
		}
	}
}

func TestAVolumeSaysForWhichAccessModeItWasMade(t *testing.T) {
	const one, many = corev1.ReadWriteOncePod, corev1.ReadWriteOnce
	asking := func(mode corev1.PersistentVolumeAccessMode) *v1alpha1.EtcdCluster {
		return cluster(func(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{AccessMode: mode} })
	}
	for _, row := range []struct {
		name             string
		asked, has, want corev1.PersistentVolumeAccessMode
		isOld            bool // of a release that wrote nothing down
	}{
		{"the default", "", many, many, false},
		{"another one", one, one, one, false},
		{"what a webhook made of it", "", one, many, false},
		{"that of an old claim", "", one, one, true},
	} {
		claim := BuildVolume(asking(row.asked), Volume{Name: "demo-0"})
		claim.Spec.AccessModes[0] = row.has
		if row.isOld {
			delete(claim.Annotations, v1alpha1.AnnotationAccessMode)
		}
		if got := ModeOf(claim); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
	}
	if claim := BuildVolume(asking(one), Volume{}); claim.Spec.AccessModes[0] != one {
		t.Errorf("the claim asks for %v", claim.Spec.AccessModes)
	}
}

func TestNothingThatMustBeKeptHasAnOwner(t *testing.T) {
	for _, c := range []*v1alpha1.EtcdCluster{cluster(), cluster(deletedWithCluster)} {
		isOwned := c.Spec.DeletionPolicyOrDefault() == v1alpha1.DeletionDelete
		volume := BuildVolume(c, Volume{Name: "demo-0", Incarnation: incarnation})
		ca := BuildCA(c, CASecret(c.Name), nil)
		if got := len(volume.OwnerReferences) > 0; got != isOwned {
			t.Errorf("volume under %s: owned %v", c.Spec.DeletionPolicyOrDefault(), got)
		}
		if got := len(ca.OwnerReferences) > 0; got != isOwned {
			t.Errorf("authority under %s: owned %v", c.Spec.DeletionPolicyOrDefault(), got)
		}
		if !FollowsPolicy(volume, c.UID, !isOwned) || FollowsPolicy(volume, c.UID, isOwned) {
			t.Errorf("a new volume does not follow %s", c.Spec.DeletionPolicyOrDefault())
		}
	}
}

func mustPod(t *testing.T, c *v1alpha1.EtcdCluster, s PodStart) *corev1.Pod {
	t.Helper()
	pod, err := BuildPod(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}
