package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// servers start the real ones, as make builds or brings them.
var servers = map[string]func(t *testing.T) (Config, Options){
	"versitygw": func(t *testing.T) (Config, Options) { return startS3(t, s3server.Versitygw) },
	"rclone":    func(t *testing.T) (Config, Options) { return startS3(t, s3server.Rclone) },
	"fake-gcs-server": func(t *testing.T) (Config, Options) {
		s := gcsserver.Start(t)
		return Config{GCS: &GCS{Bucket: s.Bucket, Prefix: "some/prefix", Endpoint: s.Endpoint}}, Options{CredentialsDir: s.Credentials}
	},
	"azurite-blob": func(t *testing.T) (Config, Options) {
		s := azureserver.Start(t)
		return Config{Azure: &Azure{Container: s.Container, Prefix: "some/prefix", Endpoint: s.Endpoint}}, Options{CredentialsDir: s.Credentials}
	},
}

func startS3(t *testing.T, kind s3server.Kind) (Config, Options) {
	t.Helper()
	s := s3server.Start(t, kind, s3server.Options{})
	return Config{S3: &S3{Bucket: s.Bucket, Prefix: "some/prefix", Endpoint: s.Endpoint, Region: s.Region, ForcePathStyle: true}},
		Options{CredentialsDir: credentialsOf(t, s.Access)}
}

// credentialsOf is a mounted Secret that opens a server.
func credentialsOf(t testing.TB, access s3server.Access) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, fileAccessKeyID), []byte(access.AccessKeyID), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, fileSecretAccessKey), []byte(access.SecretAccessKey), 0o600))
	return dir
}
