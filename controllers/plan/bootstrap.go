package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// token is unique to one incarnation, so that members of different incarnations never talk to each other.
func token(uid, incarnation string) string { return uid + "-" + incarnation }

func newBootstrap(o pass, counter int, members []string) changes.BeginBootstrap {
	incarnation := facts.IncarnationID(o.Cluster.UID, counter)
	return changes.BeginBootstrap{Incarnation: incarnation, Counter: counter, Token: token(o.Cluster.UID, incarnation),
		Names: members}
}

func firstNames(o pass) []string {
	members := make([]string, o.Desired.Restore.FirstMembers(cmp.Or(o.Desired.Size, len(o.Bootstrap.Names))))
	for i := range members {
		members[i] = etcdutil.MemberName(o.Cluster.Name, i)
	}
	return members
}

// bootstrapRecord writes the record before anything else is made, or writes the lost record of a living cluster anew:
// all of it is on the volumes, or follows from the object's UID.
func bootstrapRecord(o pass) *proposal {
	if o.Bootstrap.Exists() {
		return nil
	}
	if o.IsAlive() {
		return writeAnew(o)
	}
	if former := facts.Filter(o.FormerMembers(), facts.Replica.IsRecorded); len(former) > 0 {
		return refuse(facts.ReasonRecordLost,
			"The peer Service with the bootstrap record is gone. Only volumes of a previous incarnation say "+
				"which cluster this was: %s. Nothing is bootstrapped over it, "+
				"and no data is lost with it: put the Service back, or go back to these volumes as "+
				pages.Docs+"docs/restore.md says.",
			strings.Join(facts.Names(former), ", ")).byHuman()
	}
	if trace := traceOf(o); trace != "" {
		return refuse(facts.ReasonRecordLost, "The peer Service with the bootstrap record is gone, and no volume says "+
			"which cluster this was, although %s shows that there was one. Nothing is bootstrapped over it; delete "+
			"the EtcdCluster and create it again to start with an empty cluster.",
			trace).byHuman()
	}
	if o.Desired.Sleep {
		return sleeping("The cluster was never created")
	}
	bootstrap := newBootstrap(o, 0, firstNames(o))
	bootstrap.Origin, _ = sourceOf(o.Observation)
	if !bootstrap.Origin.IsZero() {
		return act(bootstrap, "the cluster is new, and begins with a backup.")
	}
	return act(bootstrap, "the cluster is new.")
}

// writeAnew writes the lost record of a living cluster, unless a volume says that its place was taken.
func writeAnew(o pass) *proposal {
	source := speaker(o)
	if ended := o.EndedWith(source.Record().ClusterID, source.Incarnation()); ended != "" {
		return refuse(facts.ReasonRecordLost, "The peer Service with the bootstrap record is gone, and volumes "+
			"contradict each other. %s is of the same etcd cluster as %s, whose place a restore in place took. Its "+
			"label etcdsteward.dev/incarnation is another one. Nothing is started or stopped. Put the Service back. "+
			"Or give the volume of %s the label of that of %s, and go back to these volumes as "+
			pages.Docs+"docs/restore.md says.",
			source.Name, ended, source.Name, ended).byHuman()
	}
	return act(bootstrapAnew(o, source),
		"the peer Service is gone. What the members keep beside their data says what stood in it.")
}

// bootstrapAnew is the record of a cluster that lives, by what its volumes say. Where those that were restored are not
// recorded yet, and too few others are, its bootstrap goes on.
func bootstrapAnew(o pass, source facts.Replica) changes.BeginBootstrap {
	incarnation := source.Incarnation()
	isKnown := func(r facts.Replica) bool { return r.IsRecorded() || r.AwaitsRecord(incarnation) }
	known, recorded := facts.Filter(o.Members, isKnown), facts.Filter(o.Members, facts.Replica.IsRecorded)
	counter := max(0, slices.Index(o.OwnIncarnations(), incarnation))
	bootstrap := newBootstrap(o, counter, facts.Names(known))
	bootstrap.Incarnation = incarnation
	bootstrap.Restore, bootstrap.Served = requestOf(recorded, incarnation), o.Recorded()
	if len(recorded) >= etcdutil.Quorum(len(known)) {
		bootstrap.ClusterID = source.Record().ClusterID
		bootstrap.Asleep = o.Desired.Sleep && !slices.ContainsFunc(o.Members, facts.Replica.IsUp)
	}
	return bootstrap
}

// requestOf is the EtcdRestore that an incarnation came of, by the volumes that were made for it; empty for none.
func requestOf(recorded []facts.Replica, incarnation string) string {
	for _, r := range recorded {
		if r.Volume != nil && r.Volume.Incarnation == incarnation && r.Volume.Request != "" {
			return r.Volume.Request
		}
	}
	return ""
}

