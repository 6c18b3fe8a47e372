package observe_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// release writes what today's code makes as the files of a release that is about to be made. What was released is never
// written anew: there are clusters that look like it.
var release = flag.String("release", "", "write testdata/released of this release, such as v0.2")

func TestANewOperatorWritesOnceOnRecordsAndDataAndNothingElseForWhatAReleasedOneMade(t *testing.T) {
	if *release != "" {
		writeRelease(t, *release)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "released", "*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			w := readRelease(t, file)
			if strings.HasPrefix(filepath.Base(file), "v0.1-") {
				w.renameAll()
				w.gainVolumeUIDs()
			}
			view := w.look()
			if d := plan.Decide(view.Observation); d.Verdict != plan.Settled || d.Change != nil || len(d.Trace.Yielded()) > 0 {
				t.Errorf("%+v", d)
			}
			for _, o := range view.Objects {
				if o.State != facts.ObjectCurrent {
					t.Errorf("%+v", o)
				}
			}
			for _, r := range view.Current.Members {
				if r.Pod == nil || r.Volume == nil || r.Pod.Undressed || !r.IsSealed() ||
					r.Pod.Settings != view.Desired.Settings || r.Volume.Settings != view.Desired.Settings {
					t.Errorf("%s: %+v, %+v, wanted %+v", r.Name, r.Pod, r.Volume, view.Desired.Settings)
				}
			}
			if got := len(view.Current.HealthyVoters()); got != view.Desired.Size || got != len(view.Current.Members) {
				t.Errorf("%d members serve of %d", got, len(view.Current.Members))
			}
		})
	}
}

// TestAReleasedPodOfOtherSettingsIsNoticed keeps the test above from passing for a planner that sees nothing.
func TestAReleasedPodOfOtherSettingsIsNoticed(t *testing.T) {
	w := readRelease(t, filepath.Join("testdata", "released", "v0.1-three.yaml"))
	w.renameAll()
	w.gainVolumeUIDs()
	w.cluster.Spec.Version = "3.6.15"
	if d := plan.Decide(w.look().Observation); d.Rule != "roll" {
		t.Errorf("%+v", d)
	}
}

// gainVolumeUIDs carries out the one write of each member's record that v0.1 gave no volume's UID: nothing else in it
// changes.
func (w *world) gainVolumeUIDs() {
	w.t.Helper()
	view := w.look()
	d := plan.Decide(view.Observation)
	change, ok := d.Change.(changes.RecordMembers)
	if !ok || len(change.Members) != len(view.Current.Members) {
		w.t.Fatalf("%+v", d)
	}
	for _, m := range change.Members {
		volume := w.objects["*v1.PersistentVolumeClaim "+m.Name]
		old := volume.GetAnnotations()[v1alpha1.AnnotationRecord]
		r, _ := facts.Find(view.Current.Members, m.Name)
		want := strings.TrimSuffix(old, "}") + fmt.Sprintf(`,"clusterVersion":"3.6.0","clusterVersionAt":%d,`+
			`"volumeUID":"%s","recordVersion":1,"leastReader":1}`, r.Answer.Applied, m.VolumeUID)
		if m.VolumeUID != string(volume.GetUID()) || m.Record.Encode() != want {
			w.t.Errorf("%s becomes %s", old, m.Record.Encode())
		}
		volume.GetAnnotations()[v1alpha1.AnnotationRecord] = m.Record.Encode()
	}
}

// renameAll carries out the writes of what v0.1 labelled as others label what is theirs. Volumes name the install as
// well from then on. What selects members selects all of them at any time.
func (w *world) renameAll() {
	w.t.Helper()
	for range 10 {
		switch c := plan.Decide(w.look().Observation).Change.(type) {
		case changes.ApplyObjects:
			for _, o := range c.Objects {
				w.rename(o.Kind, o.Name)
			}
			for _, member := range c.Secrets {
				w.rename(resources.KindSecret, resources.MemberSecret(member))
			}
		case changes.SetBudget:
			w.rename(resources.KindBudget, resources.Budget(w.cluster.Name))
		default:
			return
		}
	}
	w.t.Fatal("it never ends")
}

func (w *world) rename(kind, name string) {
	w.t.Helper()
	object := w.objects[map[string]string{
		resources.KindPod: "*v1.Pod ", resources.KindVolume: "*v1.PersistentVolumeClaim ", resources.KindSecret: "*v1.Secret ",
		resources.KindService: "*v1.Service ", resources.KindBudget: "*v1.PodDisruptionBudget "}[kind]+name]
	if object == nil || object.GetLabels()[v1alpha1.LabelName] != "etcd" || object.GetLabels()[v1alpha1.LabelInstance] != "demo" {
		w.t.Fatalf("%s %s is changed for nothing: %v", kind, name, object)
	}
	resources.RemarkingBy("ops/etcd-steward", w.cluster, object, record.Bootstrap{}).Put(object)
	switch o := object.(type) {
	case *corev1.Service:
		delete(o.Spec.Selector, v1alpha1.LabelName)
		o.Spec.Selector[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue
		if name == resources.PeerService(w.cluster.Name) {
			o.Spec.Ports = resources.BuildPeerService(w.cluster, record.Bootstrap{}, "").Spec.Ports
		}
	case *policyv1.PodDisruptionBudget:
		o.Spec.Selector = resources.BuildBudget(w.cluster, 0).Spec.Selector
	}
	w.selectsAll()
}

func (w *world) selectsAll() {
	w.t.Helper()
	for name, object := range w.objects {
		var selector map[string]string
		switch o := object.(type) {
		case *corev1.Service:
			selector = o.Spec.Selector
		case *policyv1.PodDisruptionBudget:
			selector = o.Spec.Selector.MatchLabels
		default:
			continue
		}
		for _, pod := range w.objects {
			if pod, ok := pod.(*corev1.Pod); ok && !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
				w.t.Errorf("%s selects %v, and %s has %v", name, selector, pod.Name, pod.Labels)
			}
		}
	}
}

