package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// degraded is True when, once the size was reached, fewer healthy voters than that are there, or when a wait is past
// its deadline. A cluster that is only growing, or whose first members are only starting, is not degraded.
func (in Input) degraded(s step) metav1.Condition {
	o := in.Observation
	voters, size := o.Current.Voters(), votersWanted(o)
	sick, healthy := sickVoters(o), len(o.Current.HealthyVoters())
	degraded := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return is(v1alpha1.ConditionDegraded, status, reason, message)
	}
	switch {
	case s.late != nil:
		return degraded(metav1.ConditionTrue, s.late.Reason, s.late.Message)
	case !hasServed(o):
		return degraded(metav1.ConditionFalse, ReasonCreating, in.creating(s))
	case !o.Current.Membership.Known:
		return degraded(metav1.ConditionTrue, ReasonReadFailed,
			"No member is known to be healthy, because no quorum of them answers.")
	case len(sick) > 0 && healthy < size:
		return degraded(metav1.ConditionTrue, ReasonUnhealthy, fmt.Sprintf(
			"%d of %d members are healthy. Not healthy: %s.%s", healthy, len(voters), strings.Join(sick, ", "),
			in.whySick()))
	case len(voters) < size && in.hadReached(size):
		return degraded(metav1.ConditionTrue, ReasonMissing,
			fmt.Sprintf("The cluster has %d of %d voting members.", len(voters), size))
	case s.reason == facts.ReasonCorruption || o.Current.CopiesDiffer():
		return degraded(metav1.ConditionTrue, facts.ReasonCorruption,
			"Members answer, and their copies of the data differ: the condition Ready says more.")
	case healthy < size:
		return degraded(metav1.ConditionFalse, ReasonNotReached,
			fmt.Sprintf("%d of %d voting members serve; the others have not served yet.", healthy, size))
	}
	return degraded(metav1.ConditionFalse, ReasonAllHealthy, allHealthy(o))
}

// votersWanted is how many voters there should be. A cluster that is yet to fall asleep serves on, and is told as what
// it is.
func votersWanted(o facts.Observation) int { return cmp.Or(o.Desired.Size, len(o.Current.Voters())) }

// sickVoters are the voters that have served before and are not healthy now, each with the word that says why.
func sickVoters(o facts.Observation) []string {
	var sick []string
	judged := judge.Members(o)
	for _, r := range o.Current.Voters() {
		if !r.IsHealthy(o.Current.Membership) && r.Member.Started() {
			sick = append(sick, fmt.Sprintf("%s (%s)", r.Name, judged[r.Name].Reason))
		}
	}
	return sick
}

// hadReached reports whether the cluster once had so many voters. Nothing in the world says so of a cluster that grew
// after its bootstrap; there the old status is asked, and a wiped one only makes a replacement look like growth.
func (in Input) hadReached(size int) bool {
	if len(in.Observation.Current.Bootstrap.Names) >= size || int(in.old().Size) >= size {
		return true
	}
	old := in.oldCondition(v1alpha1.ConditionDegraded)
	return old != nil && old.Status == metav1.ConditionTrue && old.ObservedGeneration == in.Cluster.Generation &&
		(old.Reason == ReasonUnhealthy || old.Reason == ReasonMissing)
}

func allHealthy(o facts.Observation) string {
	n := len(o.Current.HealthyVoters())
	if n == 1 {
		return "The only member is healthy."
	}
	return fmt.Sprintf("All %d members are healthy.", n)
}

// RuleObserve is the rule that is named when a look itself found what only a person can put right.
const RuleObserve = "observe"

// RuleBrake is the rule that is named while every change of a cluster is slowed down.
const RuleBrake = "brake"

// blind is the status of a cluster of which nothing can be said. What never changes while a cluster lives stays; how
// its members are is absent, and conditions that would say so are Unknown.
func (in Input) blind() v1alpha1.EtcdClusterStatus {
	s, old := in.step(), in.old()
	return v1alpha1.EtcdClusterStatus{
		ObservedGeneration: in.Cluster.Generation,
		Conditions:         in.conditions(s),
		NextStep:           in.nextStep(s),
		Size:               old.Size,
		Selector:           selector(in.Cluster.Name),
		TargetVersion:      in.targetVersion(),
		ClusterID:          old.ClusterID,
		Incarnation:        old.Incarnation,
		DeletionPolicy:     old.DeletionPolicy,
		Endpoints:          old.Endpoints,
		ClientSecretRef:    old.ClientSecretRef,
	}
}

// unknown are the conditions of a cluster that cannot be looked at.
func unknown(s step) []metav1.Condition {
	var all []metav1.Condition
	for _, kind := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionDegraded, v1alpha1.ConditionUpToDate} {
		all = append(all, is(kind, metav1.ConditionUnknown, s.reason, s.message))
	}
	return all
}

// slowLoadBalancer is for how long a cluster with nothing left to do may lack the address of its load balancer before
// that is news.
const slowLoadBalancer = 3 * time.Minute

