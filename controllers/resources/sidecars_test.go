package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func withSidecars(sidecars ...v1alpha1.Sidecar) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{Sidecars: sidecars} }
}

func TestASidecarStartsBeforeEtcdAndStopsAfterIt(t *testing.T) {
	c := cluster(withSidecars(fullSidecar(), v1alpha1.Sidecar{Name: "second", Image: "x"}))
	pod := mustPod(t, c, sealed(c))
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != 2 || pod.Spec.InitContainers[1].Name != "second" {
		t.Fatalf("containers %d, sidecars %d", len(pod.Spec.Containers), len(pod.Spec.InitContainers))
	}
	for _, s := range pod.Spec.InitContainers {
		if s.RestartPolicy == nil || *s.RestartPolicy != corev1.ContainerRestartPolicyAlways || s.StartupProbe != nil {
			t.Errorf("%s is waited for: %+v", s.Name, s)
		}
	}
	for _, name := range Inputs(c).SidecarNames() {
		if !slices.ContainsFunc(pod.Spec.InitContainers, func(s corev1.Container) bool { return s.Name == name }) {
			t.Errorf("%s is not in the Pod", name)
		}
	}
}

// A Secret or a ConfigMap that does not exist keeps a container, and the whole Pod, from starting, unless it is optional.
func TestNothingThatASidecarLacksKeepsEtcdFromStarting(t *testing.T) {
	c := cluster(withSidecars(fullSidecar()))
	pod := mustPod(t, c, sealed(c))
	mounts := 0
	for _, v := range pod.Spec.Volumes {
		if !strings.HasPrefix(v.Name, "sidecar-") {
			continue
		}
		mounts++
		isOptional := v.EmptyDir != nil || v.Secret != nil && *v.Secret.Optional || v.ConfigMap != nil && *v.ConfigMap.Optional
		if !isOptional {
			t.Errorf("the Pod does not start without %+v", v)
		}
	}
	for _, e := range pod.Spec.InitContainers[0].Env {
		from := e.ValueFrom
		if from != nil && (from.SecretKeyRef != nil && !*from.SecretKeyRef.Optional || from.ConfigMapKeyRef != nil && !*from.ConfigMapKeyRef.Optional) {
			t.Errorf("the sidecar does not start without %s", e.Name)
		}
	}
	if mounts != 4 {
		t.Errorf("%d mounts", mounts)
	}
}

func TestASidecarMountsTheClientsCertificateAndNoDataOfEtcd(t *testing.T) {
	c := cluster(withSidecars(fullSidecar()))
	pod := mustPod(t, c, sealed(c))
	for _, mount := range pod.Spec.InitContainers[0].VolumeMounts {
		if mount.Name == dataVolume || mount.Name == tlsVolume {
			t.Errorf("it mounts %s", mount.Name)
		}
	}
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "demo-client-tls" })
	if i < 0 {
		t.Error("it has no certificate")
	}
}

func TestTasksHaveNoSidecars(t *testing.T) {
	c := cluster(withSidecars(fullSidecar()))
	pod := task{component: "backup", steps: []step{agentStep("take", "agent", nil)}}.template(c)
	if len(pod.Spec.InitContainers) != 0 || len(pod.Spec.Containers) != 1 {
		t.Errorf("%+v", pod.Spec)
	}
}

