package changes

import (
	"cmp"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// ExpandVolume has a claim ask for another size: for more, or for less where it has not got that.
type ExpandVolume struct {
	Volume facts.VolumeRef
	Bytes  int64
	LogOf  string // the member whose write-ahead log is on it; empty where its data is
}

// claimOf is the member with that claim for its volume, of its data or of its log; an empty replica where it is another
// one's by now.
func claimOf(o facts.View, claim facts.VolumeRef, logOf string) facts.Replica {
	for _, r := range facts.Claims([]facts.Replica{o.Find(cmp.Or(logOf, claim.Name))}) {
		if r.VolumeRef() == claim {
			return r
		}
	}
	return facts.Replica{}
}

func (ExpandVolume) traits() Traits { return Traits{} }

func (c ExpandVolume) words() Words {
	whose, member := c.Volume.Name, cmp.Or(c.LogOf, c.Volume.Name)
	if c.LogOf != "" {
		whose = "the write-ahead log of " + c.LogOf
	}
	return says("Expand", "expands", "Expanded", "the volume of "+whose+" to "+facts.FormatBytes(c.Bytes),
		EventVolumeExpanded).about(member)
}

// veto holds a growth to one member's own volume, to more than that has, and to one at a time: what goes wrong with
// storage goes wrong with one member.
func (c ExpandVolume) veto(o facts.View) Veto {
	r := claimOf(o, c.Volume, c.LogOf)
	switch {
	case r.Volume == nil || r.Volume.Terminating || r.Volume.Phase != facts.VolumeBound:
		return identityAtRisk("the volume %s is another one by now.", c.Volume.Name)
	case c.Bytes < r.Volume.Bytes && (!r.Volume.IsGrowing() || c.Bytes <= r.Volume.Capacity):
		return dataAtRisk("the volume %s has more than %s, and no volume shrinks.", c.Volume.Name,
			facts.FormatBytes(c.Bytes))
	case c.Bytes < r.Volume.Bytes:
		return Veto{}
	}
	for _, other := range facts.Claims(o.Members) {
		if other.Name != r.Name && other.Volume.IsGrowing() && !other.Volume.IsInfeasible() {
			return dataAtRisk("the volume of %s grows, and one does at a time.", other.Name)
		}
	}
	if len(o.Voters()) > 1 && r.IsVoter() {
		return guardOthers(o, r)
	}
	return Veto{}
}
