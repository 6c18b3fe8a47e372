package fake

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

func (c *conn) Status(ctx context.Context) (client.Status, error) {
	return answer(ctx, c, "Status", func(p *Process) (client.Status, error) {
		g, state := c.network.group(p.cluster), p.state()
		me, _ := state.find(p.id)
		s := client.Status{
			ClusterID: p.cluster, MemberID: p.id, Version: p.flags.Version.String(),
			StorageVersion: c.network.storageVersion(p),
			Downgrade:      versionText(state.downgrade),
			RaftTerm:       g.term, RaftIndex: p.dir.applied(), RaftAppliedIndex: p.dir.applied(),
			Revision: state.revision, DBSize: 24576, DBSizeInUse: 16384, Learner: me.Learner,
		}
		if g.leader == nil || p.cut {
			s.Errors = []string{"etcdserver: no leader"}
		} else {
			s.Leader = g.leader.id
		}
		for a := range g.alarms {
			s.Errors = append(s.Errors, fmt.Sprintf("memberID:%d alarm:%s ", uint64(a.member), a.name))
		}
		return s, nil
	})
}

func (c *conn) MemberList(ctx context.Context) (client.MemberList, error) {
	return answer(ctx, c, "MemberList", func(p *Process) (client.MemberList, error) {
		if err := c.network.readable(p); err != nil {
			return client.MemberList{}, err
		}
		return client.MemberList{ClusterID: p.cluster, Members: p.state().members}, nil
	})
}

// MemberListSerializable needs no quorum. A learner refuses it all the same (…/v3rpc/util.go isRPCSupportedForLearner).
func (c *conn) MemberListSerializable(ctx context.Context) (client.MemberList, error) {
	return answer(ctx, c, "MemberListSerializable", func(p *Process) (client.MemberList, error) {
		if p.learner() {
			return client.MemberList{}, client.ErrLearnerRefuses
		}
		return client.MemberList{ClusterID: p.cluster, Members: p.state().members}, nil
	})
}

func (c *conn) ReadLinearizable(ctx context.Context) error {
	return do(ctx, c, "ReadLinearizable", c.network.readable)
}

func (c *conn) AddLearner(ctx context.Context, peerURL string) (etcdutil.Member, error) {
	return answer(ctx, c, "AddLearner", func(p *Process) (etcdutil.Member, error) {
		return c.network.addLearner(p, peerURL)
	})
}

func (c *conn) SetPeerURL(ctx context.Context, id etcdutil.ID, peerURL string) error {
	return do(ctx, c, "SetPeerURL", func(p *Process) error { return c.network.setPeerURL(p, id, peerURL) })
}

func (c *conn) Promote(ctx context.Context, id etcdutil.ID) error {
	return do(ctx, c, "Promote", func(p *Process) error { return c.network.promote(p, id) })
}

func (c *conn) Remove(ctx context.Context, id etcdutil.ID) error {
	return do(ctx, c, "Remove", func(p *Process) error { return c.network.remove(p, id) })
}

func (c *conn) MoveLeader(ctx context.Context, target etcdutil.ID) error {
	return do(ctx, c, "MoveLeader", func(p *Process) error { return c.network.moveLeader(p, target) })
}

// DisarmAlarm is a write of its own that changes no key; alarms are raised with Network.Raise.
func (c *conn) DisarmAlarm(ctx context.Context, member etcdutil.ID, alarm string) error {
	return do(ctx, c, "DisarmAlarm", func(p *Process) error {
		if err := c.network.readable(p); err != nil {
			return err
		}
		delete(c.network.group(p.cluster).alarms, raised{member, alarm})
		return nil
	})
}

func (c *conn) ClusterVersion(ctx context.Context) (string, error) {
	return answer(ctx, c, "ClusterVersion", func(p *Process) (string, error) {
		return versionText(p.state().version), nil
	})
}

func (c *conn) EnableDowngrade(ctx context.Context, minor etcdutil.Version) error {
	return do(ctx, c, "EnableDowngrade", func(p *Process) error { return c.network.enableDowngrade(p, minor) })
}

func (c *conn) CancelDowngrade(ctx context.Context) error {
	return do(ctx, c, "CancelDowngrade", c.network.cancelDowngrade)
}

func (c *conn) AppendEntry(ctx context.Context) error {
	return do(ctx, c, "AppendEntry", c.network.appendEntry)
}

func (c *conn) SnapshotsSaved(ctx context.Context) (uint64, error) {
	return answer(ctx, c, "SnapshotsSaved", func(p *Process) (uint64, error) { return p.snapshots, nil })
}

// HoldsKeys is true once anything was written: nothing is deleted here.
func (c *conn) HoldsKeys(ctx context.Context, revision int64) (bool, error) {
	return answer(ctx, c, "HoldsKeys", func(*Process) (bool, error) { return revision > 1, nil })
}

// Compact changes nothing of what the fake shows.
func (c *conn) Compact(ctx context.Context, _ int64) error {
	return do(ctx, c, "Compact", func(*Process) error { return nil })
}

func (c *conn) Compacted(ctx context.Context) (int64, error) {
	return answer(ctx, c, "Compacted", func(*Process) (int64, error) { return 0, nil })
}

func (c *conn) SizeInUse(ctx context.Context) (int64, error) {
	status, err := c.Status(ctx)
	return status.DBSizeInUse, err
}

func (c *conn) StreamsSnapshot(ctx context.Context) (bool, error) {
	return answer(ctx, c, "StreamsSnapshot", func(*Process) (bool, error) { return false, nil })
}

// Defragment changes nothing of what the fake shows.
func (c *conn) Defragment(ctx context.Context) error {
	return do(ctx, c, "Defragment", func(*Process) error { return nil })
}

func (c *conn) HashKV(ctx context.Context, revision int64) (client.Hash, error) {
	return answer(ctx, c, "HashKV", func(p *Process) (client.Hash, error) {
		state := p.state()
		switch {
		case p.learner():
			return client.Hash{}, client.ErrLearnerRefuses
		case revision > state.revision:
			return client.Hash{}, rpctypes.ErrFutureRev
		case revision == 0:
			revision = state.revision
		}
		return client.Hash{Hash: p.hash(revision), Revision: revision, CompactRevision: -1}, nil
	})
}

// hash stands for the contents up to a revision: equal histories give equal hashes.
func (p *Process) hash(revision int64) uint32 {
	var text strings.Builder
	seen := int64(1)
	for _, e := range p.dir.log {
		if e.kind == entryPut && seen < revision {
			seen++
			fmt.Fprintln(&text, e.unique)
		}
	}
	if p.dir.corrupt {
		text.WriteString("corrupt")
	}
	return crc32.ChecksumIEEE([]byte(text.String()))
}

func (p *Process) learner() bool {
	state := p.state()
	me, _ := state.find(p.id)
	return me.Learner
}

// versionText is what etcd says of a version, and nothing of none.
func versionText(v etcdutil.Version) string {
	if v.IsZero() {
		return ""
	}
	return v.String()
}

func (d *directory) applied() uint64 { return uint64(len(d.log) + d.unnamed) }
