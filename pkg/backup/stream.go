package backup

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
)

// Stage is what a step is doing, for progress.
type Stage string

// Stages in the order of a backup. A verification in between is a step of the cluster's own etcdutl.
const (
	StageConnecting Stage = "Connecting"
	StageStreaming  Stage = "Streaming"
	StageHashing    Stage = "Hashing"
	StageFetching   Stage = "Fetching"
	StageComparing  Stage = "Comparing"
)

// Progress is how far a step is, to be read while it runs. The zero value is ready for use.
type Progress struct {
	// OnStall is told why, when bytes stand still for too long. The step ends by itself then, except where it hangs in
	// the kernel: a write to a volume whose server is away hears of no context. Nil: nobody is told.
	OnStall func(error)

	stage        atomic.Value
	bytes, total atomic.Int64
}

// Report is a moment of a Progress.
type Report struct {
	Stage Stage `json:"stage"`
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total"` // 0 while unknown
}

// Now is the current state.
func (p *Progress) Now() Report {
	stage, _ := p.stage.Load().(Stage)
	return Report{Stage: stage, Bytes: p.bytes.Load(), Total: p.total.Load()}
}

func (p *Progress) enter(stage Stage, total int64) {
	p.bytes.Store(0)
	p.total.Store(total)
	p.stage.Store(stage)
}

// Transfer is how the bytes of a step are moved.
type Transfer struct {
	Bucket   *store.Bucket // nil where the store has no part in it
	Stall    time.Duration // how long bytes may stand still; 30 s by default
	Progress *Progress     // may be nil
}

const defaultStall = 30 * time.Second

func (t *Transfer) setDefaults() {
	if t.Stall <= 0 {
		t.Stall = defaultStall
	}
	if t.Progress == nil {
		t.Progress = &Progress{}
	}
}

// Whose turn it is while bytes move: who is to blame when they stop.
const (
	waitsForSource int32 = iota
	waitsForStore
)

// errStalled is why a context ended under bytes that stopped moving.
var errStalled = errors.New("no byte moved in time")

// pulse ends a context when no byte has moved for a while. etcd's stream can go on sending empty messages for ever when
// its reading side has ended early (etcd-io/etcd:server/etcdserver/api/v3rpc/maintenance.go Snapshot), so only bytes
// count.
type pulse struct {
	Transfer
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	turn   atomic.Int32
}

// start gives the context to move bytes under. The store, where there is one, is the first to move. stop it when done.
func (t Transfer) start(ctx context.Context, limit time.Duration) (context.Context, *pulse) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &pulse{Transfer: t, limit: limit, cancel: cancel}
	if t.Bucket != nil {
		p.expect(waitsForStore)
	}
	p.timer = time.AfterFunc(limit, p.stall)
	return ctx, p
}

func (p *pulse) stall() {
	p.cancel(errStalled)
	if p.Progress.OnStall != nil {
		p.Progress.OnStall(p.stalled())
	}
}

func (p *pulse) beat(n int) {
	if n > 0 {
		p.timer.Reset(p.limit)
		p.Progress.bytes.Add(int64(n))
	}
}

// expect says who must move next, and gives it the whole time.
func (p *pulse) expect(turn int32) { p.turn.Store(turn) }

// allow gives one act, which moves no bytes of its own, another limit.
func (p *pulse) allow(limit time.Duration) { p.timer.Reset(limit) }

func (p *pulse) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// blame turns an error of what ran under the pulse's context into the stall that caused it, if one did.
func (p *pulse) blame(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errStalled) {
		return err
	}
	return p.stalled()
}

// stalled says whose bytes stand still.
func (p *pulse) stalled() error {
	if p.turn.Load() == waitsForStore {
		if p.Bucket != nil && p.Bucket.AsksToSlowDown() {
			return fail(ReasonStoreThrottled, "the store asks to slow down, and took no byte for %s after %d bytes",
				p.limit, p.Progress.Now().Bytes)
		}
		return fail(ReasonStoreStalled, "the store took no byte for %s after %d bytes", p.limit, p.Progress.Now().Bytes)
	}
	return fail(ReasonStreamStalled, "no byte came for %s after %d of %d bytes", p.limit, p.Progress.Now().Bytes,
		p.Progress.Now().Total)
}

