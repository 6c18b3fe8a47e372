package v1alpha1

// Condition types of an EtcdCluster. Reconciling and Stalled are present only while they are True, and never both.
const (
	// ConditionReady is True when everything that the spec asks for is so.
	ConditionReady = "Ready"
	// ConditionAvailable is True when a linearizable read succeeded in the pass that wrote it.
	ConditionAvailable = "Available"
	// ConditionDegraded is True when, once the size was reached, fewer healthy voters than that are there, or a wait is past its deadline.
	ConditionDegraded = "Degraded"
	// ConditionUpToDate is True when every member runs with the settings of this spec.
	ConditionUpToDate = "UpToDate"
	// ConditionReconciling is True while the operator has something to do or waits for something that time may bring.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the operator will not go on without a person.
	ConditionStalled = "Stalled"
)
