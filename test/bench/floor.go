package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// floorLabels are unlike the operator's, which must not take notice.
func floorLabels(name string) map[string]string {
	return map[string]string{"app": "bench-floor", "cluster": name}
}

// createFloor makes what one would write by hand: a headless Service and a parallel StatefulSet with a static
// bootstrap, and one certificate for all members and clients.
func (t *trial) createFloor(ctx context.Context, like shape) error {
	set, err := floorSet(like)
	if err != nil {
		return err
	}
	objects := []client.Object{floorService(like), set}
	if !like.plain {
		secret, err := floorSecret(like, time.Now())
		if err != nil {
			return err
		}
		objects = append([]client.Object{secret}, objects...)
	}
	for _, object := range objects {
		if err := t.kube.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating the %T of the floor: %w", object, err)
		}
	}
	return nil
}

// floorSecret has one pair in the place of each that a member of ours has. Clients find it where they find ours.
func floorSecret(like shape, now time.Time) (*corev1.Secret, error) {
	pair, err := pki.NewCA("bench", now, 0)
	if err != nil {
		return nil, fmt.Errorf("making the CA of the floor: %w", err)
	}
	ca, err := pki.ParseCA(pair)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the floor: %w", err)
	}
	domain := "." + like.namespace + ".svc"
	leaf, err := ca.Issue(pki.Leaf{
		CommonName: resources.ClientUser(like.name), Server: true, Client: true,
		DNSNames: []string{"*." + resources.PeerService(like.name) + domain, resources.ClientService(like.name) + domain, "localhost"},
		IPs:      []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, now)
	if err != nil {
		return nil, fmt.Errorf("issuing the certificate of the floor: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.namespace, Name: resources.ClientSecret(like.name)},
		Data: map[string][]byte{
			resources.KeyCert: leaf.Cert, resources.KeyKey: leaf.Key, resources.KeyCA: pair.Cert,
			resources.KeyPeerCert: leaf.Cert, resources.KeyPeerKey: leaf.Key, resources.KeyPeerCA: pair.Cert,
		},
	}, nil
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

// floorPod has the image, probes, resources, security, placement and TLS of the operator's own Pods, so that only who
// makes them differs. Other arguments are its own.
func floorPod(like shape) (corev1.PodSpec, error) {
	cluster := manifest(like)
	built, err := resources.BuildPod(cluster, resources.PodStart{
		Name: etcdutil.MemberName(like.name, 0), Flags: resources.StartBootstrap, Inputs: resources.Inputs(cluster),
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
	container.Args = append(floorArgs(like, data.MountPath), slices.DeleteFunc(container.Args, isNotTLS)...)
	container.Env = append([]corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
	}}}, slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool { return v.ValueFrom != nil })...)
	var mounts []corev1.VolumeMount
	var volumes []corev1.Volume
	if !like.plain {
		mounts = container.VolumeMounts[1:]
		volumes = []corev1.Volume{{Name: mounts[0].Name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: resources.ClientSecret(like.name)},
		}}}
	}
	if like.ephemeral {
		volumes = append(volumes, corev1.Volume{Name: data.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	container.VolumeMounts, spec.Volumes = append(mounts, data), volumes
	return spec, nil
}

// isNotTLS says of a flag of etcd that it is not about certificates.
func isNotTLS(flag string) bool {
	return !strings.Contains(flag, "cert") && !strings.Contains(flag, "-ca-file=") && !strings.Contains(flag, "key-file=") &&
		!strings.Contains(flag, "san-verification")
}

func floorArgs(like shape, directory string) []string {
	const self = "$(POD_NAME)"
	list, scheme := make([]string, like.size), like.scheme()
	for i := range list {
		name := etcdutil.MemberName(like.name, i)
		list[i] = name + "=" + etcdutil.PeerURL(scheme, name, like.name, like.namespace)
	}
	args := []string{
		"--name=" + self,
		"--data-dir=" + directory + "/data",
		"--initial-cluster-state=new",
		"--initial-cluster=" + strings.Join(list, ","),
		"--initial-cluster-token=" + like.namespace,
		"--initial-advertise-peer-urls=" + etcdutil.PeerURL(scheme, self, like.name, like.namespace),
		"--advertise-client-urls=" + etcdutil.ClientURL(scheme, self, like.name, like.namespace),
		fmt.Sprintf("--listen-peer-urls=%s://[::]:%d", scheme, etcdutil.PeerPort),
		fmt.Sprintf("--listen-client-urls=%s://[::]:%d", scheme, etcdutil.ClientPort),
		fmt.Sprintf("--listen-metrics-urls=http://[::]:%d", etcdutil.MetricsPort),
	}
	if quota := like.maximum(); quota > 0 {
		args = append(args, fmt.Sprintf("--quota-backend-bytes=%d", quota))
	}
	return args
}