// traceOf names an object of this cluster that is only made once its bootstrap was written down, or "".
func traceOf(o pass) string {
	for _, object := range append([]facts.Object{o.Budget.Object}, o.Objects...) {
		if object.State == facts.ObjectCurrent || object.State == facts.ObjectDrifted {
			return object.Kind + " " + object.Name
		}
	}
	for _, r := range o.EveryReplica() {
		switch {
		case r.Volume != nil:
			return "PersistentVolumeClaim " + r.Name
		case r.Pod != nil:
			return "Pod " + r.Name
		case r.Restoring != nil:
			return "the restore Pod of " + r.Name
		}
	}
	return ""
}

// bootstrap makes what is missing of the bootstrap. Volumes come before Pods, so that a volume missing beside a Pod is
// a lost one.
func bootstrap(o pass) *proposal {
	if o.IsAlive() || bootstrapVolumeLost(o) != "" && !goesOnWithout(o.Incarnation) {
		return nil
	}
	if p := takeCAs(o); p != nil {
		return p
	}
	c := changes.Bootstrap{Objects: needed(o.Objects)}
	for _, r := range firstMembers(o) {
		if isLeaving(r) {
			return waitForName(r, o)
		}
		addMissing(o, &c, r)
	}
	leaveOut(o, &c)
	if len(awaited(o)) > 0 && !o.HasSwitchedOver() {
		c.Pods = nil // they could not start, and a Secret of theirs may take a person
		if len(c.Objects)+len(c.Secrets)+len(c.Volumes)+len(c.Restores) == 0 {
			return awaitIssuer(o)
		}
	}
	if len(c.Objects)+len(c.Secrets)+len(c.Volumes)+len(c.Restores)+len(c.Pods) == 0 {
		return nil
	}
	if p := notToBegin(o, c); p != nil {
		return p
	}
	if p := newSettings(o); p != nil {
		return p
	}
	if len(c.Restores) > 0 {
		return act(c, "members start once %s lies on every volume.", restoredData(o))
	}
	return act(c, "the bootstrap of %s has begun.", strings.Join(o.Bootstrap.Names, ", "))
}

// notToBegin says why what is missing cannot be made; nil when it can.
func notToBegin(o pass, c changes.Bootstrap) *proposal {
	wish := o.Desired.Restore
	switch {
	case o.HasSwitchedOver() && len(c.Restores) > 0:
		return unsaid(o, c.Restores)
	case len(c.Secrets) > 0 && o.WhyNoCertificates() != "":
		return refuse(facts.ReasonLost(o.LostCAs()), "The first members have no certificates, and cannot "+
			"start: %s.", o.WhyNoCertificates()).byHuman()
	case len(c.Restores) > 0 && wish.Fault != "": // it was there when the bootstrap was written down
		return refusalOf(wish, "The backup cannot be restored on all volumes: %s. Until it is named again in "+
			"spec.bootstrap.restore or in the EtcdRestore nothing goes on; what lies on volumes stays.", wish.Fault)
	case len(c.Restores) > 0 && wish.Hash != o.Bootstrap.Origin.Hash:
		return refuse(facts.ReasonUnusable, "The backup cannot be restored on all volumes: what is named is another "+
			"one than when that began. Delete the EtcdCluster and create it again to begin with that.").byHuman()
	}
	return nil
}

// addMissing adds what a first member lacks.
func addMissing(o pass, c *changes.Bootstrap, r facts.Replica) {
	if o.Desired.TLS && r.Secret.State != facts.ObjectCurrent && !r.Secret.IsAwaited() {
		c.Secrets = append(c.Secrets, r.Name)
	}
	if r.Volume == nil && !r.Ephemeral {
		c.Volumes = append(c.Volumes, changes.NewVolume{Name: r.Name, Bytes: o.Desired.StorageBytes,
			Settings: o.Desired.Settings})
	}
	if isToRestore(o.Incarnation, r) && r.Restoring == nil {
		c.Restores = append(c.Restores, changes.Restoring{Name: r.Name, Initial: bootstrapList(o),
			Settings: bootstrapSettings(o.Observation, r)})
	}
	if r.Pod == nil && isReadyToStart(o) {
		c.Pods = append(c.Pods, bootstrapStart(o, r))
	}
}

// isReadyToStart reports whether what the bootstrap begins with lies on every first volume, and whoever restored it
// there is gone or should be. So once the first of them starts, none is without its data.
func isReadyToStart(o pass) bool {
	return o.Bootstrap.Origin.IsZero() ||
		!slices.ContainsFunc(firstMembers(o), func(r facts.Replica) bool {
			return isToRestore(o.Incarnation, r) || r.Restoring != nil && !isLeftBehind(o, r)
		})
}

