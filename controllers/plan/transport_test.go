package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	noTLS      = etcdutil.TransportPlain
	prepared   = etcdutil.TransportPrepared
	permissive = etcdutil.TransportPermissive
	onlyTLS    = etcdutil.TransportTLS
)

// reachedBy is a settled cluster whose members are reached so, each by its own, in a spec that asks for that mode.
func reachedBy(asked etcdutil.Transport, transports ...etcdutil.Transport) scene {
	o := settledWorld(len(transports))
	for i, t := range transports {
		o = o.edit(i, func(r *facts.Replica) {
			runsWith(t)(r)
			nextWith(t)(r)
			listedWith(t.PeerScheme())(r)
		})
	}
	return o.asking(asked)
}

// asking has the spec ask for a mode, and members be made as the next step to it asks.
func (o scene) asking(asked etcdutil.Transport) scene {
	o.Desired.Transport, o.Desired.TLS = asked, o.Current.KeepsCertificates(asked)
	o.Desired.Settings.Transport = o.NextTransport()
	o.Auth = facts.Auth{Known: true}
	return o
}

func runsWith(t etcdutil.Transport) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.Transport, r.Pod.Settings.Transport = t, t }
}

func nextWith(t etcdutil.Transport) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Settings.Transport = t }
}

func listedWith(scheme string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Member.PeerURLs = []string{etcdutil.PeerURL(scheme, r.Name, "demo", "default")}
	}
}

// unsignedYet has the Secret of a member wait for its issuer.
func unsignedYet(r *facts.Replica) { awaiting(r); r.Secret.State = facts.ObjectAbsent }

func authOn(o scene) scene { o.Auth = facts.Auth{Known: true, On: true}; return o }

func withAccess(o scene) scene { o.AccessClients = []string{"shop"}; return o }

func leftover(o scene, name string) scene {
	o.Objects = append(o.Objects[:len(o.Objects):len(o.Objects)],
		facts.Object{Kind: "Secret", Name: name, State: facts.ObjectCurrent, UID: "secret-" + name})
	return o
}

