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
		Names: facts.Trust{}.With(facts.ForClients, clients), Made: facts.Made{Clients: now.Add(-48 * time.Hour)}})
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			r.Secret.Names = facts.Trust{}.With(facts.ForClients, members)
			r.Secret.Made = facts.Made{Clients: now.Add(-time.Hour)}
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
func justIssued(r *facts.Replica)      { r.Secret.Made.Clients = now.Add(-time.Minute) }
func onUnheardNode(r *facts.Replica)   { r.Pod.NodeUnheard = now.Add(-time.Minute) }
func outOfDate(r *facts.Replica)       { r.Secret.State = facts.ObjectDrifted }
func justRead(secret *facts.Object)    { secret.Made.Clients = now.Add(-time.Hour) }
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
		{"once TLS is off none is replaced, and TLS comes back with what the Secret holds", untrusting(widened()), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"a lost member is replaced in the middle of it", widened().edit(1, noData), Act, "replace", "", "RemoveMember", "demo-1"},
	}
}

// untrusting is the cluster once TLS was turned off: the CAs are there, and no certificate is.
func untrusting(o scene) scene {
	o = desire(o, func(d *facts.Desired) { d.TLS = false })
	for i := range o.Current.Members {
		o = o.edit(i, noSecret)
	}
	o.Objects = slices.DeleteFunc(slices.Clone(o.Objects), func(object facts.Object) bool {
		_, isShown := object.HolderOf()
		return isShown
	})
	return o
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
		{"a CA that signs while a Pod terminates, of which the one is told that holds up the others", widened(), swap,
			widened().edit(0, readingFirstAlone).edit(1, func(r *facts.Replica) { r.Pod.Terminating = true }), swap, "the Pod of demo-1 is terminating"},
		{"a CA that signs while members wait for one that is not well", widened(), swap,
			widened().edit(0, readingFirstAlone).edit(1, unanswered), swap,
			"demo-0 was not restarted yet with trust in the CA that is to sign, and no member is restarted while demo-1 is not well"},
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

func TestAPodThatIsLeavingSaysThatTheRotationOfTheCAWaits(t *testing.T) {
	const says = " The rotation of the CA waits for this."
	for name, row := range map[string]struct {
		world scene
		told  bool
	}{"a rotation": {widened(), true}, "none": {unasked(steady()), false}} {
		o := current(row.world.edit(1, leaving).Observation)
		if p := ailment(o, o.Find("demo-1")); p == nil || strings.Contains(p.Message, says) != row.told {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestATurnThatWaitsForAMemberOnASilentNodeDoesNotGoOnByItself(t *testing.T) {
	const wayOn = " The operator goes on once n3 is back. If n3 is off for good: kubectl taint node n3 " +
		"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute."
	for _, row := range []struct {
		name string
		seen scene
		says string
	}{
		{"a Pod that Kubernetes cannot stop", widened().edit(1, leaving).edit(1, onNodeSilentFor(time.Minute)), "the Pod of demo-1 is " +
			"terminating. Its node n3 is not heard of since 2030-01-01T11:59:00Z, so Kubernetes cannot stop the Pod." + wayOn},
		{"a certificate that may not have arrived", swapped().edit(1, onNodeSilentFor(time.Minute)), "the kubelet of demo-1 is not " +
			"heard of, and may not have given it its certificate." + wayOn},
		{"a Pod that stops", widened().edit(1, leaving), "the Pod of demo-1 is terminating. It goes on by itself."},
	} {
		said := Decide(row.seen.Observation).Message
		if !strings.Contains(said, row.says) || strings.Count(said, " goes on ") != 1 {
			t.Errorf("%s: %s", row.name, said)
		}
	}
}

// A member that stops again and again goes on by itself as little as one whose image is not there.
func TestATurnThatWaitsForAMemberThatAPersonHasToMendSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	young := func(r *facts.Replica) { r.Pod.Created = now.Add(-time.Second) }
	for _, row := range []struct {
		name string
		seen scene
		says string
	}{
		{"etcd stops again and again", widened().edit(1, crashing).edit(1, young), "demo-1 does not run. etcd of demo-1 stopped (BadFlag): flag. " +
			"Kubernetes starts it again and again, at most 5 minutes apart. Correct spec.etcd or spec.image: the operator then restarts the member."},
		{"its image cannot be pulled", widened().edit(1, unpullable).edit(1, young), "demo-1 does not run. The Pod of demo-1 cannot start (ImagePullBackOff): " +
			"not found. Correct spec.image"},
	} {
		said := turnSays(t, row.seen)
		if !strings.Contains(said, row.says) || strings.Contains(said, "goes on by itself") ||
			!strings.HasSuffix(said, " To call it off, take the annotation etcdsteward.dev/rotate-ca out.") {
			t.Errorf("%s: %s", row.name, said)
		}
	}
	for name, seen := range map[string]scene{
		"a Pod that has yet to start":                         widened().edit(1, starts).edit(1, young),
		"a member that is restarted while others wait for it": widened().edit(0, readingFirstAlone).edit(1, unanswered).edit(1, young),
	} {
		if said := turnSays(t, seen); !strings.Contains(said, "It goes on by itself.") {
			t.Errorf("%s: %s", name, said)
		}
	}
	stuck := turnSays(t, widened().edit(0, readingFirstAlone).edit(1, unanswered))
	if !strings.Contains(stuck, "no member is restarted while demo-1 is not well. Member demo-1 is not well: ") || strings.Contains(stuck, "goes on by itself") {
		t.Errorf("a member that does not answer: %s", stuck)
	}
}

// turnSays is what the rule says of the next turn, whether others say more.
func turnSays(t *testing.T, seen scene) string {
	t.Helper()
	p := rollCA(current(seen.Observation))
	if p == nil || p.Verdict != Wait {
		t.Fatalf("no turn waits: %+v", p)
	}
	return p.Message
}

func starts(r *facts.Replica) {
	r.Answer, r.Pod.Running, r.Pod.Ready, r.Pod.Waiting = nil, false, false, ""
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

// The certificates that members show to clients are issued anew when the CA for clients is retired. That is no reason to
// wait with the CA for peers, and to restart members once for each of them.
func TestBothCAsOfAClusterAreRetiredBeforeMembersAreRestartedWithoutThem(t *testing.T) {
	o := swapped()
	peers := o.Objects[0]
	peers.Name, peers.Port = "demo-ca-peer", facts.ForPeers
	o.Objects = append(o.Objects, peers)
	o.Objects[0].CAs[1] = keyless(firstCA) // the one for clients was retired a moment ago
	for i := range o.Current.Members {
		o = o.edit(i, func(r *facts.Replica) {
			both := facts.Trust{}.With(facts.ForClients, []string{ownCA, otherCA}).With(facts.ForPeers, []string{ownCA, otherCA})
			r.Pod.Settings.Trust, r.Volume.Settings.Trust = both, both
			r.Secret.Names = facts.Trust{}.With(facts.ForClients, []string{otherCA}).With(facts.ForPeers, []string{ownCA, otherCA})
			r.Secret.Made = facts.Made{Clients: now.Add(-time.Second), Peers: now.Add(-4 * time.Minute)}
		})
	}
	o.Desired.Settings.Trust = o.Current.TrustOf(o.Objects)
	d := Decide(o.Observation)
	if turn, isTurn := d.Change.(changes.TurnCA); !isTurn || turn.CA != "demo-ca-peer" || turn.Turn != facts.TurnNarrow {
		t.Errorf("%s %s", d.Rule, d.Message)
	}
}

// givenCA is one that a person has in Secret corp.
var givenCA = facts.CA{Print: "corp-1", Identity: "corp", Origin: facts.OriginSecret, From: "Secret corp", HasKey: true,
	Made: now.Add(-48 * time.Hour), NotAfter: now.AddDate(0, 3, 0)}

var givenSource = facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Print: "corp-1", Identity: "corp", NotAfter: givenCA.NotAfter}

// naming has the spec name a Secret for the CA.
func naming(o scene, source facts.CASource) scene {
	o = unasked(o)
	o.Objects = slices.Clone(o.Objects)
	o.Objects[0].Source = source
	return o
}

func wrong(source facts.CASource) facts.CASource { source.Fault = "tls.key is missing"; return source }
func absentSecret() facts.CASource {
	return facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Fault: "there is no such Secret", IsAbsent: true}
}
func renewedSource() facts.CASource {
	return facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Print: "corp-2", Identity: "corp", NotAfter: now.AddDate(0, 6, 0)}
}
func otherSource() facts.CASource {
	return facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Print: "new-1", Identity: "new", NotAfter: now.AddDate(0, 6, 0)}
}

