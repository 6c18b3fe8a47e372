package plan

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// IncarnationID names one incarnation of a cluster: a short hash of the object's UID and a counter.
func IncarnationID(uid string, counter int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", uid, counter)
	return fmt.Sprintf("%08x", uint32(h.Sum64()^h.Sum64()>>32))
}

// token is unique to one incarnation, so that members of different incarnations never talk to each other.
func token(uid, incarnation string) string { return uid + "-" + incarnation }

func newBirth(o view, counter int, members []string) BeginBirth {
	incarnation := IncarnationID(o.Cluster.UID, counter)
	return BeginBirth{Incarnation: incarnation, Counter: counter, Token: token(o.Cluster.UID, incarnation), Names: members}
}

func firstNames(o view) []string {
	members := make([]string, o.Desired.Size)
	for i := range members {
		members[i] = etcdutil.MemberName(o.Cluster.Name, i)
	}
	return members
}

// birthRecord writes the record before anything else is made, or writes the lost record of a living cluster anew: all of
// it is on the volumes, or follows from the object's UID.
func birthRecord(o view) *proposal {
	if o.Birth.Exists() {
		return nil
	}
	if o.isAlive() {
		recorded := filter(o.Members, Replica.IsRecorded)
		birth := newBirth(o, knownCounter(o), names(recorded))
		birth.ClusterID = recorded[0].Record().ClusterID
		birth.Incarnation = o.incarnationOf(recorded)
		birth.Restore = requestOf(recorded, birth.Incarnation)
		return act(birth, ReasonBeginBirth, "The peer Service with the birth record is gone; it is written anew from the members' records.")
	}
	if former := filter(o.FormerMembers(), Replica.IsRecorded); len(former) > 0 {
		return refuse(ReasonRecordLost, "The peer Service with the birth record is gone, and only volumes that a restore in place switched over from say which cluster this was: %s. "+
			"Nothing is born over it, and no data is lost with it: put the Service back, or go back to these volumes as docs/restore.md says.", strings.Join(names(former), ", ")).byHuman()
	}
	if trace := o.trace(); trace != "" {
		return refuse(ReasonRecordLost, "The peer Service with the birth record is gone, and no volume says which cluster this was, although %s shows that there was one. "+
			"Nothing is born over it; delete the EtcdCluster and create it again to start with an empty cluster.", trace).byHuman()
	}
	birth := newBirth(o, 0, firstNames(o))
	birth.Origin, _ = o.source()
	return act(birth, ReasonBeginBirth, "A cluster of %d members begins.", o.Desired.Size)
}

// requestOf is the EtcdRestore that an incarnation came of, by the volumes that were made for it; empty for none.
func requestOf(recorded []Replica, incarnation string) string {
	for _, r := range recorded {
		if r.Volume != nil && r.Volume.Incarnation == incarnation && r.Volume.Request != "" {
			return r.Volume.Request
		}
	}
	return ""
}

// trace names an object of this cluster that is only made once its birth was written down, or "".
func (o view) trace() string {
	for _, object := range append([]Object{o.Budget.Object}, o.Objects...) {
		if object.State == ObjectCurrent || object.State == ObjectDrifted {
			return object.Kind + " " + object.Name
		}
	}
	for _, r := range o.everyReplica() {
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

// knownCounter finds the counter of the incarnation that the recorded volumes speak of, when the birth record itself is gone.
func knownCounter(o view) int {
	for counter, incarnation := range o.ownIncarnations() {
		if slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Incarnation() == incarnation }) {
			return counter
		}
	}
	return 0
}

// ownIncarnations are those that this object may have begun, by their counters.
func (o Observation) ownIncarnations() []string {
	const voidedAtMost = 64
	out := make([]string, voidedAtMost)
	for counter := range out {
		out[counter] = IncarnationID(o.Cluster.UID, counter)
	}
	return out
}

// Incarnation is the ID of the incarnation that the data is of, or its Pod where that holds the data; empty when nothing says.
func (r Replica) Incarnation() string {
	switch {
	case r.Volume != nil:
		return r.Volume.Incarnation
	case r.Pod != nil:
		return r.Pod.Incarnation
	}
	return ""
}

// bootstrap makes what is missing of the birth. Volumes come before Pods, so that a volume missing beside a Pod is a lost one.
func bootstrap(o view) *proposal {
	if o.isAlive() || birthVolumeLost(o) != "" && !o.goesOnWithout() {
		return nil
	}
	c := Bootstrap{Objects: needed(o.Objects)}
	for _, r := range o.firstMembers() {
		if r.isLeaving() {
			return r.waitForName(o)
		}
		o.addMissing(&c, r)
	}
	if o.hasSwitchedOver() {
		o.spare(&c)
	}
	if len(c.Objects)+len(c.Secrets)+len(c.Volumes)+len(c.Restores)+len(c.Pods) == 0 {
		return nil
	}
	if p := o.notToBegin(c); p != nil {
		return p
	}
	if p := o.newChoices(); p != nil {
		return p
	}
	return act(c, ReasonBootstrap, "The first %d members are created.", len(o.Birth.Names))
}

