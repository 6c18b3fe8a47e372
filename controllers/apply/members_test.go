package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

// running is an etcd of three that serves, in memory, and what is seen of it.
type running struct {
	*world
	network   *fake.Network
	processes []*fake.Process
	now       time.Time
}

func newRunning(t *testing.T) *running {
	t.Helper()
	r := &running{world: newWorld(t, demo()), now: now}
	r.network = fake.New(func() time.Time { return r.now })
	for _, name := range begin().Names {
		r.processes = append(r.processes, r.start(name, etcdutil.StateNew, initial(r.cluster, begin().Names...)))
	}
	r.now = r.now.Add(10 * time.Second) // members have been connected for long enough to change the membership
	return r
}

func (r *running) start(name, state string, list []etcdutil.NamedURL) *fake.Process {
	return r.network.Start(name, fake.Flags{
		Name: name, PeerURL: resources.PeerURL(r.cluster, name), ClientURL: resources.ClientURL(r.cluster, name),
		InitialCluster: etcdutil.InitialCluster(list), InitialClusterState: state, InitialClusterToken: begin().Token,
		Address: name,
	})
}

// look sees the member list and who answers, as the observer would.
func (r *running) look(t *testing.T) Seen {
	t.Helper()
	view := bootstrapped()
	view.Clients = map[string]client.Client{}
	for _, name := range []string{"demo-0", "demo-1", "demo-2", "demo-3"} {
		c, err := r.network.Dialer().Dial(client.Endpoint{Address: name})
		if err != nil {
			t.Fatal(err)
		}
		if status, err := c.Status(t.Context()); err == nil {
			view.Clients[name], view.Current.Membership.Leader = c, status.Leader
		}
	}
	for _, c := range view.Clients {
		if list, err := c.MemberList(t.Context()); err == nil {
			view.Current.Membership.Members = list.Members
		}
	}
	for _, m := range view.Current.Membership.Members {
		if name, ok := etcdutil.MemberFromPeerURL(m.PeerURLs[0], "demo", "prod"); ok {
			view.Current.Members = append(view.Current.Members, facts.Replica{Name: name, Member: &m})
		}
	}
	return view
}

func (r *running) member(t *testing.T, name string) *etcdutil.Member {
	t.Helper()
	for _, replica := range r.look(t).Current.Members {
		if replica.Name == name {
			return replica.Member
		}
	}
	return nil
}

func (r *running) leaderName(t *testing.T) string {
	t.Helper()
	view := r.look(t)
	for _, replica := range view.Current.Members {
		if replica.Member.ID == view.Current.Membership.Leader {
			return replica.Name
		}
	}
	return ""
}

// grown has a learner demo-3 that serves and has caught up.
func (r *running) grown(t *testing.T) etcdutil.ID {
	t.Helper()
	r.mustDo(t, r.look(t), changes.AddLearner{Name: "demo-3"})
	r.start("demo-3", etcdutil.StateExisting, initial(r.cluster, "demo-0", "demo-1", "demo-2", "demo-3"))
	return r.member(t, "demo-3").ID
}

func TestALearnerIsAddedOnceHoweverOftenItIsAsked(t *testing.T) {
	r := newRunning(t)
	for range 2 {
		r.mustDo(t, r.look(t), changes.AddLearner{Name: "demo-3"})
	}
	m := r.member(t, "demo-3")
	if m == nil || !m.Learner || !slices.Equal(m.PeerURLs, []string{"https://demo-3.demo-peers.prod.svc:2380"}) ||
		len(r.look(t).Current.Membership.Members) != 4 {
		t.Errorf("%+v", r.look(t).Current.Membership.Members)
	}
}

