package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Veto says why a change must not be made in this world, or "". It knows nothing of why a rule proposes it: whatever comes
// out of Decide, and again of the live look before a change is carried out, passes here.
func Veto(o Observation, c Change) string { return Guard(o.current(), c) }

// Guard is that, of a view.
func Guard(o view, c Change) string {
	switch c := c.(type) {
	case RemoveMember, Promote, AddLearner, MoveLeader:
		return guardMembership(o, c)
	case DeletePods, EvictPod, DeleteVolumes, KeepVolume, StartPods, RecordMembers:
		return guardData(o, c)
	case AdoptData, BeginBirth, Bootstrap, VoidBirth, NextBirth:
		return guardBirth(o, c)
	case BeginNext, PrepareNext, DropNext, SwitchOver, MarkFormer, MarkFlushed:
		return guardInPlace(o, c)
	case StartPreflight, DeletePreflight, RecordRestored, DeleteRestores:
		return guardRestore(o, c)
	case SetBudget:
		return guardBudget(o, c)
	case DisarmAlarms:
		return guardDisarm(o, c)
	case RecordBirth:
		return guardRecordBirth(o, c)
	case LabelRole:
		return guardLabel(o, c)
	case FollowPolicy, MarkVolume, SealPods, DressPods, RestoreInputs, ApplyObjects, SetChoices, DeleteSecret, PrepareMember:
		return "" // nothing stops, nothing is deleted that data or votes depend on
	}
	return fmt.Sprintf("%T is not a change that the guard knows.", c)
}

func guardMembership(o view, c Change) string {
	switch c := c.(type) {
	case RemoveMember:
		return guardRemove(o, c)
	case Promote:
		return guardPromote(o, c)
	case AddLearner:
		return guardAdd(o, c)
	case MoveLeader:
		return guardMove(o, c)
	default:
		return fmt.Sprintf("%T does not change the membership.", c)
	}
}

func guardData(o view, c Change) string {
	switch c := c.(type) {
	case DeletePods:
		return first(c.Pods, func(ref PodRef) string { return guardDeletePod(o, ref) })
	case EvictPod:
		return guardEvict(o, c)
	case KeepVolume:
		return guardKeep(o, c)
	case DeleteVolumes:
		return first(c.Volumes, func(ref VolumeRef) string { return guardDeleteVolume(o, ref) })
	case StartPods:
		return cmp.Or(o.guardFence(), first(c.Pods, func(s Start) string { return guardStart(o, s) }))
	case RecordMembers:
		return first(c.Members, func(r MemberRecord) string { return guardRecord(o, r) })
	default:
		return fmt.Sprintf("%T does not touch data.", c)
	}
}

func guardBirth(o view, c Change) string {
	switch c := c.(type) {
	case AdoptData:
		return guardAdopt(o, c)
	case BeginBirth:
		return guardBegin(o, c)
	case Bootstrap:
		return guardBootstrap(o, c)
	case VoidBirth:
		return guardVoid(o)
	case NextBirth:
		return guardNext(o, c)
	default:
		return fmt.Sprintf("%T is no part of a birth.", c)
	}
}

func first[T any](items []T, veto func(T) string) string {
	for _, item := range items {
		if why := veto(item); why != "" {
			return why
		}
	}
	return ""
}

// guardRemove projects the membership without the member: what is left must be a quorum of itself.
func guardRemove(o view, c RemoveMember) string {
	r := o.Find(c.Name)
	if !o.Membership.Known || r.Member == nil || r.Member.ID != c.ID {
		return fmt.Sprintf("it is not certain that %s is member %s.", c.Name, c.ID)
	}
	if r.Member.Learner {
		return ""
	}
	if c.ID == o.Membership.Leader {
		return fmt.Sprintf("%s leads; it must hand over first.", c.Name)
	}
	if veto := guardCopies(o, c.Name); veto != "" {
		return veto
	}
	voters, healthy := len(o.Voters())-1, len(o.HealthyVoters())
	if r.IsHealthy(o.Membership) {
		healthy--
	}
	if voters < 1 || healthy < etcdutil.Quorum(voters) {
		return fmt.Sprintf("without %s only %d healthy of %d voters would be left, which is no quorum.", c.Name, healthy, voters)
	}
	return ""
}

