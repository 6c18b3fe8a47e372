package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAConfigurationIsReadStrictly(t *testing.T) {
	for _, text := range []string{
		`{"s3":{"bucket":"backups","prefix":"a/b","endpoint":"https://s3.example.com:9000","region":"eu-west-1","forcePathStyle":true,"serverSideEncryption":"aws:kms"}}`,
		`{"gcs":{"bucket":"backups"}}`, `{"azure":{"container":"backups","prefix":"x"}}`, `{"volume":{"path":"/a/b/"}}`, `{"volume":{}}`,
	} {
		if _, err := ParseConfig([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for what, text := range map[string]string{
		"nothing":                  ``,
		"no kind":                  `{}`,
		"two kinds":                `{"volume":{},"gcs":{"bucket":"backups"}}`,
		"an unknown kind":          `{"ftp":{}}`,
		"an unknown field":         `{"s3":{"bucket":"backups","secret":"x"}}`,
		"something behind it":      `{"volume":{}}{}`,
		"no bucket":                `{"s3":{"bucket":""}}`,
		"a bucket that is a path":  `{"s3":{"bucket":"../x"}}`,
		"a prefix upwards":         `{"s3":{"bucket":"backups","prefix":"a/../b"}}`,
		"a volume's path upwards":  `{"volume":{"path":"../../etc"}}`,
		"a prefix with a space":    `{"s3":{"bucket":"backups","prefix":"a b"}}`,
		"a doubled slash":          `{"volume":{"path":"a//b"}}`,
		"an endpoint with a user":  `{"s3":{"bucket":"backups","endpoint":"https://user:password@host"}}`,
		"an endpoint with a query": `{"s3":{"bucket":"backups","endpoint":"https://host/?x=1"}}`,
		"an endpoint of another":   `{"s3":{"bucket":"backups","endpoint":"file:///etc"}}`,
		"an endpoint without host": `{"azure":{"container":"backups","endpoint":"https://"}}`,
		"an unknown encryption":    `{"s3":{"bucket":"backups","serverSideEncryption":"rot13"}}`,
		"a region with a slash":    `{"s3":{"bucket":"backups","region":"a/b"}}`,
	} {
		if _, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%s was taken: %s", what, text)
		} else if strings.Contains(err.Error(), "password") {
			t.Errorf("%s: the error shows the password: %v", what, err)
		}
	}
}

func TestCredentialsAreTakenOutOfWhatIsShown(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "secret-access-key"), []byte(secret+"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "session-token"), []byte("first-line\nsecond-line\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "short"), []byte("the"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "..data"), 0o700))
	got := Redact(dir, "the server said "+secret+" and second-line")
	if got != "the server said [redacted] and [redacted]" {
		t.Errorf("got %q", got)
	}
	if got := Redact("", "text"); got != "text" {
		t.Errorf("got %q", got)
	}
}

func TestTheKeyOfManifestsIsReadAndAWeakOneIsRefusedByName(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef"
	for name, tc := range map[string]struct {
		files   map[string]string
		want    string
		refused bool
	}{
		"no Secret":     {nil, "", false},
		"no key":        {map[string]string{fileAccessKeyID: "id"}, "", false},
		"a key":         {map[string]string{fileManifestKey: key}, key, false},
		"a line":        {map[string]string{fileManifestKey: key + "\n"}, key, false},
		"a short key":   {map[string]string{fileManifestKey: key[1:]}, "", true},
		"an empty file": {map[string]string{fileManifestKey: "\n"}, "", true},
		"spaces alone":  {map[string]string{fileManifestKey: strings.Repeat(" ", 64)}, "", true},
	} {
		dir := t.TempDir()
		for file, content := range tc.files {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
		}
		if tc.files == nil {
			dir = ""
		}
		bucket, err := Open(context.Background(), Config{Volume: &Volume{}}, Options{VolumeRoot: t.TempDir(), CredentialsDir: dir})
		switch {
		case tc.refused:
			wantIs(t, err, ErrConfig)
			if !strings.Contains(err.Error(), "manifest-key") || strings.Contains(err.Error(), key[1:]) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || string(bucket.ManifestKey()) != tc.want:
			t.Errorf("%s: %v", name, err)
		}
	}
}
