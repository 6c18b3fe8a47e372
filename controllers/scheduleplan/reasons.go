package scheduleplan

// Reasons of the condition Ready.
const (
	ReasonScheduled       = "Scheduled"
	ReasonRunning         = "Running"
	ReasonCreating        = "Creating"
	ReasonPreviousRunning = "PreviousRunning"
	ReasonSuspended       = "Suspended"
	ReasonDeleting        = "Deleting"
	ReasonScheduleInvalid = "ScheduleInvalid"
	ReasonTimeZoneUnknown = "TimeZoneUnknown"
	ReasonNeverFires      = "NeverFires"
	ReasonClusterNotFound = "ClusterNotFound"
	ReasonNameTaken       = "NameTaken"
)

// Reasons of the condition BackedUp.
const (
	ReasonLastRunComplete = "LastRunComplete"
	ReasonLastRunFailed   = "LastRunFailed"
	ReasonNoRunYet        = "NoRunYet"
)

// Reasons of the conditions Retained and Proven. Where a Job says itself why it failed, it is its word.
const (
	ReasonApplied       = "Applied"
	ReasonStoreEmpty    = "StoreEmpty"
	ReasonPaused        = "RetentionPaused"
	ReasonRestored      = "Restored"
	ReasonUnconfirmed   = "RestoredUnconfirmed"
	ReasonNotYet        = "NotYet"
	ReasonRestoreBegins = "RestoreBegins"
)

// Reasons of events.
const (
	EventCreated = "BackupCreated"
	EventMadeUp  = "RunsMissed"
	EventLeftOut = "RunLeftOut"
	EventHeldUp  = "ScheduleHeldUp"
	EventAhead   = "ClockRanAhead"

	EventPruned       = "BackupsRemoved"
	EventNotPruned    = "RetentionFailed"
	EventProven       = "TestRestoreComplete"
	EventNotProven    = "TestRestoreFailed"
	EventChoreRefused = "ScheduleJobRefused"
)
