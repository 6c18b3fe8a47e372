package changes

import (
	"reflect"
)

// Traits are what has to be known of a change beside its effect.
type Traits struct {
	// Unconfirmed says why the change is carried out without being decided again on a live look. It is empty for what
	// stops a process, deletes data, changes the membership, lowers a bound, or starts etcd.
	Unconfirmed string
	// Secrets: it makes, uses or takes away Secrets, which may be remembered as they were before another client changed
	// them.
	Secrets bool
}

// KindOf names a change for people, events and metrics.
func KindOf(c Change) string { return reflect.TypeOf(c).Name() }

// TraitsOf are the traits of a change.
func TraitsOf(c Change) Traits { return c.traits() }

func (TakeOver) traits() Traits { return Traits{Secrets: true} } // which the other one wrote

func (c FollowPolicy) traits() Traits {
	if c.Retain {
		return Traits{Secrets: true,
			Unconfirmed: "what is owned goes with the cluster: nothing waits for a second look"}
	}
	return Traits{Secrets: true}
}

func (c LabelRole) traits() Traits {
	if c.Role == "" {
		return Traits{} // that a member does not answer is believed at the second look
	}
	return Traits{Unconfirmed: "clients are led to a member that answered in this very pass"}
}

func (AdoptData) traits() Traits { return Traits{Secrets: true} }

func (BeginBootstrap) traits() Traits { return Traits{} }

func (StartPreflight) traits() Traits { return Traits{} }

func (DeletePreflight) traits() Traits { return Traits{} }

func (RecordRestored) traits() Traits { return Traits{} }

func (DeleteRestores) traits() Traits { return Traits{} }

func (Bootstrap) traits() Traits { return Traits{Secrets: true} }

func (VoidBootstrap) traits() Traits { return Traits{} }

func (NextBootstrap) traits() Traits { return Traits{} }

func (BeginNext) traits() Traits { return Traits{} }

func (PrepareNext) traits() Traits { return Traits{Secrets: true} }

func (DropNext) traits() Traits { return Traits{} }

func (SwitchOver) traits() Traits { return Traits{Secrets: true} }

func (GoBack) traits() Traits { return Traits{Secrets: true} }

func (MarkCurrent) traits() Traits { return Traits{} }

func (MarkFlushed) traits() Traits { return Traits{} }

func (MarkFormer) traits() Traits { return Traits{} }

func (RecordBootstrap) traits() Traits { return Traits{} }

func (RecordMembers) traits() Traits {
	return Traits{Unconfirmed: "what the member said in this very pass does not change"}
}

func (SealPods) traits() Traits {
	return Traits{Unconfirmed: "no process stops, and none starts without data for it"}
}

func (c ApplyObjects) traits() Traits {
	if len(c.Secrets) > 0 {
		return Traits{Secrets: true} // certificates of a member that was removed would count as its vote
	}
	return Traits{Secrets: true, Unconfirmed: "an object is written as it is wanted, and nothing of it is lost"}
}

func (MarkVolume) traits() Traits { return Traits{Unconfirmed: "a mark deletes nothing"} }

func (KeepVolume) traits() Traits { return Traits{} }

func (SetBudget) traits() Traits { return Traits{} }

func (StartPods) traits() Traits { return Traits{} }

func (WriteSettings) traits() Traits { return Traits{} }

func (DressPods) traits() Traits {
	return Traits{Unconfirmed: "no process is stopped for labels and annotations"}
}

func (RestoreInputs) traits() Traits {
	return Traits{Unconfirmed: "it is written only where nothing is"}
}

func (ResizePod) traits() Traits { return Traits{} }

func (EvictPod) traits() Traits { return Traits{} }

func (DeletePods) traits() Traits { return Traits{} }

func (DeleteVolumes) traits() Traits { return Traits{} }

func (DeleteSecret) traits() Traits { return Traits{Secrets: true} }

func (PrepareMember) traits() Traits {
	return Traits{Secrets: true, Unconfirmed: "a name that was promised meanwhile is refused by the write itself"}
}

func (AddLearner) traits() Traits { return Traits{} }

func (Promote) traits() Traits { return Traits{} }

func (MoveLeader) traits() Traits { return Traits{} }

func (DisarmAlarms) traits() Traits { return Traits{} }

func (AppendEntries) traits() Traits {
	return Traits{Unconfirmed: "an entry changes no key and no revision, and the member's process goes on"}
}

func (EnableDowngrade) traits() Traits { return Traits{} }

func (CancelDowngrade) traits() Traits { return Traits{} }

func (RemoveMember) traits() Traits { return Traits{} }
