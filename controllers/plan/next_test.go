package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/corpus"
)

type row struct {
	name    string
	world   scene
	verdict Verdict
	rule    string
	reason  string // of an Act "": it is the name of the change
	change  string // Kind, or empty
	says    string // part of the message
}

// heldBackByTheGuard are the rows in which a rule proposes what the guard does not let pass, and another one speaks. In
// all others that would hide a rule that went wrong.
var heldBackByTheGuard = []string{
	"nor to delete it for one with authentication",
	"what cannot be moved to keeps nobody from looking after the cluster",
}

func (r row) check(t *testing.T) {
	t.Helper()
	d := Decide(r.world.Observation)
	kind := ""
	if d.Change != nil {
		kind = changes.KindOf(d.Change)
	}
	r.reason = cmp.Or(r.reason, r.change)
	if d.Verdict != r.verdict || d.Rule != r.rule || d.Reason != r.reason || kind != r.change ||
		!strings.Contains(d.Message, r.says) {
		t.Errorf("got %s by %s (%s) change %q: %s\nwant %s by %s (%s) change %q: …%s…\nthe rules said\n%s",
			d.Verdict, d.Rule, d.Reason, kind, d.Message, r.verdict, r.rule, r.reason, r.change, r.says, d.Trace)
	}
	if d.Change != nil && d.GivesWay {
		r.checkThatItGivesWay(t, d)
	}
	if !facts.IsVeto(r.reason) && !slices.Contains(heldBackByTheGuard, r.name) {
		expectNoVeto(t, d)
	}
}

// expectNoVeto expects that no rule proposed what the guard does not let pass.
func expectNoVeto(t *testing.T, d Decision) {
	t.Helper()
	for _, said := range d.Trace.Spoken() {
		if facts.IsVeto(said.Reason) {
			t.Errorf("%s proposes what the guard does not let pass: %s", said.Rule, said.Message)
		}
	}
}

// checkThatItGivesWay refuses the change: the operator asks again in the same pass, and must not be
// told the same for ever.
func (r row) checkThatItGivesWay(t *testing.T, d Decision) {
	t.Helper()
	o := r.world.Observation
	o.Refused = append(slices.Clone(o.Refused), facts.Note{Rule: d.Rule, Reason: "QuotaExceeded"})
	if again := Decide(o); again.Rule == d.Rule && again.Change != nil {
		t.Errorf("%s was refused, and asks for it again in the same pass: %s", d.Rule, again.Message)
	}
}

func desire(o scene, change func(*facts.Desired)) scene {
	change(&o.Desired)
	return o
}

// sized has the spec ask for so many members.
func (o scene) sized(size int) scene { return desire(o, func(d *facts.Desired) { d.Size = size }) }

func volumeBound(r *facts.Replica) {
	r.Volume.Phase, r.Volume.Backing, r.Volume.MadeFor = facts.VolumeBound, "pv", "a"
}

// ofMemory is a member to come whose data is in its Pod.
func ofMemory(r *facts.Replica) { r.Ephemeral, r.Volume = true, nil }

// astray is the same world, in which a volume is not owned as deletionPolicy asks.
func astray(o scene) scene {
	o.Astray = []facts.DataRef{{Kind: "PersistentVolumeClaim", Name: "demo-0", UID: "volume-demo-0"}}
	return o
}

// leavingCAs has the CAs that an earlier cluster left, and none of its volumes.
func leavingCAs(o scene) scene {
	o.Objects = slices.Clone(o.Objects)
	o.Objects[0].State = facts.ObjectForeign
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		o.Retained = append(o.Retained, facts.Retained{Kind: "Secret", Name: name, UID: name, Owner: "u0"})
	}
	return o
}

// keptBeside has a volume as well that the earlier cluster had put aside.
func keptBeside(o scene) scene {
	o.Retained = append(o.Retained, facts.Retained{Kind: "PersistentVolumeClaim", Name: "demo-7", UID: "kept",
		Owner: "u0", Kept: true})
	return o
}

// withCA has the CA that was taken over.
func withCA(o scene) scene {
	o.Objects = slices.Clone(o.Objects)
	o.Objects[0].State = facts.ObjectCurrent
	return o
}

// backedUp has a backup of the earlier cluster.
func backedUp(o scene) scene {
	o.BackupLeft = "EtcdBackup nightly"
	return o
}

// asideOurs has a volume that was put aside and is this cluster's.
func asideOurs(o scene) scene {
	o.Kept = []facts.KeptVolume{{Name: "demo-7", UID: "kept", Ordinal: 7}}
	return o
}

// beginningEmpty is asked to begin empty in the place of the cluster that left its CAs.
func beginningEmpty(o scene) scene { return beginningAfter(o, "u0") }

func beginningAfter(o scene, earlier string) scene {
	return desire(o, func(d *facts.Desired) { d.BeginEmpty = earlier })
}

// begunEmpty has the bootstrap record of a cluster that begins empty, and the CAs are still to be taken over.
func begunEmpty() scene {
	o := beginningEmpty(leavingCAs(notBootstrapped(3)))
	o.Current.Bootstrap = record.Bootstrap(Decide(o.Observation).Change.(changes.BeginBootstrap))
	o.ClaimedBy = o.Cluster.Operator
	return o
}

// askedFor is a settled cluster that one install claims, and that a person asks another one to look after.
func askedFor(operator, claim string) scene {
	o := settledWorld(3)
	o.Desired.Operator, o.ClaimedBy = operator, claim
	o.Keeping = facts.Lease{Known: true, Renewed: now}
	return o
}

// unserviced is a settled cluster whose peer Service is deleted. Its data names one install, and a person asks for
// another one, or for none.
func unserviced(asked, data string) scene {
	o := askedFor(asked, "")
	o.Current.Bootstrap, o.DataClaim = record.Bootstrap{}, data
	return o
}

// named has the data name an install as well.
func named(o scene, data string) scene {
	o.DataClaim = data
	return o
}

// keptBy is a settled cluster of another install, with what its Lease says.
func keptBy(lease facts.Lease) scene {
	o := askedFor("", "other/op")
	o.Keeping = lease
	return o
}

// unread is a cluster of another install whose Lease this one may not read.
func unread(o scene) scene {
	o.Keeping = facts.Lease{Why: "that is forbidden"}
	return o
}

// takenOver is a settled cluster that this install took over so long ago.
func takenOver(ago time.Duration) scene {
	o := settledWorld(3)
	o.TakenOver = now.Add(-ago)
	return o
}

