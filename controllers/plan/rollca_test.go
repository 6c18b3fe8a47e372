package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

const yearsOfCA = 10

// firstCA is the CA that the cluster was made with, and nextCA another one that a person asked for since.
var (
	firstCA  = ca(ownCA, now.AddDate(-1, 0, 0), true)
	nextCA   = ca(otherCA, now.Add(-48*time.Hour), false)
	rotation = facts.Rotation{Asked: now.Add(-72 * time.Hour), Overlap: 24 * time.Hour}
)

func ca(fingerprint string, made time.Time, isFirst bool) facts.CA {
	return facts.CA{Print: fingerprint, Origin: facts.OriginManaged, IsFirst: isFirst, HasKey: true, Made: made,
		NotAfter: made.AddDate(yearsOfCA, 0, 0)}
}

func keyless(ca facts.CA) facts.CA { ca.HasKey = false; return ca }

// holding has the Secret of the CA for clients hold these. All other Secrets are as it asks, since an hour ago for
// members and two days for clients. Members were restarted with trust in the CAs that read names.
func holding(o scene, cas facts.CAs, read ...string) scene {
	o.Objects = slices.Clone(o.Objects)
	secret := &o.Objects[0]
	secret.Holds, secret.Trusted, secret.Port, secret.CAs = cas[0].Print, cas[0].Print, facts.ForClients, cas
	var members, clients []string
	for _, held := range cas.Held() {
		clients = append(clients, held.Print)
		if held.HasKey {
			members = append(members, held.Print)
		}
	}
	o.Objects = append(o.Objects, facts.Object{Kind: "Secret", Name: "demo-client-tls", State: facts.ObjectCurrent,
		Names: facts.Trust{}.With(facts.ForClients, clients), Made: now.Add(-48 * time.Hour)})
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			r.Secret.Names, r.Secret.Made = facts.Trust{}.With(facts.ForClients, members), now.Add(-time.Hour)
			r.Pod.Settings.Trust = facts.Trust{}.With(facts.ForClients, read)
			r.Volume.Settings = r.Pod.Settings
		})
	}
	o.Desired.Settings.Trust = o.Current.TrustOf(o.Objects)
	o.Desired.Rotation = rotation
	return o
}

// Each of these has come to the end of a turn, and every member was restarted for it.
func steady() scene   { return holding(settledWorld(3), facts.CAs{firstCA}) }
func widened() scene  { return holding(settledWorld(3), facts.CAs{firstCA, nextCA}, ownCA, otherCA) }
func swapped() scene  { return holding(settledWorld(3), facts.CAs{nextCA, firstCA}, ownCA, otherCA) }
func narrowed() scene { return holding(settledWorld(3), facts.CAs{nextCA, keyless(firstCA)}, otherCA) }
func rolledCA() scene { return holding(settledWorld(3), facts.CAs{nextCA}, otherCA) }

func unasked(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.Rotation = facts.Rotation{} })
}

// clients have the Secret of clients changed.
func (o scene) clients(change func(*facts.Object)) scene {
	o.Objects = slices.Clone(o.Objects)
	change(&o.Objects[len(o.Objects)-1])
	return o
}

func readingFirstAlone(r *facts.Replica) { r.Pod.Settings.Trust = facts.Trust{} }
func readingBoth(r *facts.Replica) {
	r.Pod.Settings.Trust = facts.Trust{}.With(facts.ForClients, []string{ownCA, otherCA})
}
func justIssued(r *facts.Replica)      { r.Secret.Made = now.Add(-time.Minute) }
func onUnheardNode(r *facts.Replica)   { r.Pod.NodeUnheard = now.Add(-time.Minute) }
func outOfDate(r *facts.Replica)       { r.Secret.State = facts.ObjectDrifted }
func justRead(secret *facts.Object)    { secret.Made = now.Add(-time.Hour) }
func namingFirst(secret *facts.Object) { secret.Names = facts.Trust{Clients: ownCA} }

