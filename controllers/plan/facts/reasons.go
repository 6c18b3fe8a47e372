package facts

import (
	"cmp"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Reasons of waits and refusals, for machines. Each has a sentence in docs/conditions.md. That of what is done is the
// name of the change.
const (
	ReasonSettled = "Settled" // everything asked for is so

	ReasonOtherOperator = "OtherOperator" // another install looks after the cluster
	ReasonTakeOver      = "TakeOver"      // this install takes the cluster over from another, as a person asks
	ReasonDeleting      = "Deleting"      // the cluster is being deleted
	ReasonPaused        = "Paused"        // spec.paused
	ReasonSpecRefused   = "SpecRefused"   // the spec itself is refused
	ReasonRetainedData  = "RetainedData"  // volumes or CAs of an earlier cluster of this name exist
	ReasonNameTaken     = "NameTaken"     // an object of a needed name is somebody else's
	ReasonOldObjects    = "OldObjectsLeaving"

	ReasonRecordLost    = "BootstrapRecordLost" // the bootstrap record is gone, and nothing says which one it was
	ReasonVoidBootstrap = "VoidBootstrap"       // the bootstrap is given up and begun anew
	ReasonPreflight     = "Preflight"           // the backup to begin with is looked at
	ReasonUnusable      = "BackupUnusable"      // and cannot be begun with
	ReasonRestore       = "Restore"             // the backup is restored on the first members' volumes
	ReasonRestoreFailed = "RestoreFailed"       // restoring it there failed
	// the next incarnation is prepared beside the one that serves, or the cluster switches over to it
	ReasonInPlace     = "RestoreInPlace"
	ReasonRestoreHeld = "RestoreHeld" // an EtcdRestore cannot go on without a person
	ReasonCallOff     = "RestoreCalledOff"
	// the members of an incarnation that a restore ended are stopped before the next ones start
	ReasonFence = "Fence"
	// too many of the volumes that a restore switched over to were lost before they served
	ReasonRestoreLost = "RestoredDataLost"
	ReasonFirstQuorum = "FirstQuorum" // the first members start and find each other
	ReasonRollCA      = "RollCA"      // a step of the roll of a CA waits
	ReasonTLSMode     = "TLSMode"     // a step from one mode of TLS to another waits
	ReasonCASource    = "CASource"    // the spec names a Secret for a CA, and what it holds cannot be used
	// certificates wait for the issuer that signs them
	ReasonAwaitsIssuer = "AwaitsIssuer"
	ReasonCALost       = "CALost" // the Secret of a CA is gone while members live by it
	// the Secret of a CA holds another CA than the one that members trust
	ReasonCAReplaced = "CAReplaced"

	ReasonPodLeaving        = "PodLeaving"        // a Pod is terminating
	ReasonQuorumLost        = "QuorumLost"        // too many members have certainly lost their data
	ReasonMembersDisagree   = "MembersDisagree"   // members answer with different cluster IDs
	ReasonMembershipUnknown = "MembershipUnknown" // no member could be asked for the list
	ReasonAuth              = "AuthRequired"      // etcd's authentication keeps the operator out
	ReasonAuthSpec          = "Authentication"    // authentication has to wait before it is turned on or off
	ReasonAuthByHand        = "AuthOnByHand"      // authentication is on, and not because the spec asked for it
	ReasonStranger          = "UnknownMember"     // a member that the operator did not add
	ReasonForeignData       = "ForeignData"       // a volume holds another member's or cluster's data

	ReasonResize        = "Resize"          // CPU and memory of a member that runs follow the spec
	ReasonExpand        = "VolumeExpansion" // volumes grow to the size of the spec, or one cannot
	ReasonVersions      = "VersionsMoving"  // all members run a minor, and the versions of cluster and data follow
	ReasonMinorHeld     = "MinorHeld"       // something has to be put right before members go to another minor version
	ReasonOtherVersion  = "OtherVersion"    // a member answers with another version than it was made to run
	ReasonCoverLog      = "CoverLog"        // entries are added until snapshots cover what the next etcd cannot read
	ReasonCatchUp       = "LearnerCatchingUp"
	ReasonRepair        = "DataLost"    // a member that lost its data is removed, to be replaced
	ReasonReplaceDead   = "MemberDead"  // a member that was dead for repair.replaceAfter is removed, to be replaced
	ReasonAlarm         = "AlarmRaised" // etcd raised an alarm that only a person can end
	ReasonCorruption    = "DataDiffers" // members hold different data
	ReasonCompare       = "Compare"     // the copy of a member that started is compared with the others'
	ReasonMoveLeader    = "MoveLeader"
	ReasonDefragment    = "Defragment"         // a member is defragmented
	ReasonModify        = "VolumeModification" // volumes get the VolumeAttributesClass of the spec, or one cannot
	ReasonWindow        = "MaintenanceWindow"  // members that serve are not restarted before the next window opens
	ReasonAsleep        = "Asleep"             // spec.size is 0, and no member runs
	ReasonFallingAsleep = "FallingAsleep"      // spec.size is 0, and something has to end before the cluster sleeps
	ReasonFenced        = "MemberFenced"       // a person keeps a member stopped, and its volume
	ReasonFenceWaits    = "FenceWaits"         // a person fenced a member, which cannot be stopped yet
	ReasonRoll          = "Roll"               // a running member is brought to the settings of the spec
	ReasonNotSupported  = "ChangeNotSupported" // a change of a running cluster that this release cannot make
	// the guard vetoed a change
	ReasonQuorumAtRisk      = "QuorumAtRisk"
	ReasonDataAtRisk        = "DataAtRisk"
	ReasonIdentityAtRisk    = "IdentityAtRisk"
	ReasonIncarnationAtRisk = "IncarnationAtRisk"
	ReasonAccessAtRisk      = "AccessAtRisk"
	// of a Note: the change was made in the pass before, and nothing that is seen moved
	ReasonNoEffect = "NoEffect"

	ReasonStarting      = "MemberStarting"
	ReasonUnschedulable = "Unschedulable"
	ReasonGated         = "SchedulingGated"    // scheduling gates of others hold the Pod back
	ReasonProvisioning  = "ProvisioningFailed" // Kubernetes cannot make the volume that the Pod waits for
	ReasonImagePull     = "ImagePullFailed"
	ReasonNotMounted    = "MountFailed"          // a Secret or volume that the Pod mounts is not there
	ReasonContainer     = "ContainerNotStarting" // the container cannot be created
	ReasonCrashing      = "MemberCrashing"
	ReasonSidecar       = "SidecarNotReady"    // a container beside etcd does not start, is not ready, or stopped
	ReasonNotRecorded   = "MemberNotRecorded"  // a member serves that could not be recorded and sealed
	ReasonDoomed        = "VolumeBeingDeleted" // a member's volume is being deleted under it
	ReasonNotReady      = "MemberNotReady"
)

// IsVeto reports one of the reasons for which the guard vetoes a change.
func IsVeto(reason string) bool {
	return slices.Contains([]string{ReasonQuorumAtRisk, ReasonDataAtRisk, ReasonIdentityAtRisk,
		ReasonIncarnationAtRisk, ReasonAccessAtRisk}, reason)
}

// Reasons of members: one word that says why a member is not healthy, or will not stay so. The rows of judge have
// them. Beside them stand the reasons for which etcd stops (etcdutil.ExitReason) and those for which Kubernetes lets a
// container or a Pod wait.
const (
	MemberNoVolume          = "VolumeMissing"
	MemberVolumeLost        = "VolumeLost"
	MemberProvisioning      = "ProvisioningFailed"
	MemberVolumeTerminating = "VolumeTerminating"
	MemberNoPod             = "PodMissing"
	MemberPodTerminating    = "PodTerminating"
	MemberPodHeld           = "PodHeld"
	MemberPodEnded          = "PodEnded"
	MemberStarting          = "Starting"
	MemberStopped           = "Stopped"
	MemberNotAnswering      = "NotAnswering"
	MemberNodeGone          = "NodeGone"
	MemberNodeNotReady      = "NodeNotReady"
	MemberOtherIdentity     = "OtherIdentity"
	MemberNoLeader          = "NoLeader"
	MemberNotListed         = "NotInMemberList"
	MemberListUnknown       = "MemberListUnknown"
	MemberCorrupt           = "Corrupt"
	MemberDefragmenting     = "Defragmenting"
	MemberFenced            = "Fenced"
)

// Cause says why a member stands so, in one noun. The set is closed.
type Cause string

// The causes, by kind: see Kind.
const (
	NoCause Cause = ""

	CauseVolume   Cause = "Volume"   // the claim, or what is behind it, is gone or going
	CausePod      Cause = "Pod"      // the Pod that held ephemeral data is gone
	CauseDisk     Cause = "Disk"     // the disk fails, or what lies on it cannot be read
	CauseNode     Cause = "Node"     // the node is gone, stopped answering, or does not take the Pod
	CauseIdentity Cause = "Identity" // the data is of another cluster or of another member
	CausePlace    Cause = "Place"    // no node that can use the volume takes the Pod as the spec is

	CauseSettings Cause = "Settings" // a flag, a certificate, a version
	CauseImage    Cause = "Image"    // the image cannot be had
	CauseRoom     Cause = "Room"     // no node has room for the Pod
	CauseSpace    Cause = "Space"    // the disk is full
	CauseOutside  Cause = "Outside"  // something outside of the member holds its Pod back

	CauseCorruption Cause = "Corruption" // its copy of the data differs from another member's

	CauseUnknown Cause = "Unknown"
)

// Kind tells what a new member in the place of this one would meet.
type Kind string

// The kinds of causes.
const (
	OwnKind     Kind = "own"     // of this disk or node: a new member would not meet it
	RecursKind  Kind = "recurs"  // a new member would meet it as well: it is told, and no member is replaced for it
	DoubtKind   Kind = "doubt"   // one member's word does not prove it: the others' evidence decides
	UnknownKind Kind = "unknown" // time tells
)

// Kind is the kind of the cause; empty where there is none.
func (c Cause) Kind() Kind {
	switch c {
	case CauseVolume, CausePod, CauseDisk, CauseNode, CauseIdentity, CausePlace:
		return OwnKind
	case CauseSettings, CauseImage, CauseRoom, CauseSpace, CauseOutside:
		return RecursKind
	case CauseCorruption:
		return DoubtKind
	case CauseUnknown:
		return UnknownKind
	case NoCause:
	}
	return ""
}

// How long a wait may last before it is called overdue. A wait is counted from a time on an object, and goes on after
// it. That of a container which stopped, or cannot start, is counted from the creation of its Pod: see startTrouble.
const (
	StartDeadline   = 2 * time.Minute  // a Pod to serve, from its creation or its last change
	ListDeadline    = 2 * time.Minute  // a member list, from the last change of any Pod
	JoinDeadline    = 10 * time.Minute // a learner to start and catch up, from the creation of its Pod
	PlaceDeadline   = 5 * time.Minute  // a node to take a Pod, since the scheduler said that none does
	LeavingDeadline = 30 * time.Second // a Pod to be gone, after its grace period ended
)

// StartProblems maps what Kubernetes says of a container or Pod that cannot start to a reason.
var StartProblems = map[string]string{
	"ErrImagePull":               ReasonImagePull,
	"ImagePullBackOff":           ReasonImagePull,
	"InvalidImageName":           ReasonImagePull,
	"ErrImageNeverPull":          ReasonImagePull,
	"RegistryUnavailable":        ReasonImagePull,
	"ImageInspectError":          ReasonImagePull,
	"SignatureValidationFailed":  ReasonImagePull,
	"CreateContainerConfigError": ReasonContainer,
	"CreateContainerError":       ReasonContainer,
	"RunContainerError":          ReasonContainer,
	"CreatePodSandboxError":      ReasonContainer,
	"Unschedulable":              ReasonUnschedulable,
	"SchedulingGated":            ReasonGated,
}

// WaitingForCrash is how Kubernetes calls the wait of a container that stopped again and again.
const WaitingForCrash = "CrashLoopBackOff"

// StartWarnings maps the events that say why the kubelet starts no container, which a Pod's status does not say. Events
// come late and get lost, so they are told, and nothing is decided by them.
var StartWarnings = map[string]string{
	"FailedMount":            ReasonNotMounted,
	"FailedAttachVolume":     ReasonNotMounted,
	"FailedMapVolume":        ReasonNotMounted,
	"FailedCreatePodSandBox": ReasonContainer,
	"NetworkNotReady":        ReasonContainer,
	ReasonProvisioning:       ReasonProvisioning,
}

// StartReason is the reason why a container or Pod does not start, by what Kubernetes says; empty where it says none.
func StartReason(waiting string) string {
	return cmp.Or(StartProblems[waiting], StartWarnings[waiting])
}

// AwaitsImage reports a Pod that starts nothing because an image cannot be had, by what Kubernetes says.
func AwaitsImage(waiting string) bool { return StartReason(waiting) == ReasonImagePull }

// HasNoPlace reports a Pod that no node took for as long as it takes to make room for one.
func (o Observation) HasNoPlace(p *Pod) bool {
	return p != nil && !p.Terminating && StartProblems[p.Waiting] == ReasonUnschedulable && o.IsPast(p.PlaceUntil())
}

// PlaceUntil is by when a node takes a Pod that has had no place since it was created, or since it lost one.
func (p *Pod) PlaceUntil() time.Time {
	since := p.Created
	if p.UnplacedFrom.After(since) {
		since = p.UnplacedFrom
	}
	return since.Add(PlaceDeadline)
}

// Alarms that etcd raises.
const (
	AlarmNoSpace = etcdutil.AlarmNoSpace
	AlarmCorrupt = etcdutil.AlarmCorrupt
)

// Alarm is an alarm with the member that it was raised for.
type Alarm = etcdutil.Alarm

// OnlyMember says what a cluster of one voting member survives.
const OnlyMember = "There is one voting member: while it is down, etcd is down."

// RemedyOf is what a person can do about an alarm.
func (o Incarnation) RemedyOf(a Alarm, d Desired) string {
	switch a.Name {
	case AlarmNoSpace:
		raise := "Raise spec.etcd.quotaBackendBytes to at least " + InMebi(o.QuotaNeeded())
		if d.Upkeep.Compacts {
			return raise + ", or delete keys, and the operator compacts and defragments"
		}
		return raise + ", or delete keys and compact, and the operator defragments. It compacts nothing itself, " +
			"since spec.maintenance.compactOnNoSpace is false"
	case AlarmCorrupt:
		return "Compare what the members hold, or restore an older backup with an EtcdRestore"
	default:
		return "Find its cause in etcd's log, and end it with etcdctl alarm disarm"
	}
}

// Raised are all alarms that a member speaks of, each once.
func (o Incarnation) Raised() []Alarm {
	var all []Alarm
	for _, r := range o.Members {
		if r.Member != nil && r.Answer != nil {
			all = append(all, r.Answer.Alarms...)
		}
	}
	slices.SortFunc(all, func(a, b Alarm) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Member, b.Member))
	})
	return slices.Compact(all)
}

