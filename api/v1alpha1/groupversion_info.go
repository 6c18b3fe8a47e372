// Package v1alpha1 is what a user of etcd-steward writes and reads: the types, their defaults and the words of their
// conditions. It is the only place where the API group, the label prefix, condition types and reasons are spelled.
//
// +kubebuilder:object:generate=true
// +groupName=etcdsteward.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group and the prefix of every label and annotation that the operator sets.
const Group = "etcdsteward.dev"

var (
	// GroupVersion names this version of the API.
	GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register this version's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers this version's types with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &EtcdCluster{}, &EtcdClusterList{}, &EtcdBackup{}, &EtcdBackupList{},
		&EtcdBackupSchedule{}, &EtcdBackupScheduleList{}, &EtcdRestore{}, &EtcdRestoreList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
