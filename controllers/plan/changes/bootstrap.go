package changes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// TakeOver moves the claim on the cluster from that install to this one.
type TakeOver struct{ From string }

func (TakeOver) traits() Traits { return Traits{Secrets: true} } // which the other one wrote

func (TakeOver) words() Words {
	return says("Take over", "takes over", "Took over", "the cluster", EventTakenOver)
}

// veto leaves a cluster to the install that claims it, unless a person asked for this one, and the Lease of
// the other one was read. What no install claims is free, unless a person asked for another one, or the data names one.
func (c TakeOver) veto(o facts.View) Veto {
	us, asked := o.Cluster.Operator, o.Desired.Operator
	switch {
	case c.From == us && o.ClaimedBy == us && o.TakenOver.After(o.Now):
		return Veto{} // it is only dated anew, and the wait begins again
	case o.ClaimedBy != c.From, c.From != "" && asked != us, c.From == "" && o.IsAnothers():
		return identityAtRisk("nothing asks for %s in the place of %s.", us, o.Keeper())
	case c.From != "" && !o.Keeping.Known:
		return identityAtRisk("the Lease of %s cannot be read.", o.ClaimedBy)
	}
	return Veto{}
}

// AdoptData writes this cluster's UID on what an earlier cluster of this name left.
type AdoptData struct{ Items []facts.Retained }

func (AdoptData) traits() Traits { return Traits{Secrets: true} }

func (AdoptData) words() Words {
	return says("Take over", "takes over", "Took over", "what an earlier cluster left", EventDataTaken)
}

// veto takes over only what was listed as left behind, as one cluster, before anything of a new one exists. With
// the CAs that a person named a cluster begins empty, once its bootstrap is written down.
func (c AdoptData) veto(o facts.View) Veto {
	isEmpty := o.BeginsEmpty() && o.Bootstrap.Exists() && !o.IsAlive()
	if !o.IsOverRetained() && !isEmpty {
		return incarnationAtRisk("the cluster has begun already.")
	}
	if why := cmp.Or(guardMixed(o), guardReturn(o), guardUnknown(o)); why.Holds() && !isEmpty {
		return why
	}
	if !slices.Equal(c.Items, o.Retained) {
		return incarnationAtRisk("it is not what the earlier cluster left.")
	}
	return Veto{}
}

// isUsable reports a volume that its member can start on as the spec asks.
func isUsable(r facts.Retained, d facts.Desired) bool {
	return r.TooNew == "" && (d.TLS || !r.TLS) && !d.Ephemeral
}

// guardUnknown takes over no volume that may be a copy and cannot be told for one.
func guardUnknown(o facts.View) Veto {
	if unknown := o.UnknownBesideCopies(); unknown != "" {
		return dataAtRisk("nothing says whether %s was put back.", unknown)
	}
	return Veto{}
}

// guardReturn lets revisions go back only where a person said so.
func guardReturn(o facts.View) Veto {
	if later := o.GoesBackFrom(); later != "" {
		return incarnationAtRisk("clients were served since by the incarnation %s.", later)
	}
	return Veto{}
}

// guardMixed lets data be resumed only where all of it is one incarnation of one cluster. No member starts on a volume
// that it was not written on.
func guardMixed(o facts.View) Veto {
	type origin struct {
		cluster     etcdutil.ID
		incarnation string
	}
	origins := map[origin]bool{}
	for _, r := range o.Members {
		if r.IsRecorded() {
			origins[origin{r.Record().ClusterID, r.Incarnation()}] = true
		}
	}
	for _, item := range o.Retained {
		if item.Owner != o.Retained[0].Owner || item.IsVolume() && !isUsable(item, o.Desired) {
			return incarnationAtRisk("%s cannot be resumed.", item)
		}
		if item.IsVolume() && !item.Record.IsZero() && item.Superseded == "" {
			origins[origin{item.Record.ClusterID, item.Incarnation}] = true
		}
	}
	if len(origins) != 1 {
		return incarnationAtRisk("it is not known to be one incarnation of one cluster.")
	}
	return Veto{}
}

// BeginBootstrap creates the peer Service with this bootstrap record. It is created, never applied over. Its
// cluster ID is known when the lost record of a living cluster is written anew.
type BeginBootstrap record.Bootstrap

func (BeginBootstrap) traits() Traits { return Traits{} }

func (c BeginBootstrap) words() Words {
	if c.ClusterID != 0 {
		return says("Make", "makes", "Made", "the peer Service anew, with the bootstrap record", EventRecorded)
	}
	return says("Begin", "begins", "Began", "the bootstrap of "+strings.Join(c.Names, ", "), EventCreating)
}

