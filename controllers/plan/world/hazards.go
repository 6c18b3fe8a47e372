package world

import (
	"cmp"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Hazards are what a run suffers from beyond the usual faults.
type Hazards struct {
	Corruption     bool // a disk holds other content than those of its peers
	RolledBack     bool // a disk goes back to what it held before, under the same member ID
	CopiedVolumes  bool // a backup tool puts a claim of the old name in the place of a lost one
	SkewedCaches   bool // the caches of Pods, volumes, Services … lag by themselves
	StaleSpecs     bool // the operator decides on a spec that was changed since
	Restless       bool // the world moves between a confirmation and its effect, and between two effects
	Overlap        bool // two replicas of one install act at the same time
	Installs       bool // another install looks after the same cluster
	SkewedClocks   bool // a node's clock, or the API server's, is minutes off
	Refusals       bool // Kubernetes refuses to create objects of one kind
	LostReplies    bool // an effect happens, and the operator sees an error
	SlowEtcd       bool // etcd refuses changes of the membership, or makes them late
	EditedMetadata bool // people change labels and annotations of claims
	Collection     bool // the garbage collector takes a deleted cluster apart, one object after the other
	SharedNodes    bool // members share nodes, and die together
	Minors         bool // the user asks for versions of three minors
	Amounts        bool // the user asks for other amounts of CPU and memory
	Classes        bool // StorageClasses are withdrawn, and the user asks for others
	CARolls        bool // a person has the CA replaced, or takes that back
	OtherCAs       bool // people write another CA into the Secret of the CA
	Finalizers     bool // finalizers of another controller keep Pods that were asked to go
	Bloat          bool // much is stored and deleted again
	Windows        bool // members that serve may be stopped now and then only
	FullNodes      bool // no node is left beside those that the first members are on
	Asks           bool // a person has a new member follow one, one lead or one stop, or takes that back
	Sleep          bool // the user asks for no member, and for some again
	Growth         bool // the user asks for larger volumes, and storage takes its time or cannot
	Speeds         bool // the user asks for other VolumeAttributesClasses, and storage takes its time or cannot
	WALs           bool // volumes of the logs are deleted, and the user asks for others
	Drains         bool // nodes are drained
	Moves          bool // the user asks for another StorageClass or pool of nodes, and puts that back
	Auth           bool // authentication is turned on and off, by the spec and by people
	TLSTurns       bool // the user asks for another mode of TLS, and puts that back
}

// trouble is how the world stands with its hazards.
type trouble struct {
	Hazards
	refused map[string]bool          // kinds of which Kubernetes admits no new object
	skew    map[string]time.Duration // how far clocks are off, by node
	date    time.Duration            // how far answers of the API server are off beside that
	late    []func()                 // what etcd will do a moment later
	rolled  bool                     // a disk lost writes that its member had acknowledged
	isMoved bool                     // the world moves in the middle of a pass at this moment
	isRaced bool                     // a fault hit the world between the operator's last look and its effect
	isQuiet bool                     // no client writes
	isLate  bool                     // the cluster's schedule has no verified backup of its last two runs
}

// Suffer turns hazards on. Calm ends all that a person or time would end.
func (w *World) Suffer(h Hazards) {
	w.trouble.Hazards = h
	if h.Windows {
		w.Windows = inTurns
	}
}

// Calm takes the hazards back, so that a cluster of which enough is left must settle. Clocks stay as wrong as they
// are, disks and metadata as they were left, and windows open as they did. Of clusters that changed their minor,
// clients leave every other one.
func (w *World) Calm() {
	w.trouble.isLate, w.trouble.date = false, 0
	w.trouble.isQuiet = w.trouble.Minors && (w.trouble.Bloat || w.chance(2, "clients leave", "") == 0)
	w.trouble.Hazards, w.trouble.refused = Hazards{}, nil
	w.putClassRight()
	w.Wake()
	if w.Spec.Auth == facts.AuthOff { // people may have turned it on, and are told for as long as it is
		w.Spec.Auth = facts.AuthAsItIs
	}
	w.Fenced, w.drained = "", nil
	w.Spec.StorageBytes = min(w.Spec.StorageBytes, 12<<30)
	for _, asked := range []*string{&w.Spec.Attributes, &w.Spec.WAL.Attributes} {
		if *asked == noSuchSpeed {
			*asked = ""
		}
	}
	for uid := range w.disks {
		w.makeRoom(uid)
	}
	w.PutCABack()
	w.PutGivenRight()
	w.Cluster.Operator = cmp.Or(w.keeper(w.objects), w.Cluster.Operator) // the install that has it goes on
	w.logf("the world calms down")
}

// hazardFaults are the faults that the world's hazards add.
func (w *World) hazardFaults() []fault {
	var out []fault
	for _, kind := range []struct {
		isOn   bool
		faults []fault
	}{
		{w.trouble.Corruption, []fault{{"CorruptDisk", 2, w.CorruptDisk}, {"KillAnother", 2, w.KillContainer},
			{"AgePod", 1, w.AgePod}}},
		{w.trouble.RolledBack, []fault{{"RollBack", 2, w.RollBack}}},
		{w.trouble.CopiedVolumes, []fault{{"CopyVolume", 2, w.CopyVolume}, {"RebindVolume", 3, w.RebindVolume}}},
		{w.trouble.SkewedClocks, []fault{{"SkewClock", 2, w.SkewClock}, {"KillAndRestart", 2, w.KillContainer},
			{"WrongDate", 2, by(w.WrongDate)}}},
		{w.trouble.Refusals, []fault{{"Refuse", 2, w.refuseAny}, {"LoseWhileRefused", 1, w.loseMember}}},
		{w.trouble.EditedMetadata, []fault{{"StripLabels", 1, w.StripLabels},
			{"EditIncarnation", 1, w.EditIncarnation}, {"ChangePolicy", 1, w.ChangePolicy}}},
		{w.trouble.Collection, []fault{{"Collect", 3, w.collect}}},
		{w.trouble.Minors, []fault{{"ChangeMinor", 3, w.ChangeMinor}, {"MissBackups", 1, w.MissBackups}}},
		{w.trouble.Amounts, []fault{{"ChangeAmounts", 12, by(w.ChangeAmounts)}}},
		{w.trouble.Bloat, []fault{{"Bloat", 3, by(w.Bloat)}}},
		{w.trouble.Classes, []fault{{"ChangeClass", 2, by(w.ChangeClass)},
			{"LoseWhileWithdrawn", 2, w.loseMember}}},
		{w.trouble.OtherCAs, []fault{{"ReplaceCA", 4, by(w.ReplaceCA)}, {"PutCABack", 6, by(w.PutCABack)},
			{"LoseUnderAnotherCA", 2, w.loseMember}}},
		{w.trouble.TLSTurns, []fault{{"TurnTLS", 8, by(w.TurnTLS)}}},
		{w.trouble.CARolls, []fault{{"AskToRollCA", 10, by(w.AskToRollCA)},
			{"ChangeGiven", 12, by(w.ChangeGiven)}, {"ChangeIssuer", 12, by(w.ChangeIssuer)}}},
		{w.trouble.Growth, []fault{{"Grow", 12, by(w.Grow)}, {"FillDisk", 4, w.FillDisk}}},
		{w.trouble.Speeds, []fault{{"ChangeSpeed", 12, by(w.ChangeSpeed)}}},
		{w.trouble.Drains, []fault{{"Drain", 12, by(w.Drain)}, {"TryDrain", 120, by(w.TryDrain)}}},
		{w.trouble.Moves, []fault{{"Move", 12, by(w.Move)}}},
		{w.trouble.WALs, []fault{{"MoveWAL", 12, by(w.MoveWAL)}, {"LoseWAL", 4, w.LoseWAL},
			{"RemakeWAL", 4, w.RemakeWAL}}},
		{w.trouble.Asks, []fault{{"AskToReplace", 6, by(w.AskToReplace)},
			{"AskToLead", 6, by(w.AskToLead)}, {"AskToFence", 8, by(w.AskToFence)}}},
		{w.trouble.Sleep, []fault{{"Sleep", 8, by(w.Sleep)}, {"Wake", 6, by(w.Wake)}, {"LoseAsleep", 1, w.loseMember}}},
		{w.trouble.Auth, []fault{{"AskForAuth", 10, by(w.AskForAuth)}, {"TurnAuthByHand", 4, by(w.TurnAuthByHand)},
			{"DeleteUser", 4, by(w.DeleteUser)}}},
		{w.trouble.FullNodes, []fault{{"DoomVolume", 12, w.DeleteVolume}}},
		{w.trouble.SharedNodes, []fault{{"LoseSharedNode", 1, w.LoseSharedNode},
			{"RestartSharedNode", 1, w.RestartSharedNode}}},
	} {
		if kind.isOn {
			out = append(out, kind.faults...)
		}
	}
	return out
}
