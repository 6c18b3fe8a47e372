package record

import (
	"errors"
	"fmt"
	"math"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Member is what stands beside a member's data, on the volume or on the Pod whose emptyDir it is: which member lives
// there. It is written once that very member answered.
type Member struct {
	ClusterID etcdutil.ID      `json:"clusterID"`
	MemberID  etcdutil.ID      `json:"memberID"`
	Version   etcdutil.Version `json:"version"` // of the etcd that last answered on the data

	// ClusterVersion is the minor that the members of the cluster had agreed on then, as 3.6.0. It is zero where it was
	// not asked for, and where an older release wrote the record.
	ClusterVersion etcdutil.Version `json:"clusterVersion,omitzero"`
	// ClusterVersionAt is raft's index when the member first said so. Of two members the one with the higher index
	// knows better. It is zero where an older release wrote the record.
	ClusterVersionAt uint64 `json:"clusterVersionAt,omitempty"`

	// VolumeUID is the UID of the PVC on which that was. It differs from the UID of a PVC that was created anew with
	// the annotations of an old one. It is empty for data in a Pod, and where an older release wrote the record.
	VolumeUID string `json:"volumeUID,omitempty"`

	// Backing is the PersistentVolume behind that PVC. A new PVC that is bound to the same one holds the same data.
	Backing string `json:"backing,omitempty"`

	// Began is the highest revision at which the member's incarnation may have begun, as the bootstrap record says,
	// which it outlives: at least that was served. Zero where no restore began it, or an older release wrote the
	// record.
	Began int64 `json:"began,omitempty"`

	// LogMark is what the member said when its log began to be covered; zero where nothing asked for that.
	LogMark LogMark `json:"logMark,omitzero"`

	form form
	rest rest
}

// LogMark is how far a member was in raft's log at some moment. It counts for as long as the Pods of all members are
// these: in one that was made anew an older etcd may have run since.
type LogMark struct {
	Pods      string `json:"pods"`      // their UIDs, in order, with commas between
	Snapshots uint64 `json:"snapshots"` // that its process had written
	Applied   uint64 `json:"applied"`   // the index of raft
}

// IsPassed reports whether a member that now says this wrote a snapshot since, and applied so many entries more.
func (m LogMark) IsPassed(snapshots, applied, entries uint64) bool {
	return snapshots > m.Snapshots && applied >= m.Applied+entries
}

// IsZero reports that nothing is recorded.
func (m Member) IsZero() bool { return m.MemberID == 0 }

// IsOf reports that the data is recorded as that of this very member.
func (m Member) IsOf(cluster, member etcdutil.ID) bool {
	return m.ClusterID == cluster && m.MemberID == member
}

// IsOn reports whether a PVC holds the data that the record speaks of: it is that PVC, or bound to the same
// PersistentVolume. Where an older release wrote the record, it is.
func (m Member) IsOn(volumeUID, backing string) bool {
	return m.VolumeUID == "" || m.VolumeUID == volumeUID || m.Backing != "" && m.Backing == backing
}

// Answered is the record after the member answered with this version. An empty UID says that nothing is known of its
// volume. What a newer release wrote about the same member stays.
func (m Member) Answered(cluster, member etcdutil.ID, version etcdutil.Version, volumeUID, backing string) Member {
	if !m.IsOf(cluster, member) {
		m = Member{ClusterID: cluster, MemberID: member}
	}
	if m.Version != version {
		m.LogMark = LogMark{} // of another process
	}
	m.Version = version
	if volumeUID != "" {
		m.VolumeUID, m.Backing = volumeUID, backing
	}
	return m
}

// InCluster is the record once the member said which version its cluster is of, at an index of raft. A version of zero
// says nothing. The index moves only where the version did, or another one was written down elsewhere since.
func (m Member) InCluster(version etcdutil.Version, applied, elsewhere uint64) Member {
	if !version.IsZero() && (version != m.ClusterVersion || m.ClusterVersionAt < elsewhere && elsewhere < applied) {
		m.ClusterVersion, m.ClusterVersionAt = version, applied
	}
	return m
}

type plainMember Member

// memberFields are the fields of a member record as they are written.
type memberFields struct {
	plainMember
	form
}

// MarshalJSON writes the record, with the part of it that this release does not know.
func (m Member) MarshalJSON() ([]byte, error) {
	return join(memberFields{plainMember: plainMember(m), form: m.form.raised()}, m.rest)
}

// UnmarshalJSON reads a record that is whole.
func (m *Member) UnmarshalJSON(data []byte) error {
	var in memberFields
	kept, err := split(data, &in)
	if err != nil {
		return err
	}
	*m = Member(in.plainMember)
	m.form, m.rest = in.form.newer(), kept
	if m.ClusterID == 0 || m.MemberID == 0 || m.Version.IsZero() {
		return errors.New("cluster, member or version is missing")
	}
	return nil
}

// Encode writes the record.
func (m Member) Encode() string { return JSON(m) }

// DecodeMember reads a member's record; no text is no record. One that cannot be read is an error: it must never be
// taken for a volume on which no member lives.
func DecodeMember(text string) (Member, error) {
	var m Member
	if text == "" {
		return m, nil
	}
	if err := decode(text, &m); err != nil {
		return Member{}, fmt.Errorf("reading a member's record: %w", err)
	}
	return m, nil
}

// A client that watches asks for what comes after the last revision that it was served. Of a member whose revision is
// lower it hears nothing until that member gets there: no events, and no "compacted". So each incarnation begins above
// every revision that the cluster has served, with all below compacted.

const (
	// DefaultBump is by how much a restore raises revisions, where that is enough.
	DefaultBump int64 = 1_000_000_000
	// LastRevision is the highest that anything is restored to. Above it a sum of revisions could overflow.
	LastRevision int64 = math.MaxInt64 / 2
)

// BeganAt is the highest revision at which this incarnation may have begun. Nothing before it was served a higher one.
// An older release wrote down neither, and its restores raised revisions by the default where nothing asked for more.
func (b Bootstrap) BeganAt() int64 {
	if b.Origin.IsZero() {
		return b.Served
	}
	return max(b.Served, b.Origin.Revision+DefaultBump)
}

// BeginsAt is the lowest revision at which the next incarnation may begin. A survivor that did not answer holds at
// least what this incarnation began with. An empty one begins at 1; for it this only says how far revisions had come.
func (b Bootstrap) BeginsAt(n Next) int64 {
	if n.isOfUnheard() {
		return b.BeganAt() + n.Bump
	}
	return n.Origin.Revision + n.Bump
}

// servedBy is the highest revision that was served, or is begun with, once the next incarnation is the current one.
func (b Bootstrap) servedBy(n Next) int64 {
	begins := b.BeginsAt(n)
	if n.isOfUnheard() {
		begins += DefaultBump // which it may have written since
	}
	return max(b.Served, begins)
}

// isOfUnheard reports a survivor that did not say which revision it holds.
func (n Next) isOfUnheard() bool { return n.Source == SourceSurvivor && n.Origin.Revision == 0 }
