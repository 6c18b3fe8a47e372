package changes

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// ModifyVolume has a claim name another VolumeAttributesClass, while its member runs.
type ModifyVolume struct {
	Volume facts.VolumeRef
	Class  string // empty for none
	LogOf  string // the member whose write-ahead log is on it; empty where its data is
}

func (ModifyVolume) traits() Traits { return Traits{} }

func (c ModifyVolume) words() Words {
	whose, class := c.Volume.Name, "for no VolumeAttributesClass"
	if c.LogOf != "" {
		whose = "the write-ahead log of " + c.LogOf
	}
	if c.Class != "" {
		class = "for the VolumeAttributesClass " + c.Class
	}
	return says("Ask", "asks", "Asked", class+" on the volume of "+whose, EventVolumeModified).
		about(cmp.Or(c.LogOf, c.Volume.Name))
}

// veto holds it to one member's own volume, to a class where that has one, and to one at a time: what goes wrong with
// storage goes wrong with one member. What a volume has not got is taken back at any time.
func (c ModifyVolume) veto(o facts.View) Veto {
	r := claimOf(o, c.Volume, c.LogOf)
	switch {
	case r.Volume == nil || r.Volume.Terminating || r.Volume.Phase != facts.VolumeBound:
		return identityAtRisk("the volume %s is another one by now.", c.Volume.Name)
	case c.Class == "" && r.Volume.Attributes.Has != "":
		return dataAtRisk("the volume %s has the VolumeAttributesClass %s, and none can be taken from a volume.",
			c.Volume.Name, r.Volume.Attributes.Has)
	case r.Volume.IsModifying():
		return Veto{}
	}
	claims := facts.Claims(o.Members)
	i := slices.IndexFunc(claims, func(other facts.Replica) bool {
		return other.VolumeRef() != c.Volume && other.Volume.IsModifying() && other.Volume.Attributes.For != ""
	})
	if i >= 0 {
		return dataAtRisk("the volume of %s is changed, and one is at a time.", claims[i].Name)
	}
	if len(o.Voters()) > 1 && r.IsVoter() {
		return guardOthers(o, r)
	}
	return Veto{}
}