func transportRows() []row {
	allPrepared := reachedBy(permissive, prepared, prepared, prepared)
	begun := reachedBy(permissive, prepared, prepared, prepared).edit(2, nextWith(permissive)).asking(permissive)
	off := reachedBy(noTLS, permissive, permissive, permissive)
	gone := reachedBy(noTLS, noTLS, noTLS, noTLS)
	for i := range gone.Current.Members {
		gone = gone.edit(i, func(r *facts.Replica) { r.Secret = facts.Object{} })
	}
	unsigned := reachedBy(permissive, noTLS, noTLS, noTLS).edit(1, unsignedYet).asking(permissive)
	return []row{
		{"a cluster without TLS gets it: members get certificates first", reachedBy(permissive, noTLS, noTLS, noTLS), Act, "roll", "",
			"WriteSettings", "with certificates, for clients with TLS and without"},
		{"no member is restarted for certificates that an issuer has yet to sign", unsigned, Wait, "signing", facts.ReasonAwaitsIssuer,
			"", "The certificates in Secret demo-1-tls wait for their issuer"},
		{"and a lost one is replaced meanwhile", unsigned.edit(2, noData), Act, "replace", "", "RemoveMember", "demo-2"},
		{"once all have them, one after the other is dialled with TLS", allPrepared, Act, "roll", "", "WriteSettings",
			"with TLS among members"},
		{"it is listed so before it is restarted", begun, Act, "peer-url", "", "SetPeerScheme",
			"List the peer URL of demo-2 with https: it is restarted next"},
		{"and then it is", begun.edit(2, listedWith("https")), Act, "roll", "", "EvictPod", "demo-2"},
		{"the leader last", reachedBy(permissive, prepared, permissive, permissive), Act, "roll", "", "MoveLeader", "demo-0"},
		{"also where it leads by then: no other one can be dialled otherwise before", reachedBy(permissive, prepared, prepared, prepared).
			edit(0, nextWith(permissive)).asking(permissive).edit(0, listedWith("https")), Act, "roll", "", "MoveLeader", "demo-0"},
		{"one that a drain started on the way is listed as it listens",
			begun.edit(2, runsWith(permissive)), Act, "peer-url", "", "SetPeerScheme", "it listens so"},
		{"called off, it is listed as before", reachedBy(noTLS, prepared, prepared, prepared).edit(2, listedWith("https")), Act, "peer-url",
			"", "SetPeerScheme", "List the peer URL of demo-2 with http:"},
		{"peers do not change before the last of them is back", allPrepared.edit(1, leaving).asking(permissive), Wait,
			"tls-mode", facts.ReasonTLSMode, "", "Members will be dialled with TLS by each other, once all of them serve: demo-1 does not"},
		{"nor while one of them is not well", allPrepared.edit(1, unready).asking(permissive), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1 is not well"},
		{"straight to TLS alone there are the same two steps", reachedBy(onlyTLS, prepared, prepared, prepared), Act, "roll", "",
			"WriteSettings", "with TLS alone"},
		{"a lost member is replaced in the middle of a step", begun.edit(1, noData), Act, "replace", "", "RemoveMember", "demo-1"},
		{"TLS goes: peers first", off, Act, "roll", "", "WriteSettings", "without TLS among members"},
		{"then certificates", reachedBy(noTLS, prepared, prepared, prepared), Act, "roll", "", "WriteSettings", "without TLS"},
		{"but not while authentication is on: the operator would be no user", authOn(off), Refuse, "roll", facts.ReasonNotSupported, "",
			"Turn it off first (etcdctl auth disable). Or set spec.tls.mode to Permissive again"},
		{"nor while an EtcdClient is let in by one", withAccess(off), Refuse, "roll", facts.ReasonNotSupported, "",
			"EtcdClient shop needs one"},
		{"certificates that nobody shows any more are deleted", gone.edit(1, func(r *facts.Replica) {
			r.Secret = facts.Object{Kind: "Secret", Name: "demo-1-tls", State: facts.ObjectCurrent, UID: "secret-demo-1"}
		}), Act, "collect", "", "DeleteSecret", "the certificates of demo-1: spec.tls.mode is Disabled"},
		{"those of clients too", leftover(gone, "demo-client-tls"), Act, "collect", "", "DeleteSecret", "the certificates of demo-client"},
		{"and then nothing is left to do", gone, Settled, RuleSettled, facts.ReasonSettled, "", ""},
	}
}

func TestAStepOfTLSThatWaitsForAMemberThatAPersonHasToMendSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	allPrepared := reachedBy(permissive, prepared, prepared, prepared)
	says := func(seen scene) string { return tlsMode(current(seen.asking(permissive).Observation)).Message }
	const crashes = "demo-1 does not serve, or not on data that stays. etcd of demo-1 stopped (BadFlag): flag. Kubernetes starts it again and again, "
	if said := says(allPrepared.edit(1, crashing)); !strings.Contains(said, crashes) || strings.Contains(said, "goes on by itself") ||
		!strings.HasSuffix(said, " To call it off, put spec.tls.mode back.") {
		t.Error(said)
	}
	if said := says(allPrepared.edit(1, leaving)); !strings.Contains(said, "It goes on by itself.") {
		t.Error(said)
	}
}

func TestWhileNoListIsKnownNoMemberTakesASpecByWhichItListensOtherwise(t *testing.T) {
	asleep := reachedBy(noTLS, permissive, permissive, prepared).edit(0, noPod).edit(1, noPod).edit(2, noPod).blind()
	for _, said := range Decide(rejecting(asleep.asking(noTLS), "pods").Observation).Trace.Spoken() {
		if said.Rule == "settings" {
			t.Errorf("%s", said.Message)
		}
	}
	told := reachedBy(noTLS, prepared, prepared, prepared).edit(2, nextWith(permissive)).blind()
	told.Desired.Settings.Transport = prepared
	if !mayTakeSpec(current(told.Observation), told.Find(2)) {
		t.Error("what it listened with before can be taken back")
	}
}