func (c BeginBootstrap) veto(o facts.View) Veto {
	if o.Bootstrap.Exists() {
		return incarnationAtRisk("a bootstrap is already written down.")
	}
	switch {
	case c.Served < o.Recorded():
		return incarnationAtRisk("it forgets revisions that clients were served.")
	case o.IsOverRetained() && !o.BeginsEmpty() || c.ClusterID == 0 && o.IsAlive() && !goesOn(o, c):
		return incarnationAtRisk("there is data of a cluster already.")
	case guardRecordedAsleep(o, c).Holds():
		return guardRecordedAsleep(o, c)
	case c.ClusterID != 0 && !isBorne(o, c):
		return incarnationAtRisk("no volume says that the etcd cluster %s is of it, or that one ended.", c.ClusterID)
	case c.ClusterID != 0 || o.IsAlive():
		return Veto{} // what a living cluster began with is past
	}
	return guardOrigin(o, c.Origin)
}

// isBorne reports an etcd cluster and an incarnation that are written on one member together, and of which no volume
// says that another incarnation took their place.
func isBorne(o facts.View, c BeginBootstrap) bool {
	return o.EndedWith(c.ClusterID, c.Incarnation) == "" && slices.ContainsFunc(o.Members, func(r facts.Replica) bool {
		return r.Record().ClusterID == c.ClusterID && r.Incarnation() == c.Incarnation
	})
}

// goesOn reports a bootstrap that fewer are recorded of than a quorum, while all others were restored for it: those
// start only from what lies on their volumes.
func goesOn(o facts.View, c BeginBootstrap) bool {
	recorded := facts.Filter(o.Members, facts.Replica.IsRecorded)
	isLeft := func(name string) bool {
		r := o.Find(name)
		return r.Incarnation() == c.Incarnation && (r.IsRecorded() || r.AwaitsRecord(c.Incarnation))
	}
	return len(recorded) < etcdutil.Quorum(len(c.Names)) &&
		!slices.ContainsFunc(c.Names, func(name string) bool { return !isLeft(name) })
}

// guardOrigin lets a bootstrap begin with just what the spec asks for, as it was found in this very observation.
func guardOrigin(o facts.View, origin record.Origin) Veto {
	switch p := o.Preflight; {
	case origin.Hash != o.Desired.Restore.Hash || o.Desired.Restore.Fault != "":
		return incarnationAtRisk("the spec asks to begin with another backup, or with none.")
	case origin.IsZero():
		return Veto{}
	case o.Desired.Ephemeral:
		return incarnationAtRisk("a backup cannot be restored where the data lives in Pods.")
	case p == nil || !p.HasSucceeded() || p.Found != origin:
		return incarnationAtRisk("no preflight Pod found this backup.")
	case origin.Key == "" || origin.SHA256 == "":
		return incarnationAtRisk("nothing says which backup this is.")
	}
	if why := o.Unfit(origin); why != "" {
		return incarnationAtRisk("%s.", why)
	}
	return Veto{}
}

// Bootstrap creates what is missing of a bootstrap, in this order: objects, members' Secrets, volumes; then it
// writes into the bootstrap record which volumes these are; then restore Pods or members' Pods. So beside a Pod a
// missing volume is a lost one.
type Bootstrap struct {
	Objects  []facts.Object
	Secrets  []string // names of members
	Volumes  []NewVolume
	Restores []Restoring
	Pods     []Start
}

func (Bootstrap) traits() Traits { return Traits{Secrets: true} }

// words differ for what begins with a backup: it is made in two steps, and each is told.
func (c Bootstrap) words() Words {
	switch {
	case len(c.Restores) > 0:
		restored := names(c.Restores, func(r Restoring) string { return r.Name })
		return says("Begin", "begins", "Began", "the restore of "+strings.Join(restored, ", "), EventObjectsApplied)
	case len(c.Pods) > 0:
		return says("Create", "creates", "Created", "the first members", EventObjectsApplied)
	}
	return says("Create", "creates", "Created", "what the first members need", EventObjectsApplied)
}

func (c Bootstrap) veto(o facts.View) Veto {
	if why := guardTrust(o, c.Objects, len(c.Secrets) > 0); why.Holds() {
		return why
	}
	if o.IsAlive() || o.Bootstrap.Void || !o.Bootstrap.Exists() {
		return incarnationAtRisk("the cluster lives already, or its bootstrap is not written down.")
	}
	if o.HasSwitchedOver() && len(c.Restores) > 0 {
		return incarnationAtRisk("a restore in place ended with what lies on these volumes.")
	}
	if why := cmp.Or(guardRoom(o, c.Volumes),
		first(c.Restores, func(l Restoring) Veto { return guardRestoring(o, l) })); why.Holds() {
		return why
	}
	if why := guardFence(o); why.Holds() && len(c.Pods) > 0 {
		return why
	}
	return first(c.Pods, func(s Start) Veto { return guardFirstStart(o, s) })
}

