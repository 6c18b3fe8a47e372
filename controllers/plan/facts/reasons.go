package facts

// Reasons, for machines. Each has a sentence in docs/conditions.md.
const (
	ReasonSettled = "Settled" // everything asked for is so

	ReasonOtherOperator  = "OtherOperator"  // another install looks after the cluster
	ReasonTakeOver       = "TakeOver"       // this install takes the cluster over from another, as a person asks
	ReasonDeletionPolicy = "DeletionPolicy" // ownership of volumes and authorities is put as deletionPolicy says
	ReasonDeleting       = "Deleting"       // the cluster is being deleted
	ReasonPaused         = "Paused"         // spec.paused
	ReasonSpecRefused    = "SpecRefused"    // the spec itself is refused
	ReasonResume         = "Resume"         // what an earlier cluster of this name left is taken over
	ReasonRetainedData   = "RetainedData"   // volumes or authorities of an earlier cluster of this name exist
	ReasonNameTaken      = "NameTaken"      // an object of a needed name is somebody else's
	ReasonOldObjects     = "OldObjectsLeaving"

	ReasonBeginBirth    = "BeginBirth"      // the birth record is written
	ReasonRecordLost    = "BirthRecordLost" // the birth record is gone, and nothing else says which cluster this was
	ReasonBootstrap     = "Bootstrap"       // objects, volumes and Pods of the first members are made
	ReasonVoidBirth     = "VoidBirth"       // the birth is given up and begun anew
	ReasonPreflight     = "Preflight"       // the backup to begin with is looked at
	ReasonRestore       = "Restore"         // the backup is restored on the first members' volumes
	ReasonRestoreFailed = "RestoreFailed"   // restoring it there failed
	// the next incarnation is prepared beside the one that serves, or the cluster switches over to it
	ReasonInPlace     = "RestoreInPlace"
	ReasonRestoreHeld = "RestoreHeld" // an EtcdRestore cannot go on without a person
	ReasonCallOff     = "RestoreCalledOff"
	// the members of an incarnation that a restore ended are stopped before the next ones start
	ReasonFence = "Fence"
	// too many of the volumes that a restore switched over to were lost before they served
	ReasonRestoreLost   = "RestoredDataLost"
	ReasonFirstQuorum   = "FirstQuorum"   // the first members start and find each other
	ReasonRecordBirth   = "RecordBirth"   // the cluster's identity is written down
	ReasonNewChoices    = "NewChoices"    // a Pod that does not run is made from other choices
	ReasonScaffold      = "Scaffold"      // Services, Secrets or the NetworkPolicy are created or corrected
	ReasonAuthorityLost = "AuthorityLost" // the Secret of an authority is gone while members live by it
	// the Secret of an authority holds another CA than the one that members trust
	ReasonAuthorityReplaced = "AuthorityReplaced"
	ReasonBudget            = "Budget" // the PodDisruptionBudget follows the voters

	ReasonPodEnded          = "PodEnded"          // a Pod ended and is made anew on its volume
	ReasonPodMissing        = "PodMissing"        // a member's Pod is gone and is started on its volume
	ReasonPodLeaving        = "PodLeaving"        // a Pod is terminating
	ReasonSeal              = "Seal"              // a member is made unable to start from an empty directory
	ReasonQuorumLost        = "QuorumLost"        // too many members have certainly lost their data
	ReasonMembersDisagree   = "MembersDisagree"   // members answer with different cluster IDs
	ReasonMembershipUnknown = "MembershipUnknown" // no member could be asked for the list
	ReasonAuth              = "AuthRequired"      // etcd's authentication keeps the operator out
	ReasonStranger          = "StrangeMember"     // a member that the operator did not add
	ReasonForeignData       = "ForeignData"       // a volume holds another member's or cluster's data

	ReasonResize        = "Resize"         // CPU and memory of a member that runs follow the spec
	ReasonRecordMembers = "RecordMembers"  // identities are written on volumes
	ReasonVersions      = "VersionsMoving" // all members run a minor, and the versions of cluster and data follow
	ReasonMinorHeld     = "MinorHeld"      // something has to be put right before members go to another minor version
	ReasonOtherVersion  = "OtherVersion"   // a member answers with another version than it was made to run
	ReasonWake          = "WakeMember"     // an entry is added, that a member of 3.7 may wait for
	ReasonCoverLog      = "CoverLog"       // entries are added until snapshots cover what etcd 3.5 wrote
	ReasonDowngrade     = "Downgrade"      // a downgrade of etcd is enabled, or cancelled
	ReasonLabelRole     = "LabelRole"      // the client Service follows the roles
	ReasonLeftover      = "Leftover"       // remains of a removed member are cleaned up
	ReasonJoin          = "Join"           // a learner's first Pod is started
	ReasonAbandon       = "AbandonLearner"
	ReasonPromote       = "Promote"
	ReasonCatchUp       = "LearnerCatchingUp"
	ReasonRepair        = "DataLost"    // a member that lost its data is removed, to be replaced
	ReasonReplaceDead   = "MemberDead"  // a member that was dead for repair.replaceAfter is removed, to be replaced
	ReasonDisarm        = "DisarmAlarm" // an alarm of the past is taken back
	ReasonAlarm         = "AlarmRaised" // etcd raised an alarm that only a person can end
	ReasonCorruption    = "DataDiffers" // members hold different data
	ReasonCompare       = "Compare"     // the copy of a member that started is compared with the others'
	ReasonKeepVolume    = "VolumeKept"  // the volume of a replaced member is put aside
	ReasonGrow          = "Grow"
	ReasonShrink        = "Shrink"
	ReasonMoveLeader    = "MoveLeader"
	ReasonRoll          = "Roll"               // a running member is brought to the settings of the spec
	ReasonPodMetadata   = "PodMetadata"        // labels and annotations of the spec follow in place
	ReasonNotSupported  = "ChangeNotSupported" // a change of a running cluster that this release cannot make
	ReasonGuard         = "QuorumAtRisk"       // the guard vetoed a change
	// of a Note: the change was made in the pass before, and nothing that is seen moved
	ReasonNoEffect = "NoEffect"

	ReasonStarting      = "MemberStarting"
	ReasonUnschedulable = "Unschedulable"
	ReasonGated         = "SchedulingGated"    // scheduling gates of others hold the Pod back
	ReasonProvisioning  = "ProvisioningFailed" // Kubernetes cannot make the volume that the Pod waits for
	ReasonImagePull     = "ImagePullFailed"
	ReasonNotMounted    = "VolumeNotMounted"     // a Secret or volume that the Pod mounts is not there
	ReasonContainer     = "ContainerNotStarting" // the container cannot be created
	ReasonCrashing      = "MemberCrashing"
	ReasonSidecar       = "SidecarNotReady"    // a container beside etcd does not start, is not ready, or stopped
	ReasonNotRecorded   = "MemberNotRecorded"  // a member serves that could not be recorded and sealed
	ReasonDoomed        = "VolumeBeingDeleted" // a member's volume is being deleted under it
	ReasonNotReady      = "MemberNotReady"
)

// Reasons of members: one word that says why a member is not healthy, or will not stay so. The rows of signs.go have
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
)
