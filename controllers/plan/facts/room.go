package facts

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// RoomPercent is how full a database may be. etcd refuses writes at its quota, and raises an alarm that was taken back
// again.
const RoomPercent = 80

// Crowded are the members whose data would have too little room with these settings, and less than it has. While no
// member answers that is not known, and no quota is lowered.
func (o Incarnation) Crowded(c Choices) []Replica {
	if !o.IsAlive() {
		return nil // it stores nothing yet
	}
	return Filter(o.Members, func(r Replica) bool {
		return r.IsOverQuota(c) || r.IsOverMemory(c) ||
			c.QuotaBytes < r.RunsWith().QuotaBytes && !o.isAnyAnswering()
	})
}

func (o Incarnation) isAnyAnswering() bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Answer != nil })
}

// IsOverQuota reports a database that has room and would have none with the quota of these settings. What counts
// against it is the size of the file (etcd-io/etcd:server/storage/quota.go).
func (r Replica) IsOverQuota(c Choices) bool {
	return c.QuotaBytes < r.RunsWith().QuotaBytes && r.fills(c.QuotaBytes)
}

// IsOverMemory reports a database of which more is in use than the memory limit of these settings, while the process
// has more, or no limit. The kernel takes back what etcd does not use of the file.
func (r Replica) IsOverMemory(c Choices) bool {
	has := r.RunsWith()
	isLess := c.MemoryBytes > 0 && (has.MemoryBytes == 0 && !has.IsZero() || c.MemoryBytes < has.MemoryBytes)
	return isLess && r.Answer != nil && r.Answer.DBSizeInUse >= c.MemoryBytes
}

// fills reports a database that leaves too little of a quota. A silent member does not say so.
func (r Replica) fills(quotaBytes int64) bool {
	return r.Answer != nil && r.Answer.DBSize*100 >= quotaBytes*RoomPercent
}

// HasRoom reports whether every member answers and is well below the quota that it runs with.
func (o View) HasRoom() bool {
	return o.Membership.Known && !slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Member != nil && (r.Answer == nil || r.fills(r.RunsWith().QuotaBytes))
	})
}

// WhyNoRoom says why data that members are to begin with would have too little room with these settings, and what would
// be enough; empty where it has room, or where its size is not known.
func (c Choices) WhyNoRoom(origin record.Origin) string {
	return c.whyNoRoom("The backup", origin.SizeBytes, origin.InUseBytes)
}

// WhyNoRoomFor says the same of what a survivor stores, with the settings of the spec.
func (o View) WhyNoRoomFor(survivor Replica) string {
	c, has := o.Desired.Choices, survivor.Answer
	if _, isCrowded := Find(o.Crowded(c), survivor.Name); !isCrowded {
		return ""
	}
	if has == nil {
		return fmt.Sprintf("spec.etcd.quotaBackendBytes is %s, less than %s has, and nothing says how much it stores. "+
			"Put it back", FormatBytes(c.QuotaBytes), survivor.Name)
	}
	return c.whyNoRoom("The database of "+survivor.Name, has.DBSize, has.DBSizeInUse)
}

func (c Choices) whyNoRoom(what string, size, inUse int64) string {
	switch {
	case c.QuotaBytes > 0 && size*100 >= c.QuotaBytes*RoomPercent:
		return fmt.Sprintf("spec.etcd.quotaBackendBytes is %s. %s has %s, and may take %d %% of it. Ask for at least "+
			"%s", FormatBytes(c.QuotaBytes), what, InMebi(size), RoomPercent, InMebi(QuotaFor(size)))
	case c.MemoryBytes > 0 && inUse >= c.MemoryBytes:
		return fmt.Sprintf("spec.pod.resources.limits.memory is %s. %s has %s, of which %s are in use. Ask for more "+
			"than %s", FormatBytes(c.MemoryBytes), what, InMebi(size), InMebi(inUse), InMebi(inUse))
	}
	return ""
}

// QuotaFor is the least quota that a database of this size leaves room in.
func QuotaFor(size int64) int64 { return size*100/RoomPercent + 1 }

// InMebi prints a size in whole Mi, rounded up.
func InMebi(bytes int64) string { return fmt.Sprintf("%dMi", (bytes+1<<20-1)>>20) }

// FormatBytes prints a size the way it is written in a spec, where it is a whole number of Gi or Mi.
func FormatBytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}
