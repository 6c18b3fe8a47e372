package v1alpha1

// Condition types of an EtcdCluster. Reconciling and Stalled are present only while they are True, and never both.
const (
	// ConditionReady is True when the cluster matches its spec.
	ConditionReady = "Ready"
	// ConditionAvailable is True when a linearizable read succeeded in the pass that wrote it.
	ConditionAvailable = "Available"
	// ConditionDegraded is True when a cluster that once had its size has fewer healthy voters, or when a wait is past
	// its deadline.
	ConditionDegraded = "Degraded"
	// ConditionUpToDate is True when every member runs with the settings of this spec.
	ConditionUpToDate = "UpToDate"
	// ConditionBackedUp is True when the newest proven backup is as new as it should be. Absent where no backups are
	// expected.
	ConditionBackedUp = "BackedUp"
	// ConditionReconciling is True while the operator changes something, or waits for something that needs no person.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the operator cannot continue without a person.
	ConditionStalled = "Stalled"
)
