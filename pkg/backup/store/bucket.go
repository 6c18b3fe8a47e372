// Package store is where backups are kept: an S3 bucket, a GCS bucket, an Azure container or a directory on a volume,
// behind one narrow Bucket. What it adds to gocloud.dev/blob are the promises backups rest on: nothing is overwritten,
// an upload that fails leaves no object, memory stays bounded at any size, no key leaves the prefix, requests are never
// sent on to another host, and no error shows a secret.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
)

// An upload keeps at most (uploadConcurrency+1) parts in memory: 20 MiB. S3 takes 10,000 parts, so the largest object
// is 48 GiB. The largest quota of a cluster, 32Gi, is below that for this reason.
const (
	partSize          = 5 << 20
	uploadConcurrency = 3
)

// callDeadline bounds a call that carries no data.
const callDeadline = 60 * time.Second

func callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callDeadline, ErrStalled)
}

// answered is classify for a call under a callContext: one that got no answer in its time is a store that stands still.
func answered(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrStalled) {
		return fmt.Errorf("%w: it did not answer within %s", ErrStalled, callDeadline)
	}
	return classify(err, ErrStore)
}

// Options is what a Config needs to be used, all of it files that the kubelet mounts.
type Options struct {
	CredentialsDir    string        // empty: what the environment offers, such as a workload identity
	CredentialsSecret string        // the name of the Secret that is mounted there, for messages; empty: of none
	CAFile            string        // PEM; the only CAs trusted for the store's certificate; empty: the system's
	VolumeRoot        string        // where the volume of a Volume store is mounted
	Stall             time.Duration // how long a request may stand still; 30 s by default

	mood *mood // of the store, as its answers show it
}

// Bucket is one store, confined to the prefix of its Config. Keys are whole: they begin with that prefix. Its errors
// match the sentinels of this package. It is safe for concurrent use.
type Bucket struct {
	blob   *blob.Bucket
	prefix string
	named  string // what it is called, and where it is, as a part of a sentence; empty for a volume
	opener opener // of a bucket
	root   string // of a volume; otherwise empty
	mood   mood

	s3Bucket string // its name; empty unless it is one

	unconditional atomic.Bool

	manifestKey []byte
}

// Object is one stored object.
type Object struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
}

// Open prepares a store for use. Most stores are asked for nothing yet: a wrong bucket or credential shows at the first
// call.
func Open(ctx context.Context, config Config, options Options) (*Bucket, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	key, err := readManifestKey(options.CredentialsDir)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	_, _, prefix := config.place()
	b := &Bucket{prefix: prefix, named: config.named(), manifestKey: key}
	options.mood, options.CredentialsDir = &b.mood, identityDir(options.CredentialsDir)
	b.opener = openerOf(options)
	switch {
	case config.S3 != nil:
		b.s3Bucket = config.S3.Bucket
		b.blob, err = openS3(ctx, config.S3, options)
	case config.GCS != nil:
		b.blob, err = openGCS(ctx, config.GCS, options)
	case config.Azure != nil:
		b.blob, err = openAzure(ctx, config.Azure, options)
	default:
		b.root = options.VolumeRoot
		b.blob, err = openVolume(options.VolumeRoot)
	}
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", classify(err, ErrConfig))
	}
	return b, nil
}

// Close gives back what the store's client holds.
func (b *Bucket) Close() error { return b.blob.Close() }

// AsksToSlowDown reports that the last thing the store said was that: what stands still waits to be sent again.
func (b *Bucket) AsksToSlowDown() bool { return b.mood.patient.Load() }

// IsUnconditional reports that objects were written after a look alone, since the store knows no conditional writes:
// had anything else written under the same name at that moment, one would have overwritten the other.
func (b *Bucket) IsUnconditional() bool { return b.unconditional.Load() }

// ManifestKey is the secret that vouches for the manifests in this store; nil where there is none.
func (b *Bucket) ManifestKey() []byte { return b.manifestKey }

// Prefix is what every key begins with; empty for none.
func (b *Bucket) Prefix() string { return b.prefix }

// Key joins segments below the prefix.
func (b *Bucket) Key(segments ...string) string {
	if b.prefix != "" {
		segments = append([]string{b.prefix}, segments...)
	}
	return strings.Join(segments, "/")
}

// check refuses a key outside the prefix, or one that a file system or a URL would read as another.
func (b *Bucket) check(key string) error {
	rest := key
	if b.prefix != "" {
		var inside bool
		if rest, inside = strings.CutPrefix(key, b.prefix+"/"); !inside {
			return fmt.Errorf("%w: %q", ErrOutside, key)
		}
	}
	if len(key) > 1024 || !keyText.MatchString(key) || !areNames(rest) {
		return fmt.Errorf("%w: %q", ErrOutside, key)
	}
	return nil
}

// calm turns a panic of a library into an error: some take it for granted that an answer has all that it should have.
func calm(err *error) {
	if why := recover(); why != nil {
		*err = fmt.Errorf("%w: its answer cannot be read: %v", ErrStore, why)
	}
}

