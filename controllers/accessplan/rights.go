package accessplan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// Right is what may be done with a range of keys, as etcd holds it.
type Right struct {
	Key, End    string // End is the first key behind the range; empty for Key alone
	Read, Write bool
}

func (r Right) isOf(other Right) bool { return r.Key == other.Key && r.End == other.End }

// A range from the first key that there can be, without an end, as etcd has it.
const firstKey, unbounded = "\x00", "\x00"

// WantedRights are what a spec asks for: one right for each range, in the order of keys. Of several for one range, what
// each gives is added up.
func WantedRights(permissions []v1alpha1.ClientPermission) []Right {
	var all []Right
	for _, p := range permissions {
		right := Right{Key: p.Key, Read: true, Write: p.Access == v1alpha1.AccessReadWrite}
		switch {
		case p.AllKeys:
			right.Key, right.End = firstKey, unbounded
		case p.Prefix != "":
			right.Key, right.End = p.Prefix, Behind(p.Prefix)
		}
		if right.Key == "" || right.End == "" && strings.HasPrefix(right.Key, rolePrefix) {
			continue // the schema refuses it: to etcd it would be no key at all, and here a mark of the operator
		}
		if at := slices.IndexFunc(all, right.isOf); at >= 0 {
			all[at].Write = all[at].Write || right.Write
			continue
		}
		all = append(all, right)
	}
	slices.SortFunc(all, func(a, b Right) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.End, b.End)) })
	return all
}

// Allowed are those of these rights whose keys all begin with one of the prefixes, and the others. Without prefixes
// all are.
func Allowed(rights []Right, prefixes []string) (allowed, refused []Right) {
	if len(prefixes) == 0 {
		return rights, nil
	}
	for _, right := range rights {
		isBelow := func(prefix string) bool {
			isBounded := right.End == "" || right.Key < right.End && right.End <= Behind(prefix)
			return strings.HasPrefix(right.Key, prefix) && isBounded
		}
		if slices.ContainsFunc(prefixes, isBelow) {
			allowed = append(allowed, right)
		} else {
			refused = append(refused, right)
		}
	}
	return allowed, refused
}

// Behind is the first key that does not begin with a prefix; empty where there is none. A prefix of a spec is UTF-8, so
// no byte of it is the highest one.
func Behind(prefix string) string {
	last := len(prefix) - 1
	if last < 0 || prefix[last] == 0xff {
		return ""
	}
	return prefix[:last] + string([]byte{prefix[last] + 1})
}

// missing are the rights that the role lacks.
func (o Observation) missing() []Right {
	return slices.DeleteFunc(slices.Clone(o.Client.Wants), func(r Right) bool {
		return slices.Contains(o.Etcd.Role.Rights, r)
	})
}

// excess are the rights that the role has and the spec does not ask for. A range of which it has two rights is among
// them as well: etcd may leave the wider one beside the narrower, and takes both away at once.
func (o Observation) excess() []Right {
	var all []Right
	for i, right := range o.Etcd.Role.Rights {
		if o.isMarkInUse(right) {
			continue
		}
		isTwice := slices.ContainsFunc(o.Etcd.Role.Rights[:i], right.isOf)
		if (isTwice || !slices.Contains(o.Client.Wants, right)) && !slices.ContainsFunc(all, right.isOf) {
			all = append(all, right)
		}
	}
	return all
}

// isMarkInUse reports a mark that says something still: the user is being made, or which password it has.
func (o Observation) isMarkInUse(right Right) bool {
	switch {
	case right == Making:
		return !o.hasRole()
	case right.isPassword() && o.Client.Password && !o.Etcd.User.Exists:
		return right == PasswordMark("") // the next user will have another
	case right.isPassword() && o.Client.Password:
		return !o.isPasswordGiven() || right == PasswordMark(o.Secret.Digest)
	}
	return false
}