func TestTheSchemeByWhichPeersDialAMemberChangesOnceHoweverOftenItIsAsked(t *testing.T) {
	r := newRunning(t)
	id := r.member(t, "demo-1").ID
	for range 2 {
		r.mustDo(t, r.look(t), changes.SetPeerScheme{Name: "demo-1", ID: id, Scheme: "http"})
	}
	if m := r.member(t, "demo-1"); m.ID != id || !slices.Equal(m.PeerURLs, []string{"http://demo-1.demo-peers.prod.svc:2380"}) {
		t.Errorf("%+v", m)
	}
	err := r.do(t, r.look(t), changes.SetPeerScheme{Name: "demo-9", ID: 77, Scheme: "http"})
	if !errors.Is(err, ErrStale) {
		t.Errorf("of a member that is gone: %v", err)
	}
}

func TestALearnerIsPromotedOnceHoweverOftenItIsAsked(t *testing.T) {
	r := newRunning(t)
	id := r.grown(t)
	for range 2 {
		r.mustDo(t, r.look(t), changes.Promote{Name: "demo-3", ID: id})
	}
	if m := r.member(t, "demo-3"); m == nil || m.Learner {
		t.Errorf("%+v", m)
	}
}

func TestAMemberIsRemovedOnceHoweverOftenItIsAsked(t *testing.T) {
	r := newRunning(t)
	nextToLeave := "demo-0"
	if r.leaderName(t) == nextToLeave {
		nextToLeave = "demo-1"
	}
	id := r.member(t, nextToLeave).ID
	for range 2 {
		r.mustDo(t, r.look(t), changes.RemoveMember{Name: nextToLeave, ID: id})
	}
	if m := r.member(t, nextToLeave); m != nil || len(r.look(t).Current.Membership.Members) != 2 {
		t.Errorf("%+v", r.look(t).Current.Membership.Members)
	}
}

// Its Pod is ready for a moment yet. While the budget counted it, another one could be evicted in its place.
func TestAMemberThatWasRemovedCountsInNoBudget(t *testing.T) {
	r := newRunning(t)
	wholeCluster(t, r.world)
	leaves := map[bool]string{true: "demo-1", false: "demo-0"}[r.leaderName(t) == "demo-0"]
	pod := r.pod(t, leaves)
	r.mustDo(t, bootstrapped(), changes.LabelRole{Pod: ref(pod), Role: facts.RoleLeaving})
	view := r.look(t)
	for i := range view.Current.Members {
		if view.Current.Members[i].Name == leaves {
			view.Current.Members[i].Pod = &facts.Pod{UID: string(pod.UID), Role: facts.RoleLeaving}
		}
	}
	r.mustDo(t, view, changes.RemoveMember{Name: leaves, ID: r.member(t, leaves).ID})
	if role, isThere := r.pod(t, leaves).Labels[v1alpha1.LabelRole]; isThere {
		t.Errorf("%s is %q", leaves, role)
	}
	if r.member(t, leaves) != nil {
		t.Error("it is a member yet")
	}
}

func TestLeadershipIsMovedByTheLeaderItself(t *testing.T) {
	r := newRunning(t)
	from, to := r.leaderName(t), "demo-2"
	if from == to {
		to = "demo-1"
	}
	change := changes.MoveLeader{From: from, To: to, FromID: r.member(t, from).ID, ToID: r.member(t, to).ID}
	view := r.look(t)
	r.mustDo(t, view, change)
	if got := r.leaderName(t); got != to {
		t.Errorf("%s leads", got)
	}
	if err := r.do(t, r.look(t), change); !errors.Is(err, ErrStale) {
		t.Errorf("who leads no more was asked again: %v", err)
	}
	calls := r.network.Calls()
	for _, call := range calls {
		if call.Method == "MoveLeader" && call.Address != from {
			t.Errorf("%s was asked", call.Address)
		}
	}
}

func TestAnAlarmIsTakenBackByTheMemberThatItWasRaisedFor(t *testing.T) {
	r := newRunning(t)
	status, err := r.look(t).Clients["demo-0"].Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.network.Raise(status.ClusterID, 0x99, "NOSPACE")
	r.network.Raise(status.ClusterID, 0x98, "CORRUPT")
	for range 2 {
		r.mustDo(t, r.look(t), changes.DisarmAlarms{Alarms: []facts.Alarm{{Name: "NOSPACE", Member: 0x99}}})
	}
	for name, member := range r.look(t).Clients {
		if status, err := member.Status(t.Context()); err != nil || len(status.Errors) != 1 ||
			!strings.Contains(status.Errors[0], "alarm:CORRUPT") {
			t.Errorf("%s speaks of %v, %v", name, status.Errors, err)
		}
	}
}

