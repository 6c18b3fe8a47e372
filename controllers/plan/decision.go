package plan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Verdict is the kind of a decision.
type Verdict string

// The verdicts.
const (
	Act     Verdict = "Act"     // carry out Change now
	Wait    Verdict = "Wait"    // something is under way; look again
	Refuse  Verdict = "Refuse"  // not safe, not possible, or past its deadline; look again all the same
	Settled Verdict = "Settled" // observed equals desired
)

// Decision is what to do now, and why.
type Decision struct {
	Verdict Verdict
	Change  changes.Change // non-nil only for Act
	Rule    string         // the rule that spoke
	Reason  string         // CamelCase, for machines
	Message string         // a sentence, for people

	// GivesWay: when Kubernetes or etcd refuses the change, the planner is asked again in the same pass, with that in
	// Refused, and later rules may act. A rule may give way in one phase and hold in another.
	GivesWay   bool
	NeedsHuman bool          // nothing but a person can end what is refused, or waited for
	Overdue    bool          // a wait past its deadline
	Recheck    time.Duration // look again after this long even if nothing is heard
	Yielded    []facts.Note  // what rules said that let later ones act: they wait, were refused, or were held back
}