// readRelease holds the objects of a file, with etcd processes as they say and certificates that were just issued.
func readRelease(t *testing.T, file string) *world {
	t.Helper()
	w := newWorld(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decode := serializer.NewCodecFactory(releaseScheme(t)).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var names []string
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decode.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if cluster, ok := object.(*v1alpha1.EtcdCluster); ok {
			w.cluster = cluster
			continue
		}
		if pod, ok := object.(*corev1.Pod); ok {
			names = append(names, pod.Name)
		}
		w.put(object.(client.Object))
	}
	for _, name := range names {
		w.start(name, etcdutil.StateNew, names...)
	}
	w.certify(names)
	return w
}

func releaseScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// certify puts keys and certificates into the Secrets, which are kept without any.
func (w *world) certify(members []string) {
	w.t.Helper()
	for _, name := range []string{resources.CASecret(w.cluster.Name), resources.PeerCASecret(w.cluster.Name)} {
		pair, err := pki.NewCA(name, w.now, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		w.secret(name).Data = map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key,
			resources.KeyCA: pair.Cert}
	}
	for _, name := range []string{resources.ClientSecret(w.cluster.Name), resources.OperatorSecret(w.cluster.Name)} {
		w.secret(name).Data = w.issue(resources.Certificates(w.cluster, name))
	}
	for _, member := range members {
		w.secret(resources.MemberSecret(member)).Data = w.issue(resources.MemberCertificates(w.cluster, member, ""))
	}
}

// writeRelease writes a cluster of one with nothing but defaults, and one of three with settings of each kind.
func writeRelease(t *testing.T, version string) {
	t.Helper()
	one, three := newWorld(t), newWorld(t)
	one.cluster.Spec.Size, one.cluster.Spec.TLS = 1, nil
	three.cluster.Spec = v1alpha1.EtcdClusterSpec{
		Size: 3, Version: "3.6.16",
		Etcd: &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-request-bytes": "2097152"}},
		Pod: &v1alpha1.PodSpec{
			Labels:       map[string]string{"team": "storage"},
			Annotations:  map[string]string{"example.com/owner": "storage"},
			NodeSelector: map[string]string{"disk": "fast"}, PriorityClassName: "important",
			Resources: &v1alpha1.ResourceRequirements{Requests: map[corev1.ResourceName]v1alpha1.Amount{
				corev1.ResourceMemory: "512Mi"}},
		},
	}
	for shape, w := range map[string]*world{"one": one, "three": three} {
		file := filepath.Join("testdata", "released", version+"-"+shape+".yaml")
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s is there: what was released is not written anew", file)
		}
		w.makeAll()
		w.write(file)
	}
}

// makeAll makes all that a settled cluster has.
func (w *world) makeAll() {
	w.t.Helper()
	names := []string{"demo-0", "demo-1", "demo-2"}[:w.cluster.Spec.Size]
	bootstrap := bootstrapRecord(names...)
	bootstrap.Begun, bootstrap.NextOrdinal, bootstrap.Volumes = true, len(names), map[string]string{}
	for _, name := range names {
		w.start(name, etcdutil.StateNew, names...)
		bootstrap.Volumes[name] = "uid-of-" + name
	}
	for _, name := range names {
		process := w.processes[name]
		bootstrap.ClusterID = process.ClusterID()
		volume, pod := w.volume(name), w.pod(name, resources.StartSealed)
		volume.Annotations[v1alpha1.AnnotationRecord] = record.Member{
			ClusterID: process.ClusterID(), MemberID: process.ID(), Version: etcdutil.Version{Major: 3, Minor: 6,
				Patch: 16}, VolumeUID: string(volume.UID),
		}.Encode()
		pod.Labels[v1alpha1.LabelRole] = v1alpha1.RoleVoter
		w.put(volume)
		w.put(pod)
		w.put(resources.BuildMemberSecret(w.cluster, name, nil))
	}
	w.put(resources.BuildPeerService(w.cluster, bootstrap, "ops/etcd-steward"))
	w.put(resources.BuildClientService(w.cluster))
	if len(names) > 1 {
		w.put(resources.BuildBudget(w.cluster, len(names)/2+1))
	}
	w.put(resources.BuildCA(w.cluster, resources.CASecret(w.cluster.Name), nil))
	w.put(resources.BuildCA(w.cluster, resources.PeerCASecret(w.cluster.Name), nil))
	w.put(resources.BuildLeafSecret(w.cluster, resources.ClientSecret(w.cluster.Name), nil))
	w.put(resources.BuildLeafSecret(w.cluster, resources.OperatorSecret(w.cluster.Name), nil))
}

func (w *world) write(file string) {
	w.t.Helper()
	objects := []client.Object{w.cluster}
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		objects = append(objects, w.objects[key])
	}
	var text bytes.Buffer
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, releaseScheme(w.t))
		if err != nil {
			w.t.Fatal(err)
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		document, err := sigsyaml.Marshal(object)
		if err != nil {
			w.t.Fatal(err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		w.t.Fatal(err)
	}
}