// sinks take the bytes of a snapshot: the local copy first, then the store.
type sinks struct {
	scratch, store io.Writer
	room           func(total int64) error // called once, when the size is known
}

// streamed is what came of a stream.
type streamed struct {
	size   int64
	sha256 string
}

func (m *member) ended(sum *seal, announced int64) (streamed, error) {
	if sum.size != announced {
		return streamed{}, fail(ReasonStreamDamaged, "the snapshot of member %s ended after %d of %d bytes", m.Name,
			sum.size, announced)
	}
	whole, err := sum.verify()
	return streamed{size: sum.size, sha256: whole}, err
}

// stream copies a member's snapshot into the sinks. It returns without an error only when all that was announced has
// come, nothing more has, and it ends with its own hash.
func (m *member) stream(ctx context.Context, p *pulse, to sinks) (streamed, error) {
	call, err := m.maintenance.Snapshot(ctx, &pb.SnapshotRequest{})
	if err != nil {
		return streamed{}, memberFailure(m, "taking the snapshot", err)
	}
	sum, announced := newSeal(), int64(-1)
	for {
		p.expect(waitsForSource)
		message, err := call.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return streamed{}, memberFailure(m, "taking the snapshot", err)
		}
		if announced < 0 {
			announced = int64(message.GetRemainingBytes()) + int64(len(message.GetBlob())) + trailerSize
			p.Progress.enter(StageStreaming, announced)
			if err := to.room(announced); err != nil {
				return streamed{}, err
			}
		}
		if err := p.pass(message.GetBlob(), sum, to); err != nil {
			return streamed{}, err
		}
		if sum.size > announced {
			return streamed{}, fail(ReasonStreamDamaged, "member %s sent more than the %d bytes it announced",
				m.Name, announced)
		}
	}
	return m.ended(sum, announced)
}

func (p *pulse) pass(piece []byte, sum *seal, to sinks) error {
	_, _ = sum.Write(piece)
	if _, err := to.scratch.Write(piece); err != nil {
		return scratchFailure("write the snapshot", err)
	}
	p.expect(waitsForStore)
	if _, err := to.store.Write(piece); err != nil {
		return fmt.Errorf("upload the snapshot: %w", err)
	}
	p.beat(len(piece))
	return nil
}

// etcd ends a snapshot with the SHA-256 of all before it. Pages are multiples of a sector, so the size tells whether it
// is there (etcd-io/etcd:etcdutl/snapshot/v3_snapshot.go hasChecksum).
const (
	trailerSize = sha256.Size
	sectorSize  = 512
)

// seal checks a snapshot while it goes by, in whatever pieces, and hashes it once for both sums: its own over the
// database, and ours over the whole object.
type seal struct {
	sum  hash.Hash // of what is certainly not the trailer
	held []byte    // the last bytes, at most trailerSize
	size int64
}

func newSeal() *seal { return &seal{sum: sha256.New(), held: make([]byte, 0, 2*trailerSize)} }

// Write never fails.
func (s *seal) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if len(p) >= trailerSize {
		s.sum.Write(s.held)
		cut := len(p) - trailerSize
		s.sum.Write(p[:cut])
		s.held = append(s.held[:0], p[cut:]...)
		return len(p), nil
	}
	s.held = append(s.held, p...)
	if surplus := len(s.held) - trailerSize; surplus > 0 {
		s.sum.Write(s.held[:surplus])
		s.held = append(s.held[:0], s.held[surplus:]...)
	}
	return len(p), nil
}

// verify says whether what went by ends with its own hash, and gives the SHA-256 of all of it, trailer included.
func (s *seal) verify() (whole string, err error) {
	if s.size%sectorSize != trailerSize {
		return "", fail(ReasonStreamDamaged, "the snapshot has %d bytes, which is not a database with its hash", s.size)
	}
	if subtle.ConstantTimeCompare(s.sum.Sum(nil), s.held) != 1 {
		return "", fail(ReasonStreamDamaged, "the snapshot of %d bytes does not have the hash it ends with", s.size)
	}
	s.sum.Write(s.held)
	return hex.EncodeToString(s.sum.Sum(nil)), nil
}
