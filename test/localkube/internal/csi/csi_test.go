package csi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const gi = 1 << 30

// shown are mounts by their place.
type shown map[string]string

func (s shown) Bind(what, where string) error { s[where] = what; return nil }
func (s shown) Unbind(where string) error     { delete(s, where); return nil }
func (s shown) IsBound(where string) (bool, error) {
	_, bound := s[where]
	return bound, nil
}
func (s shown) Places(what string) ([]string, error) {
	var points []string
	for where, w := range s {
		if w == what {
			points = append(points, where)
		}
	}
	return points, nil
}

// driver is one with a node, asked over its sockets as Kubernetes asks.
type driver struct {
	claims     Claims
	mounts     shown
	kubelet    string
	controller spec.ControllerClient
	node       spec.NodeClient
}

func run(t *testing.T) driver {
	t.Helper()
	// A path of a socket is short, and that of a test may be long.
	dir, err := os.MkdirTemp("", "csi")
	if err != nil {
		t.Fatal(err)
	}
	fast := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Parameters: map[string]string{speed: "fast"}}
	d := driver{mounts: shown{}, kubelet: filepath.Join(dir, "kubelet"),
		claims: Claims{Volumes: Volumes{"node-1": filepath.Join(dir, "volumes")}, Client: fake.NewClientset(fast)}}
	socket := filepath.Join(dir, "c.sock")
	node := Node{Name: "node-1", Volumes: d.claims.Volumes, Mounts: d.mounts}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- RunController(ctx, d.claims.Volumes, socket) }()
	go func() { ended <- RunNode(ctx, node, d.kubelet) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
		}
		_ = os.RemoveAll(dir)
	})
	d.controller = spec.NewControllerClient(dial(t, socket))
	d.node = spec.NewNodeClient(dial(t, filepath.Join(d.kubelet, "plugins", Name, "csi.sock")))
	if _, err := d.controller.ControllerGetCapabilities(t.Context(), &spec.ControllerGetCapabilitiesRequest{},
		grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.node.NodeGetInfo(t.Context(), &spec.NodeGetInfoRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	return d
}

func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// provision gives a claim of 8Gi in a class with these parameters its volume.
func (d driver) provision(t *testing.T, attributes *string, parameters map[string]string) (*corev1.PersistentVolume, error) {
	t.Helper()
	reclaim := corev1.PersistentVolumeReclaimDelete
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-0"}}
	claim.Spec.VolumeAttributesClassName = attributes
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}
	pv, _, err := d.claims.Provision(t.Context(), controller.ProvisionOptions{PVName: "pvc-1", SelectedNodeName: "node-1",
		PVC: claim, StorageClass: &storagev1.StorageClass{ReclaimPolicy: &reclaim, Parameters: parameters}})
	return pv, err
}

// volume is one whose class has these parameters.
func (d driver) volume(t *testing.T, parameters map[string]string) string {
	t.Helper()
	pv, err := d.provision(t, nil, parameters)
	if err != nil {
		t.Fatal(err)
	}
	return pv.Spec.CSI.VolumeHandle
}

