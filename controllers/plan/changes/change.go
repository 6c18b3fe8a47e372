// Package changes is the closed set of effects that the operator may have on a cluster. Each stands with its traits and
// its vetoes: why it must not be made. These are the guard. It finds out for itself, and can import neither a rule nor
// a judgement. It shares with them the questions of package facts, such as MayRestart: a mistake there reaches both.
package changes

import (
	"fmt"
	"reflect"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Change is one effect on one system, or one idempotent set of effects that cannot hurt. The set of changes is closed.
//
//sumtype:decl
type Change interface {
	traits() Traits
	veto(facts.View) Veto // why it must not be made in this world
}

// Traits are what has to be known of a change beside its effect.
type Traits struct {
	// Unconfirmed says why the change is carried out without being decided again on a live look. It is empty for what
	// stops a process, deletes data, changes the membership, lowers a bound, or starts etcd.
	Unconfirmed string
	// Secrets: it makes, uses or takes away Secrets, which may be remembered as they were before another client changed
	// them.
	Secrets bool
}

// KindOf names a change for people, events and metrics.
func KindOf(c Change) string { return reflect.TypeOf(c).Name() }

// TraitsOf are the traits of a change.
func TraitsOf(c Change) Traits { return c.traits() }

// Veto is why a change must not be made. The zero value lets it be made.
type Veto struct {
	Reason  string // what is at risk: see facts.IsVeto
	Message string
}

// Holds reports that the change must not be made.
func (v Veto) Holds() bool { return v != Veto{} }

func quorumAtRisk(format string, args ...any) Veto {
	return Veto{facts.ReasonQuorumAtRisk, fmt.Sprintf(format, args...)}
}

func dataAtRisk(format string, args ...any) Veto {
	return Veto{facts.ReasonDataAtRisk, fmt.Sprintf(format, args...)}
}

func identityAtRisk(format string, args ...any) Veto {
	return Veto{facts.ReasonIdentityAtRisk, fmt.Sprintf(format, args...)}
}

func incarnationAtRisk(format string, args ...any) Veto {
	return Veto{facts.ReasonIncarnationAtRisk, fmt.Sprintf(format, args...)}
}

// VetoOf says why a change must not be made in this world. It knows nothing of why a rule proposes it: whatever
// comes out of plan.Decide, and again of the live look before a change is carried out, passes here. It leaves a cluster
// to the install that looks after it; what moves that has conditions of its own.
func VetoOf(o facts.View, c Change) Veto {
	if _, isMove := c.(TakeOver); !isMove && o.IsAnothers() {
		return identityAtRisk("the operator %s looks after the cluster.", o.Keeper())
	}
	return c.veto(o)
}

// first is the first veto of any of these.
func first[T any](items []T, veto func(T) Veto) Veto {
	for _, item := range items {
		if v := veto(item); v.Holds() {
			return v
		}
	}
	return Veto{}
}