func rollCARows() []row {
	soon := unasked(holding(settledWorld(3), facts.CAs{ca(ownCA, now.AddDate(-9, 0, 0), true)}))
	named := holding(settledWorld(3), facts.CAs{firstCA, nextCA})
	return []row{
		{"a CA signs on that no person asks to replace", unasked(steady()), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a CA that was made before the time that a person names is replaced", steady(), Act, "roll-ca", "", "TurnCA",
			"Make a new CA beside the one in Secret demo-ca: the annotation etcdsteward.dev/rotate-ca asks for another one."},
		{"one that was made later is not", rolledCA(), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"one that ends soon is replaced by itself", soon, Act, "roll-ca", "", "TurnCA", "that one ends on"},
		{"no CA is added to one that members do not trust", trusting(steady(), otherCA), Refuse, "scaffold",
			facts.ReasonCAReplaced, "", "another CA"},
		{"members are restarted with trust in both", named, Act, "roll", "", "WriteSettings", "with trust in other CAs"},
		{"the leader last", widened().edit(0, readingFirstAlone).edit(0, func(r *facts.Replica) { r.Volume.Settings = r.Pod.Settings }),
			Act, "roll", "", "MoveLeader", "demo-0"},
		{"and one that does not say whom it trusts", widened().edit(1, unspoken), Act, "roll", "", "EvictPod", "demo-1"},
		{"then the new one signs", widened(), Act, "roll-ca", "", "TurnCA", "sign from now on: every member was restarted"},
		{"clients get the time to read both", widened().clients(justRead), Wait, "roll-ca", facts.ReasonRollCA, "",
			"clients have yet to read what Secret demo-client-tls holds by now. Until then: "},
		{"the old one goes", swapped(), Act, "roll-ca", "", "TurnCA", "Retire the CA in Secret demo-ca that does not sign"},
		{"not before kubelets had the time to give members their certificates", swapped().edit(1, justIssued), Wait, "roll-ca",
			facts.ReasonRollCA, "", "demo-1 may still show its certificate of the earlier CA"},
		{"clients trust it until no member does", narrowed().edit(1, readingBoth), Act, "roll", "", "EvictPod", "demo-1"},
		{"and then no more", narrowed(), Act, "roll-ca", "", "TurnCA", "Remove the retired CA in Secret demo-ca: no member trusts it"},
		{"a roll is called off before the new one signs", unasked(widened()), Act, "roll-ca", "", "TurnCA", "Retire the CA in Secret demo-ca that does not sign"},
		{"and afterwards the old one signs again", unasked(swapped()).clients(justRead), Act, "roll-ca", "", "TurnCA", "sign from now on"},
		{"but not once it has no key", unasked(narrowed()), Act, "roll-ca", "", "TurnCA", "Remove the retired CA"},
		{"a lost member is replaced in the middle of it", widened().edit(1, noData), Act, "replace", "", "RemoveMember", "demo-1"},
	}
}

func guardedTurns() []guardRow {
	turn := func(o scene, turn facts.Turn) changes.TurnCA {
		cas := o.Objects[0].CAs
		return changes.TurnCA{CA: "demo-ca", Turn: turn, Signs: cas[0].Print, Other: cas[1].Print}
	}
	widen, swap := turn(steady(), facts.TurnWiden), turn(widened(), facts.TurnSwap)
	narrow, forget := turn(swapped(), facts.TurnNarrow), turn(narrowed(), facts.TurnForget)
	return []guardRow{
		{"a third CA", steady(), widen, widened(), turn(widened(), facts.TurnWiden), "holds other CAs by now"},
		{"a CA beside one that members do not trust", steady(), widen, trusting(steady(), ""), widen, "does not hold the CA that members trust"},
		{"a CA that signs before a member trusts it", widened(), swap, widened().edit(1, readingFirstAlone), swap,
			"demo-1 was not restarted yet with trust"},
		{"a CA that signs while nothing says what a member trusts", widened(), swap, widened().edit(1, noPod), swap, "demo-1 does not run"},
		{"a CA that signs while a member's Secret does not name it", widened(), swap, widened().edit(1, outOfDate), swap,
			"the certificates of demo-1 are about to be written"},
		{"a CA that signs before clients trust it", widened(), swap, widened().clients(namingFirst), swap, "does not name the CA"},
		{"a CA that signs before clients had the time to trust it", widened(), swap, widened().clients(justRead), swap,
			"clients have yet to read"},
		{"no trust in what a member may still show", swapped(), narrow, swapped().edit(1, justIssued), narrow, "demo-1 may still show"},
		{"no trust in what a member shows whose kubelet is silent", swapped(), narrow, swapped().edit(1, onUnheardNode), narrow,
			"the kubelet of demo-1 is not heard of"},
		{"no trust in what clients may still show", swapped(), narrow, swapped().clients(justRead), narrow, "clients have yet to read"},
		{"no trust of clients in what a member trusts", narrowed(), forget, narrowed().edit(1, readingBoth), forget,
			"demo-1 was not restarted yet without"},
		{"a turn while it is not known who is a member", widened(), swap, widened().blind(), swap, "it is not known who is a member"},
		{"a turn of a Secret that holds others by now", widened(), swap, swapped(), swap, "holds other CAs by now"},
	}
}

func TestWhatTheNextTurnOfACAWaitsForIsToldBesideHowToCallItOff(t *testing.T) {
	said := Decide(widened().clients(justRead).Observation)
	for _, part := range []string{"A CA is replaced. The next step is to let the other CA in Secret demo-ca sign from now on",
		now.Add(23 * time.Hour).UTC().Format(time.RFC3339), "To call it off, take the annotation etcdsteward.dev/rotate-ca out."} {
		if !strings.Contains(said.Message, part) {
			t.Errorf("%q does not say %q", said.Message, part)
		}
	}
	if said.Recheck < recheckWait {
		t.Errorf("it looks again after %s", said.Recheck)
	}
}

func TestBothCAsOfAClusterAreReplacedByOneRollOfMembers(t *testing.T) {
	o := steady()
	peers := o.Objects[0]
	peers.Name, peers.Port = "demo-ca-peer", facts.ForPeers
	o.Objects = append(o.Objects, peers)
	o.Objects[0].CAs[1] = nextCA // the one for clients was widened a moment ago
	d := Decide(o.Observation)
	if turn, isTurn := d.Change.(changes.TurnCA); !isTurn || turn.CA != "demo-ca-peer" || turn.Turn != facts.TurnWiden {
		t.Errorf("%s %s", d.Rule, d.Message)
	}
}
