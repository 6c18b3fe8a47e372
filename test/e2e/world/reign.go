package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/types"
)

// Reign is a time in which one member led.
type Reign struct {
	Leader string
	Term   uint64
	// Stayed reports that the leader before this one was still a member, in a Pod that nothing stopped, when this one was seen
	// first. Then members elected by themselves: a machine that is short of time lets heartbeats come late.
	Stayed bool
}

// Leadership is what a roll did with the lead.
type Leadership struct {
	Reigns    []Reign  // in their order; the first is the one before the roll
	HandOvers []string // the members that the operator moved the lead away from, in order
	Restarted []string // the members that the operator restarted, in order; none where successors take their place
}

// Check says what speaks against a roll of all members in which each leader handed over before it stopped, at most so often, and
// was restarted last. Each election that members held by themselves may cost one more hand-over.
func (l Leadership) Check(handOvers int) error {
	if len(l.Reigns) < 2 {
		return fmt.Errorf("no member was seen to take over the lead: %+v", l.Reigns)
	}
	unasked, asked := 0, slices.Clone(l.HandOvers)
	for i, reign := range l.Reigns[1:] {
		before := l.Reigns[i].Leader
		switch at := slices.Index(asked, before); {
		case at >= 0:
			asked = slices.Delete(asked, at, at+1)
		case reign.Stayed:
			unasked++
		default:
			return fmt.Errorf("%s led until it stopped, and did not hand over to %s", before, reign.Leader)
		}
	}
	if len(l.HandOvers) > handOvers+unasked {
		return fmt.Errorf("%d hand-overs, with %d elections that the operator did not ask for", len(l.HandOvers), unasked)
	}
	return l.checkLast(unasked)
}

// checkLast expects the last restart to be of the member that led at first. Where others elected meanwhile, it is of the last one
// that handed over.
func (l Leadership) checkLast(unasked int) error {
	if len(l.Restarted) == 0 {
		return nil
	}
	last, want := l.Restarted[len(l.Restarted)-1], l.Reigns[0].Leader
	if n := len(l.HandOvers); unasked > 0 && n > 0 {
		want = l.HandOvers[n-1]
	}
	if unasked > 0 && len(l.HandOvers) == 0 || last == want {
		return nil
	}
	return fmt.Errorf("%s led, and %s was restarted last", want, last)
}

// Leadership follows who leads from now on, until the returned function is called.
func (c *Cluster) Leadership() (ended func() Leadership) {
	ctx, cancel := context.WithCancel(context.Background())
	before, from := &throne{cluster: c}, len(c.History.Steps())
	var following sync.WaitGroup
	following.Go(func() { before.follow(ctx) })
	stop := func() { cancel(); following.Wait() }
	ginkgo.DeferCleanup(stop)
	return func() Leadership {
		stop()
		steps := c.History.Steps()[from:]
		l := Leadership{Reigns: before.reigns, Restarted: restarted(steps)}
		for _, step := range steps {
			if pair, ok := strings.CutPrefix(step.Message, "The operator moves leadership from "); ok {
				member, _, _ := strings.Cut(pair, " to ")
				l.HandOvers = append(l.HandOvers, member)
			}
		}
		ginkgo.AddReportEntry("who led", fmt.Sprintf("%+v", l))
		return l
	}
}

// throne remembers who was seen to lead, and in which Pod.
type throne struct {
	cluster *Cluster
	reigns  []Reign
	pod     types.UID // of the last one that was seen to lead
}

// glance is how often members are asked who leads. The operator takes three passes from a hand-over to the stop.
const glance = 100 * time.Millisecond

func (t *throne) follow(ctx context.Context) {
	for ticker := time.NewTicker(glance); ctx.Err() == nil; {
		if view, err := t.cluster.anyView(ctx); err == nil && view.Status.Leader != 0 {
			t.see(ctx, view)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ticker.Stop()
		}
	}
}

// see writes down a leader that was not seen before. Pods are read after it was seen: one that is stopping by then counts as stopped.
func (t *throne) see(ctx context.Context, view View) {
	n := len(t.reigns)
	if n > 0 && view.Status.RaftTerm <= t.reigns[n-1].Term {
		return
	}
	pods, err := t.cluster.Pods(ctx)
	if err != nil {
		return
	}
	running := map[string]types.UID{} // the Pods of members, none of which is stopping
	for _, m := range view.List.Members {
		for i := range pods {
			if pods[i].Name == m.Name {
				running[m.Name] = pods[i].UID
			}
		}
	}
	reign := Reign{Leader: leaderOf(view), Term: view.Status.RaftTerm}
	reign.Stayed = n > 0 && running[t.reigns[n-1].Leader] == t.pod
	if running[reign.Leader] != "" {
		t.reigns, t.pod = append(t.reigns, reign), running[reign.Leader]
	}
}
