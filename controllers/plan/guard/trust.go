package guard

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

const kindSecret = "Secret"

// guardTrust lets no CA be made in the place of one that members live by, and no certificate be issued from another one
// than they trust.
func guardTrust(o facts.View, c changes.Change) string {
	objects, issues := issuing(c)
	for _, ca := range o.Objects {
		isMade := slices.ContainsFunc(objects, func(made facts.Object) bool { return made.Name == ca.Name })
		switch {
		case !ca.Authority:
		case isMade && isLivedBy(o, ca):
			return fmt.Sprintf("members trust the CA that was in Secret %s, and would trust no new one.", ca.Name)
		case issues && ca.State == facts.ObjectCurrent && ca.Trusted != "" && ca.Trusted != ca.Holds:
			return fmt.Sprintf("Secret %s holds another CA than the one that members trust.", ca.Name)
		}
	}
	return ""
}

// isLivedBy reports a CA that is gone, and that members, or clients of the data, trust.
func isLivedBy(o facts.View, ca facts.Object) bool {
	return ca.State == facts.ObjectAbsent && (ca.Trusted != "" || o.IsAlive() || o.HasSwitchedOver())
}

// issuing are the Secrets that a change writes beside those of members, and whether it issues any certificate.
func issuing(c changes.Change) (objects []facts.Object, issues bool) {
	var members []string
	switch c := c.(type) {
	case changes.ApplyObjects:
		objects, members = c.Objects, c.Secrets
	case changes.Bootstrap:
		objects, members = c.Objects, c.Secrets
	case changes.PrepareNext:
		members = c.Secrets
	case changes.PrepareMember:
		return nil, c.Secret
	default:
		return nil, false
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(object facts.Object) bool {
		return object.Kind != kindSecret
	})
	isLeaf := func(object facts.Object) bool { return !object.Authority }
	return objects, len(members) > 0 || slices.ContainsFunc(objects, isLeaf)
}
