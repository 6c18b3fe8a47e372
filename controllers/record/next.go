package record

import (
	"errors"
	"fmt"
	"slices"
)

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

// Birth is the record that the incarnation begins with, once it is the current one. Its identity is not known yet.
func (n Next) Birth() Birth {
	return Birth{Incarnation: n.Incarnation, Counter: n.Counter, Token: n.Token, Names: n.Names, Origin: n.Origin,
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
