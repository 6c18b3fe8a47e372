package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// componentBench is the component of Pods that are no members and not the operator's.
const componentBench = "bench"

// save runs what is by hand what a backup is at the least, in a Pod like the backup's on the same node: etcdctl snapshot save
// of the same member to a file. With a claim it also restores that file there, as one member.
func (t *trial) save(ctx context.Context, like backup, claim string) error {
	pod, err := t.savePod(like, claim)
	if err != nil {
		return err
	}
	if err := t.kube.client.Create(ctx, pod); err != nil {
		return fmt.Errorf("creating the Pod that saves by hand: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, again, backupPatience, true, func(ctx context.Context) (bool, error) {
		if err := t.kube.client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		if pod.Status.Phase == corev1.PodFailed {
			return false, fmt.Errorf("it failed: %+v %+v", pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
		}
		return pod.Status.Phase == corev1.PodSucceeded, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the Pod that saves by hand: %w", err)
	}
	return t.gone(ctx, pod)
}

// gone deletes a Pod and waits until it is gone: the next is to have the disk for itself.
func (t *trial) gone(ctx context.Context, pod *corev1.Pod) error {
	if err := t.kube.client.Delete(ctx, pod); err != nil {
		return fmt.Errorf("deleting the Pod %s: %w", pod.Name, err)
	}
	err := wait.PollUntilContextTimeout(ctx, again, patience, true, func(ctx context.Context) (bool, error) {
		err := t.kube.client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
		return err != nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("waiting until the Pod %s is gone: %w", pod.Name, err)
	}
	return nil
}

// savePod is the Pod of a backup that is not proven, but for its program: even the volumes are the same.
func (t *trial) savePod(like backup, claim string) (*corev1.Pod, error) {
	member, err := floorPod(t.shape)
	if err != nil {
		return nil, err
	}
	image, cluster := member.Containers[0].Image, manifest(t.shape)
	to := destination{name: "by-hand", store: v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: claim}}}
	if claim == "" {
		to.store = v1alpha1.BackupStore{S3: &v1alpha1.S3Store{Bucket: "none"}}
	}
	asked := t.etcdBackup(to)
	asked.Spec.Verify = new(false)
	spec := resources.BuildBackupJob(asked, cluster, resources.BackupStart{Platform: resources.Platform{AgentImage: image}, EtcdImage: image, Deadline: time.Hour}).Spec.Template.Spec
	if len(spec.Containers) != 1 {
		return nil, fmt.Errorf("the Pod of a backup has %d containers, not one", len(spec.Containers))
	}
	mounts := map[string]string{}
	for _, m := range spec.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	file := mounts["scratch"] + "/saved.db"
	save, restore := spec.Containers[0], spec.Containers[0]
	save.Name, save.Command, save.Ports = "save", []string{"etcdctl"}, nil
	save.Args = saveArguments(t.shape, like.status.Member, mounts["tls"], file)
	spec.InitContainers, spec.Containers = nil, []corev1.Container{save}
	if claim != "" {
		restore.Name, restore.Command, restore.Ports = "restore", []string{"etcdutl"}, nil
		restore.Args = []string{"snapshot", "restore", file, "--data-dir=" + mounts["backups"] + "/restored"}
		spec.InitContainers, spec.Containers = spec.Containers, []corev1.Container{restore}
	}
	spec.NodeName = like.node
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: t.namespace, GenerateName: "by-hand-", Labels: map[string]string{v1alpha1.LabelComponent: componentBench},
	}, Spec: spec}, nil
}

func saveArguments(wanted shape, member, tls, file string) []string {
	return []string{
		"snapshot", "save", file, "--command-timeout=10m",
		"--endpoints=" + etcdutil.ClientURL(etcdutil.SchemeHTTPS, member, wanted.name, wanted.namespace),
		"--cacert=" + tls + "/ca.crt", "--cert=" + tls + "/tls.crt", "--key=" + tls + "/tls.key",
	}
}