// IsAnswered reports an alarm of corruption that is over once all copies are the same. Nothing that was removed or kept
// tells of it: an alarm has no time, and whom it names proves little. etcd 3.5 names none, and later ones that check by
// the hour name a follower where the leader's copy is the wrong one (etcd-io/etcd:server/etcdserver/corrupt.go,
// PeriodicCheck). A learner's copy is not compared, so one that names a learner stands. So does one that may have come
// with a backup: all members may hold its wrong copy. A wrong copy that was removed here ended that one already.
func (o View) IsAnswered(a Alarm) bool {
	named := slices.IndexFunc(o.Membership.Members, func(m etcdutil.Member) bool { return m.ID == a.Member })
	switch {
	case a.Name != AlarmCorrupt || named >= 0 && o.Membership.Members[named].Learner:
		return false
	case named >= 0 || o.Bootstrap.Origin.IsZero():
		return true // it was raised here
	}
	return o.hasRemovedCopy()
}

// FilledLearners are those whose etcd ran: they may have copied from a copy that was removed since, and etcd tells no
// hash of a learner.
func (o Incarnation) FilledLearners() []Replica { return Filter(o.Learners(), Replica.MayHaveRun) }

// hasRemovedCopy reports the volume of a member of this very cluster that was removed because its copy differed.
func (o View) hasRemovedCopy() bool {
	isMarked := func(r Replica) bool {
		return r.Member == nil && r.Volume != nil && r.Volume.RemovedFor == CauseCorruption &&
			r.Volume.Record.ClusterID == o.Membership.ClusterID
	}
	isKept := func(v KeptVolume) bool { return v.For == CauseCorruption && v.ClusterID == o.Membership.ClusterID }
	return slices.ContainsFunc(o.Members, isMarked) || slices.ContainsFunc(o.Kept, isKept)
}
