package v1alpha1

// Standard labels of Kubernetes, and the values that the operator gives them.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"

	NameValue       = "etcd"
	ManagedByValue  = "etcd-steward"
	ComponentMember = "member"
	ComponentBackup = "backup"
)

// Labels of the operator.
const (
	// LabelMember is the member's name, on its Pod, volume and Secret.
	LabelMember = Group + "/member"
	// LabelRole is voter or learner, on Pods that are recorded and sealed; the client Service selects voters by it.
	LabelRole = Group + "/role"
	// LabelClusterUID is the UID of the EtcdCluster that a volume or an authority belongs to; these have no owner reference.
	LabelClusterUID = Group + "/cluster-uid"
	// LabelIncarnation is the life of the cluster that a volume or Pod was made for.
	LabelIncarnation = Group + "/incarnation"

	// LabelBackup is the name of the EtcdBackup that a Job and its Pods work for.
	LabelBackup = Group + "/backup"
	// LabelSchedule is the name of the EtcdBackupSchedule that an EtcdBackup was made by.
	LabelSchedule = Group + "/schedule"

	RoleVoter   = "voter"
	RoleLearner = "learner"
)

// Annotations of the operator.
const (
	// AnnotationBirth is the birth record, as JSON, on the peer Service.
	AnnotationBirth = Group + "/birth"
	// AnnotationOperator names the install (namespace/name) that looks after the cluster, on the peer Service.
	AnnotationOperator = Group + "/operator"
	// AnnotationRecord says, as JSON, which member lives on a volume; on the PVC, or on the Pod when its data is an emptyDir.
	AnnotationRecord = Group + "/record"
	// AnnotationRestored is the incarnation whose data was laid on a volume from its backup, completely; on the PVC.
	AnnotationRestored = Group + "/restored"
	// AnnotationSuperseded is the incarnation that took the place of the life that a volume is of; on the PVC.
	AnnotationSuperseded = Group + "/superseded-by"
	// AnnotationRequest is the EtcdRestore, as its UID and what it asks for, that a volume was made for; on the PVC.
	AnnotationRequest = Group + "/restore-request"
	// AnnotationFlushed is the incarnation that a survivor's volume is to be read for: its member ran alone and wrote out all it had; on the PVC.
	AnnotationFlushed = Group + "/flushed-for"
	// AnnotationInputs is the canonical JSON of the user's choices that a member's Pod is made from; on PVC and Pod.
	AnnotationInputs = Group + "/inputs"
	// AnnotationRenderer is the number of the renderer that made a Pod.
	AnnotationRenderer = Group + "/renderer"
	// AnnotationDressed is the canonical JSON of the keys of labels and annotations that a Pod has from the spec.
	AnnotationDressed = Group + "/dressed"
	// AnnotationInitialState feeds --initial-cluster-state of a member's next start.
	AnnotationInitialState = Group + "/initial-cluster-state"
	// AnnotationInitialCompare says whether a member compares its data with its peers' when it starts next: true or false.
	AnnotationInitialCompare = Group + "/initial-compare"
	// AnnotationInitialCluster feeds --initial-cluster of a member's next start.
	AnnotationInitialCluster = Group + "/initial-cluster"
	// AnnotationBackupRecord says, as JSON on an EtcdBackup, which Job was made for it and what came of it.
	AnnotationBackupRecord = Group + "/backup-record"
	// AnnotationLastRun is, on an EtcdBackupSchedule, the time for which a run was last begun or left out, as RFC 3339 has it.
	AnnotationLastRun = Group + "/last-run"
	// AnnotationLastPrune says, as JSON on an EtcdBackupSchedule, what came of the last time that its retention was looked after.
	AnnotationLastPrune = Group + "/last-prune"
	// AnnotationLastTest says, as JSON on an EtcdBackupSchedule, what came of its last test restore.
	AnnotationLastTest = Group + "/last-test-restore"
)
