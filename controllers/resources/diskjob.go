package resources

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StepDisk is the name of the only container of a Job that measures a disk.
const StepDisk = "disk"

const (
	diskMount = "/disk"

	// diskWrites is how long it writes at most.
	diskWrites = time.Minute
	// diskDeadline ends a Job whose maker is gone, and diskKept is for how long Kubernetes keeps it then.
	diskDeadline, diskKept = 10 * time.Minute, time.Hour
)

// DiskTest says which disk is measured, and by which image. The kubectl plugin asks for it: it is of no cluster.
type DiskTest struct {
	Namespace, Name, Image string

	StorageClass string // empty: the default one
	Node         string // empty: any
	Size         resource.Quantity
	PlatformIDs  bool
}

// BuildDiskJob builds the Job that measures a disk as etcd writes to it. The volume comes and goes with the Pod.
func BuildDiskJob(d DiskTest) *batchv1.Job {
	claim := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: d.Size}},
	}
	if d.StorageClass != "" {
		claim.StorageClassName = &d.StorageClass
	}
	volume := corev1.Volume{Name: StepDisk, VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim}}}}
	args := []string{"--dir=" + diskMount, "--at-most=" + diskWrites.String()}
	step := agentStep(StepDisk, d.Image, args, mount(volume, diskMount, false))
	step.Resources = agentResources(nil)
	labels, annotations := leftAlone()
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
			EnableServiceLinks: new(false), SecurityContext: podSecurity(nil, d.PlatformIDs),
			Containers: []corev1.Container{step.Container}, Volumes: step.volumes,
		}}
	if d.Node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: d.Node}
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}, Spec: batchv1.JobSpec{
		BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(wholeSeconds(diskDeadline)),
		TTLSecondsAfterFinished: new(int32(wholeSeconds(diskKept))), Template: pod,
	}}
}
