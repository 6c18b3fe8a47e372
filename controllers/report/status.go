// Package report says what a pass saw and did, for people and for tools: the status, the events and the values of the
// metrics. It is pure: the same input gives the same output, and nothing is read or written here.
//
// Three rules hold everywhere in it:
//
//   - Nothing is claimed that this pass did not verify. What could not be asked is absent or Unknown, never the last
//     value that was seen: Available is True only with a linearizable read in this very pass, and quorum.margin is
//     absent while the member list is not known.
//   - Nothing moves while nothing happens. Numbers that grow under load move in steps of a tenth of the quota, first
//     error texts are kept while the reason stays, and no timestamp moves by itself.
//   - The old status is read for display only: when something began, and whether the wanted size was once reached. No
//     decision sees it.
package report

import (
	"cmp"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Status is the complete new status. It equals the old one, also by reflect.DeepEqual, when nothing happened.
func Status(in Input) v1alpha1.EtcdClusterStatus {
	status := in.status()
	if reflect.DeepEqual(status, in.old()) {
		return status
	}
	in.fresh = true
	return in.status()
}

func (in Input) status() v1alpha1.EtcdClusterStatus {
	if in.IsBlind {
		return in.blind()
	}
	o := in.Observation
	s := in.step()
	status := v1alpha1.EtcdClusterStatus{
		ObservedGeneration: in.Cluster.Generation,
		Conditions:         in.conditions(s),
		NextStep:           in.nextStep(s),
		Size:               int32(in.voters()),
		ReadyMembers:       int32(len(o.Current.HealthyVoters())),
		UpdatedMembers:     updatedMembers(o),
		Sidecars:           sidecars(o),
		Selector:           selector(in.Cluster.Name),
		TargetVersion:      in.targetVersion(),
		UpgradePath:        upgradePath(o),
		Incarnation:        o.Current.Bootstrap.Incarnation,
		RestoredFrom:       restoredFrom(o.Current.Bootstrap.Origin),
		DeletionPolicy:     deletionPolicy(o),
		Leader:             leader(o),
		Members:            in.members(),
		Quorum:             quorum(o),
		DefragmentedFor:    in.defragmentedFor(),
		DefragmentSchedule: in.defragmentSchedule(s),
		Maintenance:        in.maintenance(),
		LastProvenBackup:   in.lastProven(),
		KeptVolumes:        in.keptVolumes(),
		Evidence:           in.evidence(),
	}
	if id := cmp.Or(o.Current.Membership.ClusterID, o.Current.Bootstrap.ClusterID); id != 0 {
		status.ClusterID = id.String()
	}
	if v := lowestVersion(o); !v.IsZero() {
		status.Version = v.String()
	}
	status.DBSize = largest(status.Members, in.old().DBSize)
	if hasServed(o) {
		status.Endpoints = in.endpoints()
		status.ClientSecretRef = in.clientSecret()
	}
	return status
}

// upgradePath names what members have yet to run; nothing where the version of the spec is refused.
func upgradePath(o facts.Observation) []string {
	if o.Desired.NoWay != "" || o.Desired.Fault != "" {
		return nil
	}
	var path []string
	for _, v := range etcdutil.Path(o.Current.Progress(), o.Desired.Target) {
		path = append(path, v.String())
	}
	return path
}

// wroteBy is the version of etcd that a backup is of. A snapshot without a manifest says its minor alone.
func wroteBy(origin record.Origin) string {
	if origin.Foreign {
		return origin.Version.MinorString()
	}
	return origin.Version.String()
}

// caveats say how far what was restored is proven where no manifest spoke of it, what newer was passed over, and who is
// let in.
func caveats(origin record.Origin) string {
	if !origin.AuthEnabled {
		return doubts(origin)
	}
	return join(doubts(origin), "etcd's authentication is on in it. Clients log in as its users: make the user of "+
		"your clients' certificate if it is missing ("+pages.Docs+"docs/auth.md#restores).")
}

// doubts are what speaks against what was restored.
func doubts(origin record.Origin) string {
	switch {
	case origin.Foreign:
		return "The snapshot has no manifest: its own SHA-256 is right, and it was never compared with the members " +
			"of its cluster."
	case origin.PassedOver > 0:
		return fmt.Sprintf("Newer backups in the store that its manifest-key does not vouch for: %d. The operator "+
			"passed over them. If you trust one, restore it by its key, and name a Secret without manifest-key.",
			origin.PassedOver)
	}
	return ""
}

func restoredFrom(origin record.Origin) *v1alpha1.RestoredFrom {
	if origin.IsZero() {
		return nil
	}
	return &v1alpha1.RestoredFrom{Key: origin.Key, Revision: origin.Revision, EtcdVersion: wroteBy(origin),
		Foreign: origin.Foreign, PassedOver: origin.PassedOver}
}

// voters is the number of voting members; none of a cluster that sleeps, as of anything that is scaled to 0. While the
// list is not known, it is as many as a survivor remembers or as are recorded.
func (in Input) voters() int {
	o := in.Observation
	switch {
	case o.Current.Membership.Known:
		return len(o.Current.Voters())
	case isAsleep(o):
		return 0
	}
	n := 0
	for _, m := range o.Current.Membership.LastKnown {
		if !m.Learner {
			n++
		}
	}
	if n > 0 {
		return n
	}
	return len(namesOf(o, facts.Replica.IsRecorded))
}

func selector(cluster string) string {
	return labels.Set{
		v1alpha1.LabelInstance:  cluster,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		v1alpha1.LabelComponent: v1alpha1.ComponentMember,
	}.String()
}

func (in Input) targetVersion() string {
	if v := in.Observation.Desired.Target; !v.IsZero() {
		return v.String()
	}
	return strings.TrimPrefix(in.Cluster.Spec.Version, "v")
}

// deletionPolicy is the policy as the owner references of volumes and CAs have it now: until they were changed,
// the other one than is asked for.
func deletionPolicy(o facts.Observation) v1alpha1.DeletionPolicy {
	if o.Desired.Retain != (len(o.Astray) > 0) {
		return v1alpha1.DeletionRetain
	}
	return v1alpha1.DeletionDelete
}

func leader(o facts.Observation) string {
	for _, r := range o.Current.Voters() {
		if o.Current.Membership.Leader != 0 && r.Member.ID == o.Current.Membership.Leader {
			return r.Name
		}
	}
	return ""
}

// quorum is absent while the list is not known: it is unknown then how many failures more the cluster survives. The
// read that made it known needed a quorum, so writes have not stopped. Where fewer members answered for themselves,
// some were asked before they served, as at their first start, or the operator does not reach them.
func quorum(o facts.Observation) *v1alpha1.QuorumStatus {
	if !o.Current.Membership.Known {
		return nil
	}
	return &v1alpha1.QuorumStatus{Margin: int32(max(0, o.Current.Margin()))}
}

// maintenance is when windows are open; nothing where members that serve may be stopped at any time.
func (in Input) maintenance() *v1alpha1.MaintenanceStatus {
	w, old := in.Observation.Desired.Window, v1alpha1.MaintenanceStatus{}
	if w.Next.IsZero() {
		return nil
	}
	if known := in.old().Maintenance; known != nil {
		old = *known
	}
	status := &v1alpha1.MaintenanceStatus{NextWindow: holdTime(old.NextWindow, w.Next)}
	if !w.Until.IsZero() {
		status.OpenUntil = holdTime(old.OpenUntil, w.Until)
	}
	return status
}

// largest is the size of the largest member; the old value itself while it is the same.
func largest(members []v1alpha1.MemberStatus, old *resource.Quantity) *resource.Quantity {
	var size *resource.Quantity
	for _, m := range members {
		if m.DBSize != nil && (size == nil || m.DBSize.Cmp(*size) > 0) {
			size = m.DBSize
		}
	}
	if size != nil && old != nil && size.Cmp(*old) == 0 {
		return old
	}
	return size
}

// endpoints are the URLs of the client Service: its name, which clients inside connect to, and the addresses of its
// load balancer. They say https once every member takes TLS, which tells clients that they may move.
func (in Input) endpoints() []string {
	scheme, urls := "http://", []string{}
	if in.Observation.TakesTLS() {
		scheme = "https://"
	}
	for _, host := range append([]string{in.Cluster.Name + "." + in.Cluster.Namespace + ".svc"},
		in.Observation.LoadBalancer...) {
		urls = append(urls, scheme+net.JoinHostPort(host, strconv.Itoa(etcdutil.ClientPort)))
	}
	return urls
}

func (in Input) clientSecret() *v1alpha1.SecretReference {
	if !in.Observation.TakesTLS() {
		return nil
	}
	return &v1alpha1.SecretReference{Name: in.Cluster.Name + "-client-tls"}
}

// step is what people are told of a decision and its outcome.
type step struct {
	rule, reason, message string
	verdict               plan.Verdict
	needsHuman            bool
	late                  *facts.Note // the wait that is past its deadline; nil when none is
	also                  string      // what other rules need a person for, have waited for too long, or were asked for
}

// step joins decision and outcome.
func (in Input) step() step {
	d := in.Decision
	s := in.tried(step{rule: d.Rule, reason: d.Reason, message: sentence(d.Says()), verdict: d.Verdict,
		needsHuman: d.NeedsHuman})
	if d.Overdue {
		s.late = &facts.Note{Rule: s.rule, Reason: s.reason, Message: s.message}
	}
	for _, note := range d.Trace.Yielded() {
		note.Message = sentence(note.Message)
		if note.Overdue && s.late == nil {
			s.late = &note
		}
		isSaid := note.Rule == s.rule || strings.Contains(s.message+s.also, note.Message)
		if !isSaid && (note.Overdue || note.NeedsHuman || note.IsAnswer) {
			s.also += " " + note.Message
		}
	}
	s.message += in.tryAgain(s)
	return s
}

// tried is the step with what came of it. A change that could not be made is a wait, and one that was rejected a
// refusal, although the planner wanted it.
func (in Input) tried(s step) step {
	switch {
	case in.isDryRun():
		s.message = in.wouldDo()
	case in.Outcome.Err != nil:
		s.verdict, s.reason = plan.Wait, ReasonApplyFailed
		s.message = in.lastError(s, cmp.Or(in.Outcome.Message, in.Outcome.Err.Error()))
	case in.Outcome.Rejected && s.needsHuman && !in.Outcome.NeedsHuman: // graver than what was rejected
		s.also = " " + sentence(in.Outcome.Message)
	case in.Outcome.Rejected:
		s.verdict, s.reason, s.needsHuman = plan.Refuse, in.Outcome.Reason, in.Outcome.NeedsHuman
		s.rule = cmp.Or(in.Outcome.Rule, s.rule)
		s.message = in.lastError(s, in.Outcome.Message)
	case in.Outcome.Reason != "":
		s.verdict, s.reason = plan.Wait, in.Outcome.Reason
		s.rule = cmp.Or(in.Outcome.Rule, s.rule)
		s.message = in.lastError(s, in.Outcome.Message)
	case s.reason == facts.ReasonMembershipUnknown:
		s.message = in.firstError(s, s.message)
	}
	return s
}

// lastError is what fails or refuses now. While that says the same its first text stays: addresses, times and counts
// differ in each answer, and each would be a write.
func (in Input) lastError(s step, text string) string {
	text = sentence(text)
	if first := in.firstError(s, text); words.Alike(first, text) {
		return first
	}
	return text
}

// firstError keeps the text of the first error while the same step keeps failing.
func (in Input) firstError(s step, text string) string {
	if old := in.old().NextStep; old != nil && s.isSameAs(old) {
		return strings.TrimSuffix(old.Message, looksAgain)
	}
	return sentence(text)
}

func (s step) isSameAs(old *v1alpha1.NextStep) bool {
	return old.Rule == s.rule && old.Verdict == s.shown() && old.Reason == s.reason
}

// shown is the verdict for people. What is refused says who ends that: the operator, which tries again, or a person.
func (s step) shown() string {
	switch {
	case s.isStalled():
		return v1alpha1.VerdictStalled
	case s.verdict == plan.Refuse:
		return v1alpha1.VerdictBlocked
	}
	return string(s.verdict)
}

// nextStep is the step as the status shows it. Since moves only with rule, verdict or reason.
func (in Input) nextStep(s step) *v1alpha1.NextStep {
	next := &v1alpha1.NextStep{
		Rule: s.rule, Verdict: s.shown(), Reason: s.reason, Message: s.message,
		Since: seconds(in.Observation.Now),
	}
	if old := in.old().NextStep; old != nil && s.isSameAs(old) {
		next.Since = old.Since
	}
	return next
}

// seconds drops what the API server would not store, so that a status reads back as it was written.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// sentence ends a foreign text like a sentence of ours.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