// Stat looks at an object; ErrNotFound when there is none.
func (b *Bucket) Stat(ctx context.Context, key string) (_ Object, err error) {
	defer calm(&err)
	if err := b.check(key); err != nil {
		return Object{}, err
	}
	ctx, cancel := callContext(ctx)
	defer cancel()
	attributes, err := b.blob.Attributes(ctx, key)
	if err != nil {
		return Object{}, b.failed(answered(ctx, err), key)
	}
	return Object{Key: key, Size: attributes.Size, ModTime: attributes.ModTime}, nil
}

// Open reads an object from its beginning and says how large the store calls it. The context ends the reading too. What
// comes from a volume was read there, and is not what this node remembers of writing it.
func (b *Bucket) Open(ctx context.Context, key string) (_ io.ReadCloser, size int64, err error) {
	return b.OpenAt(ctx, key, 0)
}

// OpenAt is Open from an offset on; the size is that of the whole object all the same.
func (b *Bucket) OpenAt(ctx context.Context, key string, offset int64) (_ io.ReadCloser, size int64, err error) {
	defer calm(&err)
	if err := b.check(key); err != nil {
		return nil, 0, err
	}
	fresh := &blob.ReaderOptions{BeforeRead: func(as func(any) bool) error {
		var file *os.File
		as(&file)
		forgetPages(file)
		return nil
	}}
	reader, err := b.blob.NewRangeReader(ctx, key, offset, -1, fresh)
	if err != nil {
		return nil, 0, b.failed(classify(err, ErrStore), key)
	}
	if err := startsAt(reader.As, offset); err != nil {
		_ = reader.Close()
		return nil, 0, b.failed(err, key)
	}
	return classified{reader}, reader.Size(), nil
}

type classified struct{ io.ReadCloser }

func (r classified) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	//nolint:errorlint // a connection that was closed is an EOF too, with words around it, and no end of the object
	if err != nil && err != io.EOF {
		err = classify(err, ErrStore)
	}
	return n, err
}

// ReadSmall reads a whole object of at most limit bytes; a larger one is ErrTooLarge.
func (b *Bucket) ReadSmall(ctx context.Context, key string, limit int64) ([]byte, error) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	reader, _, err := b.Open(ctx, key)
	if err != nil {
		return nil, answered(ctx, err)
	}
	defer reader.Close()
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, b.failed(answered(ctx, err), key)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("read %s from the store: %w: more than %d bytes", key, ErrTooLarge, limit)
	}
	return content, nil
}

// List calls visit for every object in the directory below, which is the prefix or inside it, and in the directories
// there, until visit fails.
func (b *Bucket) List(ctx context.Context, below string, visit func(Object) error) error {
	directory := strings.TrimSuffix(below, "/") + "/"
	if directory == "/" {
		directory = ""
	}
	if err := b.check(directory + "any"); err != nil {
		return err
	}
	if b.root != "" {
		if err := checkReadable(b.root, directory); err != nil {
			return fmt.Errorf("list %s in the store: %w", cmp.Or(below, "everything"), classify(err, ErrStore))
		}
	}
	objects := b.blob.List(&blob.ListOptions{Prefix: directory})
	for {
		object, err := b.next(ctx, objects)
		if err != nil {
			advice, err := b.told(err)
			return fmt.Errorf("list %s in the store: %w%s", cmp.Or(below, "everything"), err, advice)
		}
		if object == nil {
			return nil
		}
		if object.IsDir || b.check(object.Key) != nil {
			continue
		}
		if err := visit(Object{Key: object.Key, Size: object.Size, ModTime: object.ModTime}); err != nil {
			return err
		}
	}
}

// next is nil at the end.
func (b *Bucket) next(ctx context.Context, objects *blob.ListIterator) (_ *blob.ListObject, err error) {
	defer calm(&err)
	ctx, cancel := callContext(ctx)
	defer cancel()
	object, err := objects.Next(ctx)
	//nolint:errorlint // a connection that was closed is an EOF too, with words around it, and no end of the list
	if err == io.EOF {
		return nil, nil
	}
	return object, answered(ctx, err)
}

// Delete removes an object; one that is not there is no error. Of a volume, its directory goes with the last object in
// it.
func (b *Bucket) Delete(ctx context.Context, key string) (err error) {
	defer calm(&err)
	if err := b.check(key); err != nil {
		return err
	}
	ctx, cancel := callContext(ctx)
	defer cancel()
	if err := answered(ctx, b.blob.Delete(ctx, key)); err != nil && !errors.Is(err, ErrNotFound) {
		advice, err := b.told(err)
		return fmt.Errorf("delete %s from the store: %w%s", key, err, advice)
	}
	if directory := path.Dir(key); b.root != "" && b.check(directory) == nil {
		_ = os.Remove(filepath.Join(b.root, directory)) // one that is not empty stays
	}
	return nil
}
