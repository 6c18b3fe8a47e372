package facts

import "slices"

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
