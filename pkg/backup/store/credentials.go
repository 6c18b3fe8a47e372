package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files of a mounted Secret, by the kind of store that reads them.
const (
	fileAccessKeyID     = "access-key-id"
	fileSecretAccessKey = "secret-access-key"
	fileSessionToken    = "session-token" // optional
	fileServiceAccount  = "service-account.json"
	fileAccountName     = "account-name"
	fileAccountKey      = "account-key"
	fileManifestKey     = "manifest-key" // optional, of every kind
)

// minManifestKey is as long as what HMAC-SHA256 gives: a shorter key is weaker than the sum (RFC 2104, section 3).
const minManifestKey = 32

// maxCredential bounds what is read of one file: a Secret is at most 1 MiB, and no credential comes near.
const maxCredential = 64 << 10

// readCredential reads one file, without the line's end an editor leaves behind.
func readCredential(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("%w: read the credentials: %w", ErrConfig, err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return "", fmt.Errorf("%w: read the credentials: %w", ErrConfig, err)
	}
	if info.Size() > maxCredential {
		return "", fmt.Errorf("%w: read the credentials: %s is larger than %d bytes", ErrConfig, name, maxCredential)
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%w: read the credentials: %w", ErrConfig, err)
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return "", fmt.Errorf("%w: read the credentials: %s is empty", ErrConfig, name)
	}
	return value, nil
}

// readOptional is readCredential for a file that need not exist.
func readOptional(dir, name string) (string, error) {
	value, err := readCredential(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return value, err
}

// readManifestKey reads the key that vouches for manifests; nil where there is none.
func readManifestKey(dir string) ([]byte, error) {
	if dir == "" {
		return nil, nil
	}
	key, err := readOptional(dir, fileManifestKey)
	if err != nil || key == "" {
		return nil, err
	}
	if len(key) < minManifestKey {
		return nil, fmt.Errorf("%w: %s has %d bytes, want %d or more: make one with `openssl rand -hex 32`", ErrConfig,
			fileManifestKey, len(key), minManifestKey)
	}
	return []byte(key), nil
}

// identityDir is where the store's own credentials are: dir, and none where the Secret there has the key of manifests
// alone. What begins with two dots is the kubelet's.
func identityDir(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return dir
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "..") })
	if len(entries) == 1 && entries[0].Name() == fileManifestKey {
		return ""
	}
	return dir
}

// minSecret is the length from which a value is worth hiding: shorter ones would hide half of every sentence.
const minSecret = 6

// Redact takes every credential in dir out of a text that is about to be shown. Errors of the libraries below show none
// that we know of; this is for those we do not.
func Redact(dir, text string) string {
	if dir == "" {
		return text
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return text
	}
	for _, entry := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue // the links and directories by which the kubelet swaps a Secret's files
		}
		for line := range strings.SplitSeq(string(raw), "\n") {
			if secret := strings.TrimSpace(line); len(secret) >= minSecret {
				text = strings.ReplaceAll(text, secret, "[redacted]")
			}
		}
	}
	return text
}
