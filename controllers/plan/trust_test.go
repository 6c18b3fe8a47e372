package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

const (
	ownCA   = "0A:1B:2C:3D:4E:5F:60:71:82:93"
	otherCA = "FF:EE:DD:CC:BB:AA:99:88:77:66"
)

// trusting has members that trust a CA, and a Secret that holds this one.
func trusting(o scene, held string) scene {
	o.Objects = slices.Clone(o.Objects)
	o.Objects[0].Trusted, o.Objects[0].Holds = ownCA, held
	return o
}

// bereftOfCA has members that trust a CA of which the Secret is gone.
func bereftOfCA(o scene) scene { return withoutCA(trusting(o, "")) }

func trustRows() []row {
	three := settledWorld(3)
	due := func(r *facts.Replica) { r.Secret.State = facts.ObjectDrifted }
	ending := func(r *facts.Replica) { r.Secret.NotAfter = now.Add(24 * time.Hour) }
	bigger := desire(three, func(d *facts.Desired) { d.Size = 5 })
	replaced := facts.ReasonCAReplaced
	return []row{
		{"a CA that members trust is nothing to speak of", trusting(three, ownCA), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"what members trust signs what is due", trusting(three.edit(1, due), ownCA), Act, "scaffold",
			"", "ApplyObjects", ""},
		{"another CA signs nothing, and is told by its fingerprint", trusting(three.edit(1, due), otherCA), Refuse,
			"scaffold", replaced, "", "Secret demo-ca holds another CA (SHA-256 FF:EE:DD:CC:BB:AA:99:88…) than the one " +
				"that members trust (SHA-256 0A:1B:2C:3D:4E:5F:60:71…). The operator neither issues nor changes a certificate."},
		{"nor makes it one that is missing", trusting(three.edit(1, noSecret), otherCA), Refuse, "scaffold", replaced,
			"", "go on with those that they have. Put the Secret back from a copy"},
		{"it is told when the first certificate ends", trusting(three.edit(1, ending), otherCA), Refuse, "scaffold",
			replaced, "", "the first of which ends on 2030-01-02"},
		{"what is no CA is told as that", trusting(three, ""), Refuse, "scaffold", replaced, "",
			"Secret demo-ca holds no CA that can be read, and members trust the one with the SHA-256 0A:1B"},
		{"no member is added under another CA", trusting(bigger, otherCA), Refuse, "scaffold", replaced, "", "another CA"},
		{"and none is removed for one that could not be added", trusting(three.edit(1, noData), otherCA), Refuse,
			"scaffold", replaced, "", "another CA"},
		{"a Service is put right all the same", func() scene {
			o := trusting(three.edit(1, due), otherCA)
			o.Objects[1].State = facts.ObjectDrifted
			return o
		}(), Act, "scaffold", "", "ApplyObjects", "Apply Service demo: missing, or not as the spec asks"},
		{"a Pod that is lost comes back", trusting(three.edit(1, noPod), otherCA), Act, "pods", "",
			"StartPods", "demo-1"},
		{"while first members look for each other, no CA is made in the place of the one that they trust",
			bereftOfCA(atBootstrap(3)), Wait, "first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"nor certificates under another one", trusting(atBootstrap(3).edit(1, noSecret).edit(1, noPod).edit(2, noSecret).
			edit(2, noPod), otherCA), Refuse, "bootstrap", replaced, "", "The first members have no certificates"},
		{"restored members wait for certificates of the CA that is trusted",
			trusting(filledWorld(requesting(three)).next(3, noSecret), otherCA), Refuse, "restore-prepare",
			facts.ReasonRestoreHeld, "", "The next members have no certificates: Secret demo-ca holds another CA"},
	}
}

func guardedTrust() []guardRow {
	const isAnother, isMade = "holds another CA than the one that members trust", "would trust no new one"
	three := settledWorld(3)
	right, wrong := trusting(three, ownCA), trusting(three, otherCA)
	ca := facts.Object{Kind: "Secret", Name: "demo-ca", State: facts.ObjectAbsent, CA: true}
	issue := changes.ApplyObjects{Secrets: []string{"demo-1"}}
	clients := changes.ApplyObjects{Objects: []facts.Object{{Kind: "Secret", Name: "demo-client-tls",
		State: facts.ObjectDrifted}}}
	prepare := changes.PrepareMember{Secret: true, Volume: changes.NewVolume{Name: "demo-3"}}
	renew := changes.ApplyObjects{Objects: []facts.Object{ca}}
	blank := withoutCA(atBootstrap(3))
	begin := changes.Bootstrap{Objects: []facts.Object{ca}}
	first := changes.Bootstrap{Secrets: []string{"demo-1"}}
	taskDone := filledWorld(requesting(three)).next(3, noSecret)
	next := changes.PrepareNext{Incarnation: taskDone.Current.Bootstrap.Next.Incarnation, Secrets: []string{"demo-3"}}
	return []guardRow{
		{"certificates of members from another CA", right, issue, wrong, issue, isAnother},
		{"certificates of clients from another CA", right, clients, wrong, clients, isAnother},
		{"certificates of a new member from another CA", right, prepare, wrong, prepare, isAnother},
		{"certificates of first members from another CA", trusting(atBootstrap(3), ownCA), first,
			trusting(atBootstrap(3), otherCA), first, isAnother},
		{"certificates of restored members from another CA", trusting(taskDone, ownCA), next, trusting(taskDone, otherCA), next,
			isAnother},
		{"a new CA under members that live by one", right, renew, withoutCA(three), renew, isMade},
		{"a new CA under first members that trust one", blank, begin, bereftOfCA(atBootstrap(3)), begin, isMade},
	}
}

func TestBothCAsAreToldWhereBothWereReplaced(t *testing.T) {
	o := trusting(settledWorld(3), otherCA)
	peers := o.Objects[0]
	peers.Name, peers.State = "demo-ca-peer", facts.ObjectAbsent
	o.Objects = append(o.Objects, peers)
	said := Decide(o.Observation).Message
	for _, part := range []string{"Secret demo-ca holds another CA", "and Secret demo-ca-peer, which holds a CA"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q does not say %q", said, part)
		}
	}
}
