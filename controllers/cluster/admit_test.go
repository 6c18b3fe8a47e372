package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

// admitted is what is said of a cluster before it is stored.
func (w *world) admitted(before, now *v1alpha1.EtcdCluster) kit.Said {
	w.t.Helper()
	said, err := w.operator.admit(w.t.Context(), jobworld.MayGetAllBut(), before, now)
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

// again is a new cluster of the same name.
func again(changes ...func(*v1alpha1.EtcdCluster)) *v1alpha1.EtcdCluster {
	c := demo(3)
	c.UID = "uid-again"
	for _, change := range changes {
		change(c)
	}
	return c
}

func withoutTLS(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} }

// gone settles a cluster, and deletes it with what goes with it.
func gone(t *testing.T) *world {
	w := newWorld(t, demo(3))
	w.settle()
	w.delete(&v1alpha1.EtcdCluster{}, "demo")
	for _, pod := range w.pods() {
		w.delete(&corev1.Pod{}, pod.Name)
	}
	return w
}

func TestAClusterOverTheVolumesOfAnotherOneIsRefusedUnlessItResumesThem(t *testing.T) {
	w := gone(t)
	said := w.admitted(nil, again(withoutTLS))
	if len(said.Refusals) != 1 || said.Refusals[0].Field != "metadata.name" {
		t.Fatalf("%+v", said)
	}
	for _, word := range []string{"demo-0", "demo-2", "set the mode to Permissive", "under another name"} {
		if !strings.Contains(said.Refusals[0].Detail, word) {
			t.Errorf("%q is not in: %s", word, said.Refusals[0].Detail)
		}
	}
	if said := w.admitted(nil, again()); len(said.Refusals) > 0 || len(said.Warnings) == 0 {
		t.Errorf("it can be resumed: %+v", said)
	}
}

func TestTheWebhookKnowsTheDigestsOfTheOperatorAsPassesDo(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	c := demo(3)
	c.Spec.Image = &v1alpha1.ImageSpec{Digests: map[string]v1alpha1.Digest{"3.6.15": digest}}
	w := newWorld(t, demo(3))
	w.delete(&v1alpha1.EtcdCluster{}, "demo")
	if said := w.admitted(nil, c); len(said.Warnings) == 0 {
		t.Error("without a digest of the version nothing is said")
	}
	images := resources.ImageDefaults{Digests: map[string]string{"3.6.16": digest}}
	w.operator.Images, w.operator.LiveObserver.Images = images, images
	if said := w.admitted(nil, c); len(said.Warnings) > 0 || len(said.Refusals) > 0 {
		t.Errorf("the operator has the digest: %+v", said)
	}
}

func TestCAsWithoutVolumesAreAWarningSinceABackupToolMayPutThoseBack(t *testing.T) {
	w := gone(t)
	for _, claim := range w.claims() {
		w.delete(&corev1.PersistentVolumeClaim{}, claim.Name)
	}
	said := w.admitted(nil, again())
	if len(said.Refusals) > 0 || len(said.Warnings) != 1 || !strings.Contains(said.Warnings[0], "begin-empty") {
		t.Errorf("%+v", said)
	}
}

func TestWhoMayNotGetSecretsOrVolumesIsNotToldWhatIsLeftOfAnEarlierCluster(t *testing.T) {
	w := gone(t)
	for _, denied := range []corev1.ResourceName{corev1.ResourceSecrets, corev1.ResourcePersistentVolumeClaims} {
		mayGet := jobworld.MayGetAllBut(denied)
		if said, err := w.operator.admit(t.Context(), mayGet, nil, again(withoutTLS)); err != nil || len(said.Refusals)+len(said.Warnings) > 0 {
			t.Errorf("without %s: %+v, %v", denied, said, err)
		}
		said, err := w.operator.admit(t.Context(), mayGet, nil, again(func(c *v1alpha1.EtcdCluster) { c.Spec.Version = "3.3.1" }))
		if err != nil || len(said.Refusals) != 1 {
			t.Errorf("of what the spec itself says: %+v, %v", said, err)
		}
	}
}

// A create that the API server will refuse, or that is only tried, comes with a new UID, and so with no Pods.
func TestToAskAboutAClusterOfTheNameOfOneThatServesLeavesItsConnectionsAndSaysNothing(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	members, err := w.operator.Dialer.Dial(t.Context(), demo(3), w.pods())
	if err != nil || len(members) != 3 {
		t.Fatalf("%v, %v", members, err)
	}
	for name, now := range map[string]*v1alpha1.EtcdCluster{"as it is": again(), "over its volumes": again(withoutTLS)} {
		if said := w.admitted(nil, now); len(said.Refusals)+len(said.Warnings) > 0 {
			t.Errorf("%s: %+v", name, said)
		}
	}
	if _, err := w.operator.lookAhead(t.Context(), again()); err != nil { // it was deleted a moment ago, and its Pods serve
		t.Fatal(err)
	}
	for name, member := range members {
		if _, err := member.Status(t.Context()); err != nil {
			t.Errorf("%s is called by a pass: %v", name, err)
		}
	}
}

