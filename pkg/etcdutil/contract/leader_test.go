package contract

import "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"

var leaderScenarios = []scenario{
	{"leadership moves when the leader itself is asked", func(p *play) {
		p.startAll("a", "b", "c")
		leader, target := p.leader("a", "b", "c"), p.followers("a", "b", "c")[0]
		p.accepted(p.moving(leader, p.id(target)))
		p.until(target+" leads", func() bool { return p.status(target).Leader == p.id(target) })
	}},
	{"a follower that is asked to move leadership says that it does not lead", func(p *play) {
		p.startAll("a", "b", "c")
		follower := p.followers("a", "b", "c")[0]
		p.refused(client.ErrNotLeader, p.moving(follower, p.id(follower)))
	}},
	{"leadership moved to where it is stays there", func(p *play) {
		p.startAll("a", "b", "c")
		leader := p.leader("a", "b", "c")
		p.accepted(p.moving(leader, p.id(leader)))
		if p.leader("a", "b", "c") != leader {
			p.Error("another leads now")
		}
	}},
	{"leadership does not move to a stranger or a learner", func(p *play) {
		p.startAll("a")
		learner := p.grow("a", "b", "a")
		p.refused(client.ErrBadLeaderTransferee, p.moving("a", 42))
		p.refused(client.ErrBadLeaderTransferee, p.moving("a", learner))
	}},
	{"leadership does not move to a dead voter, and stays", func(p *play) {
		p.startAll("a", "b", "c")
		leader, dead := p.leader("a", "b", "c"), p.followers("a", "b", "c")[0]
		id := p.id(dead)
		p.stop(dead)
		if err := p.moving(leader, id)(); !client.IsRetryLater(err) {
			p.Errorf("moving to the dead %s answered %v", dead, err)
		}
		if got, _ := p.others(dead); got != leader {
			p.Errorf("%s leads now, want %s", got, leader)
		}
	}},
	{"a leader that stops is followed by another, and its Status says so", func(p *play) {
		p.startAll("a", "b", "c")
		leader, rest := p.leader("a", "b", "c"), p.followers("a", "b", "c")
		term := p.status(rest[0]).RaftTerm
		p.stop(leader)
		p.leader(rest...)
		if got := p.status(rest[0]).RaftTerm; got <= term {
			p.Errorf("the term went from %d to %d", term, got)
		}
		p.accepted(p.writing(rest[0]))
	}},
}
