package world

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The invariants in this file look at more than one moment: what was seen before, and what the operator did since.
//
// I10 (a complete backup restores) has no check of its own. The backups of this world are names without content, so
// all that can be wrong is which of them lies on a volume; checkRestored, checkFirstStart and checkOrigin hold the
// operator to that.

// ledger is what these invariants remember.
type ledger struct {
	looks   int    // how often an operator has looked at the world
	acting  int    // the look on which the operator acts at this moment
	isFresh bool   // that look saw the world as it is
	ca      string // the CA that the CA's Secret held in that look

	stopped map[etcdutil.ID]bool      // members that served when the operator stopped them, and are not back
	seen    map[etcdutil.ID]time.Time // when a member last answered the operator, or was ready
	effects map[string]int            // by kind of change, while nothing but time passes; nil otherwise
	before  health                    // of the cluster, before the operator's present effect
	// the world as it was called settled, while nothing but time passes; nil otherwise
	settled *snapshot
	found   snapshot // the world as the last effect found it

	decided []decided // what is decided again and again stands once
}

// decided is a decision without its words, and how it came about.
type decided struct {
	said  string
	trace plan.Trace
}

// decide notes a decision.
func (l *ledger) decide(d plan.Decision) {
	said := fmt.Sprintf("%s %s %s", d.Rule, d.Verdict, d.Reason)
	if d.Change != nil {
		said += " " + changes.KindOf(d.Change)
	}
	if n := len(l.decided); n == 0 || l.decided[n-1].said != said {
		l.decided = append(l.decided, decided{said, d.Trace.Spoken()})
	}
}

func newLedger() ledger {
	return ledger{stopped: map[etcdutil.ID]bool{}, seen: map[etcdutil.ID]time.Time{}}
}

// mostEffects is how often one kind of change may be made while nothing but time changes. What fails by chance and is
// tried again after a rest stays below it. The most are two of the budget for each of five ephemeral members, in each
// of the three rolls from an old 3.5 to 3.7. Each turn of a CA begins anew: two of four restart members, and their
// number is bound like that of any change.
const mostEffects = 40

// checkMoved is I8 and the bound on effects: what succeeds on a look at the world as it is changes something, or it
// would be done for ever; and what changes something, even if it fails after that, is not done again and again.
func (w *World) checkMoved(c changes.Change, before snapshot, err error) {
	isChanged := w.hasChanged(before)
	if w.ledger.isFresh && err == nil && !isChanged {
		w.stall("I8: %s was carried out, and nothing changed", changes.KindOf(c))
	}
	if !isChanged || w.ledger.effects == nil {
		return
	}
	if _, isTurn := c.(changes.TurnCA); isTurn {
		w.ledger.effects = map[string]int{changes.KindOf(c): w.ledger.effects[changes.KindOf(c)]}
	}
	w.ledger.effects[changes.KindOf(c)]++
	if w.ledger.effects[changes.KindOf(c)] == mostEffects {
		w.stall("livelock: %s changed something %d times, and nothing but time passed", changes.KindOf(c),
			mostEffects)
	}
}

// hasChanged compares with what was.
func (w *World) hasChanged(before snapshot) bool { return !reflect.DeepEqual(before, w.snapshot()) }

// checkRest is I8 as well: a world that was called settled, and that changed in nothing since, is left alone. It is
// asked after the pass, so that what the pass did does not count as the world's change.
func (w *World) checkRest(d plan.Decision) {
	switch {
	case d.Verdict != plan.Settled && !isLeftAlone(d.Reason):
		isSame := w.ledger.settled != nil && reflect.DeepEqual(*w.ledger.settled, w.ledger.found)
		if d.Change != nil && isSame && !w.isExpiry(d.Change) {
			w.stall("I8: settled, and %s by %s a while later, where nothing had changed", changes.KindOf(d.Change),
				d.Rule)
		}
		w.ledger.settled = nil
	case w.ledger.settled == nil:
		s := w.snapshot()
		w.ledger.settled = &s
	}
}