// guardPromote projects the membership with one voter more, which counts as dead unless it is sealed and caught up now.
func guardPromote(o view, c Promote) string {
	r := o.Find(c.Name)
	if !o.Membership.Known || !r.IsLearner() || r.Member.ID != c.ID {
		return fmt.Sprintf("it is not certain that %s is learner %s.", c.Name, c.ID)
	}
	if !r.IsSealed() {
		return fmt.Sprintf("%s could still start from an empty directory.", c.Name)
	}
	if saysThatCopiesDiffer(o) && !allHoldTheSame(o) {
		return "members hold different data, and nothing shows which of them it was copied from."
	}
	voters, healthy := len(o.Voters())+1, len(o.HealthyVoters())
	if o.isCaughtUp(r) {
		healthy++
	}
	if healthy < etcdutil.Quorum(voters) {
		return fmt.Sprintf("with %s as a voter only %d of %d would be healthy, which is no quorum.", c.Name, healthy, voters)
	}
	return ""
}

func guardAdd(o view, c AddLearner) string {
	switch {
	case !o.Membership.Known:
		return "the member list is not known."
	case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:
		return "another member is being added."
	case len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters())):
		return "the voters have no quorum."
	case saysThatCopiesDiffer(o) && !allHoldTheSame(o):
		return "members hold different data, and a new one would copy either."
	case o.Find(c.Name).Member != nil || o.Find(c.Name).Pod != nil || o.Find(c.Name).IsRecorded():
		return fmt.Sprintf("the name %s is in use.", c.Name)
	}
	return ""
}

func guardMove(o view, c MoveLeader) string {
	if !o.Membership.Known || o.Membership.Leader != c.FromID {
		return fmt.Sprintf("it is not certain that %s leads.", c.From)
	}
	taker := o.Find(c.To)
	if !taker.IsVoter() || taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {
		return fmt.Sprintf("%s is not a healthy voter.", c.To)
	}
	return guardHeir(o, taker)
}

// guardDeletePod lets a Pod go whose process does nothing for the cluster, and keeps every Pod that holds the only data.
func guardDeletePod(o view, ref PodRef) string {
	if r, isFormer := find(o.FormerMembers(), ref.Name); isFormer {
		return o.guardFormerPod(r, ref)
	}
	r := o.Find(ref.Name)
	if r.Pod == nil || r.Pod.UID != ref.UID {
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	}
	switch {
	case o.isNobodys(r):
		return ""
	case r.Pod.Running && !o.mayStopSurvivor(r) && o.guardStop(r) != "":
		return o.guardStop(r)
	case r.Ephemeral && r.IsRecorded():
		return fmt.Sprintf("the Pod %s holds the data of a member.", ref.Name)
	case r.isDoomed():
		return fmt.Sprintf("the volume of %s is being deleted and lives only as long as its Pod.", ref.Name)
	}
	return ""
}

// isNobodys reports a Pod of a birth that was given up, or of a member that is none any more.
func (o Incarnation) isNobodys(r Replica) bool {
	return o.isVoided(r.Pod.Incarnation) || o.isOtherIncarnation(r.Pod.Incarnation) || o.Membership.Known && r.Member == nil
}

// guardEvict lets a member be stopped on purpose only on data that outlives its Pod, and only while the others are a quorum.
func guardEvict(o view, c EvictPod) string {
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", c.Pod.Name)
	case r.Ephemeral || r.isDoomed():
		return fmt.Sprintf("the data of %s would be lost with its Pod.", r.Name)
	case !r.IsSealed() || !o.mayRestart(r):
		return fmt.Sprintf("%s has no recorded data of this cluster to start from.", r.Name)
	case guardCopies(o, r.Name) != "":
		return guardCopies(o, r.Name)
	case !o.Membership.Known && !(o.isAlone(r) && o.guardStop(r) == ""):
		return "the member list is not known."
	}
	return guardVotes(o, r)
}

// guardVotes asks whether the cluster can do without a member for a while. The only one of a cluster of one is away for as
// long as it takes, whatever is done.
func guardVotes(o view, r Replica) string {
	voters := o.Voters()
	if len(voters) == 1 || !r.IsVoter() {
		return ""
	}
	if r.Member.ID == o.Membership.Leader {
		return fmt.Sprintf("%s leads; it must hand over first.", r.Name)
	}
	others := filter(o.HealthyVoters(), func(other Replica) bool { return other.Name != r.Name })
	if len(others) < etcdutil.Quorum(len(voters)) {
		return fmt.Sprintf("without %s only %d healthy of %d voters would serve, which is no quorum.", r.Name, len(others), len(voters))
	}
	return ""
}

// isVoided reports whether this incarnation was given up, with nothing ever recorded of it.
func (o Incarnation) isVoided(incarnation string) bool {
	return o.Birth.Void && !o.isAlive() && incarnation == o.Birth.Incarnation
}

