package resources

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Origins of a cluster: it began empty, with a backup, or with what one member of the life before had left.
const (
	OriginFresh    = "fresh"
	OriginBackup   = "backup"
	OriginSurvivor = "survivor"
)

// BackupOrigin is the backup that a cluster began with.
type BackupOrigin struct {
	Hash      string // of the source in the spec that it was found for
	Key       string
	SHA256    string
	SizeBytes int64
	Revision  int64
	Version   etcdutil.Version // of the etcd that wrote it

	AuthEnabled bool
	Alarms      string // names, with commas between them
}

// BirthRecord is one life of the cluster, written on the peer Service before anything else is made.
type BirthRecord struct {
	Incarnation string
	Counter     int
	Token       string // --initial-cluster-token; never used twice
	Names       []string
	ClusterID   etcdutil.ID // zero until the cluster answered
	Void        bool        // given up before anything could be stored in it
	Origin      string      // what its data came from
	Backup      *BackupOrigin

	Begun    bool              // Pods may have been made; every volume was there before
	Volumes  map[string]string // the UIDs of the first members' volumes, by member; empty when data is ephemeral
	Promised string            // the member that was last prepared to be added
	Next     int               // the lowest ordinal that was never given to a member

	Coming  *LifeRecord  // the life that is laid beside this one; nil when none is
	Past    []PastRecord // the lives that ended by a restore in place, the last one last
	Restore string       // whose wish this life is; empty when it began with the cluster
	Laid    int          // the highest counter that was ever given to a life that was laid
}

// MemberRecord says which member lives on a volume.
type MemberRecord struct {
	ClusterID, MemberID etcdutil.ID
	Version             etcdutil.Version // of the etcd that last answered on it
}

// birthJSON and memberJSON are the records as they are written. IDs are text in hex, as everywhere people see them;
// numbers of 64 bits do not survive every JSON tool. Unknown fields are passed over: a newer operator may have written.
type birthJSON struct {
	Incarnation string   `json:"incarnation"`
	Counter     int      `json:"counter"`
	Token       string   `json:"token"`
	Names       []string `json:"names"`
	ClusterID   string   `json:"clusterID,omitempty"`
	Void        bool     `json:"void,omitempty"`
	Origin      string   `json:"origin"`
	Backup      *backup  `json:"backup,omitempty"`

	Begun    bool              `json:"begun,omitempty"`
	Volumes  map[string]string `json:"volumes,omitempty"`
	Promised string            `json:"promised,omitempty"`
	Next     int               `json:"next,omitempty"`

	Coming  *lifeJSON    `json:"coming,omitempty"`
	Past    []PastRecord `json:"past,omitempty"`
	Restore string       `json:"restore,omitempty"`
	Laid    int          `json:"laid,omitempty"`
}

