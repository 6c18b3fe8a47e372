package backup

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// ReasonQuorumHolds is of a member that was to be the only one left and is not.
const ReasonQuorumHolds Reason = "QuorumHolds"

// stagedSurvivor says what came of the stream: the steps after it know no more of it than the survivor's name.
const stagedSurvivor = "survivor.json"

// SurvivorOptions are for bringing what a member without quorum holds to another member's volume.
type SurvivorOptions struct {
	Transfer              // without a bucket
	Endpoint  Endpoint    // the member's name, and where it serves clients, if it does
	TLS       *tls.Config // nil: plain HTTP
	ClusterID etcdutil.ID // that must answer
	Database  string      // instead: the member's database file, whose process has ended
	Place     Place

	BumpRevision int64 // by how much etcdutl will raise the revision
}

// survivorKey is the key of an origin that is in no store.
func survivorKey(member string) string { return "survivor/" + member }

// RestoreSurvivor brings what a member holds to where etcdutl finds it. A member that runs is asked and never stopped:
// without quorum it goes on to give its snapshot, and once it is restarted it gives none. Where the data has been
// restored already, it stays, as with Lay.
func RestoreSurvivor(ctx context.Context, o SurvivorOptions) (Restored, error) {
	o.setDefaults()
	return withVolume(o.Place, func(volume *os.Root) (Restored, error) {
		origin, err := readSurvivor(volume, o.Place)
		if err != nil {
			return Restored{}, err
		}
		return o.Place.restore(volume, origin, survivorKey(o.Endpoint.Name), func() (Origin, error) {
			origin, err := o.restore(ctx, volume)
			if err != nil {
				return Origin{}, err
			}
			return origin, writeSurvivor(volume, o.Place, origin)
		})
	})
}

// ActivateSurvivor is Activate for what RestoreSurvivor has brought of that member.
func ActivateSurvivor(place Place, survivor string) (Activated, error) {
	origin, err := withVolume(place, func(volume *os.Root) (Origin, error) { return readSurvivor(volume, place) })
	if err != nil {
		return Activated{}, err
	}
	if origin.Key != survivorKey(survivor) {
		return Activated{}, fail(ReasonRestoreIncomplete,
			"nothing says that the data on the volume of member %s came from %s", place.Member, survivor)
	}
	return Activate(place, origin)
}

func (o *SurvivorOptions) restore(ctx context.Context, volume *os.Root) (Origin, error) {
	fetch := o.ask
	if o.Database != "" {
		fetch = o.read
	}
	sent, err := fetch(ctx, volume)
	if err != nil {
		return Origin{}, err
	}
	facts, err := Inspect(o.Place.onDisk(o.Place.staged(stagedSnapshot)))
	if err != nil {
		return Origin{}, fail(ReasonStreamDamaged, "read the snapshot of member %s: %w", o.Endpoint.Name, err)
	}
	origin := Origin{Key: survivorKey(o.Endpoint.Name), SHA256: sent.sha256, SizeBytes: sent.size,
		Revision: facts.Revision, BumpRevision: o.BumpRevision}
	return origin, origin.Check()
}

// ask takes the snapshot of a member that runs.
func (o *SurvivorOptions) ask(ctx context.Context, volume *os.Root) (streamed, error) {
	m, err := dialMember(o.Endpoint, o.TLS)
	if err != nil {
		return streamed{}, err
	}
	defer m.conn.Close()
	o.Progress.enter(StageConnecting, 0)
	if err := m.ask(ctx); err != nil {
		return streamed{}, err
	}
	if err := o.admit(m); err != nil {
		return streamed{}, err
	}
	return o.stream(ctx, m, volume)
}

// read makes a snapshot of the database of a member that has ended, and changes nothing there. A process that still
// runs holds the file's lock.
func (o *SurvivorOptions) read(_ context.Context, volume *os.Root) (streamed, error) {
	if _, err := Inspect(o.Database); err != nil {
		return streamed{}, fail(ReasonNoSource, "read the database of member %s: %w", o.Endpoint.Name, err)
	}
	from, err := os.Open(o.Database)
	if err != nil {
		return streamed{}, fail(ReasonNoSource, "open the database of member %s: %w", o.Endpoint.Name, err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return streamed{}, fail(ReasonNoSource, "look at the database of member %s: %w", o.Endpoint.Name, err)
	}
	if err := o.Place.checkRoom(info.Size() + trailerSize); err != nil {
		return streamed{}, err
	}
	to, err := o.Place.create(volume)
	if err != nil {
		return streamed{}, err
	}
	defer to.Close()
	o.Progress.enter(StageFetching, info.Size())
	content, whole := sha256.New(), sha256.New()
	size, err := io.CopyBuffer(io.MultiWriter(to, content, whole), from, make([]byte, 1<<20))
	if err != nil {
		return streamed{}, volumeFailure("copy the database of member "+o.Endpoint.Name, err)
	}
	trailer := content.Sum(nil)
	_, _ = whole.Write(trailer)
	if _, err = to.Write(trailer); err == nil {
		err = to.Close()
	}
	if err != nil {
		return streamed{}, volumeFailure("write the snapshot", err)
	}
	return streamed{size: size + trailerSize, sha256: hex.EncodeToString(whole.Sum(nil))}, nil
}

// admit says why a member that answered is not taken for the one that is left.
func (o *SurvivorOptions) admit(m *member) error {
	id := m.clusterID()
	switch {
	case id != o.ClusterID:
		return fail(ReasonForeignCluster, "member %s is of cluster %s, not of %s", m.Name, id, o.ClusterID)
	case m.status.GetLeader() != 0:
		return fail(ReasonQuorumHolds, "member %s has a leader: a quorum of the members answers, and writes go on",
			m.Name)
	case m.status.GetIsLearner():
		return fail(ReasonNoSource, "member %s is a learner, which may lack what the voters had agreed on", m.Name)
	case etcdutil.IsCalledCorrupt(m.alarms(), m.id()):
		return m.corrupt()
	}
	return nil
}

func (o *SurvivorOptions) stream(ctx context.Context, m *member, volume *os.Root) (streamed, error) {
	file, err := o.Place.create(volume)
	if err != nil {
		return streamed{}, err
	}
	defer file.Close()
	ctx, p := o.start(ctx, o.Stall)
	defer p.stop()
	sent, err := m.stream(ctx, p, sinks{scratch: file, store: io.Discard, room: o.Place.checkRoom})
	if err != nil {
		return streamed{}, p.blame(ctx, err)
	}
	if err := file.Close(); err != nil {
		return streamed{}, volumeFailure("write the snapshot", err)
	}
	return sent, nil
}

// readSurvivor reads what an earlier step wrote; the zero origin when none did.
func readSurvivor(volume *os.Root, place Place) (Origin, error) {
	text, err := readPlain(volume, place.staged(stagedSurvivor))
	if errors.Is(err, fs.ErrNotExist) {
		return Origin{}, nil
	}
	if err != nil {
		return Origin{}, volumeFailure("read what the survivor gave", err)
	}
	var origin Origin
	if err := json.Unmarshal(text, &origin); err != nil {
		return Origin{}, nil //nolint:nilerr // half of it was written: the stream is begun anew
	}
	return origin, nil
}

func writeSurvivor(volume *os.Root, place Place, origin Origin) error {
	if err := writeThrough(volume, place.staged(stagedSurvivor), encode(origin)); err != nil {
		return volumeFailure("write down what the survivor gave", err)
	}
	return nil
}