// isOtherIncarnation reports whether something is left of a birth that was given up, while the next one is under way.
func (o Incarnation) isOtherIncarnation(incarnation string) bool {
	return o.Birth.Exists() && !o.isAlive() && incarnation != o.Birth.Incarnation
}

// guardDeleteVolume never lets go of a volume that a current member, or an unknown one, may live on.
func guardDeleteVolume(o view, ref VolumeRef) string {
	if r, isNext := find(o.Next.Members, ref.Name); isNext {
		return o.guardNextVolume(r, ref)
	}
	if r, isFormer := find(o.FormerMembers(), ref.Name); isFormer {
		return o.guardFormerVolume(r, ref)
	}
	if v, isKept := o.keptAs(ref); isKept {
		return o.guardKeptVolume(v)
	}
	return o.guardOwnVolume(o.Find(ref.Name), ref)
}

// guardOwnVolume is the guard of a volume of this incarnation.
func (o view) guardOwnVolume(r Replica, ref VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if r.Pod != nil {
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	}
	if o.isVoided(r.Volume.Incarnation) || o.isOtherIncarnation(r.Volume.Incarnation) && !r.IsRecorded() {
		return ""
	}
	if !o.Membership.Known || r.Member != nil {
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", ref.Name)
	}
	return guardLastCopy(o, r)
}

// guardLastCopy keeps what a removed member lived on while it may be a copy that is needed.
func guardLastCopy(o view, r Replica) string {
	switch {
	case !r.IsRecorded():
		return ""
	case r.Volume.RemovedFor == CauseCorruption:
		return fmt.Sprintf("the volume %s holds a copy that differs; a person decides about it.", r.Name)
	}
	return guardCopies(o, r.Name)
}

// keptAs returns what was put aside, if this volume was.
func (o view) keptAs(ref VolumeRef) (KeptVolume, bool) {
	for _, v := range o.Kept {
		if v.Name == ref.Name && v.UID == ref.UID {
			return v, true
		}
	}
	return KeptVolume{}, false
}

// guardKeptVolume keeps what was put aside until its time is over, and while anything of its name is there.
func (o view) guardKeptVolume(v KeptVolume) string {
	r := o.Find(v.Name)
	if v.For == CauseCorruption || o.Now.Sub(v.Since) < o.Desired.KeepVolumes || r.Member != nil || r.Pod != nil ||
		v.Since.IsZero() {
		return fmt.Sprintf("the volume %s is kept.", v.Name)
	}
	return ""
}

// guardKeep puts aside only what no member lives on, or what was put aside at a time that cannot be read.
func guardKeep(o view, c KeepVolume) string {
	if v, isKept := o.keptAs(c.Volume); isKept && v.For == c.For && v.Since.IsZero() {
		return ""
	}
	r := o.Find(c.Volume.Name)
	switch {
	case !r.hasVolume(c.Volume) || c.For == NoCause || r.Volume.RemovedFor != c.For:
		return fmt.Sprintf("the volume %s is another one by now.", c.Volume.Name)
	case !o.Membership.Known || r.Member != nil || r.Pod != nil:
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", c.Volume.Name)
	}
	return ""
}

// guardStart keeps a member ID from ever starting on an empty or foreign disk.
func guardStart(o view, s Start) string {
	r := o.Find(s.Name)
	switch s.Flags {
	case FlagsSealed, FlagsRestored:
		return cmp.Or(o.guardRead(r), guardSealed(o, r, s))
	case FlagsBirth:
		if !o.mayBeBorn(r) || !o.Birth.Origin.IsZero() || r.isRestored() {
			return fmt.Sprintf("%s is not a first member that has yet to start empty.", s.Name)
		}
	case FlagsJoin:
		if r.IsRecorded() || !o.Membership.Known || !r.IsLearner() {
			return fmt.Sprintf("%s is not a learner that has yet to start.", s.Name)
		}
	case FlagsNone:
		return fmt.Sprintf("%s has no flags to start with.", s.Name)
	}
	return ""
}

// guardSealed lets a member start only from data that is recorded as its own, or was restored for it.
func guardSealed(o view, r Replica, s Start) string {
	wrote := r.Record().Version
	isFirst := o.startsFirst(r)
	if isFirst {
		wrote = o.restoredWith(r)
	}
	switch {
	case !s.Flags.needData() || !isFirst && (s.Flags == FlagsRestored || !o.mayRestart(r)):
		return fmt.Sprintf("%s has no recorded data of this cluster to start from.", s.Name)
	case !wrote.SameMinor(s.Choices.Version):
		return fmt.Sprintf("etcd %s wrote the data of %s, and nothing says that %s may start on it.", wrote, s.Name, s.Choices.Version)
	}
	return ""
}

