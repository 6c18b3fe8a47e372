package resources

import (
	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// storeJSON is a store as the agent reads it. Secrets and claims are not in it: they are mounted.
type storeJSON struct {
	S3     *s3JSON     `json:"s3,omitempty"`
	GCS    *gcsJSON    `json:"gcs,omitempty"`
	Azure  *azureJSON  `json:"azure,omitempty"`
	Volume *volumeJSON `json:"volume,omitempty"`
}

type s3JSON struct {
	Bucket               string `json:"bucket"`
	Prefix               string `json:"prefix,omitempty"`
	Endpoint             string `json:"endpoint,omitempty"`
	Region               string `json:"region,omitempty"`
	ForcePathStyle       bool   `json:"forcePathStyle,omitempty"`
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`
}

type gcsJSON struct {
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

type azureJSON struct {
	Container string `json:"container"`
	Prefix    string `json:"prefix,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
}

type volumeJSON struct {
	Path string `json:"path,omitempty"`
}

// storeArgs are the agent's flags for a store.
func storeArgs(store v1alpha1.BackupStore) []string {
	args := []string{"--store=" + encode(storeOf(store))}
	credentials, authorities := storeSecrets(store)
	if credentials != "" {
		args = append(args, "--credentials-dir="+credentialsMount)
	}
	if authorities != "" {
		args = append(args, "--store-ca="+storeCAMount+"/"+KeyCA)
	}
	if store.Volume != nil {
		args = append(args, "--volume-root="+backupsMount)
	}
	return args
}

func storeOf(store v1alpha1.BackupStore) storeJSON {
	switch {
	case store.S3 != nil:
		s3 := store.S3
		return storeJSON{S3: &s3JSON{
			Bucket: s3.Bucket, Prefix: s3.Prefix, Endpoint: s3.Endpoint, Region: s3.Region,
			ForcePathStyle: s3.ForcePathStyle, ServerSideEncryption: s3.ServerSideEncryption,
		}}
	case store.GCS != nil:
		return storeJSON{GCS: &gcsJSON{Bucket: store.GCS.Bucket, Prefix: store.GCS.Prefix, Endpoint: store.GCS.Endpoint}}
	case store.Azure != nil:
		return storeJSON{Azure: &azureJSON{Container: store.Azure.Container, Prefix: store.Azure.Prefix, Endpoint: store.Azure.Endpoint}}
	case store.Volume != nil:
		return storeJSON{Volume: &volumeJSON{Path: store.Volume.Path}}
	}
	return storeJSON{}
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
	}
	return "", ""
}
