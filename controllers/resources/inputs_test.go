package resources

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func TestWhatSaysNoMoreThanItsAbsenceIsNotWrittenDown(t *testing.T) {
	spelled := cluster(version("v3.6.16"), func(c *v1alpha1.EtcdCluster) {
		c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSManaged}
		c.Spec.Image = &v1alpha1.ImageSpec{Repository: DefaultRepository, PullPolicy: corev1.PullIfNotPresent}
		c.Spec.Storage = &v1alpha1.StorageSpec{Size: new(resource.MustParse("20Gi"))}
		c.Spec.Etcd = &v1alpha1.EtcdSpec{
			QuotaBackendBytes: new(resource.MustParse("2048Mi")),
			AutoCompaction:    &v1alpha1.AutoCompactionSpec{Mode: "periodic", Retention: "1h"},
			HeartbeatInterval: &metav1.Duration{Duration: 100 * time.Millisecond},
			ElectionTimeout:   &metav1.Duration{Duration: time.Second},
			CorruptionChecks:  new(true),
			ExtraArgs:         map[string]v1alpha1.ArgValue{},
		}
		c.Spec.Pod = &v1alpha1.PodSpec{
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
			Resources: &v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{
				corev1.ResourceCPU: "0.1", corev1.ResourceMemory: "536870912",
			}},
			SecurityContext: &v1alpha1.PodSecurityContext{FSGroupChangePolicy: corev1.FSGroupChangeOnRootMismatch,
				SupplementalGroups: []int64{}, SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyMerge, SELinuxOptions: &corev1.SELinuxOptions{}},
			HostUsers: new(true),
			Affinity:  &corev1.Affinity{}, Tolerations: []corev1.Toleration{}, TerminationGracePeriodSeconds: new(int64(60)),
			SchedulerName: corev1.DefaultSchedulerName, DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{}, Options: []corev1.PodDNSConfigOption{}},
		}
		c.Spec.Service = &v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort}
	})
	if got := Inputs(spelled).Canonical(); got != `{"version":"3.6.16"}` {
		t.Errorf("written down: %s", got)
	}
}

func TestEveryChoiceThatNeedsARestartIsWrittenDown(t *testing.T) {
	base := Inputs(cluster()).Canonical()
	changes := map[string]func(*v1alpha1.EtcdCluster){
		"version":    version("3.6.15"),
		"repository": func(c *v1alpha1.EtcdCluster) { c.Spec.Image = &v1alpha1.ImageSpec{Repository: "example/etcd"} },
		"digest": func(c *v1alpha1.EtcdCluster) {
			c.Spec.Image = &v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.16": "sha256:00"}}
		},
		"corruption checks off": func(c *v1alpha1.EtcdCluster) { c.Spec.Etcd = &v1alpha1.EtcdSpec{CorruptionChecks: new(false)} },
		"snapshot count":        func(c *v1alpha1.EtcdCluster) { c.Spec.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5))} },
		"retention": func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{AutoCompaction: &v1alpha1.AutoCompactionSpec{Retention: "0"}}
		},
		"priority":                        func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{PriorityClassName: "high"} },
		"scheduler":                       func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{SchedulerName: "packs"} },
		"names":                           resolving(corev1.PodDNSConfig{Searches: []string{"example.com"}}),
		"name servers":                    resolving(corev1.PodDNSConfig{Nameservers: []string{"203.0.113.53"}}),
		"no TLS":                          withoutTLS,
		"another user":                    as(v1alpha1.PodSecurityContext{RunAsUser: new(int64(1000))}),
		"another group":                   as(v1alpha1.PodSecurityContext{RunAsGroup: new(int64(1000))}),
		"groups anew":                     as(v1alpha1.PodSecurityContext{FSGroupChangePolicy: corev1.FSGroupChangeAlways}),
		"only the groups of the spec":     as(v1alpha1.PodSecurityContext{SupplementalGroupsPolicy: corev1.SupplementalGroupsPolicyStrict}),
		"a user namespace":                func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{HostUsers: new(false)} },
		"a platform's user is not wanted": as(v1alpha1.PodSecurityContext{RunAsUser: new(ownUser)}),
		"a restart":                       restartedAt("2026-01-31T12:00:00Z"),
		"another restart":                 restartedAt("2026-01-31T12:00:01Z"),
		"data in the Pod":                 ephemeral,
		"data in memory": func(c *v1alpha1.EtcdCluster) {
			ephemeral(c)
			c.Spec.Storage.Ephemeral.Medium = corev1.StorageMediumMemory
		},
		"everything else": full,
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range changes {
		got := Inputs(cluster(change)).Canonical()
		if other, ok := seen[got]; ok {
			t.Errorf("%s is written down like %s: %s", name, other, got)
		}
		seen[got] = name
	}
}