// isExpiry reports a change that nothing but time asks for: what was kept for a while is deleted.
func (w *World) isExpiry(c changes.Change) bool {
	deletion, isDeletion := c.(changes.DeleteVolumes)
	return isDeletion && !slices.ContainsFunc(deletion.Volumes, func(ref facts.VolumeRef) bool {
		v := w.ledger.found.objects.volumes[ref.Name]
		return v.UID != ref.UID || v.kept == facts.NoCause
	})
}

// snapshot is all that an effect can change.
type snapshot struct {
	objects objects
	spec    facts.Desired
	members map[etcdutil.ID][]etcdutil.Member
	leaders map[etcdutil.ID]etcdutil.ID
	alarms  map[etcdutil.ID]bool
	late    int
	corrupt int // alarms
	added   int // entries of logs
	lowers  map[etcdutil.ID]etcdutil.Version
	history int64 // that is compacted
	auths   map[etcdutil.ID]auth
}

func (w *World) snapshot() snapshot {
	spec := w.Spec
	spec.Window, spec.Lead = w.window(), w.Lead // a window opens, and closes, by itself
	s := snapshot{w.objects.clone(), spec, map[etcdutil.ID][]etcdutil.Member{}, map[etcdutil.ID]etcdutil.ID{},
		map[etcdutil.ID]bool{}, len(w.trouble.late), 0, 0, map[etcdutil.ID]etcdutil.Version{}, 0,
		map[etcdutil.ID]auth{}}
	for id, c := range w.clusters {
		s.members[id], s.leaders[id], s.alarms[id] = slices.Clone(c.members), c.leader, c.alarm
		s.lowers[id], s.auths[id] = c.downgrade, c.auth
		s.corrupt, s.added, s.history = s.corrupt+len(c.corrupt), s.added+c.added, s.history+c.compacted
	}
	return s
}

// watch notes which members serve by now.
func (w *World) watch() {
	for _, p := range w.objects.pods {
		proc := w.procs[p.UID]
		if proc == nil {
			continue
		}
		if p.Ready {
			delete(w.ledger.stopped, proc.disk.member)
		}
		if p.Ready || proc.served && proc.ill == "" && !p.cutOff {
			w.ledger.seen[proc.disk.member] = w.Now
		}
	}
}

// checkAlone is I2: while a member that the operator stopped is away, the operator takes no other one out of service.
func (w *World) checkAlone(c *cluster, id etcdutil.ID, what string) {
	if !w.serves(c, id) || w.trouble.isRaced {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(w.ledger.stopped)) {
		if i := c.find(other); other != id && i >= 0 && !c.members[i].Learner && !w.serves(c, other) {
			w.violate("I2: %s of %s, while %s is stopped by the operator", what, c.nameOf(id), c.nameOf(other))
		}
	}
}

// serves reports whether a process of the member takes part in its cluster, and that has a quorum.
func (w *World) serves(c *cluster, id etcdutil.ID) bool {
	return w.hasQuorum(c) && slices.ContainsFunc(w.running(c), func(p *process) bool { return p.disk.member == id })
}

// nameOf is what the list calls a member.
func (c *cluster) nameOf(id etcdutil.ID) string {
	if i := c.find(id); i >= 0 && c.members[i].Name != "" {
		return c.members[i].Name
	}
	return id.String()
}

// checkRemoval holds the removal of a member to I2, and to what the spec allows: beyond the size that is asked for,
// only a member goes whose data is lost, that nothing was heard of for repair.replaceAfter, or that makes room. Of one
// that a person wants replaced, nothing was heard for as long as a start takes.
func (w *World) checkRemoval(c *cluster, id etcdutil.ID) {
	i := c.find(id)
	if i < 0 || c.members[i].Learner || w.trouble.isRaced {
		return
	}
	w.checkAlone(c, id, "RemoveMember")
	w.checkReplaceable(c, id)
	away := w.Now.Sub(w.ledger.seen[id])
	isOverdue := w.Spec.ReplaceAfter > 0 && away >= w.Spec.ReplaceAfter && w.objects.pods[c.nameOf(id)].HeldBy == ""
	w.checkSpared(c, id)
	isAsked := w.Unwanted == c.nameOf(id) && away > facts.StartDeadline
	if isAsked || len(c.voters()) > w.wantedOf(c) || !w.hasData(c, id) || w.isEphemeralRoll(c) || isOverdue ||
		w.makesRoom(c, id) || w.leavesFirst(c, id) {
		return
	}
	w.violate("%s was removed after %s, and repair.replaceAfter is %s", c.nameOf(id), away, w.Spec.ReplaceAfter)
}

