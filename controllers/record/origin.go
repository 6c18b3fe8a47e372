package record

import (
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Source says what an incarnation begins with.
type Source string

// The sources of an incarnation.
const (
	SourceBackup   Source = "Backup"   // a backup in a store
	SourceSurvivor Source = "Survivor" // what one member of the current incarnation still holds
	SourceEmpty    Source = "Empty"    // nothing: every key is given up
	// what the incarnation before it still has, which becomes the current one again
	SourcePrevious Source = "Previous"
)

// Origin is the data that first members begin with, as it was found.
type Origin struct {
	Hash      string `json:"hash"`             // of the source that it was found for
	Key       string `json:"key,omitempty"`    // of the object in its store; empty for a survivor's data
	SHA256    string `json:"sha256,omitempty"` // empty for a survivor's data
	SizeBytes int64  `json:"sizeBytes,omitempty"`
	// of these, without the free pages of the database; zero where that is not known
	InUseBytes int64            `json:"inUseBytes,omitempty"`
	Revision   int64            `json:"revision"`
	Version    etcdutil.Version `json:"version"` // of the etcd that wrote it

	AuthEnabled bool `json:"authEnabled,omitempty"` // authentication was on, and is on from the first second again
	// that were raised, and are again: "CORRUPT", "CORRUPT, NOSPACE"; empty for none
	Alarms string `json:"alarms,omitempty"`

	// no manifest spoke of it: it was whole by its own sum, and never compared with the members of its cluster
	Foreign bool `json:"foreign,omitempty"`

	// newer backups that the store's manifest-key did not vouch for
	PassedOver int32 `json:"passedOver,omitempty"`

	rest rest
}

// IsZero reports a beginning without any data.
func (o Origin) IsZero() bool { return o == Origin{} }

type plainOrigin Origin

// originFields tells a version that is missing from one that was not known.
type originFields struct {
	plainOrigin
	Version *etcdutil.Version `json:"version"`
}

// MarshalJSON writes it, with the part that this release does not know.
func (o Origin) MarshalJSON() ([]byte, error) { return join(plainOrigin(o), o.rest) }

// UnmarshalJSON reads one that says for what it was found.
func (o *Origin) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	var in originFields
	kept, err := split(data, &in)
	if err == nil && (in.Hash == "" || in.Version == nil) {
		err = errors.New("it lacks its hash or version")
	}
	if err != nil {
		return fmt.Errorf("the data that it begins with: %w", err)
	}
	*o = Origin(in.plainOrigin)
	o.Version, o.rest = *in.Version, kept
	return nil
}

// fits says why this cannot be what an incarnation of that source begins with.
func (o Origin) fits(source Source) error {
	switch {
	case (source == SourceEmpty) != o.IsZero():
		return fmt.Errorf("its source is %s, and whether there is data says otherwise", source)
	case source == SourceBackup && (o.Key == "" || o.SHA256 == ""):
		return errors.New("the backup that it begins with lacks its key or sum")
	}
	return nil
}