// use stages a volume, and publishes it to a Pod.
func (d driver) use(t *testing.T, volume string) (staged, target string) {
	t.Helper()
	staged, target = filepath.Join(d.kubelet, "staged"), filepath.Join(d.kubelet, "pods", "uid", "mount")
	if _, err := d.node.NodeStageVolume(t.Context(), &spec.NodeStageVolumeRequest{VolumeId: volume, StagingTargetPath: staged}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.node.NodePublishVolume(t.Context(), &spec.NodePublishVolumeRequest{VolumeId: volume, TargetPath: target}); err != nil {
		t.Fatal(err)
	}
	return staged, target
}

func (d driver) expand(t *testing.T, volume string, bytes int64) (controller, node codes.Code) {
	t.Helper()
	size := &spec.CapacityRange{RequiredBytes: bytes}
	answer, err := d.controller.ControllerExpandVolume(t.Context(),
		&spec.ControllerExpandVolumeRequest{VolumeId: volume, CapacityRange: size})
	if err == nil && (answer.GetCapacityBytes() < bytes || !answer.GetNodeExpansionRequired()) {
		t.Errorf("asked for %d the controller answers %v", bytes, answer)
	}
	grown, onNode := d.node.NodeExpandVolume(t.Context(), &spec.NodeExpandVolumeRequest{VolumeId: volume, CapacityRange: size})
	if err == nil && onNode == nil && grown.GetCapacityBytes() < bytes {
		t.Errorf("asked for %d the node answers %v", bytes, grown)
	}
	return status.Code(err), status.Code(onNode)
}

func TestAVolumeThatAPodUsesGrowsAsItsClassSays(t *testing.T) {
	for _, c := range []struct {
		parameters       map[string]string
		bytes            int64
		controller, node codes.Code
	}{
		{nil, 12 * gi, codes.OK, codes.OK},
		{map[string]string{expand: online}, 12 * gi, codes.OK, codes.OK},
		{map[string]string{expand: offline}, 12 * gi, codes.OK, codes.FailedPrecondition},
		{map[string]string{expand: stuck}, 12 * gi, codes.OK, codes.Internal},
		{map[string]string{expand: broken}, 12 * gi, codes.Internal, codes.OK},
		{map[string]string{limit: "10Gi"}, 12 * gi, codes.OutOfRange, codes.OK},
		{map[string]string{limit: "10Gi"}, 10 * gi, codes.OK, codes.OK},
		{map[string]string{nodeLimit: "10Gi"}, 12 * gi, codes.OK, codes.OutOfRange},
	} {
		d := run(t)
		volume := d.volume(t, c.parameters)
		d.use(t, volume)
		if controller, node := d.expand(t, volume, c.bytes); controller != c.controller || node != c.node {
			t.Errorf("%v to %d: the controller answers %s and the node %s, want %s and %s", c.parameters, c.bytes,
				controller, node, c.controller, c.node)
		}
	}
}

func TestAnOfflineVolumeGrowsBeforeTheNextPodGetsIt(t *testing.T) {
	d := run(t)
	volume := d.volume(t, map[string]string{expand: offline})
	staged, target := d.use(t, volume)
	if _, err := d.node.NodeUnpublishVolume(t.Context(), &spec.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: target}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("where the Pod had it there is still a directory: %v", err)
	}
	if _, isStaged := d.mounts[staged]; !isStaged {
		t.Error("it is staged no more")
	}
	if _, node := d.expand(t, volume, 12*gi); node != codes.OK {
		t.Errorf("the node answers %s", node)
	}
}

func TestAVolumeIsShownOnceAndHiddenTwice(t *testing.T) {
	d := run(t)
	volume := d.volume(t, nil)
	for range 2 {
		d.use(t, volume)
	}
	staged, target := d.use(t, volume)
	if len(d.mounts) != 2 || d.mounts[staged] != d.mounts[target] || filepath.Base(d.mounts[target]) != "data" {
		t.Errorf("shown are %v", d.mounts)
	}
	for range 2 {
		if _, err := d.node.NodeUnpublishVolume(t.Context(), &spec.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: target}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.node.NodeUnstageVolume(t.Context(), &spec.NodeUnstageVolumeRequest{VolumeId: volume, StagingTargetPath: staged}); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.mounts) != 0 {
		t.Errorf("shown are %v", d.mounts)
	}
}

func TestAVolumeAttributesClassChangesWhatAVolumeAnswersOrIsRefused(t *testing.T) {
	d := run(t)
	volume := d.volume(t, map[string]string{expand: stuck, limit: "20Gi"})
	modify := func(parameters map[string]string) codes.Code {
		_, err := d.controller.ControllerModifyVolume(t.Context(),
			&spec.ControllerModifyVolumeRequest{VolumeId: volume, MutableParameters: parameters})
		return status.Code(err)
	}
	if code := modify(map[string]string{speed: "faster than light"}); code != codes.InvalidArgument {
		t.Errorf("what is impossible is answered %s", code)
	}
	if _, node := d.expand(t, volume, 12*gi); node != codes.Internal {
		t.Errorf("before it was changed the node answers %s", node)
	}
	if code := modify(map[string]string{expand: online}); code != codes.OK {
		t.Errorf("it is answered %s", code)
	}
	if _, node := d.expand(t, volume, 12*gi); node != codes.OK {
		t.Errorf("after that the node answers %s", node)
	}
	if controller, _ := d.expand(t, volume, 30*gi); controller != codes.OutOfRange {
		t.Errorf("the limit was forgotten: %s", controller)
	}
}