func TestASidecarThatSaysTheDefaultsIsWrittenDownLikeOneThatDoesNot(t *testing.T) {
	probe := func(p v1alpha1.SidecarProbe) *v1alpha1.SidecarProbe {
		p.HTTPGet = &v1alpha1.SidecarHTTPGet{Port: 80}
		return &p
	}
	short := v1alpha1.Sidecar{Name: "a", Image: "x", Ports: []v1alpha1.SidecarPort{{ContainerPort: 80}},
		ReadinessProbe: probe(v1alpha1.SidecarProbe{}), LivenessProbe: probe(v1alpha1.SidecarProbe{}),
		Mounts: []v1alpha1.SidecarMount{{MountPath: "/a", EmptyDir: &v1alpha1.SidecarEmptyDir{SizeLimit: "1Gi"}}}}
	long := *short.DeepCopy()
	long.ImagePullPolicy, long.Command, long.Env = corev1.PullIfNotPresent, []string{}, []v1alpha1.SidecarEnv{}
	long.Ports[0].Protocol = corev1.ProtocolTCP
	long.Resources = &v1alpha1.ResourceRequirements{}
	long.ReadinessProbe = probe(v1alpha1.SidecarProbe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3})
	long.ReadinessProbe.HTTPGet.Path, long.ReadinessProbe.HTTPGet.Scheme = "/", corev1.URISchemeHTTP
	long.Mounts[0].EmptyDir.SizeLimit = "1024Mi"
	long.SecurityContext = &v1alpha1.SidecarSecurityContext{ReadOnlyRootFilesystem: new(true)}
	before := long.DeepCopy()
	want, got := Inputs(cluster(withSidecars(short))).Canonical(), Inputs(cluster(withSidecars(long))).Canonical()
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if before.Ports[0].Protocol != long.Ports[0].Protocol || long.ReadinessProbe.PeriodSeconds != 10 {
		t.Error("the spec itself was changed")
	}
}

func TestEveryFieldOfASidecarNeedsARestart(t *testing.T) {
	seen := map[string]string{Inputs(cluster(withSidecars(fullSidecar()))).Canonical(): "nothing"}
	for name, change := range map[string]func(*v1alpha1.Sidecar){
		"name":             func(s *v1alpha1.Sidecar) { s.Name = "other" },
		"image":            func(s *v1alpha1.Sidecar) { s.Image = "other" },
		"pull policy":      func(s *v1alpha1.Sidecar) { s.ImagePullPolicy = corev1.PullNever },
		"command":          func(s *v1alpha1.Sidecar) { s.Command = nil },
		"args":             func(s *v1alpha1.Sidecar) { s.Args = append(s.Args, "x") },
		"env":              func(s *v1alpha1.Sidecar) { s.Env[0].Value = "info" },
		"field":            func(s *v1alpha1.Sidecar) { s.Env[1].ValueFrom.FieldRef.FieldPath = "metadata.name" },
		"ports":            func(s *v1alpha1.Sidecar) { s.Ports[1].Protocol = "" },
		"resources":        func(s *v1alpha1.Sidecar) { s.Resources = nil },
		"readiness":        func(s *v1alpha1.Sidecar) { s.ReadinessProbe.PeriodSeconds = 6 },
		"liveness":         func(s *v1alpha1.Sidecar) { s.LivenessProbe = nil },
		"mount":            func(s *v1alpha1.Sidecar) { s.Mounts[1].MountPath = "/other" },
		"size limit":       func(s *v1alpha1.Sidecar) { s.Mounts[0].EmptyDir.SizeLimit = "65Mi" },
		"user":             func(s *v1alpha1.Sidecar) { s.SecurityContext.RunAsUser = nil },
		"file system":      func(s *v1alpha1.Sidecar) { s.SecurityContext.ReadOnlyRootFilesystem = nil },
		"security context": func(s *v1alpha1.Sidecar) { s.SecurityContext = nil },
	} {
		s := fullSidecar()
		change(&s)
		got := Inputs(cluster(withSidecars(s))).Canonical()
		if other, ok := seen[got]; ok {
			t.Errorf("%s is written down like %s: %s", name, other, got)
		}
		seen[got] = name
	}
}

func TestAnAbsurdQuantityOfASidecarIsNotCalculatedWith(t *testing.T) {
	for _, spoil := range []func(*v1alpha1.Sidecar){
		func(s *v1alpha1.Sidecar) { s.Mounts[0].EmptyDir.SizeLimit = "1e2000000000" },
		func(s *v1alpha1.Sidecar) { s.Resources.Limits[corev1.ResourceCPU] = "1e-2000000000" },
		func(s *v1alpha1.Sidecar) { s.Mounts[0].EmptyDir = nil },
	} {
		s := fullSidecar()
		spoil(&s)
		c := cluster(withSidecars(s))
		if _, err := BuildPod(c, sealed(c)); err == nil || !strings.Contains(err.Error(), "sidecar shipper") {
			t.Errorf("a Pod was built with %+v: %v", s, err)
		}
	}
}
