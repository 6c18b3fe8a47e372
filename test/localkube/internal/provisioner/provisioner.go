// Package provisioner gives each claim of the default storage class a directory on its node. It makes and removes them
// itself, because all nodes are on this machine. The Pods by which a provisioner does that on real nodes would be a
// third of all that tests start.
package provisioner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Name is what the storage class calls its provisioner.
const Name = "localkube/local-path"

// atOnce is how many claims are served at a time.
const atOnce = 16

// Roots say for each node which directory of this machine holds its volumes.
type Roots map[string]string

// Run serves the claims of classes with a provisioner of this name until ctx ends.
func Run(ctx context.Context, client kubernetes.Interface, name string, volumes controller.Provisioner) {
	controller.NewProvisionController(ctx, client, name, volumes,
		controller.LeaderElection(false), controller.Threadiness(atOnce)).Run(ctx)
}

// Client asks the API server of a kubeconfig.
func Client(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("using %s: %w", kubeconfig, err)
	}
	return client, nil
}

// Provision makes the directory of a claim, writable for any user. The volume is only on the node that the scheduler
// chose, and as large as was asked for: nothing enforces that.
func (r Roots) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume,
	controller.ProvisioningState, error) {
	root, isKnown := r[o.SelectedNodeName]
	if !isKnown {
		return nil, controller.ProvisioningFinished, fmt.Errorf("there is no node %q", o.SelectedNodeName)
	}
	directory := filepath.Join(root, fmt.Sprintf("%s_%s_%s", o.PVName, o.PVC.Namespace, o.PVC.Name))
	if err := MakeWritable(directory); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	isDirectory := corev1.HostPathDirectoryOrCreate
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			VolumeMode:                    o.PVC.Spec.VolumeMode,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: directory, Type: &isDirectory},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: OnNode(o.SelectedNodeName)},
		},
	}
	return volume, controller.ProvisioningFinished, nil
}

// OnNode is where a volume is that only one node has.
func OnNode(name string) *corev1.NodeSelector {
	isIt := corev1.NodeSelectorRequirement{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{isIt}},
	}}
}

// MakeWritable passes over the mask of this process.
func MakeWritable(directory string) error {
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return fmt.Errorf("making a volume: %w", err)
	}
	if err := os.Chmod(directory, 0o777); err != nil {
		return fmt.Errorf("making a volume writable: %w", err)
	}
	return nil
}

// Delete removes the directory of a volume, and nothing that is not directly below the directory of a node.
func (r Roots) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	path := volume.Spec.HostPath
	if path == nil || !r.holds(filepath.Clean(path.Path)) {
		return fmt.Errorf("the volume %s is in no node's directory", volume.Name)
	}
	if err := os.RemoveAll(filepath.Clean(path.Path)); err != nil {
		return fmt.Errorf("removing the volume %s: %w", volume.Name, err)
	}
	return nil
}

func (r Roots) holds(directory string) bool {
	for _, root := range r {
		if filepath.Dir(directory) == filepath.Clean(root) {
			return true
		}
	}
	return false
}
