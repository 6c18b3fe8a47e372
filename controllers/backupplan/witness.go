package backupplan

import (
	"cmp"
	"fmt"
)

// keysHash is what the manifest says of who gave the hash that the snapshot was compared with.
type keysHash struct {
	Member    string `json:"member"`
	OnlyVoter bool   `json:"onlyVoter"`
	NoWitness string `json:"noWitness"`
}

// witnessOf is the voter that confirmed the keys of a member's snapshot, or why none did. A member does not confirm
// its own while others vote.
func (h keysHash) witnessOf(member string) (witness, none string) {
	if h.Member == "" || h.Member == member && !h.OnlyVoter {
		return "", cmp.Or(h.NoWitness, "no other member was heard")
	}
	return h.Member, ""
}

// agreement is what a backup that is proven was compared with.
func (f *Facts) agreement() string {
	const agrees = "The hash of the keys of the restored copy matches the hash that "
	switch {
	case f == nil || f.Witness == "":
		return agrees + "a member reported for that revision."
	case f.Witness == f.Member:
		return fmt.Sprintf(agrees+"member %s reported for that revision. "+
			"It is the cluster's only voting member, so no other one could confirm it.", f.Witness)
	}
	return fmt.Sprintf(agrees+"member %s reported for that revision. The snapshot is of member %s.", f.Witness,
		f.Member)
}

// unconfirmed is what a backup without a witness is worth, and what can be done about it.
func (f *Facts) unconfirmed() string {
	return fmt.Sprintf("The backup is in the store and can be restored. "+
		"Its restored copy holds the keys of member %s. No other voting member confirmed these keys: %s. "+
		"The operator does not try again. Create another EtcdBackup once the other members answer.",
		f.Member, f.NoWitness)
}
