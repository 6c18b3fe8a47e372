package csi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/provisioner"
)

// Claims gives claims their volumes.
type Claims struct {
	Volumes Volumes
	Client  kubernetes.Interface
}

// Provision makes the volume of a claim on the node that the scheduler chose, with the parameters of its classes.
func (c Claims) Provision(ctx context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume,
	controller.ProvisioningState, error) {
	root, isKnown := c.Volumes[o.SelectedNodeName]
	if !isKnown {
		return nil, controller.ProvisioningFinished, fmt.Errorf("there is no node %q", o.SelectedNodeName)
	}
	size := o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	made := volume{Bytes: size.Value(), dir: filepath.Join(root, o.PVName)}
	parameters, err := c.parameters(ctx, o)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	made = made.with(parameters)
	if err := provisioner.MakeWritable(made.data()); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := made.write(); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			VolumeMode:                    o.PVC.Spec.VolumeMode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: Name, VolumeHandle: o.PVName},
			},
			VolumeAttributesClassName: o.PVC.Spec.VolumeAttributesClassName,
			NodeAffinity:              &corev1.VolumeNodeAffinity{Required: provisioner.OnNode(o.SelectedNodeName)},
		},
	}, controller.ProvisioningFinished, nil
}

// parameters are those of the StorageClass, and over them those of the VolumeAttributesClass.
func (c Claims) parameters(ctx context.Context, o controller.ProvisionOptions) (map[string]string, error) {
	all := volume{Parameters: o.StorageClass.Parameters}
	if name := o.PVC.Spec.VolumeAttributesClassName; name != nil && *name != "" {
		class, err := c.Client.StorageV1().VolumeAttributesClasses().Get(ctx, *name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading the VolumeAttributesClass of %s: %w", o.PVC.Name, err)
		}
		all = all.with(class.Parameters)
	}
	return all.Parameters, checkParameters(all.Parameters)
}

// Delete removes a volume with its data.
func (c Claims) Delete(_ context.Context, pv *corev1.PersistentVolume) error {
	if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != Name {
		return fmt.Errorf("the volume %s is not this driver's", pv.Name)
	}
	name := pv.Spec.CSI.VolumeHandle
	if name == "" || name != filepath.Base(name) || name[0] == '.' {
		return fmt.Errorf("%q is no name of a volume", name)
	}
	for _, root := range c.Volumes {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("removing the volume %s: %w", name, err)
		}
	}
	return nil
}
