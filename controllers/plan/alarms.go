package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// alarms takes back NOSPACE once every member has room again, and CORRUPT once all copies are the same: etcd itself
// never does. All else that is raised asks for a person.
func alarms(o pass) *proposal {
	raised := o.Raised()
	full := filterAlarms(raised, facts.AlarmNoSpace)
	switch corrupt := filterAlarms(raised, facts.AlarmCorrupt); {
	case len(full) > 0 && o.HasRoom():
		return act(changes.DisarmAlarms{Alarms: full}, "every member has room again.")
	case isCured(o, corrupt) && len(o.FilledLearners()) > 0:
		learner := o.FilledLearners()[0]
		return act(changes.RemoveMember{Name: learner.Name, ID: learner.Member.ID},
			"it may have copied from the wrong copy, and etcd hashes no learner. It has no vote.")
	case isCured(o, corrupt):
		return act(changes.DisarmAlarms{Alarms: corrupt},
			"every voter says that it holds the same data at one revision.")
	case len(corrupt) > 0:
		return refuse(facts.ReasonAlarm, "etcd raised %s for %s: reads are answered, and writes are refused. %s; "+
			"once the data is right, etcdctl alarm disarm ends it.%s", facts.AlarmCorrupt,
			accused(o.Incarnation, corrupt[0]), o.RemedyOf(corrupt[0], o.Desired), restartsMeanwhile(o)).
			byHuman().yielding()
	case len(full) > 0 && isQuotaRaised(o):
		return wait(facts.ReasonAlarm, "etcd raised %s%s and takes no more keys: the %s. The operator gives "+
			"one member after the other a larger quota, and disarms the alarm.", facts.AlarmNoSpace,
			forOther(o, full[0]), o.Fullest()).yielding()
	case len(full) > 0 && isRoomComing(o):
		return wait(facts.ReasonAlarm, "etcd raised %s%s and takes no more keys: the %s. The operator makes "+
			"volumes larger, one at a time. Then it gives members a larger quota, and disarms the alarm.",
			facts.AlarmNoSpace, forOther(o, full[0]), o.Fullest()).yielding()
	case len(full) > 0 && isGivingBack(o) && refilled(o) == "":
		return wait(facts.ReasonAlarm, "etcd raised %s%s and takes no more keys: the %s. %s If that "+
			"frees too little, this message then says what you do.%s", facts.AlarmNoSpace, forOther(o, full[0]),
			o.Fullest(), givesBack(o), restartsMeanwhile(o)).yielding()
	case len(full) > 0 && lastSilent(o) != "":
		return wait(facts.ReasonAlarm, "etcd raised %s%s and takes no more keys. Every member that answers has "+
			"room by now. The operator disarms the alarm once %s answers too, and has room.%s", facts.AlarmNoSpace,
			forOther(o, full[0]), lastSilent(o), restartsMeanwhile(o)).yielding()
	case len(full) > 0:
		return refuse(facts.ReasonAlarm, "etcd raised %s%s and takes no more keys: the %s.%s%s%s "+
			"The alarm is disarmed once every member has less than %d %% of its quota.%s", facts.AlarmNoSpace,
			forOther(o, full[0]), o.Fullest(), refilled(o), whatFills(o), byAPerson(o, full[0]), facts.RoomPercent,
			restartsMeanwhile(o)).byHuman().yielding()
	}
	return nil
}

// givesBack says how the operator makes room, as sentences.
func givesBack(o pass) string {
	if young := youngHistory(o); young != "" {
		return young + " Then it defragments members one by one, and disarms the alarm."
	}
	return "The operator compacts old history where it fills members, defragments them one by one, and disarms " +
		"the alarm."
}

// MakesRoom reports a cluster out of space in which the operator makes room by itself, so that a person may wait.
func MakesRoom(seen facts.Observation) bool {
	o := current(seen)
	return o.HasRoom() || isQuotaRaised(o) || isRoomComing(o) || isGivingBack(o) && refilled(o) == "" || isTriedAgain(o)
}

// LastSilent is the member whose answer alone is missing for NOSPACE to be disarmed; or "".
func LastSilent(seen facts.Observation) string { return lastSilent(current(seen)) }

// lastSilent is the member that does not answer, where all others have room; or "".
func lastSilent(o pass) string {
	silent := ""
	for _, r := range o.Members {
		switch {
		case r.Member == nil:
		case r.Answer == nil:
			silent = r.Name
		case r.IsFull():
			return ""
		}
	}
	return silent
}

