// Package changes is the closed set of effects that the operator may have on a cluster. Each stands with its traits and
// its vetoes: why it must not be made. These are the guard. It finds out for itself, and can import neither a rule nor
// a judgement. It shares with them the questions of package facts, such as MayRestart: a mistake there reaches both.
package changes

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Change is one effect on one system, or one idempotent set of effects that cannot hurt. The set of changes is closed.
//
//sumtype:decl
type Change interface {
	traits() Traits
	words() Words
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

// Reasons of the events that tell of changes. Each has a sentence in docs/conditions.md.
const (
	EventCreating         = "CreatingCluster"       // the bootstrap is written down
	EventCreated          = "ClusterCreated"        // the members found each other
	EventBootstrapVoided  = "BootstrapVoided"       // the bootstrap is given up and begun anew
	EventRestoreBegun     = "RestoreBegun"          // the next incarnation is prepared beside the one that serves
	EventRestoreMoved     = "RestoreMoved"          // the cluster switched over to it
	EventRestoreCalledOff = "RestoreCalledOff"      // it was taken back before that
	EventRestoreWentBack  = "RestoreWentBack"       // what never served was given up for the incarnation before it
	EventTakenOver        = "TakenOver"             // this install took the cluster over from another
	EventDataTaken        = "DataTakenOver"         // what an earlier cluster of this name left is taken over
	EventPolicyApplied    = "DeletionPolicyApplied" // ownership of volumes and CAs follows deletionPolicy
	EventObjectsApplied   = "ObjectsApplied"        // objects were created or corrected
	EventSecretDeleted    = "SecretDeleted"         // the certificates of a member that is gone
	EventRecorded         = "Recorded"              // something is written on objects, and does nothing by itself
	EventPodStarted       = "PodStarted"            // a Pod is made
	EventPodEvicted       = "PodEvicted"            // a member's Pod is stopped, to be restarted with other settings
	EventPodResized       = "PodResized"            // a member gets other CPU and memory, without a restart
	EventPodDeleted       = "PodDeleted"            // a Pod is deleted
	EventPodLabelled      = "PodLabelled"           // the client Service leads to the Pod, or away from it
	EventVolumeKept       = "VolumeKept"            // the volume of a replaced member is put aside
	EventVolumeExpanded   = "VolumeExpanded"        // a claim asks for another size
	EventVolumeModified   = "VolumeModified"        // a claim asks for another VolumeAttributesClass
	EventVolumeDeleted    = "VolumeDeleted"         // a volume is deleted
	EventAdded            = "MemberAdded"           // a learner is in the member list
	EventPromoted         = "MemberPromoted"        // a learner became a voter
	EventRemoved          = "MemberRemoved"         // a member was taken out of the list
	EventLeaderMoved      = "LeaderMoved"           // leadership was handed over before a member goes
	EventDisarmed         = "AlarmDisarmed"         // an alarm of etcd was disarmed
	EventEntriesAdded     = "EntriesAdded"          // raft's log got entries that change no key
	EventCompacted        = "Compacted"             // history was taken away, because space ran out
	EventFellAsleep       = "FellAsleep"            // it is written down that the cluster sleeps
	EventWokeUp           = "WokeUp"                // a cluster that slept serves again
	EventDefragment       = "DefragmentationBegun"  // a Pod was made that has a member defragmented
	EventCATurned         = "CATurned"              // a CA is made, signs, or is retired, for a roll of CAs
	EventPeerURL          = "PeerURLChanged"        // the scheme by which peers dial a member
	EventDowngrade        = "DowngradeSet"          // a downgrade of etcd was enabled, or cancelled
	EventUsersMade        = "UsersMade"             // the users that authentication needs are there
	EventAuth             = "AuthenticationSet"     // authentication was turned on, or off
)

// KindOf names a change for people, events and metrics.
func KindOf(c Change) string { return reflect.TypeOf(c).Name() }

// TraitsOf are the traits of a change.
func TraitsOf(c Change) Traits { return c.traits() }

// WordsOf are the words of a change.
func WordsOf(c Change) Words { return c.words() }

// Words are how people are told of a change, before it is made and afterwards.
type Words struct {
	verb, does, past, what string // "Remove", "removes", "Removed", "member demo-1"

	Event  string // the reason of the event that tells it
	Member string // the one member that it is about; empty when there are more, or none
}

// Do is the change as it is asked for.
func (w Words) Do() string { return w.verb + " " + w.what }

// Done is the change as it was made.
func (w Words) Done() string { return w.past + " " + w.what }

// Does is the change as the operator makes it: "removes member demo-1".
func (w Words) Does() string { return w.does + " " + w.what }

// Name is the change inside a sentence: "Cannot remove member demo-1".
func (w Words) Name() string { return strings.ToLower(w.verb[:1]) + w.Do()[1:] }

func says(verb, does, past, what, event string) Words {
	return Words{verb: verb, does: does, past: past, what: what, Event: event}
}

// of says whose it is: "the Pod of demo-0", or "the Pods of demo-0, demo-1".
func (w Words) of(members []string) Words {
	if len(members) != 1 {
		w.what += "s"
	}
	return w.as("of " + strings.Join(members, ", ")).about(only(members))
}

func (w Words) as(end string) Words { w.what += " " + end; return w }

func (w Words) about(member string) Words { w.Member = member; return w }

func marked(volumes []facts.VolumeRef, how string) Words {
	return says("Mark", "marks", "Marked", "the volume", EventRecorded).of(volumeNames(volumes)).as(how)
}

func only(members []string) string {
	if len(members) != 1 {
		return ""
	}
	return members[0]
}

func names[T any](items []T, name func(T) string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, name(item))
	}
	return out
}

func podNames(pods []facts.PodRef) []string {
	return names(pods, func(p facts.PodRef) string { return p.Name })
}

func volumeNames(volumes []facts.VolumeRef) []string {
	return names(volumes, func(v facts.VolumeRef) string { return v.Name })
}

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

func accessAtRisk(format string, args ...any) Veto {
	return Veto{facts.ReasonAccessAtRisk, fmt.Sprintf(format, args...)}
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