// What is added to spec.pod becomes a setting of each member by that, and restarts it when it changes.
func TestEachFieldOfThePodInTheSpecIsASettingOrChangesInPlace(t *testing.T) {
	settings := []string{"Resources", "SecurityContext", "NodeSelector", "Tolerations", "Affinity",
		"TopologySpreadConstraints", "PriorityClassName", "SchedulerName", "DNSConfig", "TerminationGracePeriodSeconds",
		"Sidecars", "HostUsers"}
	inPlace := []string{"Labels", "Annotations"}
	fields := reflect.TypeFor[v1alpha1.PodSpec]()
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; !slices.Contains(append(inPlace, settings...), name) {
			t.Errorf("spec.pod has %s: say here which it is, and leave it out in podWithoutDefaults if it changes in place", name)
		}
	}
	labelled := cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
	})
	if got := Inputs(labelled).Canonical(); got != `{"version":"3.6.16"}` || labelled.Spec.Pod.Labels["a"] != "b" {
		t.Errorf("labels and annotations are written down, or taken from the spec: %s", got)
	}
}

// as runs the Pods of a cluster as others.
func as(who v1alpha1.PodSecurityContext) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{SecurityContext: &who} }
}

// resolving adds to the DNS settings of members.
func resolving(dns corev1.PodDNSConfig) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{DNSConfig: &dns} }
}

// restartedAt asks for a restart of each member.
func restartedAt(value string) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationRestartedAt: value}
	}
}

func TestARestartIsAskedForByPrintableCharactersAlone(t *testing.T) {
	base := Inputs(cluster()).Canonical()
	for _, refused := range []string{"", "2026\n", "jetzt für alle", strings.Repeat("9", 65)} {
		if got := Inputs(cluster(restartedAt(refused))).Canonical(); got != base {
			t.Errorf("%q is written down: %s", refused, got)
		}
	}
	for _, accepted := range []string{"2026-01-31T12:00:00+01:00", "new CA, ticket 7", strings.Repeat("9", 64)} {
		if got := Inputs(cluster(restartedAt(accepted))).RestartedAt; got != accepted {
			t.Errorf("%q is written down as %q", accepted, got)
		}
	}
}

func TestADigestOfAnotherVersionChangesNothing(t *testing.T) {
	other := cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Image = &v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.17": "sha256:00"}}
	})
	if got, want := Inputs(other).Canonical(), Inputs(cluster()).Canonical(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEqualQuantitiesAreWrittenEqually(t *testing.T) {
	with := func(cpu, memory string) string {
		return Inputs(cluster(func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
				Limits: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceCPU: v1alpha1.Amount(cpu), corev1.ResourceMemory: v1alpha1.Amount(memory)},
			}}
		})).Canonical()
	}
	want := with("1500m", "1Gi")
	for _, pair := range [][2]string{{"1.5", "1024Mi"}, {"1500000u", "1073741824"}, {"15e-1", "1048576Ki"}} {
		if got := with(pair[0], pair[1]); got != want {
			t.Errorf("%v is written %s, want %s", pair, got, want)
		}
	}
	if with("1501m", "1Gi") == want {
		t.Error("a little more CPU is written like none")
	}
}

func TestReadingWhatWasWrittenGivesTheSameAgain(t *testing.T) {
	for _, c := range []*v1alpha1.EtcdCluster{cluster(), cluster(full), cluster(full, ephemeral), cluster(withoutTLS)} {
		written := Inputs(c).Canonical()
		again, v, err := NormalizeInputs(written)
		if err != nil || again != written || v.String() != "3.6.16" {
			t.Errorf("%s came back as %s, %s, %v", written, again, v, err)
		}
	}
}

