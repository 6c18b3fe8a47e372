package report

// Reasons of conditions that no rule of the planner speaks: what report itself sees in an observation. Each has a
// sentence in docs/conditions.md, as have those of the planner.
const (
	ReasonCreating      = "Creating"          // the cluster has no identity yet
	ReasonReadSucceeded = "ReadSucceeded"     // a linearizable read succeeded in this pass
	ReasonReadFailed    = "ReadFailed"        // no member could read linearizably in this pass
	ReasonNoSpace       = "NOSPACE"           // etcd's alarm: a database is full, and writes are refused
	ReasonCorrupt       = "CORRUPT"           // etcd's alarm: copies differ, and writes are refused
	ReasonAllHealthy    = "AllMembersHealthy" // as many voters as asked for are healthy
	ReasonUnhealthy     = "MembersUnhealthy"  // voters that have served before are not healthy
	ReasonMissing       = "MembersMissing"    // fewer voters than there have been
	// the wanted size was never reached; nothing is wrong with the voters there are
	ReasonNotReached     = "SizeNotReached"
	ReasonCurrent        = "MembersCurrent"    // every member runs with the settings of the spec
	ReasonCurrentWarned  = "SpecWarning"       // so it is, but something that the spec asks for calls for a warning
	ReasonOutdated       = "MembersOutdated"   // members are made with other settings
	ReasonNotRunning     = "MembersNotRunning" // members do not run at all
	ReasonBackupProven   = "BackupProven"      // the newest proven backup is as new as it should be
	ReasonBackupComplete = "BackupComplete"    // backups are complete in time, and their schedule proves none
	ReasonBackupTooOld   = "BackupTooOld"      // there is no good backup as new as it should be
	ReasonNoBackup       = "NoBackup"          // nothing backs the cluster up
	ReasonFirstBackup    = "FirstBackup"       // the first backup is still to come, and is not late
	ReasonDryRun         = "DryRun"            // the next step is published and not taken
	ReasonApplyFailed    = "ApplyFailed"       // a call of the operator failed
	ReasonTooManyChanges = "TooManyChanges"    // the cluster is changed again and again, and does not come to rest
)

// Reasons of events that no condition has.
const (
	EventCreating      = "CreatingCluster"       // the birth is written down
	EventCreated       = "ClusterCreated"        // the members found each other
	EventRestoring     = "RestoreStarted"        // the backup is restored on the first members' volumes
	EventRestored      = "Restored"              // the cluster serves with it
	EventBirthVoided   = "BirthVoided"           // the birth is given up and begun anew
	EventReady         = "Ready"                 // everything asked for is so
	EventDegraded      = "Degraded"              // fewer healthy voters than there were
	EventUnavailable   = "Unavailable"           // no quorum of the members answers any more
	EventAvailable     = "AvailableAgain"        // it answers again
	EventResumed       = "Resumed"               // spec.paused was taken back
	EventPodStarted    = "PodStarted"            // a member's Pod is started again on its own data
	EventPodEvicted    = "PodEvicted"            // a member's Pod is stopped, to be restarted with other settings
	EventTakenOver     = "TakenOver"             // this install took the cluster over from another
	EventNotTaken      = "NotTakenOver"          // this install was asked to, and cannot; another one looks after it
	EventDataTaken     = "DataTakenOver"         // what an earlier cluster of this name left is taken over
	EventPodDeleted    = "PodDeleted"            // a member's Pod is deleted
	EventVolumeDeleted = "VolumeDeleted"         // a volume is deleted
	EventVolumeKept    = "VolumeKept"            // the volume of a replaced member is put aside
	EventAdded         = "MemberAdded"           // a learner is in the member list
	EventPromoted      = "MemberPromoted"        // a learner became a voter
	EventRemoved       = "MemberRemoved"         // a member was taken out of the list
	EventDisarmed      = "AlarmDisarmed"         // an alarm of etcd was taken back
	EventLeaderMoved   = "LeaderMoved"           // leadership was handed over before a member goes
	EventPolicyApplied = "DeletionPolicyApplied" // ownership of volumes and authorities follows deletionPolicy
	EventSpecWarning   = "SpecWarning"           // the spec is accepted, with a warning
	EventRenewed       = "CertificatesRenewed"   // certificates were issued anew, in Secrets that there are

	EventRestoreBegun     = "RestoreBegun"     // the next incarnation is prepared beside the one that serves
	EventRestoreMoved     = "RestoreMoved"     // the cluster switched over to it
	EventRestoreCalledOff = "RestoreCalledOff" // it was taken back before that
	EventRestoreWentBack  = "RestoreWentBack"  // what never served was given up for the incarnation before it

	EventRestoreApproved = "RestoreApproved" // of an EtcdRestore: its approval quotes the evidence
	EventRestorePrepared = "RestorePrepared" // of an EtcdRestore: the data lies on every new volume
	EventRestoreComplete = "RestoreComplete" // of an EtcdRestore: the cluster serves with it
)
