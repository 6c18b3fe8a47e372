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
func floorLabels(name string) map[string]string {
	return map[string]string{"app": "bench-floor", "cluster": name}
}

// createFloor makes what one would write by hand: a headless Service and a parallel StatefulSet with a static bootstrap
// and no TLS.
func (t *trial) createFloor(ctx context.Context, like shape) error {
	set, err := floorSet(like)
	if err != nil {
		return err
	}
	if err := t.kube.client.Create(ctx, floorService(like)); err != nil {
		return fmt.Errorf("creating the Service of the floor: %w", err)
	}
	if err := t.kube.client.Create(ctx, set); err != nil {
		return fmt.Errorf("creating the StatefulSet of the floor: %w", err)
	}
	return nil
}

func floorService(like shape) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: resources.PeerService(like.name)},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: floorLabels(like.name),
			Ports: []corev1.ServicePort{
				{Name: "client", Port: etcdutil.ClientPort}, {Name: "peer", Port: etcdutil.PeerPort},
			},
		},
	}
}

func floorSet(like shape) (*appsv1.StatefulSet, error) {
	pod, err := floorPod(like)
	if err != nil {
		return nil, err
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: like.name},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: resources.PeerService(like.name), Replicas: new(int32(like.size)), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: floorLabels(like.name)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: floorLabels(like.name)}, Spec: pod},
		},
	}
	if !like.ephemeral {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceStorage: *resource.NewQuantity(resources.StorageBytes(manifest(like)), resource.BinarySI),
				}},
			},
		}}
	}
	return set, nil
}

// floorPod has the image, probes, resources, security and placement of the operator's own Pods, so that only who makes
// them differs. Arguments and environment are its own.
func floorPod(like shape) (corev1.PodSpec, error) {
	cluster := manifest(like)
	built, err := resources.BuildPod(cluster, resources.PodStart{
		Name: etcdutil.MemberName(like.name, 0), Flags: resources.StartBirth, Inputs: resources.Inputs(cluster),
	})
	if err != nil {
		return corev1.PodSpec{}, fmt.Errorf("building the Pod of the floor: %w", err)
	}
	spec := built.Spec
	spec.Hostname, spec.Subdomain = "", ""
	for i := range spec.TopologySpreadConstraints {
		spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: floorLabels(like.name)}
	}
	container := &spec.Containers[0]
	data := container.VolumeMounts[0]
	data.Name = "data"
	container.VolumeMounts = []corev1.VolumeMount{data}
	container.Args = floorArgs(like, data.MountPath)
	container.Env = []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
	}}}
	spec.Volumes = nil
	if like.ephemeral {
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	return spec, nil
}

func floorArgs(like shape, directory string) []string {
	const self = "$(POD_NAME)"
	list := make([]string, like.size)
	for i := range list {
		name := etcdutil.MemberName(like.name, i)
		list[i] = name + "=" + etcdutil.PeerURL("http", name, like.name, like.namespace)
	}
	return []string{
		"--name=" + self,
		"--data-dir=" + directory + "/data",
		"--initial-cluster-state=new",
		"--initial-cluster=" + strings.Join(list, ","),
		"--initial-cluster-token=" + like.namespace,
		"--initial-advertise-peer-urls=" + etcdutil.PeerURL("http", self, like.name, like.namespace),
		"--advertise-client-urls=" + etcdutil.ClientURL("http", self, like.name, like.namespace),
		fmt.Sprintf("--listen-peer-urls=http://[::]:%d", etcdutil.PeerPort),
		fmt.Sprintf("--listen-client-urls=http://[::]:%d", etcdutil.ClientPort),
		fmt.Sprintf("--listen-metrics-urls=http://[::]:%d", etcdutil.MetricsPort),
	}
}
