// Package record holds what the operator writes down about a cluster: the bootstrap record on the peer Service, and the
// member record beside the data of each member. Every room uses these types as they are. Nothing copies them field by
// field.
//
// # Incarnations
//
// An incarnation is one continuous history of the cluster's data. Bootstrap is the record of the current one. Beside it
// stand Next, the incarnation that a restore prepares, and Former, those that restores ended.
//
// # Form
//
// A record is a JSON object in an annotation. Its names never change, and a field never changes its meaning: releases
// are upgraded and put back. What is new is a new field beside the old ones. IDs and versions are text.
//
// Each record says in which version of this form it was written (recordVersion), and the lowest version that may read
// it (leastReader). A release of a lower version refuses the whole record: TooNew. A release that may read it keeps the
// fields that it does not know, and writes them back as they were. See docs/decisions/0013.
package record

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Bootstrap is the record of the current incarnation on the peer Service. It is written before anything else is made.
type Bootstrap struct {
	Incarnation string   `json:"incarnation"`
	Counter     int      `json:"counter"`
	Token       string   `json:"token"` // --initial-cluster-token; never used twice
	Names       []string `json:"names"` // the first members
	// zero until the cluster answered and a quorum of its members is recorded
	ClusterID etcdutil.ID `json:"clusterID,omitempty"`
	Void      bool        `json:"void,omitempty"` // given up: Pods and volumes go, then the next bootstrap begins
	// the data that the first members begin with; zero when they begin empty
	Origin Origin `json:"backup,omitzero"`

	// every volume of the bootstrap was there, and Pods may be
	Begun bool `json:"begun,omitempty"`
	// the UIDs of the first members' volumes, by name; known once Begun is set
	Volumes     map[string]string `json:"volumes,omitempty"`
	Promised    string            `json:"promised,omitempty"` // the name of the member that was last prepared
	NextOrdinal int               `json:"next,omitempty"`     // the lowest ordinal that was never promised

	Next   Next     `json:"coming,omitzero"` // the incarnation that a restore prepares; zero when none does
	Former []Former `json:"past,omitempty"`  // the incarnations that restores ended, the last one last
	// the request that this incarnation comes of; empty when it began with the cluster
	Restore     string `json:"restore,omitempty"`
	LastCounter int    `json:"laid,omitempty"` // the highest counter that was ever given to a next incarnation
	// no Pod of a member is to run: spec.size is 0, and the data stays on the volumes
	Asleep bool `json:"asleep,omitempty"`
	// etcd's authentication is on because the spec asks for that
	Auth bool `json:"auth,omitempty"`
	// no revision above this was served before this incarnation; zero where no restore in place, or an older release,
	// began it
	Served int64 `json:"served,omitempty"`

	form form
	rest rest
}

// Exists reports that a record was read.
func (b Bootstrap) Exists() bool { return b.Incarnation != "" }

// FirstOrdinal is the lowest ordinal of the current incarnation. Those below it are of former ones.
func (b Bootstrap) FirstOrdinal(cluster string) int {
	lowest := b.NextOrdinal
	for _, name := range b.Names {
		if ordinal, ok := etcdutil.Ordinal(cluster, name); ok {
			lowest = min(lowest, ordinal)
		}
	}
	return lowest
}

// The origins as the record spells them.
const (
	wroteFresh    = "fresh"
	wroteBackup   = "backup"
	wroteSurvivor = "survivor"
)

type plainBootstrap Bootstrap

// bootstrapFields are the fields of a bootstrap record as they are written.
type bootstrapFields struct {
	plainBootstrap
	OriginKind string `json:"origin"`
	form
}

// MarshalJSON writes the record, with the part of it that this release does not know.
func (b Bootstrap) MarshalJSON() ([]byte, error) {
	kind := wroteFresh
	switch {
	case b.Origin.IsZero():
	case b.Origin.Key == "":
		kind = wroteSurvivor
	default:
		kind = wroteBackup
	}
	return join(bootstrapFields{plainBootstrap: plainBootstrap(b), OriginKind: kind, form: b.form.raised()}, b.rest)
}

// UnmarshalJSON reads a record that is whole.
func (b *Bootstrap) UnmarshalJSON(data []byte) error {
	var in bootstrapFields
	kept, err := split(data, &in)
	if err != nil {
		return err
	}
	*b = Bootstrap(in.plainBootstrap)
	b.form, b.rest = in.form.newer(), kept
	return b.check(in.OriginKind)
}

