package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// slowLoadBalancer is for how long a cluster with nothing left to do may lack the address of its load balancer before
// that is news.
const slowLoadBalancer = 3 * time.Minute

// warnings are those about the spec, where volumes are larger than it asks for, what it asks of others in vain, and
// where one node or zone carries all members.
func (in Input) warnings() []string {
	all := append(slices.Clone(in.Warnings), in.largerVolumes(), in.noLoadBalancer(), in.onePlace())
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// largerVolumes tells who reads the spec that each volume is larger; "" where one is not.
func (in Input) largerVolumes() string {
	smallest, asked := facts.SmallestVolume(in.Observation.Current.Members), in.Observation.Desired.StorageBytes
	if smallest == nil || smallest.Volume.Bytes <= asked {
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
	said := fmt.Sprintf("Service %s has no address of a load balancer, so status.endpoints has none for clients "+
		"outside. Your platform gives the address: `kubectl describe service %s` may say why it does not. Where there "+
		"are no load balancers, choose another way in: "+
		pages.Docs+"docs/connect.md#from-outside.", in.Cluster.Name, in.Cluster.Name)
	if !in.hasRested(slowLoadBalancer) && !in.hasWarned(said) {
		return ""
	}
	return said
}

// onePlace tells that one node carries all voters. It does so of a zone only where the spec asks for several: most
// Kubernetes clusters have one, and it cannot be helped.
func (in Input) onePlace() string {
	said := in.together("on", "node", func(p *facts.Pod) string { return p.Node })
	if said != "" || !in.Observation.Desired.SpreadsOverZones {
		return said
	}
	return in.together("in", "zone", func(p *facts.Pod) string { return p.Zone })
}

// together tells that all voters run at one place of a kind; "" where they do not. While that of one of them is not
// known, it stays as it was told: a member that is restarted is no news.
func (in Input) together(at, kind string, placeOf func(*facts.Pod) string) string {
	voters := in.Observation.Current.Voters()
	if len(voters) < 2 {
		return ""
	}
	placed := facts.Filter(voters, func(r facts.Replica) bool { return r.Pod != nil && placeOf(r.Pod) != "" })
	if len(placed) == 0 || slices.ContainsFunc(placed, func(r facts.Replica) bool {
		return placeOf(r.Pod) != placeOf(placed[0].Pod)
	}) {
		return ""
	}
	said := fmt.Sprintf("The members %s all run %s %s %s, so the cluster stops serving when that %[3]s does. By "+
		"default each new member goes to a %[3]s without members, where one takes it. To move them once there are "+
		"such %[3]ss: "+pages.Docs+"docs/platforms.md#all-members-on-one-node.",
		strings.Join(facts.Names(voters), ", "), at, kind, placeOf(placed[0].Pod))
	if len(placed) < len(voters) && !in.hasWarned(said) {
		return ""
	}
	return said
}

// hasRested reports that nothing was to be done for so long: what the spec asks for was applied before that.
func (in Input) hasRested(long time.Duration) bool {
	old := in.old().NextStep
	return old != nil && in.Decision.Verdict == plan.Settled && old.Verdict == string(plan.Settled) &&
		in.Observation.Now.Sub(old.Since.Time) > long
}

// hasWarned reports that the old status says this already.
func (in Input) hasWarned(said string) bool {
	c := in.oldCondition(v1alpha1.ConditionUpToDate)
	return c != nil && strings.Contains(c.Message, said)
}
