package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

var (
	mirrored = ImageDefaults{Repository: "mirror.example.com/etcd", PullSecrets: []string{"mirror"},
		Digests: map[string]string{"3.6.16": "sha256:" + strings.Repeat("a", 64)}}
	ownDigest = v1alpha1.Digest("sha256:" + strings.Repeat("b", 64))
)

func withImage(image v1alpha1.ImageSpec) func(*v1alpha1.EtcdCluster) {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Image = &image }
}

// pullsOf is the image of etcd in a Pod, and the names of its pull secrets.
func pullsOf(pod *corev1.Pod) string {
	names := []string{}
	for _, secret := range pod.Spec.ImagePullSecrets {
		names = append(names, secret.Name)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == Container || c.Name == StepRestore {
			return c.Image + " " + strings.Join(names, ",")
		}
	}
	return ""
}

func TestFlagsOfTheOperatorSayWhereImagesComeFromAsFarAsTheSpecDoesNot(t *testing.T) {
	ofMirror := "mirror.example.com/etcd@" + mirrored.Digests["3.6.16"]
	for _, row := range []struct {
		name     string
		defaults ImageDefaults
		image    v1alpha1.ImageSpec
		version  string
		want     string
	}{
		{"no flag and no spec", ImageDefaults{}, v1alpha1.ImageSpec{}, "3.6.16", "gcr.io/etcd-development/etcd:v3.6.16 "},
		{"flags alone", mirrored, v1alpha1.ImageSpec{}, "3.6.16", ofMirror + " mirror"},
		{"a version without a digest", mirrored, v1alpha1.ImageSpec{}, "3.7.3", "mirror.example.com/etcd:v3.7.3 mirror"},
		{"a digest of the spec for this version", mirrored,
			v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.16": ownDigest}}, "3.6.16",
			"mirror.example.com/etcd@" + string(ownDigest) + " mirror"},
		{"a digest of the spec for another version", mirrored,
			v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.7.3": ownDigest}}, "3.6.16", ofMirror + " mirror"},
		{"a repository of the spec has digests of its own", mirrored, v1alpha1.ImageSpec{Repository: "own.example.com/etcd"},
			"3.6.16", "own.example.com/etcd:v3.6.16 mirror"},
		{"the spec asks for etcd's own repository", mirrored, v1alpha1.ImageSpec{Repository: DefaultRepository}, "3.6.16",
			"gcr.io/etcd-development/etcd:v3.6.16 mirror"},
		{"pull secrets of the spec come first, and each once", mirrored,
			v1alpha1.ImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "own"}, {Name: "mirror"}}}, "3.6.16",
			ofMirror + " own,mirror"},
	} {
		c := cluster(version(row.version), withImage(row.image))
		start := sealed(c)
		start.Images = row.defaults
		if got := pullsOf(mustPod(t, c, start)); got != row.want {
			t.Errorf("%s: a member has %q, want %q", row.name, got, row.want)
		}
		restore := restoring(c, stored())
		restore.Inputs, restore.Images = Inputs(c), row.defaults
		if got := pullsOf(mustRestorePod(t, c, restore)); got != row.want {
			t.Errorf("%s: a restore has %q, want %q", row.name, got, row.want)
		}
	}
}

func TestFlagsOfTheOperatorAreNoSettingsAndRestartNoMember(t *testing.T) {
	c := cluster()
	before, start := mustPod(t, c, sealed(c)), sealed(c)
	start.Images = mirrored
	after := mustPod(t, c, start)
	if pullsOf(before) == pullsOf(after) {
		t.Fatal("the flags changed nothing")
	}
	if old, now := before.Annotations[v1alpha1.AnnotationInputs], after.Annotations[v1alpha1.AnnotationInputs]; old != now {
		t.Errorf("members would be restarted: their settings were %s, and are %s", old, now)
	}
	if said, ok := before.Annotations[v1alpha1.AnnotationImageDefaults]; ok {
		t.Errorf("a default of the operator's own is written down: %s", said)
	}
}

func TestAPodSaysWhichImageDefaultsItWasMadeWith(t *testing.T) {
	own := cluster(withImage(v1alpha1.ImageSpec{Repository: "own.example.com/etcd",
		PullSecrets: []corev1.LocalObjectReference{{Name: "mirror"}}}))
	moved := ImageDefaults{Repository: "other.example.com/etcd", PullSecrets: []string{"mirror"}}
	for _, row := range []struct {
		name      string
		c         *v1alpha1.EtcdCluster
		made, now ImageDefaults
		want      bool
	}{
		{"made before there were flags", cluster(), ImageDefaults{}, ImageDefaults{}, false},
		{"the default is given", cluster(), ImageDefaults{}, ImageDefaults{Repository: DefaultRepository}, false},
		{"a flag came", cluster(), ImageDefaults{}, mirrored, true},
		{"a flag went", cluster(), mirrored, ImageDefaults{}, true},
		{"a flag changed", cluster(), mirrored, moved, true},
		{"nothing changed", cluster(), mirrored, mirrored, false},
		{"a digest of another version came", cluster(version("3.7.3")), ImageDefaults{},
			ImageDefaults{Digests: mirrored.Digests}, false},
		{"the spec says all", own, mirrored, moved, false},
	} {
		start, preflight := sealed(row.c), preflighting(stored())
		start.Images, preflight.Images = row.made, row.made
		for _, pod := range []*corev1.Pod{mustPod(t, row.c, start), BuildPreflightPod(row.c, preflight)} {
			pod.Spec.Containers[0].Image = "webhook.example.com/" + pod.Spec.Containers[0].Image
			if got := row.now.DifferFrom(row.c, pod); got != row.want {
				t.Errorf("%s: %s would be made from others: %t", row.name, pod.Name, got)
			}
		}
	}
}

func TestDigestsOfTheOperatorCountForAClusterOfItsRepository(t *testing.T) {
	named := cluster(withImage(v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.16": ownDigest}}))
	for _, row := range []struct {
		name string
		c    *v1alpha1.EtcdCluster
		want v1alpha1.Digest
	}{
		{"whose spec has none", cluster(), v1alpha1.Digest(mirrored.Digests["3.6.16"])},
		{"whose spec has one", named, ownDigest},
		{"of another repository", cluster(withImage(v1alpha1.ImageSpec{Repository: "own.example.com/etcd"})), ""},
	} {
		before := Inputs(row.c).Canonical()
		if got := mirrored.WithDigests(row.c).Spec.Image.Digests["3.6.16"]; got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
		if after := Inputs(row.c).Canonical(); after != before {
			t.Errorf("%s: the cluster itself is changed to %s", row.name, after)
		}
	}
}

func TestATaskAddsTheOperatorsPullSecretsToThoseOfTheMember(t *testing.T) {
	own := []corev1.LocalObjectReference{{Name: "own"}}
	got := mirrored.AddSecrets(own)
	if !slices.Equal(got, []corev1.LocalObjectReference{{Name: "own"}, {Name: "mirror"}}) || len(own) != 1 ||
		!slices.Equal(mirrored.AddSecrets(got), got) {
		t.Errorf("%v", got)
	}
}