func TestASecretThatWasDeletedAMomentAgoIsNotBelievedFromMemory(t *testing.T) {
	w := gone(t)
	w.admitted(nil, again(withoutTLS)) // what was read for that is not kept
	for _, claim := range w.claims() {
		w.delete(&corev1.PersistentVolumeClaim{}, claim.Name)
	}
	w.delete(&corev1.Secret{}, "demo-ca")
	w.delete(&corev1.Secret{}, "demo-ca-peer")
	if said := w.admitted(nil, again()); len(said.Refusals)+len(said.Warnings) > 0 && strings.Contains(fmt.Sprint(said), "left CAs") {
		t.Errorf("%+v", said)
	}
}

func TestANewClusterIsToldWhatItRefusesAndWhatItWaitsFor(t *testing.T) {
	w := newWorld(t, demo(3))
	w.delete(&v1alpha1.EtcdCluster{}, "demo")
	for name, row := range map[string]struct {
		change           func(*v1alpha1.EtcdCluster)
		refuses, warning string
	}{
		"nothing is wrong": {func(*v1alpha1.EtcdCluster) {}, "", ""},
		"a flag that its version does not know": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"no-such-flag": "1"}}
		}, "no-such-flag", ""},
		"a backup that is not there yet": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: &v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "nightly"}}}
		}, "", "there is no EtcdBackup nightly"},
		"a pull secret that is not there yet": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Image = &v1alpha1.ImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
		}, "", "spec.image.pullSecrets[0] names the Secret pull"},
		"paused":                         {func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true }, "", "spec.paused is true"},
		"for another operator to do":     {func(c *v1alpha1.EtcdCluster) { c.Spec.Size = 2; c.Annotations = others }, "", ""},
		"what validation warns of, also": {func(c *v1alpha1.EtcdCluster) { c.Spec.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("9Gi")} }, "", "etcd advises"},
	} {
		said := w.admitted(nil, again(row.change))
		refusals, warnings := fmt.Sprint(said.Refusals), strings.Join(said.Warnings, " ")
		if (len(said.Refusals) == 0) != (row.refuses == "") || !strings.Contains(refusals, row.refuses) {
			t.Errorf("%s: it refuses %s", name, refusals)
		}
		if (warnings == "") != (row.warning == "") || !strings.Contains(warnings, row.warning) {
			t.Errorf("%s: it warns %s", name, warnings)
		}
	}
}

