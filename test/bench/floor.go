package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// floorLabels are unlike the operator's, which must not take notice.
var floorLabels = map[string]string{"app": "bench-floor"}

// createFloor makes what one would write by hand: a headless Service and a parallel StatefulSet with a static bootstrap
// and no TLS.
func (t *trial) createFloor(ctx context.Context) error {
	set, err := floorSet(t.namespace, t.ephemeral)
	if err != nil {
		return err
	}
	if err := t.kube.client.Create(ctx, floorService(t.namespace)); err != nil {
		return fmt.Errorf("creating the Service of the floor: %w", err)
	}
	if err := t.kube.client.Create(ctx, set); err != nil {
		return fmt.Errorf("creating the StatefulSet of the floor: %w", err)
	}
	return nil
}

func floorService(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: resources.PeerService(clusterName)},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: floorLabels,
			Ports: []corev1.ServicePort{
				{Name: "client", Port: etcdutil.ClientPort}, {Name: "peer", Port: etcdutil.PeerPort},
			},
		},
	}
}

func floorSet(namespace string, ephemeral bool) (*appsv1.StatefulSet, error) {
	pod, err := floorPod(namespace, ephemeral)
	if err != nil {
		return nil, err
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: resources.PeerService(clusterName), Replicas: new(int32(members)), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: floorLabels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: floorLabels}, Spec: pod},
		},
	}
	if !ephemeral {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: *resource.NewQuantity(resources.StorageBytes(manifest(namespace, false)), resource.BinarySI),
				}},
			},
		}}
	}
	return set, nil
}

// floorPod has the image, probes, resources, security and placement of the operator's own Pods, so that only who makes
// them differs. Arguments and environment are its own.
func floorPod(namespace string, ephemeral bool) (corev1.PodSpec, error) {
	like := manifest(namespace, ephemeral)
	built, err := resources.BuildPod(like, resources.PodStart{
		Name: etcdutil.MemberName(clusterName, 0), Flags: resources.StartBirth, Inputs: resources.Inputs(like),
	})
	if err != nil {
		return corev1.PodSpec{}, fmt.Errorf("building the Pod of the floor: %w", err)
	}
	spec := built.Spec
	spec.Hostname, spec.Subdomain = "", ""
	for i := range spec.TopologySpreadConstraints {
		spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: floorLabels}
	}
	container := &spec.Containers[0]
	data := container.VolumeMounts[0]
	data.Name = "data"
	container.VolumeMounts = []corev1.VolumeMount{data}
	container.Args = floorArgs(namespace, data.MountPath)
	container.Env = []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
	}}}
	spec.Volumes = nil
	if ephemeral {
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	return spec, nil
}

func floorArgs(namespace, directory string) []string {
	const self = "$(POD_NAME)"
	list := make([]string, members)
	for i := range list {
		name := etcdutil.MemberName(clusterName, i)
		list[i] = name + "=" + etcdutil.PeerURL("http", name, clusterName, namespace)
	}
	return []string{
		"--name=" + self,
		"--data-dir=" + directory + "/data",
		"--initial-cluster-state=new",
		"--initial-cluster=" + strings.Join(list, ","),
		"--initial-cluster-token=" + namespace,
		"--initial-advertise-peer-urls=" + etcdutil.PeerURL("http", self, clusterName, namespace),
		"--advertise-client-urls=" + etcdutil.ClientURL("http", self, clusterName, namespace),
		fmt.Sprintf("--listen-peer-urls=http://[::]:%d", etcdutil.PeerPort),
		fmt.Sprintf("--listen-client-urls=http://[::]:%d", etcdutil.ClientPort),
		fmt.Sprintf("--listen-metrics-urls=http://[::]:%d", etcdutil.MetricsPort),
	}
}