// makesRoom reports a member on a volume that is going, whose successor no node has taken for as long as that may take,
// while all others serve and are more than one.
func (w *World) makesRoom(c *cluster, id etcdutil.ID) bool {
	v, isThere := w.objects.volumes[c.nameOf(id)]
	isDoomed := !isThere || v.Terminating || v.Phase == facts.VolumeLost
	isAway := func(m etcdutil.Member) bool { return m.ID != id && !w.serves(c, m.ID) }
	isLeftOut := func(name string) bool {
		p := w.objects.pods[name]
		return !p.Scheduled && !p.UnplacedFrom.IsZero() && w.Now.Sub(p.UnplacedFrom) >= facts.PlaceDeadline
	}
	return isDoomed && len(c.voters()) > 2 && !slices.ContainsFunc(c.voters(), isAway) &&
		slices.ContainsFunc(sortedKeys(w.objects.pods), isLeftOut)
}

// checkReplaceable holds the operator to keeping a member while Kubernetes would admit none in its place. One whose
// copy is wrong goes all the same.
func (w *World) checkReplaceable(c *cluster, id etcdutil.ID) {
	if len(c.members) <= w.wantedOf(c) && w.refusesMembers() && !w.isCorrupted(c) {
		w.violate("%s was removed, and Kubernetes admits no successor", c.nameOf(id))
	}
}

// isEphemeralRoll reports that one voter more than the size asks for may be on its way out.
func (w *World) isEphemeralRoll(c *cluster) bool {
	return w.Spec.Ephemeral && len(c.voters()) > w.Spec.Size
}

// hasData reports whether the member could go on with the data that it has: its own, all that it acknowledged, and
// what clients wrote.
func (w *World) hasData(c *cluster, id etcdutil.ID) bool {
	isSound := func(uid string) bool {
		d := w.disks[uid]
		return d != nil && d.cluster == c.id && d.member == id && d.isSound()
	}
	for name, v := range w.objects.volumes {
		if isSound(v.UID) && w.isUsable(name) {
			return true
		}
	}
	for _, p := range w.objects.pods {
		if isSound(p.UID) && !p.HasEnded() {
			return true
		}
	}
	return false
}

// checkClaim is I9: what the operator says after a look at the world as it is, is so.
func (w *World) checkClaim(d plan.Decision) {
	c := w.clusters[w.objects.bootstrap.ClusterID]
	switch {
	case d.Reason == facts.ReasonQuorumLost && d.Verdict == plan.Refuse && c != nil && w.hasQuorum(c):
		w.violate("I9: the quorum is called lost, and %d of %d voters serve", w.upVoters(c), len(c.voters()))
	case d.Verdict != plan.Settled:
	case c == nil:
		w.violate("I9: settled, and no cluster is written down")
	default:
		w.checkSettled(c)
	}
}

// checkSettled holds a cluster that is called settled to the spec, by what is really there.
func (w *World) checkSettled(c *cluster) {
	if n := len(c.voters()); n != w.Spec.Size || len(c.members) != n || w.upVoters(c) != n {
		w.violate("I9: settled, and %d of %d voters serve of %d members; the spec asks for %d", w.upVoters(c), n,
			len(c.members), w.Spec.Size)
	}
	for _, p := range w.running(c) {
		pod := w.objects.pods[p.pod]
		if pod.Role != "voter" || !pod.Ready || !pod.Flags.NeedData() {
			w.violate("I9: settled, and %s is %q, ready %v, flags %s", p.pod, pod.Role, pod.Ready, pod.Flags)
		}
	}
	w.checkCertificates(c)
	w.checkRolled()
	w.checkAllMoved()
	w.checkLeader(c)
	w.checkAuth(c)
}