func TestChangesOfTheMembershipAreAskedOfTheLeader(t *testing.T) {
	r := newRunning(t)
	leader := r.leaderName(t)
	r.grown(t)
	for _, call := range r.network.Calls() {
		if call.Method == "AddLearner" && call.Address != leader {
			t.Errorf("%s was asked, and %s leads", call.Address, leader)
		}
	}
	view := r.look(t)
	delete(view.Clients, leader)
	for _, change := range []changes.Change{changes.AddLearner{Name: "demo-4"}, changes.Promote{Name: "demo-3"},
		changes.RemoveMember{Name: "demo-3"}} {
		if err := r.do(t, view, change); !isLater(err, LaterNoLeader) {
			t.Errorf("%s with nobody to ask: %v", changes.KindOf(change), err)
		}
	}
	if err := r.do(t, view, changes.MoveLeader{From: leader}); !isLater(err, LaterNoLeader) {
		t.Errorf("MoveLeader with nobody to ask: %v", err)
	}
}

// TestALeaderThatTakesItsPeersForGoneKeepsNoMemberFromComingOrGoing has a leader that would refuse for as long as it
// runs, while the others see that all are there.
func TestALeaderThatTakesItsPeersForGoneKeepsNoMemberFromComingOrGoing(t *testing.T) {
	for name, change := range map[string]func(removed *etcdutil.Member) changes.Change{
		"a learner is added":  func(*etcdutil.Member) changes.Change { return changes.AddLearner{Name: "demo-3"} },
		"a member is removed": func(m *etcdutil.Member) changes.Change { return changes.RemoveMember{Name: "demo-2", ID: m.ID} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunning(t)
			removed := r.member(t, "demo-2")
			leader := r.network.Leader(r.processes[0].ClusterID())
			for _, p := range r.processes {
				if p != leader && (name == "a learner is added" || p.ID() != removed.ID) {
					leader.Forget(p)
				}
			}
			before := len(r.look(t).Current.Membership.Members)
			r.mustDo(t, r.look(t), change(removed))
			if after := len(r.look(t).Current.Membership.Members); after == before {
				t.Errorf("there are %d members still", after)
			}
		})
	}
}

func TestWhatEtcdRefusesForNowIsTriedLater(t *testing.T) {
	r := newRunning(t)
	r.grown(t)
	if err := r.do(t, r.look(t), changes.AddLearner{Name: "demo-4"}); !isLater(err, LaterNotReady) {
		t.Errorf("a second learner: %v", err)
	}
	id := r.member(t, "demo-3").ID
	if err := r.do(t, r.look(t), changes.Promote{Name: "demo-3", ID: id + 1}); !errors.Is(err, ErrStale) {
		t.Errorf("promoting who is not there: %v", err)
	}
}

// TestAnUnansweredCallIsUnknownAndMendedByLookingAgain loses the answer of each membership call, with and without
// effect.
func TestAnUnansweredCallIsUnknownAndMendedByLookingAgain(t *testing.T) {
	for _, after := range []bool{false, true} {
		for method, change := range map[string]func(*testing.T, *running) changes.Change{
			"AddLearner": func(*testing.T, *running) changes.Change { return changes.AddLearner{Name: "demo-3"} },
			"Promote": func(t *testing.T, r *running) changes.Change {
				return changes.Promote{Name: "demo-3",
					ID: r.grown(t)}
			},
			"Remove": func(t *testing.T, r *running) changes.Change {
				return changes.RemoveMember{Name: "demo-3", ID: r.grown(t)}
			},
		} {
			r := newRunning(t)
			change := change(t, r)
			r.network.Inject(fake.Fault{Method: method, Nth: 1, After: after})
			if err := r.do(t, r.look(t), change); !isLater(err, LaterUnknown) {
				t.Errorf("%s, after %v: %v", method, after, err)
			}
			if err := r.do(t, r.look(t), change); err != nil {
				t.Errorf("%s again, after %v: %v", method, after, err)
			}
		}
	}
}

