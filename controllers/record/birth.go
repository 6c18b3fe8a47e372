package record

import (
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Birth is the record of the current incarnation on the peer Service. It is written before anything else is made.
type Birth struct {
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
	// no revision above this was served before this incarnation; zero where no restore in place, or an older release,
	// began it
	Served int64 `json:"served,omitempty"`

	form form
	rest rest
}

// Exists reports that a record was read.
func (b Birth) Exists() bool { return b.Incarnation != "" }

// FirstOrdinal is the lowest ordinal of the current incarnation. Those below it are of former ones.
func (b Birth) FirstOrdinal(cluster string) int {
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

type plainBirth Birth

// birthFields are the fields of a birth record as they are written.
type birthFields struct {
	plainBirth
	OriginKind string `json:"origin"`
	form
}

// MarshalJSON writes the record, with the part of it that this release does not know.
func (b Birth) MarshalJSON() ([]byte, error) {
	kind := wroteFresh
	switch {
	case b.Origin.IsZero():
	case b.Origin.Key == "":
		kind = wroteSurvivor
	default:
		kind = wroteBackup
	}
	return join(birthFields{plainBirth: plainBirth(b), OriginKind: kind, form: b.form.raised()}, b.rest)
}

// UnmarshalJSON reads a record that is whole.
func (b *Birth) UnmarshalJSON(data []byte) error {
	var in birthFields
	kept, err := split(data, &in)
	if err != nil {
		return err
	}
	*b = Birth(in.plainBirth)
	b.form, b.rest = in.form.newer(), kept
	return b.check(in.OriginKind)
}

// check never lets a record pass that lacks anything a bootstrap needs. One that begins with data and does not say
// which must not be taken for one that begins empty.
func (b Birth) check(originKind string) error {
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
func (b Birth) Encode() string { return JSON(b) }

// DecodeBirth reads a birth record. One that cannot be read is an error, and never an empty record.
func DecodeBirth(text string) (Birth, error) {
	var b Birth
	if err := decode(text, &b); err != nil {
		return Birth{}, fmt.Errorf("reading the birth record: %w", err)
	}
	return b, nil
}