func guardedTransports() []guardRow {
	begun := reachedBy(permissive, prepared, prepared, prepared).edit(2, nextWith(permissive)).asking(permissive)
	listed := begun.edit(2, listedWith("https"))
	list := changes.SetPeerScheme{Name: "demo-2", ID: 3, Scheme: "https"}
	evict := changes.EvictPod{Pod: facts.PodRef{Name: "demo-2", UID: "pod-demo-2"}, Successor: changes.Start{Name: "demo-2",
		Flags: facts.FlagsSealed, Settings: listed.Current.Find("demo-2").Settings()}}
	start := changes.StartPods{Pods: []changes.Start{evict.Successor}}
	last := reachedBy(noTLS, prepared, prepared, prepared).edit(2, nextWith(noTLS))
	plainly := otherwise(evict, func(c *changes.EvictPod) { c.Successor.Settings = last.Current.Find("demo-2").Settings() })
	join := changes.AddLearner{Name: "demo-3", Transport: permissive}
	first := reachedBy(permissive, noTLS, noTLS, noTLS).edit(2, nextWith(prepared))
	toFirst := otherwise(evict, func(c *changes.EvictPod) { c.Successor.Settings = first.Current.Find("demo-2").Settings() })
	off := reachedBy(noTLS, permissive, permissive, permissive).edit(2, noPod)
	retold := changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}}, Settings: off.Desired.Settings}
	return []guardRow{
		{"settings by which a member listens otherwise while no list is known", off, retold, off.blind(), retold,
			"demo-2 must not be given these settings: it would listen with http, and no member can be asked"},
		{"a member that its peers would not dial as it listens", listed, evict, begun, evict,
			"demo-2 must not be started so: it would listen with https, and its peers dial http://demo-2."},
		{"nor is it started so", listed.edit(2, noPod), start, begun.edit(2, noPod), start, "demo-2 must not be started so"},
		{"a URL by which a member without certificates cannot dial", begun, list, begun.edit(1, runsWith(noTLS)), list,
			"demo-1 has no certificate to dial demo-2 with"},
		{"nor one that has none after its next start", begun, list, begun.edit(1, nextWith(noTLS)), list,
			"demo-1 has no certificate to dial demo-2 with"},
		{"a second member that is dialled otherwise than it listens", begun, list, begun.edit(1, listedWith("https")), list,
			"demo-1 is dialled otherwise than it listens"},
		{"a URL that the member will not listen at", begun, list, begun.edit(2, nextWith(prepared)), list, "demo-2 is not to listen with https"},
		{"the URL of another member of that name", begun, list, begun, otherwise(list, func(c *changes.SetPeerScheme) { c.ID = 9 }),
			"it is not certain that demo-2 is member"},
		{"a URL without a quorum", begun, list, begun.edit(0, unanswered).edit(1, unanswered), list, "the voters have no quorum"},
		{"a member without certificates beside one that asks for one", last, plainly, last.edit(1, listedWith("https")), plainly,
			"it would have no certificate to dial https://demo-1."},
		{"the last certificate while authentication is on", last, plainly, authOn(last), plainly, "etcd's authentication is on"},
		{"a member for certificates that are not there", first, toFirst, first.edit(2, unsignedYet), toFirst, "there are none for it yet"},
		{"a new member that some cannot dial", reachedBy(permissive, prepared, prepared, prepared), join,
			reachedBy(permissive, prepared, prepared, noTLS), join, "demo-2 has no certificate to dial demo-3 with"},
		{"a new member that cannot dial some", reachedBy(noTLS, noTLS, noTLS, noTLS),
			otherwise(join, func(c *changes.AddLearner) { c.Transport = noTLS }), reachedBy(noTLS, noTLS, noTLS, permissive),
			otherwise(join, func(c *changes.AddLearner) { c.Transport = noTLS }), "demo-3 would have no certificate to dial demo-2 with"},
	}
}

// Each mix that a crash, an edit or a lost member may leave has its next step.
func TestTheNextStepToAModeOfTLSIsFoundFromAnyMix(t *testing.T) {
	for _, row := range []struct {
		asked etcdutil.Transport
		has   []etcdutil.Transport
		want  etcdutil.Transport
	}{
		{onlyTLS, []etcdutil.Transport{onlyTLS, onlyTLS, onlyTLS}, onlyTLS},
		{noTLS, []etcdutil.Transport{noTLS, noTLS, noTLS}, noTLS},
		{onlyTLS, []etcdutil.Transport{noTLS, noTLS, noTLS}, prepared},
		{permissive, []etcdutil.Transport{prepared, noTLS, noTLS}, prepared},
		{permissive, []etcdutil.Transport{prepared, prepared, prepared}, permissive},
		{permissive, []etcdutil.Transport{permissive, prepared, prepared}, permissive},
		{onlyTLS, []etcdutil.Transport{permissive, onlyTLS, prepared}, onlyTLS},
		{permissive, []etcdutil.Transport{onlyTLS, permissive, onlyTLS}, permissive},
		{noTLS, []etcdutil.Transport{onlyTLS, onlyTLS, onlyTLS}, prepared},
		{noTLS, []etcdutil.Transport{permissive, prepared, permissive}, prepared},
		{noTLS, []etcdutil.Transport{prepared, noTLS, prepared}, noTLS},
		{onlyTLS, []etcdutil.Transport{noTLS, permissive, onlyTLS}, prepared},
		{noTLS, []etcdutil.Transport{noTLS, permissive, onlyTLS}, prepared},
	} {
		if got := reachedBy(row.asked, row.has...).Desired.Settings.Transport; got != row.want {
			t.Errorf("from %q to %q: got %q, want %q", row.has, row.asked, got, row.want)
		}
	}
}
