package resources

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// mountedStore is how the agent reaches a store: its flags, and what is mounted for it.
type mountedStore struct {
	args    []string
	mounts  []corev1.VolumeMount
	volumes []corev1.Volume
}

func mountStore(store v1alpha1.BackupStore, readOnly bool) mountedStore {
	m := mountedStore{args: []string{"--store=" + storeJSON(store)}}
	add := func(volume corev1.Volume, path string, readOnly bool, arg string) {
		m.args, m.volumes = append(m.args, arg), append(m.volumes, volume)
		m.mounts = append(m.mounts, corev1.VolumeMount{Name: volume.Name, MountPath: path, ReadOnly: readOnly})
	}
	credentials, authorities := storeSecrets(store)
	if credentials != "" {
		add(mountedSecret(credentialsVolume, credentials), credentialsMount, true, "--credentials-dir="+
			credentialsMount)
	}
	if authorities != "" {
		add(mountedSecret(storeCAVolume, authorities), storeCAMount, true, "--store-ca="+storeCAMount+"/"+KeyCA)
	}
	if store.Volume != nil {
		add(claimed(backupsVolume, store.Volume.ClaimName), backupsMount, readOnly, "--volume-root="+backupsMount)
	}
	return m
}

// storeJSON is a store as the agent reads it: as the API has it. Secrets and claims are not in it: they are mounted.
func storeJSON(store v1alpha1.BackupStore) string {
	shown := store.DeepCopy()
	switch {
	case shown.S3 != nil:
		shown.S3.CredentialsSecretRef, shown.S3.CASecretRef = nil, nil
	case shown.GCS != nil:
		shown.GCS.CredentialsSecretRef, shown.GCS.CASecretRef = nil, nil
	case shown.Azure != nil:
		shown.Azure.CredentialsSecretRef, shown.Azure.CASecretRef = nil, nil
	case shown.Volume != nil:
		volume := map[string]string{}
		if shown.Volume.Path != "" {
			volume["path"] = shown.Volume.Path
		}
		return record.JSON(map[string]any{"volume": volume})
	}
	return record.JSON(shown)
}

// storeSecrets are the names of the Secrets that a store is reached with; empty for none.
func storeSecrets(store v1alpha1.BackupStore) (credentials, authorities string) {
	name := func(ref *v1alpha1.StoreSecretReference) string {
		if ref == nil {
			return ""
		}
		return ref.Name
	}
	switch {
	case store.S3 != nil:
		return name(store.S3.CredentialsSecretRef), name(store.S3.CASecretRef)
	case store.GCS != nil:
		return name(store.GCS.CredentialsSecretRef), name(store.GCS.CASecretRef)
	case store.Azure != nil:
		return name(store.Azure.CredentialsSecretRef), name(store.Azure.CASecretRef)
	case store.Volume != nil:
		return name(store.Volume.CredentialsSecretRef), ""
	}
	return "", ""
}
