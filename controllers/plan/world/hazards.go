package world

import "time"

// Hazards are what a run suffers from beyond the usual faults. Without any of them a world is as kind as it was before
// there were hazards, seed by seed.
type Hazards struct {
	Corruption     bool // a disk holds other content than those of its peers
	RolledBack     bool // a disk goes back to what it held before, under the same member ID
	CopiedVolumes  bool // a backup tool puts a claim of the old name in the place of a lost one
	SkewedCaches   bool // the caches of Pods, volumes, Services … lag by themselves
	StaleSpecs     bool // the operator decides on a spec that was changed since
	Restless       bool // the world moves between a confirmation and its effect, and between two effects
	Overlap        bool // two replicas of one install act at the same time
	Installs       bool // another install looks after the same cluster
	OlderRelease   bool // a release that does not know restores in place acts now and then
	SkewedClocks   bool // a node's clock, or the API server's, is minutes off
	Refusals       bool // Kubernetes refuses to create objects of one kind
	LostReplies    bool // an effect happens, and the operator sees an error
	SlowEtcd       bool // etcd refuses changes of the membership, or makes them late
	EditedMetadata bool // people change labels and annotations of claims
	Collection     bool // the garbage collector takes a deleted cluster apart, one object after the other
	SharedNodes    bool // members share nodes, and die together
	Minors         bool // the user asks for versions of three minors
}

// trouble is how the world stands with its hazards.
type trouble struct {
	Hazards
	refused map[string]bool          // kinds of which Kubernetes admits no new object
	skew    map[string]time.Duration // how far clocks are off, by node
	late    []func()                 // what etcd will do a moment later
	rolled  bool                     // a disk lost writes that its member had acknowledged
	isMoved bool                     // the world moves in the middle of a pass at this moment
	isRaced bool                     // a fault hit the world between the operator's last look and its effect
	isOlder bool                     // the operator that acts is of an older release
	isQuiet bool                     // no client writes
	isLate  bool                     // the cluster's schedule has no verified backup of its last two runs
}

// Suffer turns hazards on. Calm ends all that a person or time would end.
func (w *World) Suffer(h Hazards) { w.trouble.Hazards = h }

// Calm takes the hazards back, so that a cluster of which enough is left must settle. Clocks stay as wrong as they
// are, and disks and metadata as they were left. Of clusters that changed their minor, clients leave every other one.
func (w *World) Calm() {
	w.trouble.isLate = false
	w.trouble.isQuiet = w.trouble.Minors && w.Now.UnixMilli()%2 == 0
	w.trouble.Hazards, w.trouble.refused = Hazards{}, nil
	if w.objects.birth.Exists() {
		w.Cluster.Operator = w.objects.claim // the install that has it goes on
	}
	w.logf("the world calms down")
}

// hazardFaults are the faults that the world's hazards add.
func (w *World) hazardFaults() []func(string) {
	var out []func(string)
	for _, kind := range []struct {
		isOn   bool
		faults []func(string)
	}{
		{w.trouble.Corruption, []func(string){w.CorruptDisk, w.CorruptDisk, w.KillContainer, w.KillContainer}},
		{w.trouble.RolledBack, []func(string){w.RollBack, w.RollBack}},
		{w.trouble.CopiedVolumes, []func(string){w.CopyVolume, w.CopyVolume, w.RebindVolume, w.RebindVolume,
			w.RebindVolume}},
		{w.trouble.SkewedClocks, []func(string){w.SkewClock, w.SkewClock, w.KillContainer, w.KillContainer}},
		{w.trouble.Refusals, []func(string){w.refuseAny, w.refuseAny, w.loseMember}},
		{w.trouble.EditedMetadata, []func(string){w.StripLabels, w.EditIncarnation, w.ChangePolicy}},
		{w.trouble.Collection, []func(string){w.collect, w.collect, w.collect}},
		{w.trouble.Minors, []func(string){w.ChangeMinor, w.ChangeMinor, w.ChangeMinor, w.MissBackups}},
		{w.trouble.SharedNodes, []func(string){w.LoseSharedNode, w.RestartSharedNode}},
	} {
		if kind.isOn {
			out = append(out, kind.faults...)
		}
	}
	return out
}

// sometimes is true once in so many times, where the hazard is on. Without it the seed is not asked.
func (w *World) sometimes(isOn bool, once int) bool { return isOn && w.rng.IntN(once) == 0 }
