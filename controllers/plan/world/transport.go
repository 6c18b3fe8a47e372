package world

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// How members reach each other while the mode of TLS changes: by the scheme that the list has for each, and by what
// each process was started with.

// TurnTLS is a person who asks for another mode of TLS, or for the one from before. The API takes it one step at a
// time; here any edit may follow any other, since an operator may have been away meanwhile.
func (w *World) TurnTLS() {
	modes := []etcdutil.Transport{etcdutil.TransportPlain, etcdutil.TransportPermissive, etcdutil.TransportTLS}
	w.askForTLS(modes[w.chance(3, "mode of TLS", "")])
}

func (w *World) askForTLS(mode etcdutil.Transport) {
	w.Spec.Transport, w.Spec.TLS, w.hasTurned = mode, mode.HasCertificates(), true
	w.logf("spec: TLS %q", mode)
}

// reached has members made as the next step to the mode of the spec asks: see observe.reached.
func reached(o facts.Observation) facts.Desired {
	d := o.Desired
	d.TLS = o.Current.KeepsCertificates(d.Transport) || o.Next.KeepsCertificates(d.Transport)
	d.Settings = withTransport(d.Settings, o.NextTransport())
	d.AtTarget = withTransport(d.AtTarget, d.Settings.Transport)
	d.NextSettings = withTransport(d.NextSettings, o.Next.NextTransport(d.Transport))
	return d
}

func withTransport(c facts.Settings, t etcdutil.Transport) facts.Settings {
	if c.IsZero() || t == etcdutil.TransportTLS {
		return c
	}
	if c.Transport = t; c.Fixed != "" {
		c.Fixed += "|" + string(t)
	}
	return c
}

// transport is how a process was started.
func (w *World) transport(p *process) etcdutil.Transport { return w.objects.pods[p.pod].Transport }

// dials reports a member that can open a connection to another one.
func (w *World) dials(c *cluster, from, to *process) bool {
	scheme := w.transport(to).PeerScheme()
	isListed := etcdutil.SchemeOf(c.members[c.find(to.disk.member)].PeerURLs[0]) == scheme
	return isListed && (scheme == etcdutil.SchemeHTTP || w.transport(from).HasCertificates())
}

// reach are so many of these voters as the best connected of them can talk with, itself among them. Of two, one that
// can dial the other is enough.
func (w *World) reach(c *cluster, voters []*process) int {
	most := 0
	for _, from := range voters {
		n := 0
		for _, to := range voters {
			if from == to || w.dials(c, from, to) || w.dials(c, to, from) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// checkReached is I25: members that run and would be a quorum reach each other.
func (w *World) checkReached() {
	for _, id := range sortedIDs(w.clusters) {
		c := w.clusters[id]
		voters := w.runningVoters(c)
		if quorum := etcdutil.Quorum(len(c.voters())); len(voters) >= quorum && w.reach(c, voters) < quorum {
			var says []string
			for _, p := range voters {
				says = append(says, p.pod+" listens with "+w.transport(p).PeerScheme()+" at "+
					c.members[c.find(p.disk.member)].PeerURLs[0])
			}
			w.violate("I25: members cannot dial each other: %s", strings.Join(says, ", "))
		}
	}
}

// checkTurnedTLS holds a cluster that is called settled to the mode of TLS that the user asks for.
func (w *World) checkTurnedTLS(c *cluster) {
	for _, p := range w.running(c) {
		listed := etcdutil.SchemeOf(c.members[c.find(p.disk.member)].PeerURLs[0])
		if t := w.transport(p); t != w.Spec.Transport || listed != t.PeerScheme() {
			w.violate("settled, and %s is reached %q by %s, with the mode %q", p.pod, t, listed, w.Spec.Transport)
		}
		if w.transport(p).HasCertificates() && w.objects.secrets[p.pod] == "" {
			w.violate("I25: %s runs with certificates that are not there", p.pod)
		}
	}
	if !w.Spec.TLS {
		for _, name := range sortedKeys(w.objects.secrets) {
			if w.objects.secrets[name] != "" && w.hasTurned {
				w.violate("settled without TLS, and %s has certificates", name)
			}
		}
	}
}