// notToBegin says why what is missing cannot be made; nil when it can.
func (o view) notToBegin(c Bootstrap) *proposal {
	wish := o.Desired.Restore
	switch {
	case o.hasSwitchedOver() && len(c.Restores) > 0:
		return o.unsaid(c.Restores)
	case o.hasSwitchedOver() && len(c.Secrets) > 0 && o.whyNoCertificates() != "":
		return refuse(ReasonAuthorityLost, "Members of the incarnation that the cluster switched over to have no certificates, and cannot start: %s.", o.whyNoCertificates()).byHuman()
	case len(c.Restores) > 0 && wish.Fault != "": // it was there when the birth was written down
		return wish.refusal("The backup cannot be restored on all volumes: %s. Until it is named again nothing goes on; what lies on volumes stays.")
	case len(c.Restores) > 0 && wish.Hash != o.Birth.Origin.Hash:
		return refuse(ReasonPreflight, "The backup cannot be restored on all volumes: what is named is another one than when that began. Delete the EtcdCluster and create it again to begin with that.").byHuman()
	}
	return nil
}

// addMissing adds what a first member lacks.
func (o view) addMissing(c *Bootstrap, r Replica) {
	if o.Desired.TLS && r.Secret.State != ObjectCurrent {
		c.Secrets = append(c.Secrets, r.Name)
	}
	if r.Volume == nil && !o.Desired.Ephemeral {
		c.Volumes = append(c.Volumes, NewVolume{Name: r.Name, Bytes: o.Desired.StorageBytes, Choices: o.Desired.Choices})
	}
	if o.isToRestore(r) && r.Restoring == nil {
		c.Restores = append(c.Restores, Laying{Name: r.Name, Initial: birthList(o), Choices: o.birthChoices(r)})
	}
	if r.Pod == nil && o.isReadyToStart() {
		c.Pods = append(c.Pods, birthStart(o, r))
	}
}

// isReadyToStart reports whether what the birth begins with lies on every first volume, and whoever restored it there is gone. So
// once the first of them starts, none is without its data.
func (o view) isReadyToStart() bool {
	return o.Birth.Origin.IsZero() || !slices.ContainsFunc(o.firstMembers(), func(r Replica) bool { return o.isToRestore(r) || r.Restoring != nil })
}

func (r Replica) waitForName(o view) *proposal {
	p := wait(ReasonPodLeaving, "%s of an earlier attempt is being deleted; the first members wait for the name.", r.Name)
	if r.Pod == nil {
		return p
	}
	return p.due(o, r.Pod.GoneBy, leavingDeadline)
}

func (r Replica) isLeaving() bool {
	return r.Pod != nil && r.Pod.Terminating || r.Volume != nil && r.Volume.Terminating
}

// birthStarts are how all first members start.
func (o view) birthStarts() []Start {
	var out []Start
	for _, r := range o.birthReplicas() {
		out = append(out, birthStart(o, r))
	}
	return out
}

// birthStart starts a first member from what was restored for it, or else empty.
func birthStart(o view, r Replica) Start {
	if r.isRestored() {
		return Start{Name: r.Name, Flags: FlagsRestored, Choices: o.birthChoices(r)}
	}
	return Start{Name: r.Name, Flags: FlagsBirth, Initial: birthList(o), Choices: o.birthChoices(r)}
}

func (o Observation) birthChoices(r Replica) Choices {
	if r.Volume != nil && !r.Volume.Choices.IsZero() {
		return r.Volume.Choices
	}
	return o.Desired.Choices
}

// birthList is the list that every birth Pod of the incarnation starts with.
func birthList(o view) []etcdutil.NamedURL {
	out := make([]etcdutil.NamedURL, 0, len(o.Birth.Names))
	for _, name := range o.Birth.Names {
		out = append(out, etcdutil.NamedURL{Name: name, URL: o.peerURL(name)})
	}
	return out
}

func (o Observation) peerURL(member string) string {
	scheme := "http"
	if o.Desired.TLS {
		scheme = "https"
	}
	return etcdutil.PeerURL(scheme, member, o.Cluster.Name, o.Cluster.Namespace)
}

func needed(objects []Object) []Object {
	var out []Object
	for _, object := range objects {
		if object.State == ObjectAbsent || object.State == ObjectDrifted {
			out = append(out, object)
		}
	}
	return out
}

// birthReplicas are the first members.
func (o Incarnation) birthReplicas() []Replica {
	out := make([]Replica, 0, len(o.Birth.Names))
	for _, name := range o.Birth.Names {
		out = append(out, o.Find(name))
	}
	return out
}