// guardRoom makes no first member with settings that leave no room for what it begins with.
func guardRoom(o facts.View, made []NewVolume) Veto {
	return first(made, func(v NewVolume) Veto { return whyNoRoom(o, v.Name, v.Settings) })
}

func whyNoRoom(o facts.View, name string, c facts.Settings) Veto {
	if !c.HasRoomFor(o.Bootstrap.Origin) {
		return dataAtRisk("what %s begins with has no room with these settings.", name)
	}
	return Veto{}
}

// guardFirstStart lets a first member start empty only where nothing is to be restored, and otherwise only from what
// was.
func guardFirstStart(o facts.View, s Start) Veto {
	r := o.Find(s.Name)
	switch {
	case !slices.Contains(o.Bootstrap.Names, s.Name):
		return identityAtRisk("%s is not a first member.", s.Name)
	case guardWhole(r).Holds():
		return guardWhole(r)
	case !o.IsFilled(r):
		return dataAtRisk("the backup that %s begins with does not lie on its volume yet.", s.Name)
	case r.Restoring != nil && !(r.IsRestored() && r.Restoring.Terminating):
		return dataAtRisk("the restore Pod of %s still uses its volume.", s.Name)
	case r.IsRestored():
		return guardSealed(o, r, s)
	case s.Flags != facts.FlagsBootstrap:
		return dataAtRisk("%s has no data to start from.", s.Name)
	}
	return Veto{}
}

// RecordBootstrap writes the cluster ID into the bootstrap record.
type RecordBootstrap struct{ ClusterID etcdutil.ID }

func (RecordBootstrap) traits() Traits { return Traits{} }

func (c RecordBootstrap) words() Words {
	return says("Record", "records", "Recorded", "cluster ID "+c.ClusterID.String(), EventCreated)
}

// veto writes the cluster's identity down only once a quorum of first members bears it on their data.
func (c RecordBootstrap) veto(o facts.View) Veto {
	bearers := facts.Filter(o.Members, func(r facts.Replica) bool {
		return slices.Contains(o.Bootstrap.Names, r.Name) && r.Record().ClusterID == c.ClusterID
	})
	if o.Bootstrap.ClusterID != 0 || len(bearers) < etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return identityAtRisk("too few members are recorded, or another identity is written down already.")
	}
	return Veto{}
}

// VoidBootstrap marks the bootstrap record as given up, so that every later pass knows.
type VoidBootstrap struct{ Incarnation string }

func (VoidBootstrap) traits() Traits { return Traits{} }

func (VoidBootstrap) words() Words {
	return says("Abandon", "abandons", "Abandoned", "this bootstrap", EventBootstrapVoided)
}

func (VoidBootstrap) veto(o facts.View) Veto { return guardVoid(o) }

// guardVoid lets a bootstrap be given up only while nothing was ever written or recorded.
func guardVoid(o facts.View) Veto {
	if o.IsAlive() || slices.ContainsFunc(o.Members, facts.HasWrites) {
		return incarnationAtRisk("the cluster lives, or may hold data.")
	}
	if o.HasSwitchedOver() {
		return incarnationAtRisk("a restore in place began this incarnation, and nothing takes its place " +
			"without a person.")
	}
	return Veto{}
}

// isVoided reports whether this incarnation was given up, with nothing ever recorded of it.
func isVoided(o facts.Incarnation, incarnation string) bool {
	return o.Bootstrap.Void && !o.IsAlive() && incarnation == o.Bootstrap.Incarnation
}

// isOtherIncarnation reports whether something is left of a bootstrap that was given up, while the next one is under
// way.
func isOtherIncarnation(o facts.Incarnation, incarnation string) bool {
	return o.Bootstrap.Exists() && !o.IsAlive() && incarnation != o.Bootstrap.Incarnation
}

// NextBootstrap replaces a voided bootstrap record, whose Pods and volumes are gone, by the next incarnation's.
type NextBootstrap struct {
	Voided string // the incarnation that ends
	BeginBootstrap
}

func (NextBootstrap) traits() Traits { return Traits{} }

func (c NextBootstrap) words() Words { return c.BeginBootstrap.words().as("anew") }

// veto begins the next incarnation only after one that was given up, and with what the spec asks for.
func (c NextBootstrap) veto(o facts.View) Veto {
	if why := guardVoid(o); why.Holds() {
		return why
	}
	return guardOrigin(o, c.Origin)
}
