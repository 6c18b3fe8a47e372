package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

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
	if sum.size != announced {
		return streamed{}, fail(ReasonStreamDamaged, "the snapshot of member %s ended after %d of %d bytes", m.Name,
			sum.size, announced)
	}
	whole, err := sum.verify()
	return streamed{size: sum.size, sha256: whole}, err
}

// pass hands one piece on.
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
