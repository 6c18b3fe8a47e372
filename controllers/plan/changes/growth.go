package changes

import "github.com/etcdsteward/etcd-steward/controllers/plan/facts"

// ExpandVolume has a claim ask for another size: for more, or for less where it has not got that.
type ExpandVolume struct {
	Volume facts.VolumeRef
	Bytes  int64
}

func (ExpandVolume) traits() Traits { return Traits{} }

func (c ExpandVolume) words() Words {
	return says("Expand", "Expanded", "the volume of "+c.Volume.Name+" to "+facts.FormatBytes(c.Bytes),
		EventVolumeExpanded).about(c.Volume.Name)
}

// veto holds a growth to one member's own volume, to more than that has, and to one at a time: what goes wrong with
// storage goes wrong with one member.
func (c ExpandVolume) veto(o facts.View) Veto {
	r := o.Find(c.Volume.Name)
	switch {
	case !r.HasVolume(c.Volume) || r.Volume.Terminating || r.Volume.Phase != facts.VolumeBound:
		return identityAtRisk("the volume %s is another one by now.", c.Volume.Name)
	case c.Bytes < r.Volume.Bytes && (!r.Volume.IsGrowing() || c.Bytes <= r.Volume.Capacity):
		return dataAtRisk("the volume %s has more than %s, and no volume shrinks.", r.Name, facts.FormatBytes(c.Bytes))
	case c.Bytes < r.Volume.Bytes:
		return Veto{}
	}
	for _, other := range o.Members {
		if other.Name != r.Name && other.Volume != nil && other.Volume.IsGrowing() &&
			!other.Volume.IsInfeasible() {
			return dataAtRisk("the volume of %s grows, and one does at a time.", other.Name)
		}
	}
	if len(o.Voters()) > 1 && r.IsVoter() {
		return guardOthers(o, r)
	}
	return Veto{}
}