func TestWhatAnotherOperatorWroteIsReadTolerantly(t *testing.T) {
	for name, annotation := range map[string]string{
		"fields of the future":   `{"version":"3.6.16","future":{"x":1},"etcd":{"futureFlag":true}}`,
		"a default written down": `{"version":"3.6.16","image":{"repository":"gcr.io/etcd-development/etcd"},"etcd":{"corruptionChecks":true},"tls":"Managed"}`,
		"empty sections":         `{"version":"3.6.16","image":{},"pod":{"tolerations":[]}}`,
	} {
		got, _, err := NormalizeInputs(annotation)
		if err != nil || got != `{"version":"3.6.16"}` {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, broken := range []string{"", "{}", "[]", "null", `{"version":""}`, `{"version":"latest"}`, `{"version":"3.6.16"`, `{"version":"3.6.16","etcd":1}`} {
		if got, v, err := NormalizeInputs(broken); err == nil {
			t.Errorf("%q was read as %s of %s", broken, got, v)
		}
	}
}

func TestDefaultsThatAreWrittenNowhereAreNotInTheSchemaEither(t *testing.T) {
	text, err := json.Marshal(cluster().Spec)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != `{"size":3,"version":"3.6.16"}` {
		t.Errorf("the smallest spec is stored as %s", text)
	}
}

// An absurd quantity takes Kubernetes' own code minutes to read, and one annotation must not keep other clusters
// waiting.
func TestAnAbsurdQuantityIsNotCalculatedWith(t *testing.T) {
	for _, absurd := range []string{"1e2000000000", "-1e2000000000", "1e-2000000000", "1e-2000000000m", strings.Repeat("9", 1000), "", "x"} {
		annotation := `{"version":"3.6.16","pod":{"resources":{"limits":{"cpu":"` + absurd + `","memory":"` + absurd + `"}}}}`
		once, _, err := NormalizeInputs(annotation)
		if err != nil || once != annotation {
			t.Errorf("%.20s: %s, %v", absurd, once, err)
		}
		start := atBootstrap(cluster())
		if start.Inputs, err = DecodeInputs(annotation); err != nil {
			t.Fatal(err)
		}
		if _, err := BuildPod(cluster(), start); err == nil {
			t.Errorf("a Pod was built with %.20s", absurd)
		}
	}
}

func FuzzNormalizeInputsIsStable(f *testing.F) {
	f.Add(Inputs(cluster(full)).Canonical())
	f.Add(`{"version":"3.6.16","pod":{"resources":{"limits":{"cpu":"1e3","memory":"0.5Gi"}}}}`)
	f.Fuzz(func(t *testing.T, annotation string) {
		once, v, err := NormalizeInputs(annotation)
		if err != nil {
			return
		}
		twice, w, err := NormalizeInputs(once)
		if err != nil || twice != once || v != w || v == (etcdutil.Version{}) {
			t.Errorf("%q: %q then %q, %v", annotation, once, twice, err)
		}
	})
}

func TestInputsSayTheQuotaAndTheLimitOfMemory(t *testing.T) {
	for inputs, want := range map[string][2]int64{
		`{"version":"3.6.16"}`: {2 << 30, 0},
		`{"version":"3.6.16","etcd":{"quotaBackendBytes":67108864},"pod":{"resources":{"limits":{"memory":"64Mi"}}}}`: {
			64 << 20, 64 << 20},
		`{"version":"3.6.16","etcd":{},"pod":{"resources":{"limits":{"memory":"much"}}}}`: {2 << 30, 0},
	} {
		in, err := DecodeInputs(inputs)
		if got := [2]int64{in.QuotaBytes(), in.MemoryBytes()}; err != nil || got != want {
			t.Errorf("%s: %v, %v", inputs, got, err)
		}
	}
}

func TestSettingsThatDifferInAmountsAloneHaveTheSameFixedPart(t *testing.T) {
	asking := func(r *v1alpha1.ResourceRequirements, more ...func(*v1alpha1.EtcdCluster)) string {
		return Inputs(cluster(append([]func(*v1alpha1.EtcdCluster){func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod = &v1alpha1.PodSpec{Resources: r, PriorityClassName: "high"}
		}}, more...)...)).Fixed()
	}
	type list = map[corev1.ResourceName]v1alpha1.Amount
	base := asking(nil)
	if base == "" {
		t.Fatal("nothing is fixed")
	}
	for name, r := range map[string]*v1alpha1.ResourceRequirements{
		"other requests": {Requests: list{corev1.ResourceCPU: "2", corev1.ResourceMemory: "8Gi"}},
		"limits":         {Limits: list{corev1.ResourceMemory: "8Gi"}, Requests: list{corev1.ResourceMemory: "1Gi"}},
	} {
		if got := asking(r); got != base {
			t.Errorf("%s: %s, not %s", name, got, base)
		}
	}
	for name, got := range map[string]string{
		"huge pages": asking(&v1alpha1.ResourceRequirements{Limits: list{"hugepages-2Mi": "4Mi", corev1.ResourceMemory: "1Gi"}}),
		"version":    asking(nil, version("3.6.15")),
		"priority":   asking(nil, func(c *v1alpha1.EtcdCluster) { c.Spec.Pod.PriorityClassName = "low" }),
	} {
		if got == base {
			t.Errorf("another %s is the same: %s", name, got)
		}
	}
}