var others = map[string]string{v1alpha1.AnnotationOperator: "elsewhere/etcd-steward"}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func TestAChangeThatRestartsMembersIsToldAndNoOther(t *testing.T) {
	w := newWorld(t, demo(3))
	for name, row := range map[string]struct {
		change func(*v1alpha1.EtcdCluster)
		says   string
	}{
		"another version": {func(c *v1alpha1.EtcdCluster) { c.Spec.Version = "3.6.17" },
			"restarts each of the 3 members once, one member at a time"},
		"another version, with a window": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Version = "3.6.17"
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{Window: &v1alpha1.WindowSpec{Schedule: "@daily", Duration: metav1.Duration{Duration: time.Hour}}}
		}, "restarts each of the 3 members once while a window of spec.maintenance.window is open, one member at a time"},
		"versions that lie on the way": {func(c *v1alpha1.EtcdCluster) {
			c.Status.Version, c.Spec.Version = "3.5.33", "3.7.3"
		}, "restarts each of the 3 members 2 times, for etcd 3.6."},
		"a label of the nodes": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod = &v1alpha1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}}
		}, "restarts each of the 3 members once"},
		"a single member": {func(c *v1alpha1.EtcdCluster) { c.Status.Size = 1; c.Spec.Version = "3.6.17" },
			"restarts the only member once. Until it serves again, clients are not served"},
		"another CA for clients": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: "corp"}}}
		}, "restarts each of the 3 members twice, one member at a time. Clients get 24 hours"},
		"another CA for members": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.TLS = &v1alpha1.TLSSpec{PeerCA: &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: "corp"}}}
		}, "restarts each of the 3 members twice, one member at a time. To replace none"},
		"a label of Pods": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.InheritedMetadata = &v1alpha1.InheritedMetadata{Labels: map[string]string{"a": "b"}}
		}, ""},
		"CPU, which follows in place": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{"cpu": "2"}}}
		}, ""},
		"a default that is written down": {func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("2Gi")}
		}, ""},
		"a restart that is asked for": {func(c *v1alpha1.EtcdCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationRestartedAt: "today"}
		}, ""},
		"no members": {func(c *v1alpha1.EtcdCluster) { c.Spec.Size = 0 },
			"With spec.size 0 the cluster sleeps: all members stop, and clients are not served."},
		"no members, of another version": {func(c *v1alpha1.EtcdCluster) { c.Spec.Size, c.Spec.Version = 0, "3.6.17" }, "it was 3."},
		"more members":                   {func(c *v1alpha1.EtcdCluster) { c.Spec.Size = 5 }, ""},
		"members that do not exist":      {func(c *v1alpha1.EtcdCluster) { c.Status.Size = 0; c.Spec.Version = "3.6.17" }, ""},
		"while the cluster is paused":    {func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true; c.Spec.Size = 5 }, "once you set it to false"},
		"in a dry run":                   {func(c *v1alpha1.EtcdCluster) { c.Spec.Mode = v1alpha1.ModeDryRun; c.Spec.Size = 5 }, "takes none"},
		"of another operator":            {func(c *v1alpha1.EtcdCluster) { c.Annotations = others; c.Spec.Version = "3.6.17" }, ""},
	} {
		before := demo(3)
		before.Status.Size, before.Status.Version = 3, "3.6.16"
		now := before.DeepCopy()
		row.change(now)
		before.Status = now.Status
		said := w.admitted(before, now)
		warnings := strings.Join(said.Warnings, " ")
		if len(said.Refusals) > 0 || (warnings == "") != (row.says == "") || !strings.Contains(warnings, row.says) {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

func TestAChangeOfAClusterWhoseDataNamesAnotherInstallIsLeftToThat(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.losePeers()
	before := w.cluster()
	now := before.DeepCopy()
	now.Spec.Version = "3.6.17"
	if said := w.admitted(before, now); len(said.Warnings) == 0 {
		t.Error("the install that the data names says nothing")
	}
	w.actAs(second)
	if said := w.admitted(before, now); len(said.Refusals)+len(said.Warnings) > 0 {
		t.Errorf("another one says %+v", said)
	}
}

func TestANewSizeByTheSubresourceIsToldWhatHoldsItAndWhatIsWrongWithIt(t *testing.T) {
	paused := demo(3)
	paused.Spec.Paused = true
	w := newWorld(t, paused)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo"}}
	for size, refusals := range map[int32]int{5: 0, 2: 1} {
		scale.Spec.Replicas = size
		said, err := w.operator.admitScale(t.Context(), jobworld.MayGetAllBut(), nil, scale)
		if err != nil || len(said.Refusals) != refusals || !strings.Contains(strings.Join(said.Warnings, " "), "once you set it to false") {
			t.Errorf("%d members: %+v, %v", size, said, err)
		}
	}
	scale.Name = "gone"
	if said, err := w.operator.admitScale(t.Context(), jobworld.MayGetAllBut(), nil, scale); err != nil || len(said.Refusals)+len(said.Warnings) > 0 {
		t.Errorf("of a cluster that is gone: %+v, %v", said, err)
	}
}

func TestWhatIsStoredAndRefusedByNowCanStillBeChanged(t *testing.T) {
	w := newWorld(t, demo(3))
	before := demo(3)
	before.Spec.Version = "3.3.1"
	now := before.DeepCopy()
	now.Spec.Size = 5
	if said := w.admitted(before, now); len(said.Refusals) > 0 {
		t.Errorf("%+v", said)
	}
	now.Spec.Version = "3.2.1"
	if said := w.admitted(before, now); len(said.Refusals) != 1 || said.Refusals[0].Field != "spec.version" {
		t.Errorf("%+v", said)
	}
}

func TestOnlyWhatAChangeNamesAnewIsLookedFor(t *testing.T) {
	w := newWorld(t, demo(3))
	before := demo(3)
	before.Spec.Image = &v1alpha1.ImageSpec{PullSecrets: []corev1.LocalObjectReference{{Name: "old"}}}
	now := before.DeepCopy()
	now.Spec.Image.PullSecrets = append(now.Spec.Image.PullSecrets, corev1.LocalObjectReference{Name: "new"})
	said := w.admitted(before, now)
	if len(said.Warnings) != 1 || !strings.Contains(said.Warnings[0], "the Secret new,") {
		t.Errorf("%+v", said)
	}
}
