package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// carryOutInEtcd has one case per change that a member carries out.
func (s step) carryOutInEtcd(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.AddLearner:
		return s.addLearner(ctx, c)
	case changes.SetPeerScheme:
		return s.setPeerScheme(ctx, c)
	case changes.Promote:
		return s.promote(ctx, c)
	case changes.MoveLeader:
		return s.moveLeader(ctx, c)
	case changes.DisarmAlarms:
		return s.disarmAlarms(ctx, c)
	case changes.AppendEntries:
		return s.coverLog(ctx, c)
	case changes.Compact:
		return s.askLeader(ctx, "compacting the history", func(ctx context.Context, leader client.Client) error {
			return leader.Compact(ctx, c.Revision)
		})
	case changes.EnableDowngrade:
		return s.askLeader(ctx, "enabling a downgrade", func(ctx context.Context, leader client.Client) error {
			return leader.EnableDowngrade(ctx, c.Minor)
		})
	case changes.CancelDowngrade:
		return s.askLeader(ctx, "cancelling a downgrade", func(ctx context.Context, leader client.Client) error {
			return leader.CancelDowngrade(ctx)
		})
	case changes.RemoveMember:
		return s.removeMember(ctx, c)
	case changes.MakeUsers:
		return s.askLeader(ctx, "making users", s.makeUsers)
	case changes.EnableAuth:
		return s.enableAuth(ctx)
	case changes.DisableAuth:
		return s.askLeader(ctx, "turning authentication off", func(ctx context.Context, leader client.Client) error {
			return leader.DisableAuthentication(ctx)
		})
	default:
		return fmt.Errorf("carrying out %s: no member does that", changes.KindOf(change))
	}
}

// addLearner adds a learner to the list. Whether an unanswered call took effect, the next look shows by the peer URL.
func (s step) addLearner(ctx context.Context, c changes.AddLearner) error {
	err := s.changeList(ctx, func(ctx context.Context, voter client.Client) error {
		_, err := voter.AddLearner(ctx, resources.PeerURLOf(s.cluster, c.Name, c.Transport))
		return err
	})
	if client.IsAlreadyAdded(err) {
		return nil
	}
	return etcdError(err, "adding learner "+c.Name)
}

// setPeerScheme has the list say by which scheme peers dial a member.
func (s step) setPeerScheme(ctx context.Context, c changes.SetPeerScheme) error {
	url := etcdutil.PeerURL(c.Scheme, c.Name, s.cluster.Name, s.cluster.Namespace)
	err := s.askLeader(ctx, "changing the peer URL of "+c.Name, func(ctx context.Context, leader client.Client) error {
		return leader.SetPeerURL(ctx, c.ID, url)
	})
	if errors.Is(err, client.ErrMemberNotFound) {
		return ErrStale
	}
	return err
}

// promote makes a learner a voter.
func (s step) promote(ctx context.Context, c changes.Promote) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	err = s.whileLeading(ctx, func(ctx context.Context) error { return leader.Promote(ctx, c.ID) })
	switch {
	case errors.Is(err, client.ErrMemberNotLearner):
		return nil
	case errors.Is(err, client.ErrMemberNotFound):
		return ErrStale
	}
	return etcdError(err, "promoting learner "+c.Name)
}

// moveLeader asks the leader itself: no other member can hand it over.
func (s step) moveLeader(ctx context.Context, c changes.MoveLeader) error {
	from, ok := s.view.Clients[c.From]
	if !ok {
		return Later{Reason: LaterNoLeader, Message: fmt.Sprintf("the leader %s did not answer", c.From)}
	}
	err := s.whileLeading(ctx, func(ctx context.Context) error { return from.MoveLeader(ctx, c.ToID) })
	if errors.Is(err, client.ErrNotLeader) || errors.Is(err, client.ErrBadLeaderTransferee) {
		return ErrStale
	}
	return etcdError(err, fmt.Sprintf("moving leadership from %s to %s", c.From, c.To))
}

// removeMember takes a member out of the list, for good: its ID never comes back.
func (s step) removeMember(ctx context.Context, c changes.RemoveMember) error {
	if _, err := s.leader(); err != nil {
		return err
	}
	if err := s.breakPromise(ctx, c.Name); err != nil {
		return err
	}
	err := s.changeList(ctx, func(ctx context.Context, voter client.Client) error { return voter.Remove(ctx, c.ID) })
	if err != nil && !errors.Is(err, client.ErrMemberNotFound) {
		return etcdError(err, "removing member "+c.Name)
	}
	return s.uncount(ctx, c.Name)
}

// uncount takes the Pod of a member that was removed out of the budget at once. It is ready for a moment yet, and no
// other one may be evicted for that.
func (s step) uncount(ctx context.Context, member string) error {
	r := s.view.Current.Find(member)
	if r.Pod == nil || r.Pod.Role == "" {
		return nil
	}
	err := s.labelRole(ctx, changes.LabelRole{Pod: r.PodRef()})
	if errors.Is(err, ErrStale) {
		return nil // it is gone
	}
	return err
}