func waitForName(r facts.Replica, o pass) *proposal {
	p := wait(facts.ReasonPodLeaving, "%s of an earlier attempt is being deleted; the first members wait for the "+
		"name.%s", r.Name, heldAmong(r))
	if r.Pod == nil {
		return p
	}
	return p.due(o, r.Pod.GoneBy, facts.LeavingDeadline)
}

func isLeaving(r facts.Replica) bool {
	return r.Pod != nil && r.Pod.Terminating || r.Volume != nil && r.Volume.Terminating
}

// bootstrapStarts are how all first members start.
func bootstrapStarts(o pass) []changes.Start {
	var out []changes.Start
	for _, r := range o.BootstrapReplicas() {
		out = append(out, bootstrapStart(o, r))
	}
	return out
}

// bootstrapStart starts a first member from what was restored for it, or else empty.
func bootstrapStart(o pass, r facts.Replica) changes.Start {
	if r.IsRestored() {
		return changes.Start{Name: r.Name, Flags: facts.FlagsSealed, Settings: bootstrapSettings(o.Observation, r)}
	}
	return changes.Start{Name: r.Name, Flags: facts.FlagsBootstrap, Initial: bootstrapList(o),
		Settings: bootstrapSettings(o.Observation, r)}
}

func bootstrapSettings(o facts.Observation, r facts.Replica) facts.Settings {
	if r.Volume != nil && !r.Volume.Settings.IsZero() {
		return r.Volume.Settings
	}
	return o.Desired.Settings
}

// bootstrapList is the list that every bootstrap Pod of the incarnation starts with.
func bootstrapList(o pass) []etcdutil.NamedURL {
	out := make([]etcdutil.NamedURL, 0, len(o.Bootstrap.Names))
	for _, name := range o.Bootstrap.Names {
		out = append(out, etcdutil.NamedURL{Name: name, URL: peerURL(o.Observation, name)})
	}
	return out
}

func peerURL(o facts.Observation, member string) string {
	scheme := o.Desired.Settings.Transport.PeerScheme()
	return etcdutil.PeerURL(scheme, member, o.Cluster.Name, o.Cluster.Namespace)
}

func needed(objects []facts.Object) []facts.Object {
	var out []facts.Object
	for _, object := range objects {
		if object.IsToWrite() {
			out = append(out, object)
		}
	}
	return out
}

// firstQuorum holds everything else back until the members agree on one list, and who they are is written down: first
// on the volumes of a quorum, then in the bootstrap record. From then on no member is ever started as at bootstrap
// without being asked for by a list that is known.
func firstQuorum(o pass) *proposal {
	if o.Bootstrap.ClusterID != 0 {
		return nil
	}
	recorded := facts.Filter(o.BootstrapReplicas(), facts.Replica.IsRecorded) // no other says who this cluster is
	if len(recorded) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		return act(changes.RecordBootstrap{ClusterID: recorded[0].Record().ClusterID},
			"a quorum of the first members has it with its data.")
	}
	if o.Membership.Known {
		return recordFirst(o)
	}
	if len(recorded) > 0 {
		return nil // interrupted: their Pods are looked after below
	}
	return waitForQuorum(o)
}

// recordFirst writes down who the first members are, if the list that answers is the list of this bootstrap: by its
// names, or by the identity that is on a volume already.
func recordFirst(o pass) *proposal {
	isOfThisBootstrap := func(r facts.Replica) bool { return r.Record().ClusterID == o.Membership.ClusterID }
	for _, m := range o.Membership.Members {
		name, ok := etcdutil.MemberFromPeerURL(facts.FirstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		isNamed := ok && slices.Contains(o.Bootstrap.Names, name)
		if !isNamed && !slices.ContainsFunc(o.BootstrapReplicas(), isOfThisBootstrap) {
			return refuse(facts.ReasonForeignData, "Another cluster (%s) answers under the names of the first "+
				"members: %v is no member of this bootstrap. Delete what answers there, or create the EtcdCluster "+
				"under another name.", o.Membership.ClusterID, m.PeerURLs).byHuman()
		}
	}
	if records := newRecords(o); len(records) > 0 {
		return writeDown(o, records)
	}
	return waitForQuorum(o)
}

func waitForQuorum(o pass) *proposal {
	for _, r := range o.BootstrapReplicas() {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	p := wait(facts.ReasonFirstQuorum,
		"%d of %d members have started; the cluster serves once %d have found each other.",
		len(started(o)), len(o.Bootstrap.Names), etcdutil.Quorum(len(o.Bootstrap.Names)))
	p.due(o, o.LastPodChange(), facts.StartDeadline)
	if p.Overdue && len(started(o)) >= etcdutil.Quorum(len(o.Bootstrap.Names)) {
		p.Message += " They do not, or the operator does not reach them. Does a NetworkPolicy of this namespace deny " +
			"it, or a mesh? spec.networkPolicy lets in what members need: " +
			pages.Docs + "docs/connect.md#who-may-connect."
	}
	return p
}
