package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Config says where backups are kept: exactly one of its fields is set.
type Config struct {
	S3     *S3     `json:"s3,omitempty"`
	GCS    *GCS    `json:"gcs,omitempty"`
	Azure  *Azure  `json:"azure,omitempty"`
	Volume *Volume `json:"volume,omitempty"`
}

// S3 is a bucket of AWS or of anything that speaks its protocol.
type S3 struct {
	Bucket         string `json:"bucket"`
	Prefix         string `json:"prefix,omitempty"`
	Endpoint       string `json:"endpoint,omitempty"` // http or https URL; empty: AWS
	Region         string `json:"region,omitempty"`   // empty: the environment's, or us-east-1
	ForcePathStyle bool   `json:"forcePathStyle,omitempty"`
	// ServerSideEncryption is AES256, aws:kms or aws:kms:dsse; empty: the bucket's default.
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`
}

// GCS is a bucket of Google Cloud Storage.
type GCS struct {
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

// Azure is a container of Azure Blob Storage. Without an endpoint the address follows from the account's name.
type Azure struct {
	Container string `json:"container"`
	Prefix    string `json:"prefix,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
}

// Volume is a directory below the place where a volume is mounted.
type Volume struct {
	Path string `json:"path,omitempty"`
}

// Bounds of the user's strings. They are the API's own, checked again here because this is where they turn into names.
var (
	bucketName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{1,221}$`)
	prefixText = regexp.MustCompile(`^[a-zA-Z0-9!_.*'()/-]{0,512}$`)
	keyText    = regexp.MustCompile(`^[a-zA-Z0-9!_.*'()/:+=@,~-]+$`) // also of what others have put there
	regionText = regexp.MustCompile(`^[a-zA-Z0-9-]{0,64}$`)
)

// ParseConfig reads the JSON of a Config. Unknown fields and anything after the object are refused.
func ParseConfig(text []byte) (Config, error) {
	var config Config
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return Config{}, fmt.Errorf("read the store's configuration: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("read the store's configuration: something follows the object")
	}
	if err := config.validate(); err != nil {
		return Config{}, fmt.Errorf("read the store's configuration: %w", err)
	}
	return config, nil
}

func (c Config) validate() error {
	set := 0
	for _, chosen := range []bool{c.S3 != nil, c.GCS != nil, c.Azure != nil, c.Volume != nil} {
		if chosen {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("%d kinds of store are set, want exactly one of s3, gcs, azure, volume", set)
	}
	if c.S3 != nil {
		if err := c.S3.validate(); err != nil {
			return err
		}
	}
	name, endpoint, prefix := c.place()
	if c.Volume == nil && !bucketName.MatchString(name) {
		return fmt.Errorf("%q is not a bucket's name", name)
	}
	if err := checkEndpoint(endpoint); err != nil {
		return err
	}
	return checkPrefix(prefix)
}

func (s *S3) validate() error {
	if !regionText.MatchString(s.Region) {
		return fmt.Errorf("%q is not a region", s.Region)
	}
	switch s.ServerSideEncryption {
	case "", "AES256", "aws:kms", "aws:kms:dsse":
		return nil
	}
	return fmt.Errorf("serverSideEncryption %q: want AES256, aws:kms or aws:kms:dsse", s.ServerSideEncryption)
}

// place is the bucket's name and its endpoint, of which a volume has neither, and what every key begins with: without
// slashes around it, and empty for nothing.
func (c Config) place() (name, endpoint, prefix string) {
	switch {
	case c.S3 != nil:
		name, endpoint, prefix = c.S3.Bucket, c.S3.Endpoint, c.S3.Prefix
	case c.GCS != nil:
		name, endpoint, prefix = c.GCS.Bucket, c.GCS.Endpoint, c.GCS.Prefix
	case c.Azure != nil:
		name, endpoint, prefix = c.Azure.Container, c.Azure.Endpoint, c.Azure.Prefix
	case c.Volume != nil:
		prefix = c.Volume.Path
	}
	return name, endpoint, strings.Trim(prefix, "/")
}

// checkPrefix refuses what could leave the prefix, or would be another name once a file system has read it.
func checkPrefix(prefix string) error {
	if !prefixText.MatchString(prefix) {
		return fmt.Errorf("the prefix %q has characters other than letters, digits and !_.*'()/-, or is "+
			"longer than 512", prefix)
	}
	if prefix != "" && !areNames(prefix) {
		return fmt.Errorf("the prefix %q has a segment that is empty or only dots", prefix)
	}
	return nil
}

// areNames reports that each segment of a path is a name, and leads nowhere else.
func areNames(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// named is what a bucket is called and where it is, as a part of a sentence, or "" for a volume.
func (c Config) named() string {
	kind := "bucket "
	if c.Azure != nil {
		kind = "container "
	}
	switch name, endpoint, _ := c.place(); {
	case name == "":
		return ""
	case endpoint == "":
		return kind + name
	default:
		return kind + name + " at " + endpoint
	}
}

// checkEndpoint accepts scheme, host and path. Credentials in a URL would show in errors and logs.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return errors.New("the endpoint is not a URL")
	case parsed.User != nil:
		return errors.New("the endpoint carries credentials: give them as a Secret")
	case parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Host == "":
		return fmt.Errorf("the endpoint %q: want http:// or https:// and a host", parsed.Redacted())
	case parsed.RawQuery != "", parsed.Fragment != "":
		return errors.New("the endpoint has a query or a fragment")
	}
	return nil
}

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
	text, err := readBounded(dir, name)
	if err != nil {
		return "", fmt.Errorf("%w: read the credentials: %w", ErrConfig, err)
	}
	return text, nil
}

func readBounded(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	file, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxCredential+1))
	value := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxCredential:
		return "", fmt.Errorf("%s is larger than %d bytes", name, maxCredential)
	case value == "":
		return "", fmt.Errorf("%s is empty", name)
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