// check never lets a record pass that lacks anything a bootstrap needs. One that begins with data and does not say
// which must not be taken for one that begins empty.
func (b Bootstrap) check(originKind string) error {
	source, ok := map[string]Source{wroteFresh: SourceEmpty, wroteBackup: SourceBackup,
		wroteSurvivor: SourceSurvivor}[originKind]
	switch {
	case b.Incarnation == "" || b.Token == "" || b.Counter < 0 || b.NextOrdinal < 0 || b.LastCounter < 0:
		return errors.New("incarnation, counter or token is missing")
	case len(b.Names) == 0:
		return errors.New("it names no member")
	case !ok:
		return fmt.Errorf("this release does not know the origin %q", originKind)
	}
	return b.Origin.fits(source)
}

// Encode writes the record.
func (b Bootstrap) Encode() string { return JSON(b) }

// DecodeBootstrap reads a bootstrap record. One that cannot be read is an error, and never an empty record.
func DecodeBootstrap(text string) (Bootstrap, error) {
	var b Bootstrap
	if err := decode(text, &b); err != nil {
		return Bootstrap{}, fmt.Errorf("reading the bootstrap record: %w", err)
	}
	return b, nil
}

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
		return fmt.Errorf("its source is %s, which does not agree with whether there is data", source)
	case source == SourceBackup && (o.Key == "" || o.SHA256 == ""):
		return errors.New("the backup that it begins with lacks its key or sum")
	}
	return nil
}

// Next is the incarnation that a restore prepares, beside the current one.
type Next struct {
	Incarnation string   `json:"incarnation"`
	Counter     int      `json:"counter"`
	Token       string   `json:"token"`
	Names       []string `json:"names"` // the first members
	Source      Source   `json:"source"`
	Survivor    string   `json:"survivor,omitempty"` // of SourceSurvivor: the member whose data it is
	Origin      Origin   `json:"origin,omitzero"`    // the data that they begin with; zero when they begin empty
	Bump        int64    `json:"bump"`               // by how much revisions are raised
	Restore     string   `json:"restore"`            // the request that it comes of

	rest rest
}

// IsZero reports that no restore prepares an incarnation.
func (n Next) IsZero() bool { return n.Incarnation == "" }

// Bootstrap is the record that the incarnation begins with, once it is the current one. Its identity is not known yet.
func (n Next) Bootstrap() Bootstrap {
	return Bootstrap{Incarnation: n.Incarnation, Counter: n.Counter, Token: n.Token, Names: n.Names, Origin: n.Origin,
		Restore: n.Restore}
}

type plainNext Next

// MarshalJSON writes it, with the part that this release does not know.
func (n Next) MarshalJSON() ([]byte, error) { return join(plainNext(n), n.rest) }

// UnmarshalJSON reads one that is whole: by the time that it is read, its volumes may hold the only copy of the data.
func (n *Next) UnmarshalJSON(data []byte) error {
	if isNull(data) {
		return nil
	}
	kept, err := split(data, (*plainNext)(n))
	if err == nil {
		err = n.check()
	}
	if err != nil {
		return fmt.Errorf("the next incarnation: %w", err)
	}
	n.rest = kept
	return nil
}

func (n Next) check() error {
	isWhole := n.Incarnation != "" && n.Token != "" && n.Restore != "" && len(n.Names) > 0
	switch {
	case !isWhole || n.Counter < 0 || n.Bump < 0:
		return errors.New("it lacks its name, token, members or restore")
	case !slices.Contains([]Source{SourceBackup, SourceSurvivor, SourceEmpty}, n.Source):
		return fmt.Errorf("this release does not know the source %q", n.Source)
	case (n.Source == SourceSurvivor) != (n.Survivor != ""):
		return errors.New("its source is a survivor and it does not say which, or the other way round")
	}
	return n.Origin.fits(n.Source)
}

// Former is an incarnation that a restore ended. The one after it in a record followed it.
type Former struct {
	Incarnation string `json:"incarnation"`
	Restore     string `json:"restore,omitempty"` // the request that it came of; empty when it began with the cluster
	// the members that had a vote when it ended; nil when that was not known
	Voters []string `json:"voters,omitempty"`
	// the request that went back from it to the incarnation before it; empty when another one followed it
	Back string `json:"back,omitempty"`

	rest rest
}

type plainFormer Former

// MarshalJSON writes it, with the part that this release does not know.
func (f Former) MarshalJSON() ([]byte, error) { return join(plainFormer(f), f.rest) }

// UnmarshalJSON reads one that has a name.
func (f *Former) UnmarshalJSON(data []byte) error {
	kept, err := split(data, (*plainFormer)(f))
	if err == nil && f.Incarnation == "" {
		err = errors.New("it lacks its name")
	}
	if err != nil {
		return fmt.Errorf("a former incarnation: %w", err)
	}
	f.rest = kept
	return nil
}