// TestEtcdIsChangedOnlyByTheProcessThatLeads loses the Lease before each change, and before the second alarm of two.
func TestEtcdIsChangedOnlyByTheProcessThatLeads(t *testing.T) {
	lost := errors.New("another process holds it")
	for method, change := range map[string]func(*testing.T, *running) changes.Change{
		"AddLearner": func(*testing.T, *running) changes.Change { return changes.AddLearner{Name: "demo-3"} },
		"Promote": func(t *testing.T, r *running) changes.Change {
			return changes.Promote{Name: "demo-3",
				ID: r.grown(t)}
		},
		"Remove": func(t *testing.T, r *running) changes.Change {
			return changes.RemoveMember{Name: "demo-3", ID: r.grown(t)}
		},
		"MoveLeader": func(t *testing.T, r *running) changes.Change {
			from := r.leaderName(t)
			to := map[bool]string{true: "demo-2", false: "demo-1"}[from == "demo-1"]
			return changes.MoveLeader{From: from, To: to, FromID: r.member(t, from).ID, ToID: r.member(t, to).ID}
		},
		"DisarmAlarm": func(t *testing.T, r *running) changes.Change {
			return changes.DisarmAlarms{Alarms: []facts.Alarm{{Name: "NOSPACE", Member: 0x98},
				{Name: "NOSPACE", Member: 0x99}}}
		},
	} {
		r := newRunning(t)
		change := change(t, r)
		view, before := r.look(t), r.called(method)
		r.leads = func(context.Context) (time.Time, error) { return time.Time{}, lost }
		if err := r.do(t, view, change); !isLater(err, LaterNotLeading) {
			t.Errorf("%s: %v", method, err)
		}
		if r.called(method) != before {
			t.Errorf("%s was called by a process that does not lead", method)
		}
		r.leads = func(context.Context) (time.Time, error) {
			if r.called(method) > before {
				return time.Time{}, lost
			}
			return time.Now().Add(time.Minute), nil
		}
		err := r.do(t, view, change)
		if isAlarms := method == "DisarmAlarm"; isLater(err, LaterNotLeading) != isAlarms || r.called(method) != before+
			1 {
			t.Errorf("%s: %d calls: %v", method, r.called(method)-before, err)
		}
	}
}

func TestEtcdIsNotChangedOnceAnotherInstallTookTheClusterOver(t *testing.T) {
	r := newRunning(t)
	view, before := r.look(t), r.called("AddLearner")
	claim := func(install string) {
		service := resources.BuildPeerService(r.cluster, record.Bootstrap{}, install)
		if err := ctrlclient.IgnoreNotFound(r.inner.Delete(t.Context(), service.DeepCopy())); err != nil {
			t.Fatal(err)
		}
		r.put(t, service)
	}
	claim("another/etcd-steward")
	if err := r.do(t, view, changes.AddLearner{Name: "demo-3"}); !errors.Is(err, ErrStale) ||
		r.called("AddLearner") != before {
		t.Errorf("it was called %d times: %v", r.called("AddLearner")-before, err)
	}
	for _, claimed := range []string{operator, ""} {
		claim(claimed)
		if err := r.do(t, view, changes.AddLearner{Name: "demo-3"}); err != nil {
			t.Errorf("claimed by %q: %v", claimed, err)
		}
	}
	if r.called("AddLearner") == before {
		t.Error("etcd was never called")
	}
}

// called is how often etcd was called that way.
func (r *running) called(method string) (times int) {
	for _, call := range r.network.Calls() {
		if call.Method == method {
			times++
		}
	}
	return times
}
