package plan

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// checkRoom refuses settings with which the cluster would stop: its data has more room now, and would have too little.
// No member is given them, and what was begun of that is taken back. See facts.Crowded.
func checkRoom(o judge.View) *proposal {
	if p := takenBack(o); p != nil {
		return p
	}
	wanted := o.Desired.Choices
	crowded := o.Crowded(wanted)
	overQuota := facts.Filter(crowded, func(r facts.Replica) bool { return r.IsOverQuota(wanted) })
	overMemory := facts.Filter(crowded, func(r facts.Replica) bool { return r.IsOverMemory(wanted) })
	switch {
	case len(crowded) == 0:
		return nil
	case len(overQuota) > 0:
		size := func(r facts.Replica) int64 { return r.Answer.DBSize }
		return tooLittle("spec.etcd.quotaBackendBytes is %s. The database of %s, and may take %d %% of it. No member "+
			"is restarted with that. Put it back or ask for at least %s, or compact and defragment every member.",
			facts.FormatBytes(wanted.QuotaBytes), sizes(overQuota, "%s has %s", "of %s %s", size), facts.RoomPercent,
			facts.InMebi(facts.QuotaFor(largest(overQuota, size))))
	case len(overMemory) > 0:
		size := func(r facts.Replica) int64 { return r.Answer.DBSizeInUse }
		return tooLittle("spec.pod.resources.limits.memory is %s. In use are %s. No member is restarted with that. "+
			"Put it back or ask for more than %s, or delete keys and compact.", facts.FormatBytes(wanted.MemoryBytes),
			sizes(overMemory, "%[2]s of the database of %[1]s", "%[2]s of %[1]s", size),
			facts.InMebi(largest(overMemory, size)))
	}
	return wait(facts.ReasonSpecRefused, "spec.etcd.quotaBackendBytes is %s, less than %s has. No member gets that "+
		"before one answers and says how much it stores. Put it back if members need other settings to start.",
		facts.FormatBytes(wanted.QuotaBytes), crowded[0].Name).yielding()
}

func tooLittle(format string, args ...any) *proposal {
	return refuse(facts.ReasonSpecRefused, format, args...).byHuman().yielding()
}

// withoutRoom refuses to make next members with settings that leave no room for the backup that they begin with.
func withoutRoom(ahead judge.View, made []changes.NewVolume) *proposal {
	if why := ahead.Desired.Choices.WhyNoRoom(ahead.Birth.Origin); why != "" && len(made) > 0 {
		return refuse(facts.ReasonRestoreHeld, "The next members cannot be made: %s.", why).byHuman()
	}
	return nil
}

// takenBack puts back the settings on the volume of a member whose data has outgrown them: its next Pod is made from
// the settings that its Pod has, or else from those of the others.
func takenBack(o judge.View) *proposal {
	if !o.Membership.Known {
		return nil
	}
	for _, r := range o.Members {
		if r.Volume == nil || r.Volume.Terminating || len(o.Crowded(r.Volume.Choices)) == 0 {
			continue
		}
		fit := memberChoices(o)
		if r.Pod != nil {
			fit = r.RunsWith()
		}
		if fit.Version == r.Volume.Choices.Version && fit != r.Volume.Choices && len(o.Crowded(fit)) == 0 {
			return act(changes.SetChoices{Volumes: []facts.VolumeRef{r.VolumeRef()}, Choices: fit},
				facts.ReasonNewChoices, "%s would have too little room with the settings on its volume. Those that "+
					"members serve with are put back.", r.Name)
		}
	}
	return nil
}

// isHeldByAlarm reports a member that is not restarted for the spec while an alarm stands: the roll would go on through
// a cluster that takes no writes. A larger quota is the cure, and other settings may be that of a sick member.
func isHeldByAlarm(o judge.View, r facts.Replica) bool {
	return len(o.Raised()) > 0 && r.IsHealthy(o.Membership) &&
		o.Desired.Choices.QuotaBytes <= r.RunsWith().QuotaBytes
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
