package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"syscall"
)

// Reasons of a member's volume.
const (
	ReasonVolumeFull   Reason = "VolumeFull"
	ReasonVolumeFailed Reason = "VolumeFailed"
	ReasonDataExists   Reason = "DataExists" // data is where the restored data should go, and not of this restore
)

// Place is a member's part of its volume. Its data goes to <incarnation>/<member>, and is prepared in
// <incarnation>.restore/<member>, where no etcd ever looks.
type Place struct {
	Volume      string // where it is mounted
	Incarnation string
	Member      string
}

// Origin is the backup that a member's data is to come from, as the cluster's birth record has it.
type Origin struct {
	Key          string `json:"key"` // of the snapshot
	SHA256       string `json:"sha256"`
	SizeBytes    int64  `json:"sizeBytes"`
	Revision     int64  `json:"revision"`
	BumpRevision int64  `json:"bumpRevision"` // by how much etcdutl raises it; all below is then compacted
}

// Names in the directory where a member's data is prepared. The first two are arguments of etcdutl.
const (
	stagedSnapshot = "snapshot.db"
	stagedData     = "data"
	stagedRecord   = "restored.json"
	newRecord      = "restored.json.new"
)

var (
	incarnationText = regexp.MustCompile(`^[a-z0-9]{1,63}$`)
	memberText      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	sha256Text      = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Check refuses names that would be more than one directory each, and a backup that cannot be told from another.
func (p Place) Check() error {
	switch {
	case p.Volume == "":
		return errors.New("no place where the member's volume is mounted was given")
	case !incarnationText.MatchString(p.Incarnation):
		return fmt.Errorf("%q is not an incarnation", p.Incarnation)
	case !memberText.MatchString(p.Member):
		return fmt.Errorf("%q is not the name of a member", p.Member)
	}
	return nil
}

// Check refuses what no manifest says.
func (o Origin) Check() error {
	switch {
	case o.Key == "":
		return errors.New("no snapshot was named")
	case !sha256Text.MatchString(o.SHA256):
		return fmt.Errorf("%q is not a SHA-256", o.SHA256)
	case o.SizeBytes <= 0 || o.SizeBytes%sectorSize != trailerSize:
		return fmt.Errorf("%d is not the size of a snapshot", o.SizeBytes)
	case o.Revision < 1 || o.BumpRevision < 0 || o.Revision > math.MaxInt64-o.BumpRevision:
		return fmt.Errorf("the revision %d and its bump %d are not those of a restore", o.Revision, o.BumpRevision)
	}
	return nil
}

func (p Place) staging() string           { return path.Join(p.Incarnation+".restore", p.Member) }
func (p Place) staged(name string) string { return path.Join(p.staging(), name) }
func (p Place) target() string            { return path.Join(p.Incarnation, p.Member) }
func (p Place) onDisk(name string) string { return filepath.Join(p.Volume, filepath.FromSlash(name)) }
func (p Place) open() (*os.Root, error)   { return os.OpenRoot(p.Volume) }

// record says which backup the data beside it came from. The directory is named by its inode: it keeps that when it is
// renamed, and no other directory has it.
type record struct {
	FormatVersion int    `json:"formatVersion"`
	Incarnation   string `json:"incarnation"`
	Member        string `json:"member"`
	Origin        Origin `json:"origin"`
	Directory     uint64 `json:"directory"`
}

func (p Place) recordOf(origin Origin, directory uint64) ([]byte, error) {
	return json.Marshal(record{FormatVersion: formatVersion, Incarnation: p.Incarnation, Member: p.Member,
		Origin: origin, Directory: directory})
}

// standing is what is where a member's data belongs.
type standing int

const (
	nothing  standing = iota
	restored          // what this restore put there
	stranger          // anything else
)

// stands looks at where the member's data belongs.
func (p Place) stands(volume *os.Root, origin Origin) (standing, error) {
	info, err := volume.Lstat(p.target())
	if errors.Is(err, fs.ErrNotExist) {
		return nothing, nil
	}
	if err != nil {
		return stranger, volumeFailure("look for the member's data", err)
	}
	written, err := readPlain(volume, p.staged(stagedRecord))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stranger, volumeFailure("read what was restored", err)
	}
	want, err := p.recordOf(origin, inode(info))
	if err != nil {
		return stranger, fmt.Errorf("describe what was restored: %w", err)
	}
	if info.IsDir() && bytes.Equal(written, want) {
		return restored, nil
	}
	return stranger, nil
}

// refuseStranger is the sentence for data that is in the way. It is never touched.
func (p Place) refuseStranger() error {
	return fail(ReasonDataExists,
		"the volume of member %s already has data in %s, which this restore did not put there", p.Member, p.target())
}

func inode(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
