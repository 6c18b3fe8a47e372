package backupplan

// Stages of a backup, as the status shows them.
const (
	StageWaiting  = "Waiting"
	StageStarting = "Starting"
	StageSnapshot = "Snapshot"
	StageFetch    = "Fetch"
	StageRestore  = "Restore"
	StageCompare  = "Compare"
	StageComplete = "Complete"
	StageFailed   = "Failed"
)

// Reasons of the condition Complete, and of Failed. Where a step of the Job says itself why it failed, it is its word.
const (
	ReasonVerified = "Verified"
	ReasonStored   = "Stored"

	ReasonCreating          = "Creating"
	ReasonStarting          = "Starting"
	ReasonRunning           = "Running"
	ReasonRetrying          = "Retrying"
	ReasonDeleting          = "Deleting"
	ReasonClusterNotFound   = "ClusterNotFound"
	ReasonClusterDeleting   = "ClusterDeleting"
	ReasonClusterNotBorn    = "ClusterNotBorn"
	ReasonNoMembers         = "NoMembers"
	ReasonAgentImageUnknown = "AgentImageUnknown"
	ReasonNameTaken         = "NameTaken"
	ReasonRecordUnreadable  = "RecordUnreadable"
	ReasonSuspended         = "Suspended"

	ReasonUnschedulable        = "Unschedulable"
	ReasonImagePullFailed      = "ImagePullFailed"
	ReasonContainerNotStarting = "ContainerNotStarting"
	ReasonVolumeNotMounted     = "VolumeNotMounted"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonPodSecurity          = "PodSecurity"
	ReasonPodRefused           = "PodRefused"

	ReasonClaimOfAMember   = "ClaimOfAMember"
	ReasonDeadlineExceeded = "DeadlineExceeded"
	ReasonJobDeleted       = "JobDeleted"
	ReasonJobFailed        = "JobFailed"
	ReasonResultLost       = "ResultLost"
	ReasonStepFailed       = "StepFailed"
	ReasonRestoreFailed    = "RestoreFailed"
	ReasonEtcdutlMissing   = "EtcdutlMissing"
	ReasonPodLost          = "PodLost"
)

// Reasons of the condition Verified beside those above.
const (
	ReasonHashesAgree = "HashesAgree"
	ReasonNotAsked    = "NotAsked"
	ReasonNotYet      = "NotYet"
	ReasonNotProven   = "NotProven"
	ReasonNoWitness   = "NoWitness" // of Complete as well, as the next

	ReasonRecordNotSigned = "RecordNotSigned"
)

// Reasons of events.
const (
	EventStarted  = "BackupStarted"
	EventComplete = "BackupComplete"
	EventFailed   = "BackupFailed"
	EventHeldUp   = "BackupHeldUp"
	EventDoubted  = "BackupDoubted"
)