// byAPerson says what it takes a person for, and what that one does, as sentences with a space in front.
func byAPerson(o pass, full facts.Alarm) string {
	alone := "The operator cannot mend this alone."
	if isTriedAgain(o) {
		alone = "The operator makes room once more, which may not last."
	}
	if young := youngHistory(o); young != "" {
		alone = young + " If keys fill it, the operator cannot mend this alone."
	}
	return " " + alone + " " + howToMakeRoom(o, full)
}

// youngHistory says that time may make room, as sentences, or "".
func youngHistory(o pass) string {
	if !o.due.IsHistoryYoung || o.History.IsRead || !o.History.IsSteady || o.Desired.Upkeep.KeepHistory == 0 {
		return ""
	}
	return fmt.Sprintf("What fills it may be history of the last %[1]s. The operator compacts that once it is older, "+
		"in at most %[1]s: a shorter spec.maintenance.keepHistory lets it do so sooner.", o.Desired.Upkeep.KeepHistory)
}

// refilled says of which member room was made a short while ago in vain: keys fill it, or history that is too young to
// be compacted. It is a sentence with a space in front, or "".
func refilled(o pass) string {
	for _, r := range o.Voters() {
		p := r.Defragmenting
		if p == nil || !p.HasSucceeded() || o.Now.Sub(endOf(p)) >= restAfterDefrag || r.Answer == nil || !r.IsFull() ||
			!p.WasFull(r.RunsWith()) || o.History.IsRead {
			continue
		}
		at := endOf(p).UTC().Format(time.RFC3339)
		if p.HasHelped() && p.Before > p.After {
			return fmt.Sprintf(" A defragmentation at %s freed %s, and %s is full again.", at,
				facts.InMebi(p.Before-p.After), r.Name)
		}
		return fmt.Sprintf(" A defragmentation at %s did not free enough, and %s is still full.", at, r.Name)
	}
	return ""
}

// isTriedAgain reports that room is made now, in vain as it was before: see refilled.
func isTriedAgain(o pass) bool {
	_, isBusy := o.Busy()
	next := o.due.Defragment
	return isBusy && !o.IsOutOfSpace() || next.Member != nil && whyNotDefrag(o, next) == ""
}

// howToMakeRoom is what a person does where keys fill members, as sentences. Where the spec asks for a quota that is
// large enough, something else in it keeps members from that.
func howToMakeRoom(o pass, full facts.Alarm) string {
	needed, asked := o.QuotaNeeded(), o.Desired.Settings.QuotaBytes
	if why := cmp.Or(o.Desired.Fault, o.due.HeldBy); asked >= needed && why != "" {
		return fmt.Sprintf("Members get the %s that spec.etcd.quotaBackendBytes asks for once the rest of the spec is "+
			"put right: %s.", facts.FormatBytes(asked), strings.TrimSuffix(why, "."))
	}
	patch := fmt.Sprintf(`"etcd":{"quotaBackendBytes":"%s"}`, facts.InMebi(needed))
	if size := facts.VolumeFor(needed); !o.Desired.Ephemeral && size > o.Desired.StorageBytes {
		patch += fmt.Sprintf(`,"storage":{"size":"%s"}`, facts.InMebi(size))
	}
	return fmt.Sprintf(`%s. This raises the quota: kubectl patch etcdcluster %s -n %s --type merge -p '{"spec":{%s}}'.`,
		o.RemedyOf(full, o.Desired), o.Cluster.Name, o.Cluster.Namespace, patch)
}

// isQuotaRaised reports a quota larger than that which a member runs with, and members that are restarted for it.
func isQuotaRaised(o pass) bool {
	hasLess := func(r facts.Replica) bool { return r.RunsWith().QuotaBytes < o.Desired.Settings.QuotaBytes }
	return o.due.HeldBy == "" && followsSpec(o) && slices.ContainsFunc(o.Voters(), hasLess)
}

// whatFills names the prefixes of keys that take most, or what would, as a sentence with a space in front.
func whatFills(o pass) string {
	if o.Proven == nil || o.Proven.Largest == "" {
		return " A backup that is complete says which keys take most."
	}
	return fmt.Sprintf(" The newest backup has %s.", o.Proven.Largest)
}

// restartsMeanwhile says what becomes of a change of the spec while an alarm stands: see isHeldByAlarm.
func restartsMeanwhile(o pass) string {
	how := "one at a time"
	if len(o.Voters()) == 1 {
		how = "and etcd is down for some seconds"
	}
	return " Until the alarm is gone, members restart for the spec only if it raises spec.etcd.quotaBackendBytes: " +
		"then with all that it asks, " + how + "."
}

