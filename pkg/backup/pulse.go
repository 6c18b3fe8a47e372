package backup

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

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