type backup struct {
	Hash      string `json:"hash"`
	Key       string `json:"key,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	SizeBytes int64  `json:"sizeBytes,omitempty"`
	Revision  int64  `json:"revision"`
	Version   string `json:"version"`

	AuthEnabled bool   `json:"authEnabled,omitempty"`
	Alarms      string `json:"alarms,omitempty"`
}

type memberJSON struct {
	ClusterID string `json:"clusterID"`
	MemberID  string `json:"memberID"`
	Version   string `json:"version"`
}

// EncodeBirth writes a birth record.
func EncodeBirth(r BirthRecord) string {
	out := birthJSON{
		Incarnation: r.Incarnation, Counter: r.Counter, Token: r.Token, Names: r.Names, Void: r.Void, Origin: r.Origin,
		Begun: r.Begun, Volumes: r.Volumes, Promised: r.Promised, Next: r.Next,
		Backup: encodeBackup(r.Backup), Coming: encodeLife(r.Coming), Past: r.Past, Restore: r.Restore, Laid: r.Laid,
	}
	if r.ClusterID != 0 {
		out.ClusterID = r.ClusterID.String()
	}
	return encode(out)
}

// DecodeBirth reads a birth record. One that lacks anything a birth needs, or holds what no operator writes, is an error
// and never an empty record.
func DecodeBirth(text string) (BirthRecord, error) {
	var in birthJSON
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return BirthRecord{}, fmt.Errorf("reading the birth record: %w", err)
	}
	switch {
	case in.Incarnation == "" || in.Token == "" || in.Origin == "" || in.Counter < 0 || in.Next < 0 || in.Laid < 0:
		return BirthRecord{}, errors.New("reading the birth record: incarnation, counter, token or origin is missing")
	case len(in.Names) == 0:
		return BirthRecord{}, errors.New("reading the birth record: it names no member")
	}
	r := BirthRecord{
		Incarnation: in.Incarnation, Counter: in.Counter, Token: in.Token, Names: in.Names, Void: in.Void, Origin: in.Origin,
		Begun: in.Begun, Volumes: in.Volumes, Promised: in.Promised, Next: in.Next,
		Past: in.Past, Restore: in.Restore, Laid: in.Laid,
	}
	var backupErr, comingErr, idErr error
	r.Backup, backupErr = in.Backup.decode(in.Origin)
	r.Coming, comingErr = in.Coming.decode()
	if in.ClusterID != "" {
		r.ClusterID, idErr = decodeID(in.ClusterID)
	}
	if err := errors.Join(backupErr, comingErr, checkPast(in.Past), idErr); err != nil {
		return BirthRecord{}, fmt.Errorf("reading the birth record: %w", err)
	}
	return r, nil
}

func encodeBackup(b *BackupOrigin) *backup {
	if b == nil {
		return nil
	}
	return &backup{Hash: b.Hash, Key: b.Key, SHA256: b.SHA256, SizeBytes: b.SizeBytes, Revision: b.Revision, Version: b.Version.String(),
		AuthEnabled: b.AuthEnabled, Alarms: b.Alarms}
}

// decode is what the record says of the data that the cluster began with. One that begins with data and does not say which
// must never be taken for one that begins empty.
func (b *backup) decode(origin string) (*BackupOrigin, error) {
	hasData := origin == OriginBackup || origin == OriginSurvivor
	switch {
	case hasData != (b != nil):
		return nil, fmt.Errorf("its origin is %q, and whether there is a backup says otherwise", origin)
	case b == nil:
		return nil, nil
	case b.Hash == "" || origin == OriginBackup && (b.Key == "" || b.SHA256 == ""):
		return nil, errors.New("the backup that it began with lacks its hash, key or sum")
	}
	version, err := etcdutil.ParseVersion(b.Version)
	if err != nil {
		return nil, fmt.Errorf("the backup that it began with: %w", err)
	}
	return &BackupOrigin{Hash: b.Hash, Key: b.Key, SHA256: b.SHA256, SizeBytes: b.SizeBytes, Revision: b.Revision, Version: version,
		AuthEnabled: b.AuthEnabled, Alarms: b.Alarms}, nil
}

// EncodeMember writes a member's record.
func EncodeMember(r MemberRecord) string {
	return encode(memberJSON{ClusterID: r.ClusterID.String(), MemberID: r.MemberID.String(), Version: r.Version.String()})
}

// DecodeMember reads a member's record; no text is no record. One that cannot be read is an error: it must never be taken
// for a volume on which no member lives.
func DecodeMember(text string) (MemberRecord, error) {
	if text == "" {
		return MemberRecord{}, nil
	}
	var in memberJSON
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return MemberRecord{}, fmt.Errorf("reading a member's record: %w", err)
	}
	cluster, clusterErr := decodeID(in.ClusterID)
	member, memberErr := decodeID(in.MemberID)
	version, versionErr := etcdutil.ParseVersion(in.Version)
	if err := errors.Join(clusterErr, memberErr, versionErr); err != nil {
		return MemberRecord{}, fmt.Errorf("reading a member's record: %w", err)
	}
	return MemberRecord{ClusterID: cluster, MemberID: member, Version: version}, nil
}

func decodeID(text string) (etcdutil.ID, error) {
	id, err := etcdutil.ParseID(text)
	if err == nil && id == 0 {
		err = errors.New("an etcd ID is never zero")
	}
	return id, err
}

// encode writes plain structs of text, numbers and lists, which cannot fail.
func encode(record any) string {
	text, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", record, err))
	}
	return string(text)
}