func filterAlarms(all []facts.Alarm, name string) []facts.Alarm {
	return slices.DeleteFunc(slices.Clone(all), func(a facts.Alarm) bool { return a.Name != name })
}

// forOther names whom an alarm was raised for, with a space in front, where that is no member that is there. One that
// is may have given room back, and another one be the fullest by now.
func forOther(o pass, a facts.Alarm) string {
	isHere := func(r facts.Replica) bool { return r.Member != nil && r.Member.ID == a.Member }
	if slices.ContainsFunc(o.Members, isHere) {
		return ""
	}
	return " for " + accused(o.Incarnation, a)
}

// accused names whom an alarm was raised for.
func accused(o facts.Incarnation, a facts.Alarm) string {
	for _, r := range o.Members {
		if r.Member != nil && r.Member.ID == a.Member {
			return r.Name
		}
	}
	if !o.Bootstrap.Origin.IsZero() && a.Member != 0 {
		return fmt.Sprintf("the member %s of the cluster that the backup was taken from", a.Member)
	}
	if a.Member == 0 {
		return "some member"
	}
	return fmt.Sprintf("the former member %s", a.Member)
}

// isCured reports alarms of corruption that were raised here, while all voters hold the same.
func isCured(o pass, corrupt []facts.Alarm) bool {
	isUnanswered := func(a facts.Alarm) bool { return !o.IsAnswered(a) }
	return len(corrupt) > 0 && len(o.Voters()) > 1 && haveEqualCopies(o.Incarnation) &&
		!slices.ContainsFunc(corrupt, isUnanswered)
}

// checkRoom refuses settings with which the cluster would stop: its data has more room now, and would have too little.
// No member is given them, and what was begun of that is taken back. See facts.Crowded.
func checkRoom(o pass) *proposal {
	if p := takenBack(o); p != nil {
		return p
	}
	wanted := o.Desired.Settings
	crowded := o.Crowded(wanted)
	overQuota := facts.Filter(crowded, func(r facts.Replica) bool { return r.IsOverQuota(wanted) })
	overMemory := facts.Filter(crowded, func(r facts.Replica) bool { return r.IsOverMemory(wanted) })
	switch {
	case len(crowded) == 0:
		return nil
	case len(overQuota) > 0:
		size := func(r facts.Replica) int64 { return r.Answer.DBSize }
		return tooLittle("%s. The database of %s, and may take %d %% of it. No member is restarted with that. Put it "+
			"back or ask for at least %s, or compact and defragment every member.", o.Desired.QuotaIs(),
			sizes(overQuota, "%s has %s", "of %s %s", size), facts.RoomPercent,
			facts.InMebi(facts.QuotaFor(largest(overQuota, size))))
	case len(overMemory) > 0:
		size := func(r facts.Replica) int64 { return r.Answer.DBSizeInUse }
		return tooLittle("spec.pod.resources.limits.memory is %s. In use are %s. No member is restarted with that. "+
			"Put it back or ask for more than %s, or delete keys and compact.", facts.FormatBytes(wanted.MemoryBytes),
			sizes(overMemory, "%[2]s of the database of %[1]s", "%[2]s of %[1]s", size),
			facts.InMebi(largest(overMemory, size)))
	}
	return wait(facts.ReasonSpecRefused, "%s, less than %s has. No member gets that before one answers and says how "+
		"much it stores. Put it back if members need other settings to start.", o.Desired.QuotaIs(),
		crowded[0].Name).yielding()
}

func tooLittle(format string, args ...any) *proposal {
	return refuse(facts.ReasonSpecRefused, format, args...).byHuman().yielding()
}

// withoutRoom refuses to make next members with settings that leave no room for the backup that they begin with.
func withoutRoom(ahead pass, made []changes.NewVolume) *proposal {
	if why := ahead.Desired.WhyNoRoom(ahead.Bootstrap.Origin); why != "" && len(made) > 0 {
		return refuse(facts.ReasonRestoreHeld, "The next members cannot be made: %s.", why).byHuman()
	}
	return nil
}

// takenBack puts back the settings on the volume of a member whose data has outgrown them: its next Pod is made from
// the settings that its Pod has, or else from those of the others.
func takenBack(o pass) *proposal {
	if !o.Membership.Known {
		return nil
	}
	for _, r := range o.Members {
		if r.Volume == nil || r.Volume.Terminating || len(o.Crowded(r.Volume.Settings)) == 0 {
			continue
		}
		fit := o.due.Settings
		if r.Pod != nil {
			fit = r.RunsWith()
		}
		if fit.Version == r.Volume.Settings.Version && fit != r.Volume.Settings && len(o.Crowded(fit)) == 0 {
			return act(changes.WriteSettings{Volumes: []facts.VolumeRef{r.VolumeRef()}, Settings: fit},
				"the member would have too little room with those that stand there. Members serve with these.")
		}
	}
	return nil
}