func TestAClaimGetsAVolumeOfItsNodeAndOfItsClasses(t *testing.T) {
	d, fast := run(t), "fast"
	pv, err := d.provision(t, &fast, map[string]string{limit: "10Gi"})
	if err != nil {
		t.Fatal(err)
	}
	if pv.Spec.CSI.Driver != Name || *pv.Spec.VolumeAttributesClassName != fast ||
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] != "node-1" {
		t.Errorf("it got %+v", pv.Spec)
	}
	found, err := d.claims.Volumes.find("pvc-1")
	if err != nil || found.Bytes != 8*gi || found.Parameters[speed] != fast || found.Parameters[limit] != "10Gi" {
		t.Errorf("written down is %+v, %v", found, err)
	}
	if info, err := os.Stat(found.data()); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("its data is %v, %v", info, err)
	}
	if err := d.claims.Delete(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	if _, err := d.claims.Volumes.find("pvc-1"); status.Code(err) != codes.NotFound {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAClassWithAParameterThatTheDriverDoesNotKnowGivesNoVolume(t *testing.T) {
	d := run(t)
	for _, parameters := range []map[string]string{
		{"expnad": offline}, {expand: "never"}, {limit: "much"}, {speed: ""},
	} {
		if _, err := d.provision(t, nil, parameters); err == nil {
			t.Errorf("%v gave one", parameters)
		}
	}
}

func TestNothingButAVolumeIsFoundOrRemoved(t *testing.T) {
	d := run(t)
	d.volume(t, nil)
	for _, name := range []string{"", ".", "..", "../volumes", "pvc-1/data"} {
		if _, err := d.claims.Volumes.find(name); err == nil {
			t.Errorf("%q is found", name)
		}
		pv := &corev1.PersistentVolume{}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: Name, VolumeHandle: name}
		if err := d.claims.Delete(t.Context(), pv); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if _, err := d.claims.Volumes.find("pvc-1"); err != nil {
		t.Error(err)
	}
}

func TestAKubeletIsToldWhereTheDriverOfItsNodeListens(t *testing.T) {
	d := run(t)
	client := registration.NewRegistrationClient(dial(t, filepath.Join(d.kubelet, "plugins_registry", Name+".sock")))
	info, err := client.GetInfo(t.Context(), &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil || info.GetName() != Name || info.GetType() != registration.CSIPlugin {
		t.Fatalf("it is told %v, %v", info, err)
	}
	identity := spec.NewIdentityClient(dial(t, info.GetEndpoint()))
	if who, err := identity.GetPluginInfo(t.Context(), &spec.GetPluginInfoRequest{}); err != nil || who.GetName() != Name {
		t.Errorf("there listens %v, %v", who, err)
	}
}

func TestAVolumeIsKnownByTheEndOfItsPathWhereverItsDiskIsMounted(t *testing.T) {
	const data = "/var/lib/x/data/node-1/expandable/pvc-1/data"
	all := parseMounts(`22 1 0:20 / / rw - overlay overlay rw
30 22 0:40 / /var/lib/x/data rw - tmpfs tmpfs rw
31 22 0:40 /node-1/expandable/pvc-1/data /k/plugins/globalmount rw - tmpfs tmpfs rw
32 22 0:40 /node-1/expandable/pvc-1/data /k/pods/uid/mount rw shared:1 - tmpfs tmpfs rw
33 22 0:40 /node-1/expandable/pvc-2/data /k/pods/other/mount rw - tmpfs tmpfs rw
`)
	if got := places(all, data); !slices.Equal(got, []string{"/k/plugins/globalmount", "/k/pods/uid/mount"}) {
		t.Errorf("it is shown at %v", got)
	}
}
