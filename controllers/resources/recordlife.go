package resources

import (
	"errors"
	"fmt"
	"slices"
)

// Sources of a life that is laid beside the one that serves.
const (
	LifeFromBackup   = "Backup"
	LifeFromSurvivor = "Survivor"
	LifeFromNothing  = "Empty"
)

// LifeRecord is a life of the cluster that is laid beside the one that serves, to take its place.
type LifeRecord struct {
	Incarnation string
	Counter     int
	Token       string
	Names       []string
	Source      string        // LifeFromBackup, LifeFromSurvivor or LifeFromNothing
	Survivor    string        // of LifeFromSurvivor: the member whose data it is
	Backup      *BackupOrigin // nil for LifeFromNothing; without key and sum for LifeFromSurvivor
	Bump        int64         // by how much revisions are raised
	Restore     string        // whose wish it is
}

// PastRecord is a life that was followed by another one.
type PastRecord struct {
	Incarnation string   `json:"incarnation"`
	Restore     string   `json:"restore,omitempty"` // whose wish it was
	Voters      []string `json:"voters,omitempty"`  // nil when nobody could say
}

type lifeJSON struct {
	Incarnation string   `json:"incarnation"`
	Counter     int      `json:"counter"`
	Token       string   `json:"token"`
	Names       []string `json:"names"`
	Source      string   `json:"source"`
	Survivor    string   `json:"survivor,omitempty"`
	Origin      *backup  `json:"origin,omitempty"`
	Bump        int64    `json:"bump"`
	Restore     string   `json:"restore"`
}

// OriginOf is the origin of a cluster whose life came of such a source.
func OriginOf(source string) string {
	switch source {
	case LifeFromBackup:
		return OriginBackup
	case LifeFromSurvivor:
		return OriginSurvivor
	}
	return OriginFresh
}

func encodeLife(l *LifeRecord) *lifeJSON {
	if l == nil {
		return nil
	}
	return &lifeJSON{
		Incarnation: l.Incarnation, Counter: l.Counter, Token: l.Token, Names: l.Names, Source: l.Source, Survivor: l.Survivor,
		Origin: encodeBackup(l.Backup), Bump: l.Bump, Restore: l.Restore,
	}
}

// decode reads the life that is laid. What lacks anything is an error: volumes of it may hold the only copy by the time that
// somebody reads this.
func (l *lifeJSON) decode() (*LifeRecord, error) {
	if l == nil {
		return nil, nil
	}
	isWhole := l.Incarnation != "" && l.Token != "" && l.Restore != "" && len(l.Names) > 0
	switch {
	case !isWhole || l.Counter < 0 || l.Bump < 0:
		return nil, errors.New("the life that is laid lacks its incarnation, token, members or restore")
	case !slices.Contains([]string{LifeFromBackup, LifeFromSurvivor, LifeFromNothing}, l.Source):
		return nil, fmt.Errorf("nobody knows what the source %q of the life that is laid is", l.Source)
	case (l.Source == LifeFromSurvivor) != (l.Survivor != ""):
		return nil, errors.New("the life that is laid is of a survivor and does not say whom, or the other way round")
	}
	origin, err := l.Origin.decode(OriginOf(l.Source))
	if err != nil {
		return nil, fmt.Errorf("the life that is laid: %w", err)
	}
	return &LifeRecord{
		Incarnation: l.Incarnation, Counter: l.Counter, Token: l.Token, Names: l.Names, Source: l.Source, Survivor: l.Survivor,
		Backup: origin, Bump: l.Bump, Restore: l.Restore,
	}, nil
}

func checkPast(past []PastRecord) error {
	for _, p := range past {
		if p.Incarnation == "" {
			return errors.New("a life that ended lacks its incarnation")
		}
	}
	return nil
}