// sizes lists members with a figure each, the first one in other words.
func sizes(members []facts.Replica, first, next string, size func(facts.Replica) int64) string {
	says := make([]string, 0, len(members))
	for i, r := range members {
		format := next
		if i == 0 {
			format = first
		}
		says = append(says, fmt.Sprintf(format, r.Name, facts.InMebi(size(r))))
	}
	return strings.Join(says, ", ")
}

func largest(members []facts.Replica, size func(facts.Replica) int64) int64 {
	var most int64
	for _, r := range members {
		most = max(most, size(r))
	}
	return most
}

// entriesPerPass is how many entries one pass adds. etcd writes a snapshot after 10,000 entries, or after
// spec.etcd.snapshotCount.
const entriesPerPass = 1_500

// coverLog adds entries to raft's log until every voter wrote a snapshot past what the next etcd cannot read in it. On
// the way up, how far each one was is written down before, by recordMembers. A roll comes first: a Pod made anew begins
// this anew.
func coverLog(o pass) *proposal {
	leader := o.Leader()
	if !o.Desired.Needs.CountsSnapshots() || leader.Answer == nil || !isReadyToLeave(o) {
		return nil
	}
	saysNothing := func(r facts.Replica) bool { return r.Answer.Snapshots == nil }
	if mute := facts.Filter(o.Voters(), saysNothing); len(mute) > 0 {
		return wait(facts.ReasonCoverLog, "%s does not say how many snapshots it wrote; it is asked again. Look "+
			"whether etcd answers /metrics on its client port.", mute[0].Name)
	}
	why := fmt.Sprintf("etcd %s cannot read what 3.5 may have left there", o.Desired.Target)
	if o.Desired.Needs == etcdutil.NeedSave {
		why = "a member did not say that it wrote a snapshot, and a lower etcd cannot read what a higher one may " +
			"have left there"
	}
	return act(changes.AppendEntries{Until: leader.Answer.Applied + entriesPerPass},
		"%s. It goes on until every member wrote a snapshot, and clients are served meanwhile.", why)
}

// wakeFor is for how long entries are added each time that a member may be waiting for one.
const wakeFor = 2 * time.Second

// wakeMember adds one entry to raft's log for a member that may be waiting for it. Where clients write that happens by
// itself.
func wakeMember(o pass) *proposal {
	leader := o.Leader()
	if leader.Answer == nil {
		return nil
	}
	for _, r := range o.Members {
		if r.Member == nil || !r.IsUp() || r.Pod.Settings.Version.Compare(countsLate) < 0 {
			continue
		}
		what := ""
		switch {
		case mayAwaitEntry(o, r):
			what = "runs and does not answer yet"
		case isStuckBehind(o, r, leader):
			behind := leader.Answer.Applied - r.Answer.Applied
			what = fmt.Sprintf("answers, and is %d entries behind %s", behind, leader.Name)
		default:
			continue
		}
		return act(changes.AppendEntries{},
			"%s %s. Without such an entry etcd %s may not serve on data that it copied.", r.Name, what,
			countsLate.MinorString())
	}
	return nil
}

// mayAwaitEntry reports a member whose process began 2, 4, 8, … seconds ago and does not answer, for as long as a new
// one may take to join. Copying the data may take long, so an entry is added again, each time after twice as long.
func mayAwaitEntry(o pass, r facts.Replica) bool {
	if r.Answer != nil || !r.Pod.Running || r.Pod.RunningSince.IsZero() {
		return false
	}
	began := 2 * time.Second
	ran := o.Now.Sub(r.Pod.RunningSince)
	for 2*began <= ran {
		began *= 2
	}
	return ran >= began && ran < began+wakeFor && ran <= joinDeadline(o.Incarnation)
}

// isStuckBehind reports a member that goes on after a pause in which the others wrote. It holds what they hold, reads
// of it are answered, and the index that it reports stays behind until something is written (tried on 3.7.3: 516 of
// 25,009). An entry per pass does no harm to one that is still copying.
func isStuckBehind(o pass, r, leader facts.Replica) bool {
	return r.IsHealthy(o.Membership) && r.Answer.Leader == leader.Member.ID && !o.IsCaughtUp(r)
}