func rows() []row {
	return []row{
		{"a settled cluster is left alone", settledWorld(3), Settled, RuleSettled, facts.ReasonSettled, "",
			"All 3 members"},
		{"one healthy member is settled", settledWorld(1), Settled, RuleSettled, facts.ReasonSettled, "", "one member"},

		{"another install's cluster is left alone",
			func() scene { o := settledWorld(3); o.ClaimedBy = "other/op"; return o }(),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "other/op"},
		{"a cluster whose bootstrap record was lost is left to the install that claims it",
			func() scene {
				o := settledWorld(3)
				o.ClaimedBy, o.Current.Bootstrap = "other/op", record.Bootstrap{}
				return o
			}(),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "annotate etcd demo"},
		{"a cluster of another install is taken over once a person asks for it", askedFor("ns/op", "other/op"),
			Act, "other-operator", "", "TakeOver", "other/op"},
		{"nothing is taken over from an install of which nothing is known", unread(askedFor("ns/op", "other/op")),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "that is forbidden"},
		{"an install that is gone is told, and when it was last seen",
			keptBy(facts.Lease{Known: true, Renewed: now.Add(-2 * time.Minute)}),
			Refuse, "other-operator", facts.ReasonOtherOperator, "",
			"does not run: its Lease was last renewed at " + now.Add(-2*time.Minute).UTC().Format(time.RFC3339)},
		{"an install without a Lease is gone", keptBy(facts.Lease{Known: true}),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "does not run: it has no Lease"},
		{"an install that was heard a moment ago runs",
			keptBy(facts.Lease{Known: true, Renewed: now.Add(-119 * time.Second)}),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "The operator other/op looks after this cluster"},
		{"what was taken over a moment ago waits whom else a person asks for",
			func() scene { o := askedFor("third/op", "ns/op"); o.TakenOver = now; return o }(),
			Wait, "other-operator", facts.ReasonTakeOver, "", "40s later"},
		{"a cluster is looked after until another install has taken it", askedFor("third/op", "ns/op").edit(1, noPod),
			Act, "pods", "", "StartPods", "demo-1"},
		{"an install that is asked for and does not come is told", askedFor("third/op", "ns/op"),
			Wait, "other-operator", facts.ReasonTakeOver, "", "take the annotation back"},
		{"a cluster that no install claims is claimed first", askedFor("", "").edit(1, noPod),
			Act, "other-operator", "", "TakeOver", "Take over the cluster: no operator claims it"},
		{"a cluster that no install claims is left to the one that is asked for", askedFor("third/op", ""),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "has not claimed the cluster yet"},
		{"a cluster that another install is asked to begin is not begun",
			func() scene { o := notBootstrapped(3); o.Desired.Operator = "other/op"; return o }(),
			Refuse, "other-operator", facts.ReasonOtherOperator, "", "other/op"},
		{"a cluster whose peer Service is deleted is left to the install that its data names",
			unserviced("", "other/op"), Refuse, "other-operator", facts.ReasonOtherOperator, "",
			"The peer Service with the bootstrap record is gone. By its data, the operator other/op looks after this " +
				"cluster; this one (ns/op) changes nothing of it. To have this one take it over, whether the other one " +
				"runs or not: kubectl annotate etcd demo -n default etcdsteward.dev/operator=ns/op --overwrite"},
		{"that install writes it anew at once", unserviced("", "ns/op"), Act, "birth-record", "",
			"BeginBootstrap", "Make the peer Service anew, with the bootstrap record: the peer Service is gone"},
		{"so does the one that a person asks for", unserviced("ns/op", "other/op"), Act, "birth-record",
			"", "BeginBootstrap", "Make the peer Service anew, with the bootstrap record: the peer Service is gone"},
		{"and no other one, although the data names it", unserviced("third/op", "ns/op"), Refuse, "other-operator",
			facts.ReasonOtherOperator, "", "asks for the operator third/op"},
		{"data that names no install keeps none away", unserviced("", ""), Act, "birth-record", "",
			"BeginBootstrap", "Make the peer Service anew, with the bootstrap record: the peer Service is gone"},
		{"a claim that was taken off the peer Service is left to the install that the data names",
			named(askedFor("", ""), "other/op"), Refuse, "other-operator", facts.ReasonOtherOperator, "",
			"The peer Service names no operator. By its data, the operator other/op"},
		{"what the peer Service says counts, and not what the data says", named(settledWorld(3), "other/op"), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"what must be kept is left to the install that the data names", astray(unserviced("", "other/op")), Refuse,
			"other-operator", facts.ReasonOtherOperator, "", "By its data"},
		{"what was taken over waits until the other install has ended its pass", takenOver(39 * time.Second),
			Wait, "other-operator", facts.ReasonTakeOver, "", "40s later"},
		{"a take-over that is still to come, by a clock that was ahead, is dated anew", takenOver(-time.Hour),
			Act, "other-operator", "", "TakeOver", "still to come"},
		{"a take-over a little ahead of this clock is waited for", takenOver(-40 * time.Second),
			Wait, "other-operator", facts.ReasonTakeOver, "", "40s later"},
		{"what was taken over is looked after then", takenOver(40 * time.Second),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"what must be kept is un-owned even while paused",
			desire(astray(settledWorld(3)), func(d *facts.Desired) { d.Paused = true }),
			Act, "deletion-policy", "", "FollowPolicy", "kept"},
		{"ownership is not taken while paused",
			desire(astray(settledWorld(3)), func(d *facts.Desired) { d.Paused, d.Retain = true, false }),
			Wait, "hands-off", facts.ReasonPaused, "", "paused"},
		{"a paused cluster is not healed",
			desire(settledWorld(3).edit(1, noPod), func(d *facts.Desired) { d.Paused = true }),
			Wait, "hands-off", facts.ReasonPaused, "", "No Pod runs of demo-1. What it stores is kept on its volume. To start it: " +
				"kubectl etcd-steward resume demo -n default."},
		{"a cluster being deleted is left to the garbage collector",
			desire(settledWorld(3).edit(1, noPod), func(d *facts.Desired) { d.Deleting = true }),
			Wait, "hands-off", facts.ReasonDeleting, "", ""},
		{"a refused spec stops a birth", desire(notBootstrapped(3), func(d *facts.Desired) { d.Fault = "no such version" }),
			Refuse, "spec-refused", facts.ReasonSpecRefused, "", "no such version"},
		{"a refused spec does not stop healing",
			desire(settledWorld(3).edit(1, noPod), func(d *facts.Desired) { d.Fault = "no such version" }),
			Act, "pods", "", "StartPods", "demo-1"},
		{"over retained volumes nothing is born", retaining(notBootstrapped(3), anonymous), Refuse, "retained-data",
			facts.ReasonRetainedData, "", "PersistentVolumeClaim demo-0"},
		{"CAs without a volume keep a cluster from being made, and the message names the way on", leavingCAs(notBootstrapped(3)),
			Refuse, "retained-data", facts.ReasonRetainedData, "",
			"kubectl annotate etcd demo -n default --overwrite etcdsteward.dev/begin-empty=u0"},
		{"over CAs without a volume a cluster begins once a person names the one that left them",
			beginningEmpty(leavingCAs(notBootstrapped(3))), Act, "birth-record", "", "BeginBootstrap", "Begin the bootstrap of demo-0, demo-1, demo-2: the cluster is new"},
		{"then the CAs are taken over", begunEmpty(), Act, "bootstrap", "", "AdoptData",
			"Secret demo-ca, Secret demo-ca-peer"},
		{"an operator that died between the two goes on with the other", func() scene {
			o := begunEmpty()
			o.Objects[0].State, o.Retained = facts.ObjectCurrent, o.Retained[1:]
			return o
		}(), Act, "bootstrap", "", "AdoptData", "Secret demo-ca-peer"},
		{"and then it is born as any other", func() scene {
			o := begunEmpty()
			o.Objects[0].State, o.Retained = facts.ObjectCurrent, nil
			return o
		}(), Act, "bootstrap", "", "Bootstrap", "Create the first members: the bootstrap of demo-0, demo-1, demo-2 has begun"},
		{"of a cluster that began so and left its CAs again, a person is asked again",
			beginningAfter(leavingCAs(notBootstrapped(3)), "u-before"), Refuse, "retained-data", facts.ReasonRetainedData, "",
			"begin-empty=u-before does not name the cluster that left them. It counts once"},
		{"what any cluster could be asked counts for none", beginningAfter(leavingCAs(notBootstrapped(3)), "true"), Refuse,
			"retained-data", facts.ReasonRetainedData, "", "--overwrite etcdsteward.dev/begin-empty=u0"},
		{"CAs of two earlier clusters are for a person to delete", func() scene {
			o := beginningEmpty(leavingCAs(notBootstrapped(3)))
			o.Retained[1].Owner = "u-other"
			return o
		}(), Refuse, "retained-data", facts.ReasonRetainedData, "", "of more than one earlier cluster. To begin with an " +
			"empty cluster, delete the CAs: kubectl delete secret demo-ca demo-ca-peer"},
		{"where only CAs are left of a cluster that lived, what it was once asked does not count",
			beginningEmpty(withCA(notBootstrapped(3))), Refuse, "birth-record", facts.ReasonRecordLost, "", "Secret demo-ca"},
		{"volumes are taken over although the annotation asks to begin empty", beginningEmpty(retaining(notBootstrapped(3))),
			Act, "retained-data", "", "AdoptData", "PersistentVolumeClaim demo-0"},
		{"and nothing over volumes that cannot be resumed", beginningEmpty(leavingCAs(retaining(notBootstrapped(3), anonymous))),
			Refuse, "retained-data", facts.ReasonRetainedData, "", "delete what is listed"},
		{"nor over a volume that was put aside", beginningEmpty(keptBeside(leavingCAs(notBootstrapped(3)))),
			Refuse, "retained-data", facts.ReasonRetainedData, "", "PersistentVolumeClaim demo-7"},
		{"nor where there is a backup", beginningEmpty(backedUp(leavingCAs(notBootstrapped(3)))),
			Refuse, "retained-data", facts.ReasonRetainedData, "",
			"EtcdBackup nightly. To begin with a backup, or empty all the same, delete the CAs: kubectl delete secret " +
				"demo-ca demo-ca-peer -n default"},
		{"nor where the spec names one", beginningEmpty(desire(leavingCAs(notBootstrapped(3)),
			func(d *facts.Desired) { d.Restore.Hash = "h" })),
			Refuse, "retained-data", facts.ReasonRetainedData, "", "spec.bootstrap.restore"},
		{"nor once the CAs were taken over", beginningEmpty(backedUp(withCA(notBootstrapped(3)))),
			Refuse, "birth-record", facts.ReasonRecordLost, "", "Secret demo-ca"},
		{"nor where the earlier cluster's volume was put aside and taken over", beginningEmpty(asideOurs(withCA(notBootstrapped(3)))),
			Refuse, "birth-record", facts.ReasonRecordLost, "", "Secret demo-ca"},
		{"somebody else's Service is never adopted",
			func() scene { o := notBootstrapped(3); o.Objects[1].State = facts.ObjectForeign; return o }(),
			Refuse, "name-taken", facts.ReasonNameTaken, "", "Service demo"},

		{"a birth begins with its record", notBootstrapped(3), Act, "birth-record", "", "BeginBootstrap",
			"Begin the bootstrap of demo-0, demo-1, demo-2: the cluster is new"},
		{"a lost record is written anew from the volumes",
			func() scene { o := settledWorld(3); o.Current.Bootstrap = record.Bootstrap{}; return o }(),
			Act, "birth-record", "", "BeginBootstrap", "anew"},
		{"nothing is born when the record and all volumes are gone",
			func() scene { o := notBootstrapped(1); o.Objects[0].State = facts.ObjectCurrent; return o }(),
			Refuse, "birth-record", facts.ReasonRecordLost, "", "Secret demo-ca"},
		{"the first members are created in one step", func() scene {
			o := atBootstrap(3)
			o.Current.Members, o.Current.Bootstrap.Begun, o.Current.Bootstrap.Volumes = nil, false, nil
			return o
		}(),
			Act, "bootstrap", "", "Bootstrap", "Create the first members: the bootstrap of demo-0, demo-1, demo-2 has begun"},
		{"first members whose Pods Kubernetes did not admit take a corrected setting",
			wanting(atBootstrap(3).edit(0, noPod).edit(1, noPod).edit(2, noPod), other),
			Act, "bootstrap", "", "WriteSettings", "Write settings on the volumes of demo-0, demo-1, demo-2: the members have not"},
		{"then they are created with it",
			wanting(atBootstrap(3).edit(0, adopted).edit(0, noPod).edit(1, adopted).edit(1, noPod).edit(2, adopted).edit(2,
				noPod), other), Act, "bootstrap", "", "Bootstrap", ""},
		{"but no other version where one has started", wanting(atBootstrap(3).edit(2, noPod), newer), Act, "bootstrap",
			"", "Bootstrap", ""},
		{"first members that look for each other are waited for", atBootstrap(3), Wait, "first-quorum",
			facts.ReasonFirstQuorum, "", "once 2 have found each other."},
		{"first members that never find each other may be kept apart by a policy", func() scene {
			o := atBootstrap(3)
			o.Now = o.Now.Add(facts.StartDeadline)
			return o
		}(), Refuse, "first-quorum", facts.ReasonFirstQuorum, "", "NetworkPolicy"},
		{"an image that cannot be pulled at birth is named", atBootstrap(3).edit(0, unpullable), Wait, "first-quorum",
			facts.ReasonImagePull, "", "not found"},
		{"a birth whose volume is lost is voided", atBootstrap(3).edit(1, func(r *facts.Replica) { r.Volume = nil }), Act,
			"void-birth", "", "VoidBootstrap", "volume of demo-1"},
		{"a birth of other size is voided while too few have started",
			desire(atBootstrap(3).edit(0, unpullable).edit(1, unpullable), func(d *facts.Desired) { d.Size = 5 }),
			Act, "void-birth", "", "VoidBootstrap", "other first members"},
		{"a birth whose volume is another one is voided",
			atBootstrap(3).edit(1, func(r *facts.Replica) { r.Volume.UID = "another" }), Act, "void-birth",
			"", "VoidBootstrap", "volume of demo-1"},
		{"a volume that cannot be made at birth is named, with what helps", atBootstrap(3).edit(0, unmade).ofClass("a"),
			Wait, "first-quorum", facts.ReasonProvisioning, "", `"a" not found. Put spec.storage.storageClassName`},
		{"a birth whose volumes were never made is voided for another StorageClass",
			atBootstrap(3).edit(0, unmade).edit(1, unmade).edit(2, unmade).ofClass("b"), Act, "void-birth",
			"", "VoidBootstrap", "another StorageClass"},
		{"also for smaller volumes",
			atBootstrap(3).edit(0, unmade).edit(1, unmade).edit(2, unmade).edit(0, volumeOf(80<<30)).ofClass("a"), Act,
			"void-birth", "", "VoidBootstrap", "a smaller volume"},
		{"also where one of three has started", atBootstrap(3).edit(0, unmade).edit(1, unmade).ofClass("b"), Act,
			"void-birth", "", "VoidBootstrap", "another StorageClass"},
		{"not once a quorum has started", atBootstrap(3).edit(2, unmade).ofClass("b"), Wait, "first-quorum",
			facts.ReasonProvisioning, "", "demo-2"},
		{"nor for volumes that were made", atBootstrap(3).edit(0, unpullable).edit(1, unpullable).ofClass("b"), Wait,
			"first-quorum", facts.ReasonImagePull, "", ""},
		{"a volume that was never made is made, not missed", func() scene {
			o := atBootstrap(3).edit(1, noData)
			o.Current.Bootstrap.Begun, o.Current.Bootstrap.Volumes = false, nil
			return o
		}(), Act, "bootstrap", "", "Bootstrap", ""},
		{"what another incarnation left under a first member's name is deleted",
			atBootstrap(3).edit(1, func(r *facts.Replica) { r.Pod.Incarnation = "old" }),
			Act, "void-birth", "", "DeletePods", "demo-1"},
		{"but not the volume that was made for this bootstrap, whatever its label says",
			atBootstrap(3).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), Refuse, "void-birth",
			facts.ReasonForeignData, "",
			"kubectl label pvc demo-1 -n default --overwrite etcdsteward.dev/incarnation=" + facts.IncarnationID("u1", 0)},
		{"a birth that another cluster answers for is not recorded", func() scene {
			o := atBootstrap(1)
			o.Current.Membership = facts.Membership{Known: true, ClusterID: 9,
				Members: []etcdutil.Member{{ID: 9, PeerURLs: []string{"https://demo-0.demo-peers.elsewhere.svc:2380"}}}}
			return o
		}(), Refuse, "first-quorum", facts.ReasonForeignData, "", "no member of this bootstrap"},
		{"a first member that stops again and again takes a corrected setting",
			desire(atBootstrap(3).edit(0, crashing), func(d *facts.Desired) { d.Settings = other }),
			Act, "settings", "", "WriteSettings", ""},
		{"a birth goes on when a quorum has started", desire(atBootstrap(3), func(d *facts.Desired) { d.Size = 5 }), Wait,
			"first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"a birth with writes is never voided",
			atBootstrap(3).edit(0, func(r *facts.Replica) { r.Answer = voter(0).Answer }).edit(1,
				func(r *facts.Replica) { r.Volume = nil }),
			Wait, "first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"a first Pod that never started takes the new settings",
			desire(atBootstrap(3).edit(0, unpullable), func(d *facts.Desired) { d.Settings = other }),
			Act, "settings", "", "WriteSettings", ""},

		{"a first member that started before the spec changed keeps what it was made from",
			desire(atBootstrap(3).edit(0, func(r *facts.Replica) { r.Volume.Settings = other }),
				func(d *facts.Desired) { d.Settings = other }),
			Act, "settings", "", "WriteSettings", "demo-0"},

		{"a Pod that is gone is started on its volume", settledWorld(3).edit(2, noPod), Act, "pods",
			"", "StartPods", "demo-2"},
		{"all Pods gone are started at once, without an answer from etcd",
			settledWorld(3).blind().edit(0, noPod).edit(1, noPod).edit(2, noPod),
			Act, "pods", "", "StartPods", "demo-0, demo-1, demo-2"},
		{"one that has no certificates, and gets none, keeps nobody from looking after the others",
			withoutCA(settledWorld(3).edit(1, func(r *facts.Replica) { r.Pod.Role = facts.RoleLearner }).edit(2,
				noPod).edit(2, noSecret)),
			Act, "label-role", "", "LabelRole", "demo-1"},
		{"a Pod on a volume that is being deleted is not started", settledWorld(3).edit(2, noPod).edit(2, doomed), Act,
			"replace", "", "RemoveMember", "demo-2"},
		{"a Pod that ended is made anew", settledWorld(3).edit(1, ended), Act, "pods", "",
			"DeletePods", "Delete the Pod of demo-1: demo-1 ended"},
		{"a stripped seal is put back", settledWorld(3).edit(1, stripped), Act, "seal", "", "SealPods",
			"demo-1"},
		{"a terminating Pod is waited for", settledWorld(3).edit(1, leaving), Wait, "member-health",
			facts.ReasonPodLeaving, "", "demo-1"},

		{"a Pod that should long be gone is called overdue", settledWorld(3).edit(1, leaving).edit(1,
			func(r *facts.Replica) { r.Pod.GoneBy = now.Add(-time.Minute) }),
			Refuse, "member-health", facts.ReasonPodLeaving, "", "demo-1"},
		{"a lost Secret is made anew",
			settledWorld(3).edit(1, func(r *facts.Replica) { r.Secret.State = facts.ObjectAbsent }), Act, "scaffold",
			"", "ApplyObjects", ""},
		{"a lost authority is not made anew under members that trust it",
			func() scene { o := settledWorld(3); o.Objects[0].State = facts.ObjectAbsent; return o }(),
			Refuse, "scaffold", facts.ReasonCALost, "", "demo-ca"},
		{"a deleted budget is put back", func() scene { o := settledWorld(3); o.Budget = facts.Budget{}; return o }(),
			Act, "budget", "", "SetBudget", "Set minAvailable of the disruption budget to 2: the number of voters is 3"},
		{"a Pod made from other settings than its volume says is made anew when it does not run",
			settledWorld(3).edit(1, unpullable).edit(1, func(r *facts.Replica) { r.Pod.Settings = other }),
			Act, "pods", "", "DeletePods", "demo-1"},
		{"so is a Pod that waits for an image which the operator would not take now",
			settledWorld(3).edit(1, unpullable).edit(1, otherImage), Act, "pods", "", "DeletePods",
			"Delete the Pod of demo-1: demo-1 waits for an image that it would no longer be"},
		{"also of a learner", settledWorld(2).with(starting(2)).edit(2, unpullable).edit(2, otherImage).sized(3), Act,
			"pods", "", "DeletePods", "demo-2"},
		{"a learner in memory is given up for that",
			inMemory(settledWorld(2).with(starting(2))).edit(2, unpullable).edit(2, otherImage).sized(3), Act,
			"abandon-learner", "", "RemoveMember", "demo-2"},
		{"what is wrong with an image, and what to do, is said", settledWorld(3).edit(1, unpullable), Refuse,
			"member-health", facts.ReasonImagePull, "", "not found. Correct spec.image.repository, spec.image.digests or spec.image.pullSecrets, or the operator's flags"},
		{"a member added by hand stops every change of the list", func() scene {
			o := desire(settledWorld(3), func(d *facts.Desired) { d.Size = 5 })
			o.Current.Membership.Strangers = []etcdutil.Member{{ID: 99}}
			return o.budgeting(3)
		}(), Refuse, "membership", facts.ReasonStranger, "", "63"},
		{"clients are led away from a volume with another member's data",
			settledWorld(3).edit(1, func(r *facts.Replica) { r.Answer.ID = 77 }),
			Act, "lead-away", "", "LabelRole", "demo-1"},
		{"which then stops everything", settledWorld(3).edit(1, func(r *facts.Replica) { r.Answer.ID = 77 }).edit(1,
			unlabelledOld),
			Refuse, "membership", facts.ReasonForeignData, "", "demo-1"},
		{"a promoted learner gets its label",
			settledWorld(3).edit(1, func(r *facts.Replica) { r.Pod.Role = facts.RoleLearner }), Act, "label-role",
			"", "LabelRole", "voter"},

		{"a volume that somebody made anew under the old name is not started as at birth",
			settledWorld(1).blind().edit(0, noPod).edit(0, func(r *facts.Replica) {
				r.Volume.Record, r.Volume.UID = record.Member{}, "another"
			}), Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"a volume whose record was stripped is not started as at birth", settledWorld(1).blind().edit(0, noPod).edit(0,
			func(r *facts.Replica) { r.Volume.Record = record.Member{} }),
			Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"a member that is silent for a moment is not removed because its claim is gone",
			settledWorld(3).edit(1, silent).edit(1, func(r *facts.Replica) { r.Volume = nil }),
			Refuse, "grow", facts.ReasonNotReady, "", "demo-1"},
		{"a claim that is gone under a serving member dooms it: the successor comes first",
			settledWorld(3).edit(1, func(r *facts.Replica) { r.Volume = nil }),
			Act, "grow", "", "PrepareMember", "demo-3"},
		{"a member that cannot be recorded keeps the cluster from being called settled",
			settledWorld(3).edit(1, func(r *facts.Replica) {
				unrecorded(r)
				r.Volume.Incarnation = "old"
			}), Refuse, "member-health", facts.ReasonNotRecorded, "", "demo-1"},
		{"no member is added while an authority is gone: nobody would trust it", func() scene {
			o := settledWorld(3)
			o.Desired.Size, o.Objects[0].State = 5, facts.ObjectAbsent
			return o
		}(), Refuse, "scaffold", facts.ReasonCALost, "", "demo-ca"},
		{"no member is removed for a successor that could get no certificates",
			withoutCA(settledWorld(3).edit(1, noData)), Refuse, "scaffold", facts.ReasonCALost, "",
			"demo-ca"},
		{"certificates wait while their authority is gone, and the words are about it", func() scene {
			o := settledWorld(3).edit(1, noSecret)
			o.Objects[0].State = facts.ObjectAbsent
			return o
		}(), Refuse, "scaffold", facts.ReasonCALost, "", "demo-ca"},
		{"a refused scaffold does not keep a lost Pod from being started", func() scene {
			o := settledWorld(3).edit(1, noPod)
			o.Objects[1].State = facts.ObjectDrifted
			o.Refused = []facts.Note{{Rule: "scaffold", Reason: "QuotaExceeded", Message: "no"}}
			return o
		}(), Act, "pods", "", "StartPods", "demo-1"},
		{"a refused bootstrap record holds everything back", func() scene {
			o := notBootstrapped(3)
			o.Refused = []facts.Note{{Rule: "birth-record", Reason: "QuotaExceeded", Message: "no"}}
			return o
		}(), Act, "birth-record", "", "BeginBootstrap", ""},
		{"another cluster's answer stops everything",
			func() scene { o := settledWorld(3); o.Current.Bootstrap.ClusterID = 9; return o }(),
			Refuse, "membership", facts.ReasonMembersDisagree, "", "bootstrapped as 9"},
		{"a learner that follows the leader of the past is not promoted",
			desire(settledWorld(1).with(learner(1)).edit(1, func(r *facts.Replica) { r.Answer.Leader = 77 }),
				func(d *facts.Desired) { d.Size = 3 }),
			Refuse, "promote", facts.ReasonCatchUp, "", "demo-1"},

		{"at size 1 an emptied directory is lost quorum, not a new cluster", settledWorld(1).edit(0, wiped).blind(),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "rebuilds nothing by itself"},
		{"two of three emptied are lost quorum", settledWorld(3).blind().edit(0, wiped).edit(1, wiped).edit(2, silent),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "data of 2 of 3"},
		{"the member that is left is named in the command that rebuilds the cluster", lostWorld(),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "disaster-recovery.md. kubectl etcd-steward restore demo -n default --survivor demo-0 " +
				"makes one of what demo-0 holds, and says how to approve it."},
		{"with every volume gone quorum is lost", settledWorld(3).blind().edit(0, noData).edit(1, noData).edit(2,
			noData), Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "kubectl etcd-steward restore demo -n default shows that, with the backups and the command that makes one."},
		{"of data in Pods no volume comes back", inMemory(settledWorld(3)).edit(0, strandedPod).edit(1, strandedPod).edit(2, silent).blind(), Refuse,
			"quorum-lost", facts.ReasonQuorumLost, "", "touches no member. Approve an EtcdRestore"},
		{"authentication that keeps the operator out is said, with what helps", denied(settledWorld(3)), Refuse,
			"membership", facts.ReasonAuth, "", "user root"},
		{"also where there are no certificates", denied(plain(settledWorld(3))), Refuse, "membership", facts.ReasonAuth,
			"", "etcdctl auth disable"},
		{"a Pod that is gone is started all the same", denied(settledWorld(3)).edit(1, noPod), Act, "pods",
			"", "StartPods", "demo-1"},
		{"without an answer nothing is removed", settledWorld(3).blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", "Nothing is added or removed"},
		{"members that disagree stop everything",
			func() scene { o := settledWorld(3).blind(); o.Current.Membership.Conflict = "a, b"; return o }(),
			Refuse, "membership", facts.ReasonMembersDisagree, "", "a, b"},

		{"a member that answered is recorded", settledWorld(3).edit(1, unrecorded), Act, "record-members",
			"", "RecordMembers", "demo-1"},
		{"a wiped member is removed at once", settledWorld(3).edit(2, wiped), Act, "replace", "",
			"RemoveMember", "demo-2"},
		{"a member without volume is removed at once", settledWorld(3).edit(2, noData), Act, "replace",
			"", "RemoveMember", "demo-2"},
		{"of members that are not well the one that needs a person is told",
			settledWorld(3).edit(1, doomed).edit(2, noPod).edit(2, func(r *facts.Replica) {
				r.Volume.Incarnation = "old"
			}), Refuse, "member-health", facts.ReasonForeignData, "", "demo-2 is a member and no Pod is started"},
		{"a member that could not be started again is not restarted, and a person is told",
			wanting(settledWorld(3).edit(1, func(r *facts.Replica) {
				r.Volume.Incarnation = "old"
			}).edit(0, rolled).edit(2, rolled), other), Refuse, "member-health", facts.ReasonForeignData, "",
			"demo-1 runs, and is not restarted"},
		{"a silent member alone is not removed", settledWorld(3).edit(2, silent), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-2"},
		{"a member that only the operator does not reach says where to look",
			settledWorld(3).edit(2, unlabelledOld).edit(2, unanswered),
			Refuse, "member-health", facts.ReasonNotReady, "", "It stays a member. Look for what keeps the operator " +
				"from its client port: a NetworkPolicy, or the network of its node."},
		{"the certificates of a removed member are deleted first", settledWorld(3).with(voter(3)).edit(3, removed), Act,
			"collect", "", "DeleteSecret", "demo-3"},
		{"then its Pod", settledWorld(3).with(voter(3)).edit(3, removed).edit(3, noSecret), Act, "collect",
			"", "DeletePods", "demo-3"},
		{"then its volume", settledWorld(3).with(voter(3)).edit(3, removed).edit(3, noPod).edit(3, noSecret), Act,
			"collect", "", "DeleteVolumes", "demo-3"},
		{"but not one that another cluster is recorded on", settledWorld(3).with(voter(3)).edit(3, removed).edit(3, noPod).
			edit(3, noSecret).edit(3, func(r *facts.Replica) { r.Volume.Record.ClusterID++ }), Refuse, "collect",
			facts.ReasonForeignData, "", "delete it: kubectl delete pvc demo-3 -n default."},
		{"the rest goes on while the kubelet gives a member other amounts", running(many).edit(2, having(many,
			facts.Resize{State: facts.ResizeInProgress})), Wait, "resize", facts.ReasonResize, "", "which runs on."},

		{"growth makes the volume first", desire(settledWorld(1), func(d *facts.Desired) { d.Size = 3 }), Act, "grow",
			"", "PrepareMember", "demo-1"},
		{"and passes over a name that something of an earlier cluster has", func() scene {
			o := desire(settledWorld(1), func(d *facts.Desired) { d.Size = 3 })
			o.Retained = []facts.Retained{{Kind: "PersistentVolumeClaim", Name: "demo-1", Kept: true}}
			return o
		}(), Act, "grow", "", "PrepareMember", "demo-2"},
		{"also one that was promised before something else took it", func() scene {
			o := desire(settledWorld(1), func(d *facts.Desired) { d.Size = 3 }).promising(1)
			o.Objects = append(o.Objects, facts.Object{Kind: "PersistentVolumeClaim", Name: "demo-1",
				State: facts.ObjectForeign})
			return o
		}(), Act, "grow", "", "PrepareMember", "demo-2"},
		{"then adds the learner it was promised to", desire(settledWorld(1).with(promised(1)).promising(1),
			func(d *facts.Desired) { d.Size = 3 }), Act, "grow", "", "AddLearner", "demo-1"},
		{"then starts its Pod", desire(settledWorld(1).with(added(1)), func(d *facts.Desired) { d.Size = 3 }), Act,
			"first-pod", "", "StartPods", "demo-1"},
		{"the budget is raised before a promotion", desire(settledWorld(1).with(learner(1)),
			func(d *facts.Desired) { d.Size = 3 }), Act, "promote", "", "SetBudget", "demo-1"},
		{"a caught-up learner is promoted", func() scene {
			o := desire(settledWorld(1).with(learner(1)), func(d *facts.Desired) { d.Size = 3 })
			o.Budget.MinAvailable = 2
			return o
		}(), Act, "promote", "", "Promote", "demo-1"},
		{"a learner far behind is not promoted",
			desire(settledWorld(1).with(learner(1)).edit(1, func(r *facts.Replica) { r.Answer.Applied = 10 }),
				func(d *facts.Desired) { d.Size = 3 }),
			Refuse, "promote", facts.ReasonCatchUp, "", "demo-1"},
		{"a learner that the size no longer asks for is removed", settledWorld(3).with(learner(3)), Act,
			"abandon-learner", "", "RemoveMember", "demo-3"},
		{"a learner whose volume cannot be made is waited for",
			settledWorld(2).with(starting(2)).edit(2, unmade).ofClass("a").sized(3), Wait, "promote",
			facts.ReasonProvisioning, "", `The volume of demo-2 cannot be made: storageclass.storage.k8s.io "a"`},
		{"it goes once the spec asks for another StorageClass",
			settledWorld(2).with(starting(2)).edit(2, unmade).ofClass("b").sized(3), Act, "abandon-learner",
			"", "RemoveMember", "another StorageClass"},
		{"it goes once the spec asks for a smaller volume", settledWorld(2).with(starting(2)).edit(2, unmade).
			edit(2, volumeOf(80<<30)).ofClass("a").sized(3), Act, "abandon-learner", "", "RemoveMember",
			"a smaller volume"},
		{"also for the default one", settledWorld(2).with(starting(2)).edit(2, unmade).ofClass("").sized(3), Act,
			"abandon-learner", "", "RemoveMember", "another StorageClass"},
		{"not when its volume was made meanwhile",
			settledWorld(2).with(starting(2)).edit(2, unmade).edit(2, func(r *facts.Replica) {
				r.Volume.Backing = "pv-1"
			}).ofClass("b").sized(3), Wait, "promote", facts.ReasonProvisioning, "", "demo-2"},
		{"nor when a container of its Pod has run",
			settledWorld(2).with(starting(2)).edit(2, unbound).edit(2, func(r *facts.Replica) {
				r.Pod.Started = true
			}).ofClass("b").sized(3), Wait, "promote", facts.ReasonStarting, "", "demo-2"},
		{"a volume of another StorageClass that was promised, and not made, is deleted",
			settledWorld(2).with(promised(2)).promising(2).edit(2, unbound).edit(2, noSecret).ofClass("b").sized(3),
			Act, "collect", "", "DeleteVolumes", "demo-2"},
		{"one that was made is used",
			settledWorld(2).with(promised(2)).promising(2).edit(2, volumeBound).ofClass("b").sized(3), Act, "grow",
			"", "AddLearner", "demo-2"},
		{"members that have volumes of another class are followed by others", settledWorld(3).ofClass("b"), Act,
			"grow", "", "PrepareMember", "demo-3"},
		{"a promise that is no longer wanted is cleaned up", settledWorld(3).with(promised(3)).promising(3).edit(3,
			noSecret), Act, "collect", "", "DeleteVolumes", "demo-3"},
		{"a volume that was not promised is a leftover even while growth is wanted",
			desire(settledWorld(1).with(promised(1)).edit(1, noSecret), func(d *facts.Desired) { d.Size = 3 }),
			Act, "collect", "", "DeleteVolumes", "demo-1"},
		{"a new name is above every trace", desire(settledWorld(3).with(voter(7)).edit(7, removed).edit(7, noData),
			func(d *facts.Desired) { d.Size = 5 }),
			Act, "collect", "", "DeleteSecret", "demo-7"},
		{"a name that was promised once is not promised again", func() scene {
			o := desire(settledWorld(3), func(d *facts.Desired) { d.Size = 5 })
			o.Current.Bootstrap.NextOrdinal = 9
			return o
		}(), Act, "grow", "", "PrepareMember", "demo-9"},

		{"a drain counts the vote that was added by hand", strangers(settledWorld(3)), Act, "budget",
			"", "SetBudget", "Set minAvailable of the disruption budget to 3: the number of voters is 4"},
		{"one that clients cannot reach is removed before those that they can",
			desire(settledWorld(3).edit(0, unready), func(d *facts.Desired) { d.Size = 1 }), Act, "shrink",
			"", "MoveLeader", "demo-0"},
		{"a learner whose node died before it started is given up, in its time",
			desire(settledWorld(2).with(starting(2)).edit(2, unstartedOnDeadNode),
				func(d *facts.Desired) { d.Size = 3 }),
			Act, "abandon-learner", "", "RemoveMember", "demo-2"},
		{"a size that is lowered waits until all run one minor",
			desire(settledWorld(3).edit(1, inNewer(settings.Version)), func(d *facts.Desired) {
				d.Size, d.Settings = 1, newer
			}), Act, "roll", "", "WriteSettings", "demo-2"},
		{"shrinking takes the label from the highest ordinal first",
			desire(settledWorld(3), func(d *facts.Desired) { d.Size = 1 }), Act, "shrink", "",
			"LabelRole", "demo-2"},
		{"a lost member of five is not removed under a learner that is starting",
			settledWorld(5).edit(4, noData).with(starting(5)),
			Wait, "replace", facts.ReasonRepair, "", "once the new member demo-5"},
		{"nor a dead one", patient(settledWorld(5).edit(4, doomed).edit(3, deadFor(time.Hour)).with(starting(5))), Wait,
			"replace", facts.ReasonReplaceDead, "", "once the new member demo-5"},
		{"not for longer than a start takes", settledWorld(5).edit(4, noData).with(starting(5)).edit(5,
			func(r *facts.Replica) { r.Pod.Created = now.Add(-3 * time.Minute) }),
			Act, "replace", "", "RemoveMember", "demo-4"},
		{"nor for one that cannot start", settledWorld(5).edit(4, noData).with(starting(5)).edit(5,
			func(r *facts.Replica) { r.Pod.Waiting = "ImagePullBackOff" }),
			Act, "replace", "", "RemoveMember", "demo-4"},
		{"nor where no further voter may fail before, and one may after it",
			desire(settledWorld(4).edit(3, noData).with(starting(4)), func(d *facts.Desired) { d.Size = 5 }), Act, "replace",
			"", "RemoveMember", "demo-3"},
		{"but where none may fail after it either", settledWorld(3).edit(2, noData).with(starting(3)), Wait, "replace",
			facts.ReasonRepair, "", "once the new member demo-3"},
		{"then its vote", desire(settledWorld(3).edit(2, unlabelled), func(d *facts.Desired) { d.Size = 1 }), Act,
			"shrink", "", "RemoveMember", "demo-2"},
		{"a leader hands over before it is removed", func() scene {
			o := desire(settledWorld(3), func(d *facts.Desired) { d.Size = 1 })
			o.Current.Membership.Leader = 3
			return o
		}(), Act, "shrink", "", "MoveLeader", "demo-2"},
		{"an unhealthy member goes before a healthy one",
			desire(settledWorld(5).edit(1, silent), func(d *facts.Desired) { d.Size = 3 }), Act, "shrink",
			"", "LabelRole", "demo-1"},
		{"of two the last healthy one is not removed",
			desire(settledWorld(3).edit(1, silent).edit(2, unlabelled).edit(2, silent),
				func(d *facts.Desired) { d.Size = 1 }),
			Refuse, "shrink", facts.ReasonQuorumAtRisk, "", "no quorum"},
		{"the successor of a doomed member says whose place it takes",
			settledWorld(3).edit(1, doomed).with(promised(3)).promising(3),
			Act, "grow", "", "AddLearner",
			"Add learner demo-3: it will take the place of demo-1 (its volume is being deleted)"},
		{"while it starts, who waits for it is not stopped", settledWorld(3).edit(1, doomed).with(starting(3)), Wait, "promote",
			facts.ReasonStarting, "", "demo-3 is to take the place of demo-1, whose volume is being deleted. If the Pod of demo-1 stops"},
		{"then that member goes, and it is told why", settledWorld(4).edit(1, doomed).sized(3), Act, "shrink", "", "LabelRole",
			"it will be removed, because its volume is being deleted, and enough members are there without it"},
		{"a doomed member's successor joins first", settledWorld(3).edit(1, doomed), Act, "grow", "",
			"PrepareMember", "demo-3"},
		{"of doomed members nobody goes before a successor is there",
			desire(settledWorld(3).edit(0, doomed).edit(1, doomed).edit(2, doomed),
				func(d *facts.Desired) { d.Size = 1 }),
			Act, "grow", "", "PrepareMember", "demo-3"},
		{"the budget follows the voters down",
			func() scene { o := settledWorld(1); o.Budget.MinAvailable = 2; return o }(),
			Act, "budget", "", "SetBudget", "Delete the disruption budget: nothing says whether"},

		{"a step that this release does not take is not begun", noWay(settledWorld(3)),
			Refuse, "roll", facts.ReasonNotSupported, "", "put spec.version back to 3.6.x"},
		{"volumes larger than the spec are no fault, and all else is followed",
			desire(settledWorld(3), func(d *facts.Desired) { d.StorageBytes, d.Settings = 4<<30, other }),
			Act, "roll", "", "WriteSettings", ""},
		{"a size that is put back is followed, whoever has got the other one meanwhile",
			desire(settledWorld(3).edit(0, volumeOf(20<<30)), func(d *facts.Desired) { d.Settings = other }),
			Act, "roll", "", "WriteSettings", ""},
		{"while a change is refused a lost Pod is started as it was",
			noWay(settledWorld(3).edit(1, noPod)), Act, "pods", "", "StartPods", "demo-1"},
		{"a Pod that cannot start takes a corrected setting", desire(settledWorld(3).edit(1, unpullable),
			func(d *facts.Desired) { d.Settings = other }),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"a member that stops again and again takes a corrected setting", desire(settledWorld(3).edit(1, crashing),
			func(d *facts.Desired) { d.Settings = other }),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"settings that were stripped from a volume are written back",
			settledWorld(3).edit(1, func(r *facts.Replica) { r.Volume.Settings = facts.Settings{} }),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"but no version to which this release takes no step", noWay(settledWorld(3).edit(1, unpullable)),
			Refuse, "roll", facts.ReasonNotSupported, "", ""},
		{"a higher minor is given to one member, as any setting is",
			wanting(covered(settledWorld(3)), newer), Act, "roll", "", "WriteSettings",
			"Write settings on the volume of demo-2: the member is to run etcd 3.7.3"},
		{"and on one whose Pod cannot start only while all others serve",
			wanting(settledWorld(3).edit(0, inNewer(settings.Version)).edit(1, unpullable), newer), Act, "settings",
			"", "WriteSettings", "demo-1"},
		{"and not while one does not", wanting(settledWorld(3).edit(1, unpullable).edit(2, silent), newer), Refuse,
			"member-health", facts.ReasonImagePull, "", ""},
		{"a member that never came up with a higher minor goes back to the one that wrote its data",
			settledWorld(3).edit(1, unpullable).edit(1, func(r *facts.Replica) {
				r.Volume.Settings, r.Pod.Settings = newer, newer
			}).blind(), Act, "settings", "", "WriteSettings", "demo-1"},
		{"and one that did goes back while the cluster is of the lower version",
			settledWorld(3).edit(1, inNewer(settings.Version)), Act, "roll", "", "WriteSettings",
			"Write settings on the volume of demo-1: the member is to run etcd 3.6.16"},
		{"what has to be put right before a minor version is left is told", held(settledWorld(3)), Refuse,
			"check-minor", facts.ReasonMinorHeld, "", "nightly has no good backup of its last two runs"},
		{"and all else of the spec is followed meanwhile", held(wanting(settledWorld(3), patched)), Act, "roll",
			"", "WriteSettings", "demo-2"},
		{"an alarm is taken back meanwhile", held(raising(settledWorld(3), 10, noSpace)), Act, "alarms",
			"", "DisarmAlarms", ""},
		{"on a quiet cluster an entry lets a member of 3.7 serve", withStarted(3 * time.Second), Act, "wake-member",
			"", "AppendEntries", "demo-3 runs and does not answer yet"},
		{"before 3.7 entries are added until snapshots cover what 3.5 wrote", toCover(3), Act, "cover-log",
			"", "AppendEntries", "Add entries that change no key to etcd's log: etcd 3.7.3 cannot read what 3.5"},
		{"before 3.6 they are added where a member does not say that it saved its log", toSave(3).edit(1, unsaved), Act,
			"cover-log", "", "AppendEntries", "a lower etcd cannot read what a higher one may have left there"},
		{"a step ends when etcd moved the cluster version", needing(etcdutil.NeedCluster, newer.Version),
			Wait, "member-health", facts.ReasonVersions, "", "etcd moves the cluster version to it"},
		{"and the data followed", needing(etcdutil.NeedStorage, newer.Version),
			Wait, "member-health", facts.ReasonVersions, "",
			"the format of each member's data"},
		{"nothing is settled at a stop where no member says of which version the cluster is",
			desire(settledWorld(3).edit(2, readyFor(time.Second)), func(d *facts.Desired) {
				d.Target, d.Needs = newer.Version, etcdutil.NeedCluster
			}), Wait, "member-health", facts.ReasonVersions, "", "demo-0 does not say of which version its cluster is"},
		{"nor where the choices of all are those of the stop, and one runs another version",
			desire(settledWorld(3).edit(2, readyFor(time.Second)), func(d *facts.Desired) {
				d.Target = newer.Version
			}), Wait, "member-health",
			facts.ReasonVersions, "", "on their way to etcd 3.7.3. They go on once each of them answers"},
		{"but a version that is refused is on no one's way",
			desire(settledWorld(3).edit(2, readyFor(time.Second)), func(d *facts.Desired) {
				d.Target, d.Fault = newer.Version, "no such size"
			}), Refuse, "spec-refused",
			facts.ReasonSpecRefused, "", "no such size. Until then members keep the settings that they have."},
		{"where the version itself is refused, the one that runs is named",
			desire(settledWorld(3).edit(2, readyFor(time.Second)), func(d *facts.Desired) {
				d.Target, d.Fault = etcdutil.Version{Major: 3, Minor: 9}, "no such version. Use 3.7.3"
			}), Refuse, "spec-refused", facts.ReasonSpecRefused, "",
			"no such version. Use 3.7.3. Or put spec.version back to 3.6.16, which members run. Until then members keep"},
		{"nor where one has not caught up, so that no downgrade is enabled",
			toLower().edit(1, func(r *facts.Replica) { r.Answer.Applied = 0 }), Refuse, "member-health",
			facts.ReasonVersions, "", "They go on once demo-1 has all that was committed"},
		{"a cluster that was just born waits for no step", needing(etcdutil.NeedCluster, other.Version), Settled,
			RuleSettled, facts.ReasonSettled, "", ""},
		{"nor is one member's trouble hidden behind it", needing(etcdutil.NeedCluster, newer.Version).edit(1, silent),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-1"},
		{"a downgrade is enabled once every member serves", toLower(), Act, "enable-downgrade", "",
			"EnableDowngrade", "Enable a downgrade of etcd to 3.5: the spec asks for a lower minor"},
		{"an only member whose etcd is too old for its data says where to go", settledWorld(1).edit(0, outrun).blind(),
			Refuse, "membership", facts.ReasonCrashing, "", "Put spec.version to a patch of 3.7, and go down"},
		{"one that no member tells of is cancelled where it keeps a new member from joining",
			keepingOut(), Act, "cancel-downgrade",
			"", "CancelDowngrade", "Cancel the downgrade of etcd to 3.5: demo-2 cannot join before that"},
		{"one that the spec does not ask for is cancelled", lowering(etcdutil.NeedNoDowngrade), Act, "cancel-downgrade",
			"", "CancelDowngrade", "Cancel the downgrade of etcd to 3.5: the spec does not ask for it any more"},
		{"also while the spec is refused",
			desire(lowering(etcdutil.NeedNoDowngrade), func(d *facts.Desired) { d.Fault = "spec.size is 2." }), Act,
			"cancel-downgrade", "", "CancelDowngrade", "Cancel the downgrade of etcd to 3.5: the spec does not ask for it any more"},
		{"one that keeps a new member from joining is cancelled before its Pod is made",
			desire(lowering(etcdutil.NeedNothing).with(added(3)), func(d *facts.Desired) { d.Size = 4 }), Act,
			"cancel-downgrade", "", "CancelDowngrade", "Cancel the downgrade of etcd to 3.5: demo-3 cannot join before that"},
		{"but one that was begun goes on while the spec is refused: no volume could be told otherwise",
			desire(lowering(etcdutil.NeedNoDowngrade).edit(1, func(r *facts.Replica) { r.Volume.Settings = older }),
				func(d *facts.Desired) { d.Fault = "spec.size is 2." }), Refuse, "spec-refused",
			facts.ReasonSpecRefused, "", "spec.size is 2"},
		{"while it is wanted it is waited for, however long ago a Pod changed", lowering(etcdutil.NeedStorage), Wait,
			"member-health", facts.ReasonVersions, "", "etcd lowers the format of each member's data to 3.5"},
		{"a member without a Pod whose volume asks for what cannot start any more takes the settings of the spec",
			toLower().edit(1, noPod).edit(1, func(r *facts.Replica) { r.Volume.Settings = older }), Act, "settings",
			"", "WriteSettings", "demo-1"},
		{"entries are not added where a member does not say what came of it",
			toCover(3).edit(1, func(r *facts.Replica) { r.Answer.Snapshots = nil }), Wait, "cover-log",
			facts.ReasonCoverLog, "", "demo-1 does not say how many snapshots"},
		{"but not once the cluster is of the higher one", settledWorld(3).edit(1, inNewer(newer.Version)),
			Refuse, "roll", facts.ReasonDataAtRisk, "", "the cluster is of version 3.7"},
	}
}

// rolls are worlds in which the spec asks for other settings than members run with.
func rolls() []row {
	return []row{
		{"new settings are written on a follower's volume first", wanting(settledWorld(3), other), Act, "roll",
			"", "WriteSettings", "demo-2"},
		{"then its Pod is evicted", wanting(settledWorld(3).edit(2, adopted), other), Act, "roll", "",
			"EvictPod", "demo-2"},
		{"what the next stop does not know is told",
			desire(wanting(settledWorld(3), patched), func(d *facts.Desired) { d.LeftOut = "max-learners" }),
			Act, "roll", "", "WriteSettings", "It runs without max-learners of spec.etcd.extraArgs"},
		{"a restart that a person asks for is rolled as settings are", wanting(settledWorld(3), restarted), Act, "roll",
			"", "WriteSettings", "Write settings on the volume of demo-2: the member is to run again, because of"},
		{"a leader hands over before it is restarted on demand",
			wanting(settledWorld(3).edit(1, restart).edit(2, restart), restarted), Act, "roll", "",
			"MoveLeader", "Move leadership from demo-0 to demo-1: demo-0 will be restarted to run again,"},
		{"another patch is rolled", wanting(settledWorld(3), patched), Act, "roll", "",
			"WriteSettings", "etcd 3.6.17"},
		{"one member after the other", wanting(settledWorld(3).edit(2, rolled), other), Act, "roll", "",
			"WriteSettings", "demo-1"},
		{"the leader hands over to a member that is done before it is restarted",
			wanting(settledWorld(3).edit(1, rolled).edit(2, rolled), other),
			Act, "roll", "", "MoveLeader", "demo-0"},
		{"a sick member is restarted before healthy ones", wanting(settledWorld(3).edit(1, silent), other), Act, "roll",
			"", "WriteSettings", "demo-1"},
		{"nobody is restarted while another one is not well", wanting(settledWorld(3).edit(2, rolled).edit(2, crashing),
			other),
			Refuse, "member-health", facts.ReasonCrashing, "", "demo-2"},
		{"a member that a signal ended is told by the signal, and that it is started again",
			settledWorld(3).edit(1, stoppedBy(etcdutil.ExitUnknown, "signal 9 (SIGKILL) ended it")), Refuse,
			"member-health", facts.ReasonCrashing, "",
			"etcd of demo-1 stopped: signal 9 (SIGKILL) ended it. Kubernetes starts it again"},
		{"a member without memory names the limit", settledWorld(3).edit(1, stoppedBy(etcdutil.ExitOutOfMemory, "more")),
			Refuse, "member-health", facts.ReasonCrashing, "",
			"stopped (OOMKilled): more. Kubernetes starts it again and again, at most 5 minutes apart. Raise spec.pod.resources"},
		{"a member without room says where the way out is",
			settledWorld(3).edit(1, stoppedBy(etcdutil.ExitDiskFull, "no space left")).edit(1, onNode2), Refuse, "member-health",
			facts.ReasonCrashing, "", "Its volume is full. Raise spec.storage.size, and the operator expands its volume: see " + pages.Docs + "docs/alerts.md#a-volume-that-is-full. " +
				"If kubectl describe pv pv-1 says HostPath or LocalVolume, the disk of node node-2 is full instead: make room there. The operator does not replace"},
		{"one whose volume is known to be a disk says no more", settledWorld(3).edit(1, stoppedBy(etcdutil.ExitDiskFull, "no space left")).edit(1,
			func(r *facts.Replica) { onNode2(r); r.Volume.IsOwnDisk = true }), Refuse, "member-health", facts.ReasonCrashing, "",
			"#a-volume-that-is-full. The operator does not replace"},
		{"one whose volume is a directory of its node names both", settledWorld(3).edit(1, stoppedBy(etcdutil.ExitDiskFull, "no space left")).edit(1,
			func(r *facts.Replica) { onNode2(r); r.Volume.Directory = "/opt/volumes/demo-1" }), Refuse, "member-health", facts.ReasonCrashing, "",
			"Its volume is the directory /opt/volumes/demo-1 of node node-2, so the disk of that node is full. Make room there: see " + pages.Docs +
				"docs/alerts.md#a-node-whose-disk-is-full. A larger spec.storage.size gives none."},
		{"one whose data is in its Pod fills the disk of its node", inMemory(settledWorld(3)).edit(1, stoppedBy(etcdutil.ExitDiskFull, "no space left")),
			Refuse, "member-health", facts.ReasonCrashing, "", "so the disk of its node is full: make room there, see " + pages.Docs + "docs/alerts.md#a-node-whose"},
		{"nobody is restarted while another one is far behind", wanting(settledWorld(3).edit(2, rolled).edit(2, behind),
			other),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-2"},
		{"nobody is restarted while the kubelet does not call the last one ready",
			wanting(settledWorld(3).edit(2, rolled).edit(2, unready), other),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-2"},
		{"nor while it serves, and is far behind",
			wanting(settledWorld(3).edit(2, rolled).edit(2, func(r *facts.Replica) { r.Answer.Applied = 1 }), other),
			Refuse, "roll", facts.ReasonRoll, "", "once demo-2"},
		{"not at once after it started",
			wanting(settledWorld(3).edit(2, rolled).edit(2, func(r *facts.Replica) { r.Answer.Applied = 1 }).edit(2,
				startedAgo(time.Minute)), other),
			Wait, "roll", facts.ReasonRoll, "", "once demo-2"},
		{"nobody is restarted while another one lives on a volume that is going",
			wanting(settledWorld(3).edit(2, doomed), other), Act, "grow", "", "PrepareMember", "demo-3"},
		{"but a sick one is cured beside it, for which no successor could join",
			settledWorld(3).edit(1, doomed).edit(2, failsWithOther), Act, "roll", "", "WriteSettings",
			"demo-2"},
		{"what was begun is taken back when the spec is", wanting(settledWorld(3).edit(2, rolled), settings), Act,
			"roll", "", "WriteSettings", "demo-2"},
		{"a Pod that does not say what it was made from is told", settledWorld(3).edit(1, unspoken), Act,
			"pod-metadata", "", "RestoreInputs", "demo-1"},
		{"before a roll would forget it", wanting(settledWorld(3).edit(1, unspoken), other), Act, "pod-metadata",
			"", "RestoreInputs", "demo-1"},
		{"and is not restarted for that, even while it cannot be told", rejecting(settledWorld(3).edit(1, unspoken),
			"pod-metadata"),
			Wait, "pod-metadata", "QuotaExceeded", "", ""},
		{"nor is it told settings of another version than it answers with: it is restarted for that",
			settledWorld(3).edit(1, unspoken).edit(1, answersPatched), Act,
			"roll", "", "EvictPod", "demo-1"},
		{"and an ephemeral one gets a successor",
			inMemory(settledWorld(3).edit(1, unspoken).edit(1, answersPatched)),
			Act, "grow", "", "PrepareMember", "demo-3"},
		{"the only member is restarted on its volume", wanting(settledWorld(1).edit(0, adopted), other), Act, "roll",
			"", "EvictPod", "demo-0"},
		{"an ephemeral member is never restarted: a successor joins first", wanting(inMemory(settledWorld(3)), other),
			Act, "grow", "", "PrepareMember", "demo-3"},
		{"once the successor votes the old member goes",
			wanting(inMemory(settledWorld(3).with(newcomer(3)).budgeting(3)), other), Act, "shrink", "",
			"LabelRole", "demo-2"},
		{"and says whose place it takes",
			wanting(inMemory(settledWorld(3)).with(promised(3)).promising(3).edit(3, ofMemory), other),
			Act, "grow", "", "AddLearner",
			"Add learner demo-3: it will take the place of demo-2"},
		{"no successor joins while a member is not well", wanting(inMemory(settledWorld(3).edit(1, silent)), other),
			Refuse, "grow", facts.ReasonNotReady, "", "before demo-1 is healthy or replaced. A cluster of 4 stops taking writes with fewer than 3 healthy voters, and " +
				"there are 2. Its Pod has not been ready since 2030-01-01T11:00:00Z. Its etcd runs, and does not answer: if it hangs, Kubernetes restarts it after a few minutes."},
		{"CPU and memory follow in place", inMemory(running(many)), Act, "resize", "", "ResizePod",
			"demo-2"},
		{"labels follow in place", settledWorld(3).edit(1, undressed), Act, "pod-metadata", "",
			"DressPods", "demo-1"},
		{"a Pod that Kubernetes refuses takes a corrected setting",
			rejecting(wanting(settledWorld(3).edit(1, noPod), other), "pods"),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"a new member whose Pod Kubernetes refuses takes a corrected setting",
			rejecting(desire(wanting(settledWorld(1).with(added(1)), other), func(d *facts.Desired) { d.Size = 3 }),
				"first-pod"),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"a Pod that Kubernetes took and that is not there takes none", func() scene {
			o := rejecting(wanting(settledWorld(3).edit(1, noPod), other), "pods")
			o.Refused[0].Reason = facts.ReasonNoEffect
			return o
		}(), Wait, "pods", facts.ReasonNoEffect, "", "no room"},
		{"a setting with which another member cannot run is not spread",
			wanting(settledWorld(3).edit(2, rolled).edit(2, unpullable).edit(1, unpullable), other).blind(),
			Refuse, "membership", facts.ReasonImagePull, "", "demo-1"},
		{"not even between two of its crashes",
			wanting(settledWorld(3).edit(2, rolled).edit(2, silent).edit(1, unpullable), other).blind(),
			Refuse, "membership", facts.ReasonImagePull, "", "demo-1"},
		{"what others serve with is given back, whatever ails a third",
			wanting(settledWorld(3).edit(2, rolled).edit(2, unpullable).edit(1, crashing), settings).blind(),
			Act, "settings", "", "WriteSettings", "demo-2"},
		{"where nobody serves with what it has, a member need not wait for another to try",
			wanting(settledWorld(3).edit(0, silent).edit(1, mistaken).edit(2, rolled).edit(2, silent), other).blind(),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"no other minor version starts on data, whatever was lost that said so",
			wanting(settledWorld(1).edit(0, noPod).edit(0,
				func(r *facts.Replica) { r.Volume.Settings = facts.Settings{} }), newer).blind(),
			Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"a successor that stops answering for a moment is not the one that goes",
			wanting(inMemory(settledWorld(3).with(newcomer(3)).budgeting(3).edit(3, unanswered).edit(3, unlabelledOld)),
				other),
			Act, "shrink", "", "LabelRole", "demo-2"},
		{"a Pod that was refused for a moment only is made as it was", wanting(settledWorld(3).edit(1, noPod), other),
			Act, "pods", "", "StartPods", "demo-1"},
	}
}

// returns are worlds in which a cluster is created where an earlier one of its name left data.
func returns() []row {
	return []row{
		{"what an earlier cluster left is taken over", retaining(notBootstrapped(3)), Act, "retained-data", "",
			"AdoptData", "demo-0"},
		{"and the rest of it, where the operator died in between",
			retaining(settledWorld(3).edit(0, bereft).edit(1, bereft).edit(2, gone).unwritten()), Act, "retained-data",
			"", "AdoptData", ""},
		{"then the bootstrap record is written from it", settledWorld(3).edit(0, bereft).edit(1, bereft).edit(2,
			bereft).unwritten(), Act, "birth-record", "", "BeginBootstrap",
			"Make the peer Service anew, with the bootstrap record: the peer Service is gone"},
		{"not while Pods of the earlier cluster are leaving", func() scene {
			o := retaining(notBootstrapped(3))
			o.Objects = append(o.Objects, facts.Object{Kind: "Pod", Name: "demo-0", State: facts.ObjectTerminating})
			return o
		}(), Wait, "retained-data", facts.ReasonOldObjects, "", "Pod demo-0"},
		{"not when it is of two clusters", retaining(notBootstrapped(3), func(r *facts.Retained) { r.Record.ClusterID++ }),
			Refuse, "retained-data", facts.ReasonRetainedData, "", "different etcd clusters"},
		{"not when a newer release wrote a record of it",
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.TooNew = "a newer release wrote it" }), Refuse,
			"retained-data", facts.ReasonRetainedData, "", "upgrade the operator"},
		{"not when it was left by two objects", retaining(notBootstrapped(3), func(r *facts.Retained) { r.Owner = "u-other" }),
			Refuse, "retained-data", facts.ReasonRetainedData, "", "more than one"},
		{"not when it is of two incarnations",
			retaining(notBootstrapped(3), func(r *facts.Retained) { r.Incarnation = "other" }), Refuse, "retained-data",
			facts.ReasonRetainedData, "", "different incarnations"},
		{"not without the certificates that its members had", retaining(desire(notBootstrapped(3), func(d *facts.Desired) { d.TLS = false })), Refuse,
			"retained-data", facts.ReasonRetainedData, "", "set the mode to Permissive"},
		{"not for data in Pods", retaining(desire(notBootstrapped(3), func(d *facts.Desired) { d.Ephemeral = true })), Refuse,
			"retained-data", facts.ReasonRetainedData, "", "ephemeral"},
		{"what lies beside a living cluster is nothing to it", retaining(settledWorld(3)), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"not even when its bootstrap record is lost",
			func() scene { o := retaining(settledWorld(3)); o.Current.Bootstrap = record.Bootstrap{}; return o }(),
			Act, "birth-record", "", "BeginBootstrap", "Make the peer Service anew, with the bootstrap record: the peer Service is gone"},
	}
}

// unlisting has no member list: each member answers, and none that linearizably.
func unlisting(o scene) scene {
	o.Current.Membership.Known = false
	return o
}

// deaths are worlds with a member that nothing is heard of.
func deaths() []row {
	flagged := inputs(`{"version":"3.6.16","etcd":{"extraArgs":{"foo":"bar"}}}`)
	return []row{
		{"a member that is dead for longer than allowed is removed",
			patient(settledWorld(3).edit(1, deadFor(6*time.Minute))), Act, "replace", "",
			"RemoveMember", "demo-1"},
		{"also while its volume is being deleted, and no successor can join beside it",
			patient(settledWorld(3).edit(1, deadFor(6*time.Minute)).edit(1, doomed)), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"not a moment before", patient(settledWorld(3).edit(1, deadFor(4*time.Minute))), Refuse, "member-health",
			facts.ReasonNotReady, "", "replaces member demo-1 with a new one at 2030-01-01T12:01:00Z, if demo-1 is not back by then: spec.repair.replaceAfter counts from " +
				"2030-01-01T11:56:00Z"},
		{"a node that died is named, with when its member is replaced",
			patient(settledWorld(3).edit(1, deadFor(4*time.Minute)).edit(1, onNodeSilentFor(4*time.Minute))), Refuse,
			"member-health", facts.ReasonNotReady, "", "Member demo-1 on node n3 is not well: its node does not answer. " +
				"The operator replaces member demo-1 with a new one at 2030-01-01T12:01:00Z, if demo-1 is not back by then: "},
		{"a node that is not ready is named, with since when and why, while its member answers",
			patient(settledWorld(3).edit(1, onUnreadyNode)), Refuse, "member-health", facts.ReasonNotReady, "",
			"Member demo-1 on node n3 is not well: it answers, and its node is not ready. Node n3 is NotReady since " +
				"2029-12-31T23:58:00Z (KubeletNotReady): kubectl describe node n3 says more."},
		{"and while it does not answer",
			patient(settledWorld(3).edit(1, deadFor(4*time.Minute)).edit(1, onUnreadyNode)), Refuse, "member-health",
			facts.ReasonNotReady, "", "does not call it ready. Node n3 is NotReady since 2029-12-31T23:58:00Z (KubeletNotReady)"},
		{"and while its Pod is terminating", settledWorld(3).edit(1, leaving).edit(1, onUnreadyNode), Wait,
			"member-health", facts.ReasonPodLeaving, "", "when its Pod is gone. Node n3 is NotReady since"},
		{"and since when nothing is heard of it", settledWorld(3).edit(1, leaving).edit(1, onNodeSilentFor(time.Minute)), Wait,
			"member-health", facts.ReasonPodLeaving, "", "when its Pod is gone. Its node n3 is not heard of since " +
				"2030-01-01T11:59:00Z, so Kubernetes cannot stop the Pod. The operator goes on once n3 is back. If n3 is off for good: " +
				"kubectl taint node n3 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute."},
		{"nor right after an outage: the quorum has only just come back, and so may this one",
			patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(2, readyFor(4*time.Minute))), Refuse,
			"member-health", facts.ReasonNotReady, "", "demo-1"},
		{"but as long after it", patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(2, readyFor(6*time.Minute))),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"and whoever came back beside a quorum puts nothing off",
			patient(settledWorld(5).edit(1, deadFor(time.Hour)).edit(2, readyFor(time.Second))), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"never where the user says never", settledWorld(3).edit(1, deadFor(time.Hour)), Refuse, "member-health",
			facts.ReasonNotReady, "", "since spec.repair.replaceAfter is 0s: bring it back"},
		{"clients are led away from one that stopped answering beside a quorum", settledWorld(3).edit(1, unanswered),
			Act, "lead-away", "", "LabelRole", "demo-1"},
		{"and back once it answers again", settledWorld(3).edit(1, unlabelledOld), Act, "label-role",
			"", "LabelRole", "Label the Pod of demo-1 as voter: it serves as a voter, and the client Service"},
		{"also while a person has to remove a member that was added by hand",
			strangers(settledWorld(3).edit(1, unlabelledOld)).budgeting(3), Act, "label-role", "",
			"LabelRole", "Label the Pod of demo-1 as voter: it serves as a voter, and the client Service"},
		{"but not while it is in doubt whose copy is right",
			hashing(raising(settledWorld(3).edit(1, unlabelledOld), 10, corrupt), 7, 8, 9), Refuse, "corruption",
			facts.ReasonCorruption, "", ""},
		{"also while a person has to make room", raising(settledWorld(3).edit(1, unlabelledOld), 100, noSpace),
			Act, "label-role", "", "LabelRole", "Label the Pod of demo-1 as voter: it serves as a voter, and the client Service"},
		{"but not to the one that is about to be removed",
			desire(settledWorld(5).edit(4, unlabelledOld), func(d *facts.Desired) { d.Size = 3 }),
			Act, "shrink", "", "RemoveMember", "demo-4"},
		{"clients are led away from one that knows no leader beside a quorum", settledWorld(3).edit(1, adrift),
			Act, "lead-away", "", "LabelRole", "knows no leader"},
		{"and not back while it knows none", settledWorld(3).edit(1, adrift).edit(1, unlabelledOld),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-1"},
		{"and from no further one than the cluster can do without", settledWorld(3).edit(0, unlabelledOld).
			edit(1, unanswered), Act, "label-role", "", "LabelRole", "Label the Pod of demo-0 as voter: it serves as a voter, and the client Service"},
		{"one with other data is led away from although it knows no leader, and no list is known",
			unlisting(settledWorld(3).edit(1, foreign).edit(1, adrift)),
			Act, "lead-away", "", "LabelRole", "Take demo-1 out of the client Service: it answers, and its directory holds the data of"},
		{"and from none while the others are no quorum", settledWorld(3).edit(1, unanswered).edit(2,
			unanswered).blind(), Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"not while the kubelet calls it ready: the operator is the one that is cut off",
			patient(settledWorld(3).edit(1, unanswered).edit(1, unlabelledOld)), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1"},
		{"not while it answers: its peers are the ones that are cut off", patient(settledWorld(3).edit(1, leaderless)),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-1"},
		{"not for what a new member would meet as well",
			patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(1, crashing)), Refuse, "member-health",
			facts.ReasonCrashing, "", "Correct spec.etcd or spec.image: the operator then restarts the member. The operator " +
				"does not replace demo-1 meanwhile: a new member would meet the same."},
		{"what others serve without is named, with what they have",
			wanting(patient(settledWorld(3).edit(0, madeFrom(inputs(`{"version":"3.6.16"}`))).edit(1, madeFrom(flagged)).edit(1,
				crashing)), flagged),
			Refuse, "member-health", facts.ReasonCrashing, "", "To go back to what demo-0 serves with, take " +
				"spec.etcd.extraArgs.foo out. The operator does not replace demo-1"},
		{"while no quorum answers, none is replaced", patient(settledWorld(3).edit(1, crashing).edit(2, crashing).blind()),
			Refuse, "membership", facts.ReasonCrashing, "", "The operator replaces no member before a quorum answers."},
		{"not between two crashes of one that stops again and again",
			desire(settledWorld(3).edit(1, deadFor(time.Hour)).edit(1, betweenCrashes),
				func(d *facts.Desired) { d.ReplaceAfter = time.Minute }),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-1"},
		{"one that stopped once and hangs since is",
			patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(1, betweenCrashes).edit(1,
				func(r *facts.Replica) { r.Pod.RunningSince = now.Add(-6 * time.Minute) })),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"not when that would leave no quorum", patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(2, silent)),
			Refuse, "replace", facts.ReasonQuorumAtRisk, "", "no quorum"},
		{"a Pod that is evicted from a silent node does not begin the wait anew",
			patient(settledWorld(3).edit(1, leaving).edit(1,
				func(r *facts.Replica) { r.Pod.NodeUnheard = now.Add(-6 * time.Minute) })),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"a Pod that should long be gone is on a dead node", patient(settledWorld(3).edit(1, overdue)), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"what is left of a removed member on a dead node keeps nobody waiting",
			settledWorld(3).with(voter(3)).edit(3, removed).edit(3, noSecret).edit(3, overdue),
			Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a Pod that only its lost node could take is replaced",
			patient(settledWorld(3).edit(1, tied("1 node(s) had volume node affinity conflict"))),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"one that is tied to a cordoned node is",
			patient(settledWorld(3).edit(1,
				tied("1 node(s) were unschedulable, 2 node(s) didn't match PersistentVolume's node affinity"))),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"one whose new settings no node has room for is not",
			patient(wanting(settledWorld(3).edit(1, rolled).edit(1,
				tied("1 Insufficient memory, 2 node(s) didn't match PersistentVolume's node affinity")), other)),
			Refuse, "member-health", facts.ReasonUnschedulable, "", "demo-1"},
		{"a Pod that no node takes for its own demands is not",
			patient(settledWorld(3).edit(1, tied("3 Insufficient memory"))), Refuse, "member-health",
			facts.ReasonUnschedulable, "", "demo-1"},
		{"a Pod that no node has room for says what to change",
			settledWorld(3).edit(1, tied("0/3 nodes are available: 3 Insufficient memory.")), Refuse, "member-health",
			facts.ReasonUnschedulable, "", "3 Insufficient memory. Make room on the nodes, or correct what spec.pod asks " +
				"for. The operator does not replace demo-1 meanwhile: a new member would meet the same."},
		{"a Pod that a scheduling gate holds back is not, however long",
			patient(settledWorld(3).edit(1, gated)), Refuse, "member-health", facts.ReasonGated, "",
			"example.com/wait. The operator does not replace demo-1 meanwhile: a new member may meet the same."},
		{"nor one whose volume is not attached", patient(settledWorld(3).edit(1, waitingFor("FailedAttachVolume"))),
			Refuse, "member-health", facts.ReasonNotMounted, "", "demo-1"},
		{"nor one that gets no address", patient(settledWorld(3).edit(1, waitingFor("FailedCreatePodSandBox"))),
			Refuse, "member-health", facts.ReasonContainer, "", "demo-1"},
		{"nor one that waits on its node for a cause that is not named",
			patient(settledWorld(3).edit(1, waitingFor("ContainerCreating"))), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1"},
		{"nor one whose image is throttled", patient(settledWorld(3).edit(1, waitingFor("ErrImagePull"))), Refuse,
			"member-health", facts.ReasonImagePull, "", "demo-1"},
		{"nor one that no scheduler looks at", patient(settledWorld(3).edit(1, unscheduled)), Refuse,
			"member-health", facts.ReasonNotReady, "", "demo-1"},
		{"nor one whose Pod Kubernetes refuses to make", rejecting(patient(settledWorld(3).edit(1, noPod)), "pods"),
			Wait, "pods", "QuotaExceeded", "", "no room"},
		{"one that its kubelet never said a word of is",
			patient(settledWorld(3).edit(1, waitingFor(""))), Act, "replace", "",
			"RemoveMember", "demo-1"},
		{"so is one that is held back on a node that does not answer",
			patient(settledWorld(3).edit(1, waitingFor("ContainerCreating")).edit(1, onDeadNode)), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"a learner that a scheduling gate holds back keeps its place",
			desire(settledWorld(2).with(learner(2)).edit(2, gated), func(d *facts.Desired) { d.Size = 3 }),
			Refuse, "promote", facts.ReasonGated, "", "example.com/wait"},
		{"a voter that waits for its first volume is not replaced", settledWorld(3).edit(1, unmade).ofClass("a"),
			Refuse, "member-health", facts.ReasonProvisioning, "", `"a" not found`},
		{"one that never got a volume is, once the spec asks for another StorageClass",
			settledWorld(3).edit(1, unmade).ofClass("b"), Act, "replace", "", "RemoveMember",
			"Remove member demo-1: it never started"},
		{"not when that would leave no quorum", settledWorld(3).edit(1, unmade).edit(2, silent).ofClass("b"), Refuse,
			"replace", facts.ReasonQuorumAtRisk, "", "no quorum"},
		{"nor one that is recorded", settledWorld(3).edit(1, unmade).edit(1, func(r *facts.Replica) {
			r.Volume.Record, r.Pod.Flags = voter(1).Volume.Record, facts.FlagsSealed
		}).ofClass("b"), Refuse, "member-health", facts.ReasonProvisioning, "", ""},
		{"nor for a spec that is refused", desire(settledWorld(3).edit(1, unmade).ofClass("b"),
			func(d *facts.Desired) { d.Fault = "no" }), Refuse, "spec-refused", facts.ReasonSpecRefused, "", "no"},
		{"data in a Pod whose node was deleted is lost with it",
			inMemory(settledWorld(3)).edit(1, deadFor(time.Minute)).edit(1, strandedPod), Act, "replace",
			"", "RemoveMember", "node-2 was deleted"},
		{"a node that nobody may read: the scheduler's words of today",
			patient(settledWorld(3).edit(1, tied("1 node(s) didn't match PersistentVolume's node affinity"))),
			Act, "replace", "", "RemoveMember", "demo-1"},
		{"a member that has only just started again gets its time",
			patient(settledWorld(3).edit(1, deadFor(time.Hour)).edit(1, justStarted)), Refuse, "member-health",
			facts.ReasonNotReady, "", "demo-1"},
		{"a serving member whose volume is lost is succeeded", settledWorld(3).edit(1, volumeLost), Act, "grow",
			"", "PrepareMember", "demo-3"},
		{"and is the one that goes", settledWorld(3).edit(1, volumeLost).with(voter(3)).budgeting(3), Act, "shrink",
			"", "LabelRole", "demo-1"},
		{"clients are led away from a process with another cluster's data", settledWorld(3).edit(1, foreign), Act,
			"lead-away", "", "LabelRole", "demo-1"},
		{"then it is removed", settledWorld(3).edit(1, foreign).edit(1, unlabelled), Act, "replace", "",
			"RemoveMember", "holds the data of cluster"},
		{"a member whose volume's node was deleted is removed at once", settledWorld(3).edit(1, stranded), Act,
			"replace", "", "RemoveMember", "node-2 was deleted"},
	}
}

// silences are worlds in which nobody answers, and members run all the same.
func silences() []row {
	one := settledWorld(1).edit(0, failsWithOther)
	three := settledWorld(3).edit(0, failsWithOther).edit(1, servedBefore)
	return []row{
		{"the only member, which runs and never answers, takes a corrected setting", one.blind(), Act, "settings",
			"", "WriteSettings", "demo-0"},
		{"then it is started anew", one.edit(0, given(settings)).blind(), Act, "pods", "",
			"DeletePods", "demo-0"},
		{"one that its kubelet hears, and no client, takes a corrected setting",
			settledWorld(1).edit(0, rolled).edit(0, unheard).blind(),
			Act, "settings", "", "WriteSettings", "demo-0"},
		{"then it is evicted", settledWorld(1).edit(0, rolled).edit(0, unheard).edit(0, given(settings)).blind(), Act,
			"pods", "", "EvictPod", "demo-0"},
		{"not while it may still be starting", one.edit(0, startedAgo(time.Minute)).blind(), Wait, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"not when it runs with what the spec asks for", wanting(one, other).blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", "Put the spec right"},
		{"not while it answers", one.blind().edit(0,
			func(r *facts.Replica) { r.Answer = &facts.Answer{ID: 1, ClusterID: clusterID} }), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"not on a volume that is going", one.edit(0, doomed).blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"not with its data in its Pod",
			inMemory(settledWorld(1)).edit(0, func(r *facts.Replica) { r.Pod.Settings = other; neverHeard(r) }).blind(),
			Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"not to another minor version", wanting(one, newer).blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"without a quorum a member that never answered takes back what the others have",
			three.edit(2, stranded).blind(), Act, "settings", "", "WriteSettings", "demo-0"},
		{"nobody runs twice for one setting", wanting(three.edit(2, stranded), other).blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"not while another one is ready: the operator is the one that is cut off", three.blind(), Refuse, "membership",
			facts.ReasonMembershipUnknown, "", ""},
		{"what others will serve with when they are back is not given up",
			wanting(settledWorld(3).edit(0, failsWithOther).edit(1, servedBefore).edit(2, neverHeard), other).blind(),
			Refuse, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"unless a quorum runs with it and never answered", settledWorld(3).edit(0, failsWithOther).edit(1,
			failsWithOther).edit(2, failsWithOther).blind(),
			Act, "settings", "", "WriteSettings", "demo-0"},
		{"one member at a time", settledWorld(3).edit(0, neverHeard).edit(0, startedAgo(time.Minute)).edit(1,
			failsWithOther).edit(2, failsWithOther).blind(),
			Wait, "membership", facts.ReasonMembershipUnknown, "", ""},
		{"the next one when the last had its time", settledWorld(3).edit(0, neverHeard).edit(0,
			startedAgo(3*time.Minute)).edit(1, failsWithOther).edit(2, failsWithOther).blind(),
			Act, "settings", "", "WriteSettings", "demo-1"},
		{"one that does not say any more what it runs with is told first", one.edit(0, unspoken).blind(), Act,
			"settings", "", "RestoreInputs", "demo-0"},
		{"first members that never find each other take a corrected setting",
			wanting(atBootstrap(3).edit(0, neverHeard).edit(1, neverHeard).edit(2, neverHeard), other),
			Act, "settings", "", "WriteSettings", "demo-0, demo-1, demo-2"},
		{"one that does not say what it was made from is not written down as made from nothing",
			atBootstrap(3).edit(0, unspoken), Wait, "first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"then they are started anew",
			wanting(atBootstrap(3).edit(0, neverHeard).edit(0, given(other)).edit(1, neverHeard).edit(1,
				given(other)).edit(2, neverHeard).edit(2, given(other)), other),
			Act, "pods", "", "DeletePods", "Delete the Pods of demo-0, demo-1, demo-2: demo-0 does not answer, and was"},
		{"a member that never was ready with new settings is not replaced: the next one would take them too",
			patient(wanting(settledWorld(3).edit(2, failsWithOther), other)),
			Refuse, "member-health", facts.ReasonNotReady, "", "demo-2"},
		{"and takes back the old ones", patient(settledWorld(3).edit(2, failsWithOther)), Act, "replace",
			"", "RemoveMember", "demo-2"},
	}
}

func allRows() []row {
	return slices.Concat(rows(), returns(), rolls(), deaths(), silences(), restores(), inPlace(), moves(), losses(),
		mislabelled(), sidecarRows(), alarmRows(), crowdedRows(), beginningRows(), clockRows(), corruptionRows(),
		compareRows(), phaseRows(), trustRows(), rollCARows(), transportRows(), caSourceRows(), issuerRows(), waysBack(), upkeepRows(), windowRows(), sleepRows(), growthRows(), attributesRows(),
		leadRows(), fencedRows(), authenticated())
}

func TestNextOneSentencePerRule(t *testing.T) {
	for _, r := range allRows() {
		t.Run(r.name, r.check)
	}
}

func TestARuleYieldsInSomeRowWhereThePolicySaysThatItMayAndInNoneElse(t *testing.T) {
	rules, yielded := map[string]rule{}, map[string]bool{}
	for _, r := range everyRule() {
		rules[r.name] = r
	}
	for _, row := range allRows() {
		o := current(row.world.Observation)
		for _, said := range Decide(row.world.Observation).Trace.Spoken() {
			if p := rules[said.Rule].ask(o); p != nil && p.yields {
				yielded[said.Rule] = true
			}
		}
	}
	for name, r := range rules {
		if r.mayYield() != yielded[name] {
			t.Errorf("%s may yield by the policy: %t, and yields in a row: %t", name, r.mayYield(), yielded[name])
		}
	}
}

func TestEachRowAndEachWorldOfThreeBeingsIsAnsweredAsTheCorpusSays(t *testing.T) {
	answers := corpus.Open(t, "testdata/corpus-of-rows.txt")
	answers.Begin("rows")
	for _, r := range allRows() {
		d := Decide(r.world.Observation)
		answers.Add(r.name, answerOf(d), d.Trace.Spoken())
		for _, n := range d.Trace.Yielded() {
			answers.Add(r.name, fmt.Sprintf("after %s %s", n.Rule, n.Reason), Trace{})
		}
	}
	visited := 0
	everySmallWorld(func(o scene, s small) {
		if visited++; visited%1000 == 1 {
			answers.Begin(fmt.Sprintf("beings from %d on", visited))
		}
		d := Decide(o.Observation)
		answers.Add(describeAll(s), answerOf(d), d.Trace.Spoken())
	})
	answers.Compare(t, *update)
}

func TestEveryRuleHasARowThatMakesItSpeak(t *testing.T) {
	spoken := map[string]bool{}
	for _, r := range allRows() {
		d := Decide(r.world.Observation)
		spoken[d.Rule] = true
		for _, n := range d.Trace.Yielded() {
			spoken[n.Rule] = true
		}
	}
	for _, name := range RuleNames() {
		if !spoken[name] {
			t.Errorf("no row makes %s speak", name)
		}
	}
}

func TestNextIsPureAndTotal(t *testing.T) {
	for _, r := range allRows() {
		before := len(r.world.Current.Members)
		a, b := Decide(r.world.Observation), Decide(r.world.Observation)
		if a.Message != b.Message || a.Verdict != b.Verdict || len(r.world.Current.Members) != before {
			t.Errorf("%s: two looks at one world differ", r.name)
		}
		if a.Verdict == "" || a.Reason == "" || a.Message == "" || a.Rule == "" {
			t.Errorf("%s: a decision without words: %+v", r.name, a)
		}
		if (a.Verdict == Act) != (a.Change != nil) {
			t.Errorf("%s: %s with change %v", r.name, a.Verdict, a.Change)
		}
		if a.Verdict != Act && a.Recheck == 0 {
			t.Errorf("%s: nobody looks again", r.name)
		}
	}
}

func TestConfirmRefusesWhenTheWorldMoved(t *testing.T) {
	o := settledWorld(3).edit(2, noData)
	c := Decide(o.Observation).Change
	if !Confirm(o.Observation, c) {
		t.Fatal("the same world does not confirm its own change")
	}
	if Confirm(settledWorld(3).Observation, c) {
		t.Fatal("a removal is confirmed in a world where the member is healthy")
	}
	if Confirm(o.edit(1, silent).Observation, c) {
		t.Fatal("a removal is confirmed although it takes the quorum now")
	}
}