// Each of these has come to the end of a turn from the first CA to that of a person, as above.
func givenBeside() scene {
	return holding(settledWorld(3), facts.CAs{firstCA, givenCA}, ownCA, "corp-1")
}
func givenSwapped() scene {
	return holding(settledWorld(3), facts.CAs{givenCA, firstCA}, ownCA, "corp-1")
}
func givenAlone() scene { return holding(settledWorld(3), facts.CAs{givenCA}, "corp-1") }

func caSourceRows() []row {
	old := givenCA
	old.Made, old.NotAfter = now.AddDate(-1, 0, 0), now.AddDate(0, 0, 5)
	old.From = "Secret corp"
	without := func(o scene) scene {
		o.Objects = slices.Clone(o.Objects)
		o.Objects[0].State, o.Objects[0].Port = facts.ObjectAbsent, facts.ForClients
		return o
	}
	return []row{
		{"a CA that a person gives is taken in beside the one that signs", naming(steady(), givenSource), Act, "roll-ca", "", "TurnCA",
			"Take the CA of Secret corp in beside the one in Secret demo-ca: spec.tls.clientCA names that Secret."},
		{"it signs once all trust it", naming(givenBeside(), givenSource), Act, "roll-ca", "", "TurnCA", "sign from now on"},
		{"the one of the operator goes then", naming(givenSwapped(), givenSource), Act, "roll-ca", "", "TurnCA", "Retire the CA"},
		{"and nothing is left to do", naming(givenAlone(), givenSource), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"where the field is gone the operator makes a CA", naming(givenAlone(), facts.CASource{}), Act, "roll-ca", "", "TurnCA",
			"Make a new CA beside the one in Secret demo-ca: spec.tls.clientCA is gone"},
		{"a field that is taken out before the CA signs calls it off", naming(givenBeside(), facts.CASource{}), Act, "roll-ca", "", "TurnCA", "Retire the CA"},
		{"and afterwards the earlier one signs again", naming(givenSwapped(), facts.CASource{}), Act, "roll-ca", "", "TurnCA", "sign from now on"},
		{"one that is put in the place of another one that did not sign yet waits for its end", naming(givenBeside(), otherSource()), Act, "roll-ca", "",
			"TurnCA", "Retire the CA in Secret demo-ca that does not sign"},
		{"another CA in the Secret takes the place of the one before", naming(givenAlone(), otherSource()), Act, "roll-ca", "", "TurnCA",
			"Take the CA of Secret corp in"},
		{"a renewed certificate of the CA is taken in one turn", naming(givenAlone(), renewedSource()), Act, "roll-ca", "", "TurnCA",
			"Renew the certificate of the CA in Secret demo-ca from Secret corp: it has the same name and key"},
		{"a CA that cannot be used is told, and nothing is replaced", naming(steady(), wrong(givenSource)), Refuse, "ca-source", facts.ReasonCASource, "",
			"spec.tls.clientCA names Secret corp for the CA for clients, and that cannot be used: tls.key is missing. Until it can be used, the CAs for clients stay those in Secret demo-ca."},
		{"a Secret that is not there is waited for", naming(steady(), absentSecret()), Wait, "ca-source", facts.ReasonCASource, "", "Create the Secret"},
		{"a roll stands still while it is not known which CA is wanted", naming(givenBeside(), wrong(otherSource())), Refuse, "ca-source", facts.ReasonCASource, "", ""},
		{"what the operator has a copy of signs on without its Secret", naming(givenAlone(), absentSecret()), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a CA of a person is not replaced because it ends", naming(holding(settledWorld(3), facts.CAs{old}, "corp-1"), givenSource), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"nor because the annotation asks for another one", desire(naming(givenAlone(), givenSource), func(d *facts.Desired) { d.Rotation = facts.Rotation{Asked: now} }),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"other members are looked after while a CA cannot be used", naming(steady(), wrong(givenSource)).edit(1, noData), Act, "replace", "", "RemoveMember", "demo-1"},
		{"a cluster does not begin without the CA that it is to have", naming(without(notBootstrapped(3)), wrong(givenSource)), Refuse, "ca-source",
			facts.ReasonCASource, "", "The cluster begins as soon as it can be used."},
		{"nor does it go on then", naming(without(atBootstrap(3)), absentSecret()), Wait, "ca-source", facts.ReasonCASource, "", "Create the Secret"},
		{"it begins with that CA", naming(without(atBootstrap(3)), givenSource), Act, "bootstrap", "", "Bootstrap", ""},
	}
}

func guardedSources() []guardRow {
	take := turnOf(naming(steady(), givenSource).Objects[0], facts.TurnWiden)
	made := changes.TurnCA{CA: "demo-ca", Turn: facts.TurnWiden, Signs: ownCA}
	swap := turnOf(givenBeside().Objects[0], facts.TurnSwap)
	renew := turnOf(naming(givenAlone(), renewedSource()).Objects[0], facts.TurnRenew)
	other := renew
	other.Next = "new-1"
	return []guardRow{
		{"a CA that is made over the one of a person", steady(), made, naming(steady(), givenSource), made, "the spec wants the CA in Secret demo-ca from elsewhere"},
		{"a CA of a person that the spec does not name", naming(steady(), givenSource), take, unasked(steady()), take, "from elsewhere by now"},
		{"another CA of a person than the one that was looked at", naming(steady(), givenSource), take, naming(steady(), otherSource()), take, "from elsewhere by now"},
		{"a CA of a person that cannot be used", naming(steady(), givenSource), take, naming(steady(), wrong(givenSource)), take, "the CA of Secret corp cannot be used"},
		{"a CA that signs though the spec does not want it", naming(givenBeside(), givenSource), swap, naming(givenBeside(), facts.CASource{}), swap,
			"the spec does not want the other CA"},
		{"another CA in the name of a renewed certificate", naming(givenAlone(), renewedSource()), renew, naming(givenAlone(), otherSource()), other,
			"holds another CA than the one that signs"},
	}
}