// disarmAlarms takes alarms back one by one, by the members that they were raised for, who may be gone.
func (s step) disarmAlarms(ctx context.Context, c changes.DisarmAlarms) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	for _, alarm := range c.Alarms {
		err := s.whileLeading(ctx, func(ctx context.Context) error {
			return leader.DisarmAlarm(ctx, alarm.Member, alarm.Name)
		})
		if err != nil {
			return etcdError(err, "disarming the alarm "+alarm.Name)
		}
	}
	return nil
}

// changeList has the leader change the list and, where that one calls the cluster unhealthy, another voter. Each judges
// by its own connections. A member takes a peer that is back for gone, for as long as both run, when a message from
// before fails after they have connected: nothing marks the peer again
// (etcd-io/etcd:server/etcdserver/api/rafthttp/pipeline.go handle, stream.go run). What a member refuses so has had no
// effect; what another one allows goes to the leader's log.
func (s step) changeList(ctx context.Context, ask func(context.Context, client.Client) error) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	askOne := func(voter client.Client) error {
		return s.whileLeading(ctx, func(ctx context.Context) error { return ask(ctx, voter) })
	}
	err = askOne(leader)
	for _, r := range s.view.Current.Voters() {
		voter, answers := s.view.Clients[r.Name]
		if errors.Is(err, client.ErrUnhealthy) && answers && voter != leader {
			err = askOne(voter)
		}
	}
	return err
}

// askLeader has the leader do something. Whether an unanswered call took effect, the next look shows.
func (s step) askLeader(ctx context.Context, what string,
	ask func(context.Context, client.Client) error) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	return etcdError(s.whileLeading(ctx, func(ctx context.Context) error { return ask(ctx, leader) }), what)
}

// whileLeading makes a call that changes etcd, which ends when the Lease does at the latest.
func (s step) whileLeading(ctx context.Context, call func(context.Context) error) error {
	if err := s.stillClaimed(ctx); err != nil {
		return err
	}
	if s.Leads == nil {
		return call(ctx)
	}
	until, err := s.Leads(ctx)
	if err != nil {
		return Later{Reason: LaterNotLeading, Message: "etcd is not changed: " + words.Bounded(err.Error())}
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return call(ctx)
}

// leader is the client of the leader. What etcd allows depends on whom it is asked: the leader sees best who is
// connected.
func (s step) leader() (client.Client, error) {
	for _, replica := range s.view.Current.Members {
		isLeader := replica.Member != nil && replica.Member.ID == s.view.Current.Membership.Leader
		if leader, ok := s.view.Clients[replica.Name]; ok && isLeader {
			return leader, nil
		}
	}
	return nil, Later{Reason: LaterNoLeader, Message: "no leader answered"}
}

// How fast raft's log grows meanwhile: 370 entries a second. What clients write is part of that, so a busy cluster gets
// few entries more. Several at once share a write to disk.
const (
	entryBeat      = 100 * time.Millisecond
	entriesPerBeat = 37
	entriesAtOnce  = 8
)

// coverLog adds entries until the leader has applied as many as the change names. Clients' own writes count.
func (s step) coverLog(ctx context.Context, c changes.AppendEntries) error {
	leader, err := s.leader()
	if err != nil {
		return err
	}
	return s.whileLeading(ctx, func(ctx context.Context) error {
		if c.Until == 0 {
			return etcdError(leader.AppendEntry(ctx), "adding an entry to raft's log")
		}
		status, err := leader.Status(ctx)
		if err != nil {
			return etcdError(err, "asking how far raft's log is")
		}
		return growLog(ctx, leader, status.RaftAppliedIndex, c.Until)
	})
}

// growLog adds to each beat what clients left of it, until the leader has applied as many entries.
func growLog(ctx context.Context, leader client.Client, applied, until uint64) error {
	beat := time.NewTicker(entryBeat)
	defer beat.Stop()
	for added := uint64(0); applied < until; {
		counted := applied + added
		select {
		case <-ctx.Done():
			return etcdError(ctx.Err(), "adding entries to raft's log")
		case <-beat.C:
		}
		status, err := leader.Status(ctx)
		if err != nil {
			return etcdError(err, "asking how far raft's log is")
		}
		applied = status.RaftAppliedIndex
		byClients := min(entriesPerBeat, max(applied, counted)-counted)
		added = min(entriesPerBeat-byClients, max(applied, until)-applied)
		if err := addEntries(ctx, leader, added); err != nil {
			return etcdError(err, "adding entries to raft's log")
		}
	}
	return nil
}

// addEntries stops at the first one that is refused. The next pass goes on from what was applied.
func addEntries(ctx context.Context, leader client.Client, entries uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(entriesAtOnce)
	for range entries {
		group.Go(func() error { return leader.AppendEntry(ctx) })
	}
	return group.Wait()
}
