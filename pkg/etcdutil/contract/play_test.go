package contract

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// patience is how long a scenario waits for what must come, on a machine that does much else.
const patience = 2 * time.Minute

// steady is how long a scenario looks at what must not change: longer than the five seconds that connections need to
// count, and than a leader needs to move the cluster version.
const steady = 7 * time.Second

// bootstrap bootstraps a cluster and waits until every member serves and knows the cluster version. No member can join
// before (etcd-io/etcd:server/etcdserver/cluster_util.go isCompatibleWithCluster).
func (p *play) startAll(names ...string) {
	p.Helper()
	p.bootstrap(names...)
	for _, name := range names {
		p.until(name+" knows the cluster version", func() bool { return p.clusterMinor(name) != "" })
	}
}

// bootstrap starts the first members of a cluster and waits until they serve.
func (p *play) bootstrap(names ...string) {
	p.Helper()
	for _, name := range names {
		p.start(fresh(name, names...))
	}
	p.serving(names...)
}

// restarting starts a member as the kubelet does: again whenever it has ended, until it serves.
func (p *play) restarting(l launch) {
	p.Helper()
	p.start(l)
	p.until(l.name+" serves", func() bool {
		if p.ended(l.name) {
			p.start(l)
		}
		_, err := p.dial(l.name).Status(p.Context())
		return err == nil
	})
}

// serving waits until each member answers, knows a leader, and is listed as started.
func (p *play) serving(names ...string) {
	p.Helper()
	for _, name := range names {
		p.until(name+" serves", func() bool {
			s, err := p.dial(name).Status(p.Context())
			return err == nil && s.Leader != 0
		})
	}
}

// until waits for a state of the world.
func (p *play) until(what string, so func() bool) {
	p.Helper()
	for begun := p.now(); p.now().Sub(begun) < patience; p.pass() {
		if so() {
			return
		}
	}
	p.Fatalf("it never came to this: %s", what)
}

// accepted repeats a call for as long as it may be answered otherwise later, and wants it accepted in the end.
func (p *play) accepted(call func() error) {
	p.Helper()
	p.eventually(nil, call)
}

// refused wants a call refused with an error. Answers that time alone changes are passed over, except the wanted one.
func (p *play) refused(want error, call func() error) {
	p.Helper()
	p.eventually(want, call)
}

func (p *play) eventually(want error, call func() error) {
	p.Helper()
	var err error
	for begun := p.now(); p.now().Sub(begun) < patience; p.pass() {
		err = call()
		if errors.Is(err, want) {
			return
		}
		if !client.IsRetryLater(err) {
			break
		}
	}
	p.Fatalf("the call answered %v, want %v", err, want)
}

// refusedNever wants a call accepted, and on the way there never this refusal, though time alone might end it.
func (p *play) refusedNever(unwanted error, call func() error) {
	p.Helper()
	p.accepted(func() error {
		err := call()
		if errors.Is(err, unwanted) {
			p.Fatalf("the call answered %v", err)
		}
		return err
	})
}

// stays wants a call refused with the error for longer than the five seconds that connections need to count.
func (p *play) stays(want error, call func() error) {
	p.Helper()
	for begun := p.now(); p.now().Sub(begun) < steady; p.pass() {
		if err := call(); !errors.Is(err, want) && !isUndecided(err) {
			p.Fatalf("the call answered %v, want %v", err, want)
		}
	}
	p.refused(want, call)
}

// isUndecided says that a call was not decided on: no answer came in time, or no member led.
func isUndecided(err error) bool {
	decisions := []error{client.ErrUnhealthy, client.ErrLearnerNotReady, client.ErrNotEnoughStarted}
	return client.IsRetryLater(err) && !slices.ContainsFunc(decisions, func(d error) bool { return errors.Is(err, d) })
}

func (p *play) status(name string) client.Status {
	p.Helper()
	var s client.Status
	p.accepted(func() (err error) {
		s, err = p.dial(name).Status(p.Context())
		return err
	})
	return s
}

func (p *play) id(name string) etcdutil.ID {
	p.Helper()
	return p.status(name).MemberID
}

// members lists the members linearizably, as asked of one of them.
func (p *play) members(asked string) []etcdutil.Member {
	p.Helper()
	var list client.MemberList
	p.accepted(func() (err error) {
		list, err = p.dial(asked).MemberList(p.Context())
		return err
	})
	return list.Members
}

// entry finds a member in the list by its peer URL, as the operator does.
func (p *play) entry(asked, name string) (etcdutil.Member, bool) {
	p.Helper()
	for _, m := range p.members(asked) {
		if slices.Contains(m.PeerURLs, p.peerURL(name)) {
			return m, true
		}
	}
	return etcdutil.Member{}, false
}

// leader names the member that leads, by the word of one that runs.
func (p *play) leader(running ...string) string {
	p.Helper()
	var found string
	p.until("one of the running members leads", func() bool {
		found = ""
		for _, name := range running {
			s, err := p.dial(name).Status(p.Context())
			if err == nil && s.Leader == s.MemberID {
				found = name
			}
		}
		return found != ""
	})
	return found
}

// followers are the running members apart from the leader.
func (p *play) followers(running ...string) []string {
	p.Helper()
	leader := p.leader(running...)
	return slices.DeleteFunc(slices.Clone(running), func(name string) bool { return name == leader })
}

// grow adds a learner, starts it, and waits until it serves. It returns the learner's ID.
func (p *play) grow(asked, name string, list ...string) etcdutil.ID {
	p.Helper()
	id := p.add(asked, name)
	p.start(joining(name, append(list, name)...))
	p.serving(name)
	p.until(name+" is listed as started", func() bool {
		m, _ := p.entry(asked, name)
		return m.Started()
	})
	return id
}

func (p *play) add(asked, name string) etcdutil.ID {
	p.Helper()
	var added etcdutil.Member
	p.accepted(func() (err error) {
		added, err = p.dial(asked).AddLearner(p.Context(), p.peerURL(name))
		return err
	})
	return added.ID
}

// The calls, as values that can be repeated.

func (p *play) adding(asked, name string) func() error {
	return func() error {
		_, err := p.dial(asked).AddLearner(p.Context(), p.peerURL(name))
		return err
	}
}

func (p *play) promoting(asked string, id etcdutil.ID) func() error {
	return func() error { return p.dial(asked).Promote(p.Context(), id) }
}

func (p *play) removing(asked string, id etcdutil.ID) func() error {
	return func() error { return p.dial(asked).Remove(p.Context(), id) }
}

func (p *play) moving(asked string, id etcdutil.ID) func() error {
	return func() error { return p.dial(asked).MoveLeader(p.Context(), id) }
}

func (p *play) reading(asked string) func() error {
	return func() error { return p.dial(asked).ReadLinearizable(p.Context()) }
}

func (p *play) writing(asked string) func() error {
	return func() error { return p.put(asked) }
}

func (p *play) unreachable(asked string) bool {
	_, err := p.dial(asked).Status(context.WithoutCancel(p.Context()))
	return client.IsUnreachable(err)
}

// hangs wants a call that nobody can answer any more.
func (p *play) hangs(call func() error) {
	p.Helper()
	p.until("nobody answers", func() bool { return client.IsRetryLater(call()) })
}
