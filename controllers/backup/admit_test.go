package backup

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

// newly is a backup that does not exist yet.
func newly() *v1alpha1.EtcdBackup {
	return jobworld.Nightly(func(b *v1alpha1.EtcdBackup) { b.Name, b.UID = "newly", "uid-newly" })
}

// claimOfMember is a store on the volume of a member.
func claimOfMember() client.Object {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups",
		Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
			v1alpha1.LabelComponent: v1alpha1.ComponentMember, v1alpha1.LabelMember: "demo-1", v1alpha1.LabelInstance: "demo"}}}
}

func TestABackupIsToldBeforeItIsStoredWhatItWillWaitForAndWhatItNeverGets(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backups"}}
	for name, row := range map[string]struct {
		others           []client.Object
		refuses, warning string
	}{
		"all is there":           {append(jobworld.Serving(), claim), "", ""},
		"no claim yet":           {jobworld.Serving(), "", "spec.store.volume.claimName names the PersistentVolumeClaim backups"},
		"no cluster yet":         {[]client.Object{claim}, "", "EtcdCluster demo does not exist in this namespace"},
		"a cluster that begins":  {[]client.Object{claim, jobworld.Demo(3)}, "", ""},
		"the volume of a member": {append(jobworld.Serving(), claimOfMember()), "is the volume of member demo-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBackupWorld(t, jobworld.Nightly(), row.others...)
			said, err := w.operator.admit(t.Context(), jobworld.MayGetAllBut(), nil, newly())
			warnings := strings.Join(said.Warnings, " ")
			if err != nil || (warnings == "") != (row.warning == "") || !strings.Contains(warnings, row.warning) {
				t.Errorf("%+v, %v", said, err)
			}
			if (len(said.Refusals) > 0) != (row.refuses != "") {
				t.Fatalf("%+v", said)
			}
			for _, refusal := range said.Refusals {
				if refusal.Field != "spec.store.volume.claimName" || !strings.Contains(refusal.Detail, row.refuses) {
					t.Error(refusal)
				}
			}
			if len(w.Writes) > 0 {
				t.Errorf("to ask wrote %v", w.Writes)
			}
		})
	}
}

func TestWhoMayNotGetClaimsIsNotToldWhoseAClaimIs(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), append(jobworld.Serving(), claimOfMember())...)
	mayGet := jobworld.MayGetAllBut(corev1.ResourcePersistentVolumeClaims)
	if said, err := w.operator.admit(t.Context(), mayGet, nil, newly()); err != nil || len(said.Warnings)+len(said.Refusals) > 0 {
		t.Errorf("%+v, %v", said, err)
	}
}

func TestNothingIsSaidOfABackupOfAnotherOperatorsCluster(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.operator.Operator = "elsewhere/etcd-steward"
	if said, err := w.operator.admit(t.Context(), jobworld.MayGetAllBut(), nil, newly()); err != nil || len(said.Warnings)+len(said.Refusals) > 0 {
		t.Errorf("%+v, %v", said, err)
	}
	if said, err := w.operator.admit(t.Context(), jobworld.MayGetAllBut(), newly(), newly()); err != nil || len(said.Warnings)+len(said.Refusals) > 0 {
		t.Errorf("%+v, %v", said, err)
	}
}
