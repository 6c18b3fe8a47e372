package facts

// Note is what a rule says that lets later rules act.
type Note struct {
	Rule, Reason, Message string
	NeedsHuman, Overdue   bool
}

// PodRef is one Pod and no other of that name.
type PodRef struct{ Name, UID string }

// VolumeRef is one volume and no other of that name.
type VolumeRef struct{ Name, UID string }

// DataRef is a volume or a Secret that outlives the cluster, and no other of its name.
type DataRef struct{ Kind, Name, UID string }

// Values of the role label.
const (
	RoleVoter   = "voter"
	RoleLearner = "learner"
)