// startsFirst reports whether the member has never been seen on what was restored for it.
func (o view) startsFirst(r Replica) bool {
	isOfThisIncarnation := r.isRestored() && r.Volume.Incarnation == o.Birth.Incarnation && !o.Birth.Void
	return isOfThisIncarnation && !r.IsRecorded() && (o.mayBeBorn(r) || !o.isAlive())
}

// mayBeBorn reports whether a cluster that lives still expects this first member: it is listed, or was interrupted.
func (o view) mayBeBorn(r Replica) bool {
	if r.IsRecorded() || !o.isFilled(r) {
		return false
	}
	isListed := o.Membership.Known && r.Member != nil && slices.Contains(o.Birth.Names, r.Name) && !o.hasLostVolume(r)
	return isListed || o.mayRebirth(r)
}

func guardBootstrap(o view, c Bootstrap) string {
	if o.isAlive() || o.Birth.Void || !o.Birth.Exists() {
		return "the cluster lives already, or its birth is not written down."
	}
	if why := first(c.Restores, func(l Laying) string { return guardLaying(o, l) }); why != "" {
		return why
	}
	if why := o.guardFence(); why != "" && len(c.Pods) > 0 {
		return why
	}
	return first(c.Pods, func(s Start) string { return guardFirstStart(o, s) })
}

// guardVoid lets a birth be given up only while nothing was ever written or recorded.
func guardVoid(o view) string {
	if o.isAlive() || slices.ContainsFunc(o.Members, hasWrites) {
		return "the cluster lives, or may hold data."
	}
	if o.hasSwitchedOver() {
		return "a restore in place switched over to this incarnation, and nothing takes its place without a person."
	}
	return ""
}

// guardNext begins the next incarnation only after one that was given up, and with what the spec asks for.
func guardNext(o view, c NextBirth) string {
	if why := guardVoid(o); why != "" {
		return why
	}
	return guardOrigin(o, c.Origin)
}

func guardBegin(o view, c BeginBirth) string {
	if o.Birth.Exists() {
		return "a birth is already written down."
	}
	if o.isOverRetained() || c.ClusterID == 0 && o.isAlive() {
		return "there is data of a cluster already."
	}
	if c.ClusterID != 0 {
		return "" // what a living cluster began with is past
	}
	return guardOrigin(o, c.Origin)
}

// guardLabel leads clients away from a member that does not answer only to others that do: the operator itself may be cut off.
func guardLabel(o view, c LabelRole) string {
	r := o.Find(c.Pod.Name)
	isUnseen := c.Role == "" && r.Pod != nil && r.Answer == nil
	if isUnseen && (!o.Membership.Known || len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters()))) {
		return fmt.Sprintf("%s does not answer, and no quorum does.", c.Pod.Name)
	}
	return ""
}

func guardBudget(o view, c SetBudget) string {
	if o.Membership.Known && c.MinAvailable < budgetFor(o, len(o.Voters())) {
		return fmt.Sprintf("%d voters need a larger budget.", len(o.Voters()))
	}
	return ""
}

// guardRecord writes an identity down only when that very member said it in this very observation.
func guardRecord(o view, m MemberRecord) string {
	r, says := o.Find(m.Name), m.Record
	isSaid := o.isAnsweringFor(r) && says.IsOf(r.Answer.ClusterID, r.Member.ID) && !says.Version.IsZero()
	isOurs := o.Birth.ClusterID == 0 || says.ClusterID == o.Birth.ClusterID
	if !isSaid || !isOurs || r.Incarnation() != o.Birth.Incarnation || !r.isWhere(m) {
		return fmt.Sprintf("%s did not answer as member %s of this cluster.", m.Name, says.MemberID)
	}
	return ""
}

// isWhere reports that a record goes to the very volume, or the very Pod, that the member's data is in.
func (r Replica) isWhere(m MemberRecord) bool {
	if r.Volume != nil {
		return r.Pod != nil && m.VolumeUID == r.Volume.UID
	}
	return r.Pod != nil && m.PodUID == r.Pod.UID
}

// guardRecordBirth writes the cluster's identity down only once a quorum of first members bears it on their data.
func guardRecordBirth(o view, c RecordBirth) string {
	bearers := filter(o.Members, func(r Replica) bool { return r.Record().ClusterID == c.ClusterID })
	if o.Birth.ClusterID != 0 || len(bearers) < etcdutil.Quorum(len(o.Birth.Names)) {
		return "too few members are recorded, or another identity is written down already."
	}
	return ""
}
