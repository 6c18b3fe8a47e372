package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// Names of what the test provides: the server's CA, and credentials for a page that names none.
const (
	caSecret          = "docs-s3-ca"
	credentialsSecret = "s3-credentials"

	envAccessKey = "DOCS_S3_ACCESS_KEY_ID"
	envSecretKey = "DOCS_S3_SECRET_ACCESS_KEY"
)

// store is the S3 server that stands for each one that a page names.
type store struct{ s3server.Access }

// stage makes every S3 store in these manifests the server of the test. What has none stays as it is, to the letter.
func (s store) stage(manifests []byte) ([]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var staged [][]byte
	for changed := false; ; {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			if !changed {
				return manifests, nil
			}
			return bytes.Join(staged, []byte("---\n")), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		var object any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if s.replace(object) {
			changed = true
			if text, err = yaml.Marshal(object); err != nil {
				return nil, fmt.Errorf("writing a manifest: %w", err)
			}
		}
		staged = append(staged, text)
	}
}

// replace changes every S3 store in a value, and reports whether there was one.
func (s store) replace(value any) bool {
	changed := false
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			changed = s.replace(item) || changed
		}
	case map[string]any:
		for key, item := range v {
			if at, ok := item.(map[string]any); ok && key == "s3" && at["bucket"] != nil {
				s.point(at)
				changed = true
				continue
			}
			changed = s.replace(item) || changed
		}
	}
	return changed
}

// point keeps what a page says about prefix and credentials.
func (s store) point(at map[string]any) {
	at["bucket"], at["endpoint"], at["region"], at["forcePathStyle"] = s.Bucket, s.Endpoint, s.Region, true
	at["caSecretRef"] = map[string]any{"name": caSecret}
	delete(at, "serverSideEncryption") // which needs keys in the server
	if at["credentialsSecretRef"] == nil {
		at["credentialsSecretRef"] = map[string]any{"name": credentialsSecret}
	}
}