// warnings are those about the spec, where volumes are larger than it asks for, what it asks of others in vain, and
// where one node or zone carries so many members that the others are no quorum.
func (in Input) warnings() []string {
	all := append(slices.Clone(in.Warnings), in.largerVolumes(), in.noLoadBalancer(), in.onePlace(),
		in.noSuchLeader(), in.authKept())
	all = append(all, in.ownCAs()...)
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// largerVolumes tells who reads the spec that each volume is larger; "" where one is not.
func (in Input) largerVolumes() string {
	smallest, asked := facts.SmallestVolume(in.Observation.Current.Members), in.Observation.Desired.StorageBytes
	if smallest == nil || smallest.Volume.Bytes <= asked || in.Observation.Desired.Ephemeral {
		return ""
	}
	return fmt.Sprintf("Each volume has %[1]s or more, and spec.storage.size is %[2]s. Nothing waits for that. No "+
		"volume gets smaller, and a new member gets one as large as the largest. To end this warning, set "+
		"spec.storage.size to %[1]s.", facts.FormatBytes(smallest.Volume.Bytes), facts.FormatBytes(asked))
}

func (in Input) noLoadBalancer() string {
	service := in.Cluster.Spec.Service
	if service == nil || service.Type != corev1.ServiceTypeLoadBalancer || len(in.Observation.LoadBalancer) > 0 {
		return ""
	}
	said := fmt.Sprintf("Service %[1]s has no address of a load balancer, so status.endpoints has none for clients "+
		"outside. Your platform gives the address: `kubectl describe service %[1]s -n %[2]s` may say why it does not. "+
		"Where there are no load balancers, choose another way in: "+
		pages.Docs+"docs/connect.md#from-outside.", in.Cluster.Name, in.Cluster.Namespace)
	if !in.hasRested(slowLoadBalancer) && !in.hasWarned(said) {
		return ""
	}
	return said
}

// authKept tells that authentication stays on although the spec no longer has the field that turned it on.
func (in Input) authKept() string {
	o := in.Observation
	if o.Desired.Auth != facts.AuthAsItIs || !o.Current.Bootstrap.Auth {
		return ""
	}
	return "spec.auth is gone. It turned etcd's authentication on, which stays on: to take a field out never opens " +
		"the data to more clients. To turn it off, set spec.auth.enabled to false. To keep it, set that to true."
}

// noSuchLeader tells of a request to lead that names no member. It keeps nothing from being as the spec asks.
func (in Input) noSuchLeader() string {
	o := in.Observation
	name := o.Desired.Lead.Name
	if name == "" || !o.Current.Membership.Known || o.Current.Find(name).Member != nil {
		return ""
	}
	return fmt.Sprintf("The annotation %s names %s, which is no member of the cluster, so leadership stays where it "+
		"is. Name one of status.members, or take the annotation off.", v1alpha1.AnnotationMoveLeader, name)
}

// onePlace tells that one node carries too many voters. It does so of a zone only where the spec asks for several: most
// Kubernetes clusters have one, and it cannot be helped.
func (in Input) onePlace() string {
	said := in.together("on", "node", func(p *facts.Pod) string { return p.Node })
	if said != "" || !in.Observation.Desired.SpreadsOverZones {
		return said
	}
	return in.together("in", "zone", func(p *facts.Pod) string { return p.Zone })
}

// together tells that so many voters run at one place of a kind that those elsewhere are no quorum; "" where none has
// so many. While the place of a voter is not known, or one more is there than the spec asks for, it stays as it was
// told: a member that is restarted is no news, nor is one beside its successor.
func (in Input) together(at, kind string, placeOf func(*facts.Pod) string) string {
	voters := in.Observation.Current.Voters()
	whereIs := func(r facts.Replica) string {
		if r.Pod == nil {
			return ""
		}
		return placeOf(r.Pod)
	}
	places := map[string]bool{}
	for _, r := range voters {
		places[whereIs(r)] = true
	}
	isKnown := !places[""] && len(voters) <= in.Observation.Desired.Size
	for _, place := range slices.Sorted(maps.Keys(places)) {
		there := facts.Filter(voters, func(r facts.Replica) bool { return whereIs(r) == place })
		maybe := facts.Filter(voters, func(r facts.Replica) bool { return whereIs(r) == place || whereIs(r) == "" })
		for _, members := range [][]facts.Replica{there, maybe} {
			said := howTogether(members, len(voters), at, kind, place)
			if place != "" && said != "" && (isKnown || in.hasWarned(said)) {
				return said
			}
		}
	}
	return ""
}

// howTogether says so of these members; "" where the others are a quorum, or where it is one member alone, which has to
// be somewhere.
func howTogether(members []facts.Replica, voters int, at, kind, place string) string {
	if len(members) < 2 || voters-len(members) >= etcdutil.Quorum(voters) {
		return ""
	}
	who := fmt.Sprintf("%d of %d voting members (%s)", len(members), voters, strings.Join(facts.Names(members), ", "))
	if len(members) == voters {
		who = fmt.Sprintf("The members %s all", strings.Join(facts.Names(members), ", "))
	}
	return fmt.Sprintf("%s run %s %s %s, so the cluster stops serving when that %[3]s does. By default each new "+
		"member goes to a %[3]s without members, where one takes it. To move members once there are such %[3]ss: "+
		pages.Docs+"docs/platforms.md#all-members-on-one-node.", who, at, kind, place)
}

// hasRested reports that nothing was to be done for so long: what the spec asks for was applied before that.
func (in Input) hasRested(long time.Duration) bool {
	old := in.old().NextStep
	return old != nil && in.Decision.Verdict == plan.Settled && old.Verdict == v1alpha1.VerdictSettled &&
		in.Observation.Now.Sub(old.Since.Time) > long
}

// hasWarned reports that the old status says this already.
func (in Input) hasWarned(said string) bool {
	c := in.oldCondition(v1alpha1.ConditionUpToDate)
	return c != nil && strings.Contains(c.Message, said)
}
