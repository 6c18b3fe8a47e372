package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Worlds of clusters that begin with a backup.

var (
	wish     = facts.WantedBackup{Hash: "wish"}
	backupOf = record.Origin{Hash: "wish", Key: "ns/demo/snapshot.db", SHA256: "sha", SizeBytes: 32, Revision: 7,
		Version: settings.Version}
)

// wishing asks to begin with a backup.
func wishing(o scene) scene { return desire(o, func(d *facts.Desired) { d.Restore = wish }) }

// faulty asks for what is not there.
func faulty(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.Restore = facts.WantedBackup{Fault: "there is no EtcdBackup b"} })
}

// ofOneNode asks for a backup in a claim that one node mounts at a time.
func ofOneNode(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.Restore.OneNode = true })
}

// alone is a bootstrap that began with the first member alone.
func alone(o scene) scene {
	o.Current.Bootstrap.Names, o.Current.Members = o.Current.Bootstrap.Names[:1], o.Current.Members[:1]
	return o
}

// looking has a preflight Pod, which is as the edits say.
func looking(o scene, edits ...func(*facts.Preflight)) scene {
	p := facts.Preflight{Asked: current(o.Observation).Inquiry(),
		Task: facts.Task{UID: "preflight", Created: now.Add(-time.Second), Phase: facts.PodRunning, Started: true}}
	for _, edit := range edits {
		edit(&p)
	}
	o.Preflight = &p
	return o
}

func hasFound(p *facts.Preflight) { p.Phase, p.Finished, p.Found = facts.PodSucceeded, now, backupOf }

func hasFailed(ago time.Duration) func(*facts.Preflight) {
	return func(p *facts.Preflight) {
		p.Phase, p.Finished, p.Reason, p.Failure = facts.PodFailed, now.Add(-ago), "StoreAccessDenied",
			"the credentials are refused"
	}
}

// because says why a look failed.
func because(reason string) func(*facts.Preflight) {
	return func(p *facts.Preflight) { p.Reason, p.Failure = reason, "it is so" }
}

// withAuth and alarmed are backups of such clusters.
func withAuth(p *facts.Preflight) { p.Found.AuthEnabled = true }

// createdAgo is a cluster that was asked for so long ago.
func createdAgo(o scene, ago time.Duration) scene {
	o.Cluster.Created = now.Add(-ago)
	return o
}

func plain(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.TLS, d.Transport = false, etcdutil.TransportPlain })
}

// restoringWorld is a bootstrap that begins with a backup: the volumes are there, and a Pod runs on each to restore it
// there.
func restoringWorld(size int) scene {
	o := wishing(atBootstrap(size))
	o.Current.Bootstrap.Origin = backupOf
	for i := range o.Current.Members {
		r := &o.Current.Members[i]
		r.Pod = nil
		r.Restoring = &facts.RestorePod{Incarnation: o.Current.Bootstrap.Incarnation, Settings: settings,
			Task: facts.Task{UID: "restore-" + r.Name, Created: now.Add(-time.Second), Phase: facts.PodRunning,
				Started: true}}
	}
	return o
}

// restoredWorld is the same bootstrap with its members' Pods, which look for each other.
func restoredWorld(size int) scene {
	o := wishing(atBootstrap(size))
	o.Current.Bootstrap.Origin = backupOf
	for i := range o.Current.Members {
		o.Current.Members[i].Pod.Flags = facts.FlagsSealed
		written(&o.Current.Members[i])
	}
	return o
}

// listed is the same bootstrap whose only member tells the list.
func listed(o scene) scene {
	o = o.edit(0, func(r *facts.Replica) { r.Member = voter(0).Member })
	o.Current.Membership.Known, o.Current.Membership.ClusterID, o.Current.Membership.Leader = true, clusterID, 1
	return o
}

func void(o scene) scene { o.Current.Bootstrap.Void = true; return o }

func task(change func(*facts.RestorePod)) func(*facts.Replica) {
	return func(r *facts.Replica) {
		pod := *r.Restoring
		change(&pod)
		r.Restoring = &pod
	}
}

var taskDone = task(func(p *facts.RestorePod) { p.Phase, p.Finished = facts.PodSucceeded, now })

func failed(ago time.Duration) func(*facts.Replica) {
	return task(func(p *facts.RestorePod) {
		p.Phase, p.Finished, p.Failure = facts.PodFailed, now.Add(-ago),
			"no room"
	})
}

func written(r *facts.Replica) { r.Volume.Restored = r.Volume.Incarnation }

func cleared(r *facts.Replica) { r.Restoring = nil }

// goneBy has a member's volume restored, and beside it the Pod that held its place, which should be gone by then.
func goneBy(then time.Time) func(*facts.Replica) {
	return func(r *facts.Replica) {
		written(r)
		r.Restoring = &facts.RestorePod{Incarnation: r.Volume.Incarnation, Settings: r.Volume.Settings, Holds: true,
			Task: facts.Task{UID: "restore-" + r.Name, Created: now.Add(-time.Hour), Phase: facts.PodRunning,
				Started: true, Terminating: true, GoneBy: then}}
	}
}

func answered(r *facts.Replica) { r.Answer = voter(r.Ordinal).Answer }

// restores are bootstraps from a backup.
func restores() []row {
	begin := wishing(notBootstrapped(3))
	three, up, leftBehind := restoringWorld(3), restoredWorld(3), goneBy(now.Add(-time.Minute))
	ready := three
	for i := range 3 {
		ready = ready.edit(i, written).edit(i, cleared)
	}
	return []row{
		{"a backup is looked at before anything is made of it", begin, Act, "restore-source", "",
			"StartPreflight", ""},
		{"a wish that names nothing is refused", faulty(begin), Refuse, "restore-source", facts.ReasonUnusable, "",
			"there is no EtcdBackup"},
		{"a backup that is still being taken is waited for",
			func() scene { o := faulty(begin); o.Desired.Restore.Later = true; return o }(), Refuse, "restore-source",
			facts.ReasonPreflight, "", "there is no EtcdBackup"},
		{"what cannot be named any more is restored on no further volume", faulty(three.edit(1, cleared)), Refuse,
			"bootstrap", facts.ReasonUnusable, "", "there is no EtcdBackup"},
		{"and members start without it once it lies on all", faulty(ready), Act, "bootstrap", "",
			"Bootstrap", ""},
		{"a store that one node mounts is read by one member, which the others join", ofOneNode(looking(begin, hasFound)),
			Act, "birth-record", "", "BeginBootstrap", "Begin the bootstrap of demo-0: the cluster is new, and begins with a backup"},
		{"nor are several kept waiting for that node", ofOneNode(three), Act, "void-birth", "",
			"VoidBootstrap", "other first members"},
		{"a birth of one goes on when nothing says so any more", alone(three), Wait, "restored", facts.ReasonRestore,
			"", "demo-0"},
		{"and voids no birth that began", faulty(three), Wait, "restored", facts.ReasonRestore, "", ""},
		{"a living cluster does not mind it", faulty(settledWorld(3)), Settled, RuleSettled, facts.ReasonSettled, "",
			""},
		{"nor does data that an earlier cluster left", retaining(faulty(notBootstrapped(3))), Act, "retained-data",
			"", "AdoptData", ""},
		{"nothing is made while it is looked at", looking(begin), Wait, "restore-source", facts.ReasonPreflight, "",
			""},
		{"a Pod that cannot look is named", looking(begin, func(p *facts.Preflight) {
			p.Phase, p.Waiting, p.Message = facts.PodPending, "ImagePullBackOff", "no image"
		}),
			Wait, "restore-source", facts.ReasonImagePull, "", "no image"},
		{"one that waits for an image which the operator would not take now is made anew",
			looking(begin, func(p *facts.Preflight) { p.OtherImage = true }), Act, "restore-source",
			"", "DeletePreflight", ""},
		{"a Pod that looks and does not start says where to find why",
			looking(begin, func(p *facts.Preflight) {
				p.Created, p.Phase, p.Started = now.Add(-time.Hour),
					facts.PodPending, false
			}),
			Refuse, "restore-source", facts.ReasonPreflight, "", "kubectl get events -n default --field-selector type=Warning says why."},
		{"a restore that goes on for long is let go on",
			three.edit(0, task(func(p *facts.RestorePod) { p.Created = now.Add(-20 * time.Minute) })), Wait, "restored",
			facts.ReasonRestore, "", ""},
		{"one that does not start says where to find why",
			three.edit(2, task(func(p *facts.RestorePod) { p.Created, p.Started = now.Add(-20*time.Minute), false })),
			Refuse, "restored", facts.ReasonRestore, "", "kubectl get events -n default --field-selector type=Warning says why."},
		{"a look that lasts too long is called overdue",
			looking(begin, func(p *facts.Preflight) { p.Created = now.Add(-time.Hour) }), Refuse, "restore-source",
			facts.ReasonPreflight, "", ""},
		{"what was found is written down with the birth", looking(begin, hasFound), Act, "birth-record",
			"", "BeginBootstrap", ""},
		{"a look for another wish is made anew",
			looking(begin, hasFound, func(p *facts.Preflight) { p.Asked.Hash = "another" }), Act, "restore-source",
			"", "DeletePreflight", ""},
		{"a look for another version is made anew",
			looking(begin, hasFailed(0), func(p *facts.Preflight) { p.Asked.Version = newer.Version }), Act,
			"restore-source", "", "DeletePreflight", ""},
		{"its name must be free first", looking(begin, func(p *facts.Preflight) { p.Terminating = true }), Wait,
			"restore-source", facts.ReasonPreflight, "", ""},
		{"a backup that cannot be used is refused in the words of who looked", looking(begin, hasFailed(time.Second)),
			Refuse, "restore-source", facts.ReasonUnusable, "", "the credentials are refused"},
		{"and looked at again later", looking(begin, hasFailed(time.Hour)), Act, "restore-source",
			"", "DeletePreflight", ""},
		{"the longer it lasts the less often", createdAgo(looking(begin, hasFailed(time.Minute)), 10*time.Minute),
			Refuse, "restore-source", facts.ReasonUnusable, "", "less and less often"},
		{"and still every few minutes after days", createdAgo(looking(begin, hasFailed(6*time.Minute)), 100*time.Hour),
			Act, "restore-source", "", "DeletePreflight", ""},
		{"a store that does not answer is asked again",
			looking(begin, hasFailed(time.Minute), because("StoreUnreachable")), Act, "restore-source",
			"", "DeletePreflight", ""},
		{"what stays as it is is not looked at again", looking(begin, hasFailed(100*time.Hour),
			because("ManifestInvalid")), Refuse, "restore-source", facts.ReasonUnusable, "",
			"If spec.bootstrap.restore names the wrong backup, correct it, and that one is looked at. If you put this one right in the store, have it looked at again: " +
				"kubectl delete pod demo-preflight -n default."},
		{"a file that is no snapshot stays one", looking(begin, hasFailed(100*time.Hour), because("NotASnapshot")),
			Refuse, "restore-source", facts.ReasonUnusable, "", "kubectl delete pod demo-preflight -n default"},
		{"a large snapshot that is read takes its time",
			looking(begin, func(p *facts.Preflight) { p.Created = now.Add(-20 * time.Minute) }), Wait, "restore-source",
			facts.ReasonPreflight, "", ""},
		{"until the spec asks for something else", looking(begin, hasFailed(time.Second), because("VersionDiffers"),
			func(p *facts.Preflight) { p.Asked.Version = newer.Version }),
			Act, "restore-source", "", "DeletePreflight", ""},
		{"a backup with authentication is begun with where there are certificates", looking(begin, hasFound, withAuth),
			Act, "birth-record", "", "BeginBootstrap", ""},
		{"and nowhere else", looking(plain(begin), hasFound, withAuth), Refuse, "restore-source", facts.ReasonUnusable,
			"", "set spec.tls.mode to Permissive"},
		{"a backup without authentication needs no certificates", looking(plain(begin), hasFound), Act, "birth-record",
			"", "BeginBootstrap", ""},
		{"a look that ended without a word is made anew",
			looking(begin, func(p *facts.Preflight) { p.Phase = facts.PodSucceeded }), Act, "restore-source",
			"", "DeletePreflight", ""},
		{"a backup of a newer minor version is never begun with",
			looking(begin, hasFound, func(p *facts.Preflight) { p.Found.Version = newer.Version }),
			Refuse, "restore-source", facts.ReasonUnusable, "", "set spec.version to 3.7.x"},
		{"one of an older minor version is", looking(wanting(begin, newer), hasFound), Act, "birth-record",
			"", "BeginBootstrap", ""},
		{"a living cluster whose record was lost does not begin again",
			func() scene { o := wishing(settledWorld(3)); o.Current.Bootstrap = record.Bootstrap{}; return o }(),
			Act, "birth-record", "", "BeginBootstrap", "anew"},
		{"nor does one of which nothing but a trace is left",
			func() scene { o := wishing(notBootstrapped(3)); o.Objects[0].State = facts.ObjectCurrent; return o }(),
			Refuse, "birth-record", facts.ReasonRecordLost, "", ""},

		{"volumes and restore Pods are made in one step", func() scene {
			o := restoringWorld(3)
			o.Current.Members, o.Current.Bootstrap.Begun, o.Current.Bootstrap.Volumes = nil, false, nil
			return o
		}(), Act, "bootstrap", "", "Bootstrap",
			"Begin the restore of demo-0, demo-1, demo-2: members start once the backup lies on every volume"},
		{"a restore Pod that is gone is made anew", three.edit(1, cleared), Act, "bootstrap", "",
			"Bootstrap", ""},
		{"restores are waited for", three, Wait, "restored", facts.ReasonRestore, "", "demo-0, demo-1, demo-2"},
		{"and how far they are", three.edit(0,
			task(func(p *facts.RestorePod) { p.Step, p.Done, p.Total = "fetch", 300<<20, 1<<30 })).edit(2,
			task(func(p *facts.RestorePod) { p.Step = "restore" })),
			Wait, "restored", facts.ReasonRestore, "", "demo-0 (fetched 300Mi of 1024Mi), demo-1, demo-2 (restoring)."},
		{"a Secret that is not there is named", three.edit(1, task(func(p *facts.RestorePod) {
			p.Phase, p.Started, p.Waiting, p.Message = facts.PodPending, false, "FailedMount", `secret "s3" not found`
		})),
			Wait, "restored", facts.ReasonNotMounted, "", `secret "s3" not found`},
		{"also before anything is made", looking(begin, func(p *facts.Preflight) {
			p.Created, p.Phase, p.Started, p.Waiting, p.Message = now.Add(-time.Hour), facts.PodPending, false,
				"FailedMount", `secret "s3" not found`
		}),
			Refuse, "restore-source", facts.ReasonNotMounted, "", `secret "s3" not found`},
		{"a restore that lasts too long is called overdue",
			three.edit(0, task(func(p *facts.RestorePod) { p.Created = now.Add(-time.Hour) })), Refuse, "restored",
			facts.ReasonRestore, "", ""},
		{"a volume that cannot be made for it is named", three.edit(2, unbound).edit(2, task(func(p *facts.RestorePod) {
			p.Phase, p.Started, p.Waiting, p.Message = facts.PodPending, false, "ProvisioningFailed", `"a" not found`
		})).ofClass("a"),
			Wait, "restored", facts.ReasonProvisioning, "", `"a" not found. Put spec.storage.storageClassName`},
		{"where another StorageClass is asked for it begins anew", three.edit(2, unbound).edit(2,
			task(func(p *facts.RestorePod) { p.Phase, p.Started = facts.PodPending, false })).ofClass("b"),
			Act, "void-birth", "", "VoidBootstrap", "another StorageClass"},
		{"a restore Pod whose image has no etcdutl is told what it needs", three.edit(2, task(func(p *facts.RestorePod) {
			p.Phase, p.Started, p.Waiting = facts.PodPending, false, "CreateContainerError"
			p.Message = "container create failed: executable file `etcdutl` not found in $PATH: No such file or directory"
		})),
			Wait, "restored", facts.ReasonContainer, "", "Name an image that has it in spec.image"},
		{"a restore Pod that cannot start is named", three.edit(2, task(func(p *facts.RestorePod) {
			p.Phase, p.Started, p.Waiting, p.Message = facts.PodPending, false, "Unschedulable", "no node"
		})),
			Wait, "restored", facts.ReasonUnschedulable, "", "no node"},
		{"and made anew once the operator would take another image",
			three.edit(2, task(func(p *facts.RestorePod) { p.Started, p.OtherImage = false, true })), Act, "restored",
			"", "DeleteRestores", "demo-2"},
		{"where a backup lies is written down", three.edit(1, taskDone), Act, "restored", "",
			"RecordRestored", "demo-1"},
		{"then the Pod that restored it there goes", three.edit(1, taskDone).edit(1, written), Act, "restored",
			"", "DeleteRestores", "demo-1"},
		{"who is restored waits for the others", three.edit(1, written).edit(1, cleared), Wait, "restored",
			facts.ReasonRestore, "", "demo-0, demo-2"},
		{"a restore that failed is refused in its words", three.edit(1, failed(time.Second)), Refuse, "restored",
			facts.ReasonRestoreFailed, "", "no room"},
		{"and tried again later", three.edit(1, failed(time.Hour)), Act, "restored", "",
			"DeleteRestores", "no room"},
		{"but not when it would find the same again", three.edit(1, failed(100*time.Hour)).edit(1,
			task(func(p *facts.RestorePod) { p.Reason = "ObjectDamaged" })),
			Refuse, "restored", facts.ReasonRestoreFailed, "", "demo-1-restore is deleted"},
		{"its name must be free for that", three.edit(1, task(func(p *facts.RestorePod) { p.Terminating = true })),
			Wait, "restored", facts.ReasonPodLeaving, "", "demo-1"},
		{"members that are still to be restored follow the spec", wanting(three, other), Act, "restored",
			"", "WriteSettings", "demo-0"},
		{"a restore Pod follows its volume",
			wanting(three.edit(0, given(other)).edit(1, given(other)).edit(2, given(other)), other), Act, "restored",
			"", "DeleteRestores", "demo-0"},
		{"members start once all of them are restored", ready, Act, "bootstrap", "", "Bootstrap",
			""},
		{"a restore Pod on a node that died keeps no member from starting", ready.edit(1, leftBehind), Act, "bootstrap",
			"", "Bootstrap", "Create the first members: the bootstrap of demo-0, demo-1, demo-2 has begun"},
		{"not before it should be gone", ready.edit(1, goneBy(now.Add(-time.Second))), Wait, "restored",
			facts.ReasonPodLeaving, "", "demo-1"},
		{"nor are the others waited for because of it", up.edit(1, leftBehind), Wait, "first-quorum",
			facts.ReasonFirstQuorum, "", "3 of 3"},
		{"restored members look for each other", up, Wait, "first-quorum", facts.ReasonFirstQuorum, "", "3 of 3"},
		{"what begins with a backup does not wait for who has it and runs already",
			up.edit(1, func(r *facts.Replica) { r.Pod = nil }), Act, "bootstrap", "", "Bootstrap",
			""},

		{"a birth of another wish is voided while too few have started",
			desire(three, func(d *facts.Desired) { d.Restore.Hash = "another" }), Act, "void-birth",
			"", "VoidBootstrap", "another backup"},
		{"one that is to begin empty after all as well",
			desire(three, func(d *facts.Desired) { d.Restore = facts.WantedBackup{} }), Act, "void-birth",
			"", "VoidBootstrap", "none"},
		{"one that is to begin with a backup after all as well",
			wishing(atBootstrap(3).edit(0, unpullable).edit(1, unpullable)), Act, "void-birth", "",
			"VoidBootstrap", "another backup"},
		{"one of another minor version as well", wanting(three, newer), Act, "void-birth", "",
			"VoidBootstrap", "another version"},
		{"not when a quorum has started", desire(up, func(d *facts.Desired) { d.Restore.Hash = "another" }), Wait,
			"first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"a restored birth whose volume is lost is voided", up.edit(1, func(r *facts.Replica) { r.Volume = nil }), Act,
			"void-birth", "", "VoidBootstrap", "volume of demo-1"},
		{"one that answers goes on without it: who is away starts again",
			up.edit(0, answered).edit(1, func(r *facts.Replica) { r.Volume = nil }).edit(2, noPod), Act, "bootstrap",
			"", "Bootstrap", ""},
		{"a restored member that finds its directory empty has lost its data", up.edit(1, wiped), Act, "void-birth",
			"", "VoidBootstrap", "demo-1"},
		{"a restored birth that answers is never voided",
			desire(up.edit(0, answered).edit(1, func(r *facts.Replica) { r.Volume = nil }),
				func(d *facts.Desired) { d.Restore.Hash = "another" }),
			Wait, "first-quorum", facts.ReasonFirstQuorum, "", ""},
		{"the only restored member answers on a volume that is going: it is written down, to be succeeded",
			listed(restoredWorld(1).edit(0, answered).edit(0, doomed)),
			Act, "first-quorum", "", "RecordMembers", "demo-0"},
		{"restore Pods of a bootstrap that was given up go before its volumes", void(three), Act, "void-birth",
			"", "DeleteRestores", "Delete the restore Pods of demo-0, demo-1, demo-2: left from the bootstrap that"},
		{"and are waited for", void(three.edit(0, cleared).edit(1, cleared).edit(2,
			task(func(p *facts.RestorePod) { p.Terminating = true }))), Wait, "void-birth", facts.ReasonVoidBootstrap, "",
			""},
		{"then the backup is looked at again", func() scene { o := void(three); o.Current.Members = nil; return o }(),
			Act, "restore-source", "", "StartPreflight", ""},
		{"and the next birth begins with it",
			looking(func() scene { o := void(three); o.Current.Members = nil; return o }(), hasFound), Act,
			"void-birth", "", "NextBootstrap", ""},
		{"a restore Pod of another incarnation is deleted",
			three.edit(0, task(func(p *facts.RestorePod) { p.Incarnation = "old" })), Act, "void-birth",
			"", "DeleteRestores", "demo-0"},
		{"its name must be free as well",
			three.edit(0, task(func(p *facts.RestorePod) { p.Incarnation, p.Terminating = "old", true })), Wait,
			"void-birth", facts.ReasonPodLeaving, "", "demo-0"},

		{"a wish that changes on a living cluster changes nothing", wishing(settledWorld(3)), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"a preflight Pod is a leftover once the cluster lives", looking(settledWorld(3)), Act, "restore-leftover",
			"", "DeletePreflight", ""},
		{"a restore Pod as well", settledWorld(3).edit(1,
			func(r *facts.Replica) { r.Restoring = restoringWorld(3).Current.Members[1].Restoring }).blind(), Act,
			"restore-leftover", "", "DeleteRestores", "demo-1"},
		{"a restored member that is yet to be recorded starts from what was restored",
			restoredAndUnrecorded().edit(1, noPod), Act, "first-pod", "", "StartPods", "demo-1"},
		{"one of which nobody knows any more whether it was is replaced", restoredAndUnrecorded().edit(1, noPod).edit(1,
			func(r *facts.Replica) { r.Volume.Restored = "" }),
			Act, "replace", "", "RemoveMember", "demo-1"},
	}
}

// restoredAndUnrecorded is a living cluster that began with a backup, of which one member is not written down yet.
func restoredAndUnrecorded() scene {
	o := settledWorld(3).edit(1, unrecorded).edit(1, written)
	o.Current.Bootstrap.Origin = backupOf
	return o
}

func TestAMemberOfAClusterThatBeginsWithABackupNeverStartsEmpty(t *testing.T) {
	ready := restoringWorld(3)
	for i := range 3 {
		ready = ready.edit(i, written).edit(i, cleared)
	}
	for _, s := range Decide(ready.Observation).Change.(changes.Bootstrap).Pods {
		if s.Flags != facts.FlagsSealed || len(s.Initial) > 0 || s.Role != "" {
			t.Errorf("%s starts with flags %s, list %v, role %q", s.Name, s.Flags, s.Initial, s.Role)
		}
	}
	begin := restoringWorld(3)
	begin.Current.Members, begin.Current.Bootstrap.Begun, begin.Current.Bootstrap.Volumes = nil, false, nil
	if c := Decide(begin.Observation).Change.(changes.Bootstrap); len(c.Volumes) != 3 || len(c.Restores) != 3 ||
		len(c.Pods) != 0 {
		t.Errorf("a birth from a backup makes %+v", c)
	}
	s := Decide(restoredAndUnrecorded().edit(1, noPod).Observation).Change.(changes.StartPods).Pods[0]
	if s.Flags != facts.FlagsSealed {
		t.Errorf("a restored member that was interrupted starts with flags %s", s.Flags)
	}
	forgotten := restoredAndUnrecorded().edit(1, noPod)
	forgotten.Current.Bootstrap.Origin = record.Origin{} // the record was lost, and written anew from the volumes
	if s := Decide(forgotten.Observation).Change.(changes.StartPods).Pods[0]; s.Flags != facts.FlagsSealed {
		t.Errorf("once the record was lost, it starts with flags %s", s.Flags)
	}
}

// Without it a cluster that is deleted and created again in the moment after its first member was recorded would wait
// for ever for members without Pods.
func TestABootstrapFromABackupWhoseRecordWasLostGoesOn(t *testing.T) {
	lost := settledWorld(3)
	for i := range 3 {
		lost = lost.edit(i, written).edit(i, noPod)
	}
	lost = lost.edit(1, unrecordedVolume).edit(2, unrecordedVolume).unwritten()
	lost.Current.Membership = facts.Membership{Why: "no member answers"}
	begin := Decide(lost.Observation).Change.(changes.BeginBootstrap)
	if len(begin.Names) != 3 || begin.ClusterID != 0 {
		t.Fatalf("%+v", begin)
	}
	begun := lost
	begun.Current.Bootstrap = record.Bootstrap(begin)
	if starts := Decide(begun.Observation).Change.(changes.StartPods).Pods; len(starts) != 3 ||
		starts[0].Flags != facts.FlagsSealed || starts[1].Flags != facts.FlagsSealed {
		t.Errorf("%+v", starts)
	}
	recorded := settledWorld(3).Current.Members[2].Volume.Record
	for name, spoil := range map[string]func(*facts.Replica){
		"two are recorded":              func(r *facts.Replica) { r.Volume.Record = recorded },
		"nothing was restored on one":   func(r *facts.Replica) { r.Volume.Restored = "" },
		"one was removed":               func(r *facts.Replica) { r.Volume.RemovedFor = facts.CauseDisk },
		"one was switched over from":    func(r *facts.Replica) { r.Volume.Superseded = "later" },
		"a volume is being deleted":     doomed,
		"one is of another incarnation": func(r *facts.Replica) { r.Volume.Incarnation, r.Volume.Restored = "old", "old" },
	} {
		if Veto(lost.edit(2, spoil).Observation, begin) == "" {
			t.Errorf("%s, and its birth goes on with three", name)
		}
	}
	answering := settledWorld(3).edit(0, written).edit(1, unrecordedVolume).edit(1, written).edit(2, unrecordedVolume)
	answering.Current.Bootstrap.ClusterID, answering.Current.Bootstrap.Names = 0, []string{"demo-0", "demo-1"}
	if d := Decide(answering.Observation); d.Rule != "first-quorum" || d.Verdict != Act {
		t.Errorf("the list of a cluster that is on a volume already: %+v", d)
	}
}

// The label of a volume of before was changed by hand: what is recorded there would become the identity of what was
// restored, whose volumes would then belong to no member.
func TestWhoIsNoFirstMemberDoesNotSayWhichClusterItIs(t *testing.T) {
	o := settledWorld(3)
	for i := range 3 {
		o = o.edit(i, written)
	}
	o = o.edit(1, unrecordedVolume).edit(2, unrecordedVolume)
	o.Current.Bootstrap.ClusterID, o.Current.Bootstrap.Names = 0, []string{"demo-1"}
	o.Current.Membership = facts.Membership{Why: "no member answers"}
	if d := Decide(o.Observation); d.Reason != facts.ReasonFirstQuorum {
		t.Errorf("%+v", d)
	}
	if Veto(o.Observation, changes.RecordBootstrap{ClusterID: clusterID}) == "" {
		t.Error("the guard lets it be written down")
	}
}

func unrecordedVolume(r *facts.Replica) { r.Volume.Record = record.Member{} }

func TestARestoredMemberIsComparedOnceItIsRecorded(t *testing.T) {
	o := settledWorld(3).edit(1, startedAnew).edit(1, unlabelled)
	if !o.Current.Members[1].IsSealed() {
		t.Error("it could start empty")
	}
	waits := Decide(o.Observation)
	if waits.Rule != "corruption" || waits.Reason != facts.ReasonCompare {
		t.Errorf("clients are led there before that: %+v", waits)
	}
	expectNoVeto(t, waits)
	seals, isSeal := Decide(hashing(o, 7, 7, 7).Observation).Change.(changes.SealPods)
	if !isSeal || len(seals.Pods) != 1 || seals.Pods[0].Pod.Name != "demo-1" || seals.Pods[0].Role != facts.RoleVoter {
		t.Errorf("%+v", seals)
	}
}

func TestABootstrapBeginsWithWhatTheSpecAsksForOrNotAtAll(t *testing.T) {
	begin := wishing(notBootstrapped(3))
	empty := newBootstrap(current(begin.Observation), 0, firstNames(current(begin.Observation)))
	filled := empty
	filled.Origin = backupOf
	for _, row := range []struct {
		name      string
		world     scene
		bootstrap changes.BeginBootstrap
		allowed   bool
	}{
		{"with what was found", looking(begin, hasFound), filled, true},
		{"empty, as the spec asks", notBootstrapped(3), empty, true},
		{"empty, while a backup is asked for", looking(begin, hasFound), empty, false},
		{"with a backup, while none is asked for", looking(notBootstrapped(3), hasFound), filled, false},
		{"with the backup of another wish",
			looking(desire(begin, func(d *facts.Desired) { d.Restore.Hash = "another" }), hasFound), filled, false},
		{"empty, while what is asked for is not there", faulty(begin), empty, false},
		{"with what was found before, while what is asked for is not there", faulty(looking(begin, hasFound)), filled,
			false},
		{"with a backup that nobody looked at", begin, filled, false},
		{"with another backup than was found",
			looking(begin, hasFound, func(p *facts.Preflight) { p.Found.Key = "another" }), filled, false},
		{"with one that could not be used", looking(begin, hasFound, hasFailed(0)), filled, false},
		{"with one of a newer minor version", looking(wanting(begin, older), hasFound), filled, false},
		{"with one of an older minor version", looking(wanting(begin, newer), hasFound), filled, true},
		{"with one of which nothing says of which version it is",
			looking(begin, hasFound, func(p *facts.Preflight) { p.Found.Version = etcdutil.Version{} }), filled, false},
		{"where the data is to live in Pods", looking(desire(begin, func(d *facts.Desired) { d.Ephemeral = true }),
			hasFound), filled, false},
	} {
		voided := void(row.world)
		voided.Current.Bootstrap = record.Bootstrap{Void: true, Incarnation: "old"}
		for _, judged := range []string{Veto(row.world.Observation, row.bootstrap),
			Veto(voided.Observation, changes.NextBootstrap{Voided: "old", BeginBootstrap: row.bootstrap})} {
			if (judged == "") != row.allowed {
				t.Errorf("%s: %q", row.name, judged)
			}
		}
	}
}

func TestAFirstMemberStartsOnlyWithTheDataThatItsClusterBeginsWith(t *testing.T) {
	three := restoringWorld(3)
	ready := three.edit(1, written).edit(1, cleared)
	sealed := changes.Start{Name: "demo-1", Flags: facts.FlagsSealed, Settings: settings}
	bootstrap := changes.Start{Name: "demo-1", Flags: facts.FlagsBootstrap, Settings: settings}
	withNewer := sealed
	withNewer.Settings = newer
	for _, row := range []struct {
		name    string
		world   scene
		start   changes.Start
		allowed bool
	}{
		{"from what was restored", ready, sealed, true},
		{"empty, beside what was restored", ready, bootstrap, false},
		{"before it is restored", three.edit(1, cleared), sealed, false},
		{"empty, before it is restored", three.edit(1, cleared), bootstrap, false},
		{"before that is written down", three.edit(1, taskDone), sealed, false},
		{"while the restore Pod is there", three.edit(1, written), sealed, false},
		{"with another minor version", ready, withNewer, false},
		{"from what was restored in another incarnation",
			ready.edit(1, func(r *facts.Replica) { r.Volume.Incarnation, r.Volume.Restored = "old", "old" }), sealed,
			false},
		{"from a volume that says so of another incarnation",
			ready.edit(1, func(r *facts.Replica) { r.Volume.Restored = "old" }), sealed, false},
		{"in a bootstrap that was given up", void(ready), sealed, false},
	} {
		for _, change := range []changes.Change{changes.Bootstrap{Pods: []changes.Start{row.start}},
			changes.StartPods{Pods: []changes.Start{row.start}}} {
			if why := Veto(row.world.Observation, change); changes.KindOf(change) == "Bootstrap" &&
				(why == "") != row.allowed || why == "" && !row.allowed &&
				row.world.Current.Find("demo-1").Restoring == nil {
				t.Errorf("%s, by %s: %q", row.name, changes.KindOf(change), why)
			}
		}
	}
}

func TestTheGuardOfRestores(t *testing.T) {
	three := restoringWorld(3)
	record := changes.RecordRestored{Incarnation: three.Current.Bootstrap.Incarnation,
		Volumes: []facts.VolumeRef{{Name: "demo-1", UID: "volume-demo-1"}}}
	gone := changes.DeleteRestores{Pods: []facts.PodRef{{Name: "demo-1", UID: "restore-demo-1"}}}
	restore := changes.Bootstrap{Restores: []changes.Restoring{{Name: "demo-1", Settings: settings}}}
	start := changes.StartPreflight{Asked: current(wishing(notBootstrapped(3)).Observation).Inquiry()}
	for _, row := range []struct {
		name    string
		world   scene
		change  changes.Change
		allowed bool
	}{
		{"a Pod that succeeded is believed", three.edit(1, taskDone), record, true},
		{"one that runs is not", three, record, false},
		{"one that failed is not", three.edit(1, failed(0)), record, false},
		{"nor one of another incarnation",
			three.edit(1, taskDone).edit(1, task(func(p *facts.RestorePod) { p.Incarnation = "old" })), record, false},
		{"nor one on another volume", three.edit(1, taskDone).edit(1, func(r *facts.Replica) { r.Volume.UID = "another" }),
			record, false},
		{"nor on a volume of another incarnation",
			three.edit(1, taskDone).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), record, false},
		{"nor in a bootstrap that was given up", void(three.edit(1, taskDone)), record, false},
		{"what succeeded stays until it is written down", three.edit(1, taskDone), gone, false},
		{"then it may go", three.edit(1, taskDone).edit(1, written), gone, true},
		{"and when the birth was given up", void(three.edit(1, taskDone)), gone, true},
		{"and once the cluster lives",
			settledWorld(3).edit(1, func(r *facts.Replica) {
				r.Restoring = restoringWorld(3).edit(1,
					taskDone).Current.Members[1].Restoring
			}), gone, true},
		{"another Pod than was meant stays", three,
			changes.DeleteRestores{Pods: []facts.PodRef{{Name: "demo-1", UID: "another"}}}, false},
		{"a backup is restored on an empty volume", three.edit(1, cleared), restore, true},
		{"not twice", three, restore, false},
		{"not over what was restored", three.edit(1, cleared).edit(1, written), restore, false},
		{"not under a member", restoredWorld(3).edit(1, func(r *facts.Replica) { r.Volume.Restored = "" }), restore, false},
		{"not where a cluster begins empty", atBootstrap(3).edit(1, noPod), restore, false},
		{"not with the tools of another minor version", three.edit(1, cleared),
			changes.Bootstrap{Restores: []changes.Restoring{{Name: "demo-1", Settings: newer}}}, false},
		{"not for who is no first member", three,
			changes.Bootstrap{Restores: []changes.Restoring{{Name: "demo-7", Settings: settings}}}, false},
		{"not in a cluster that lives", restoredAndUnrecorded(), restore, false},
		{"a look begins before a birth", wishing(notBootstrapped(3)), start, true},
		{"not for a wish that names nothing", faulty(notBootstrapped(3)),
			changes.StartPreflight{Asked: current(faulty(notBootstrapped(3)).Observation).Inquiry()}, false},
		{"not beside another", looking(wishing(notBootstrapped(3))), start, false},
		{"not for what nobody asks", notBootstrapped(3), start, false},
		{"not in a birth that was begun", three, start, false},
		{"not in a cluster that lives", wishing(settledWorld(3)), start, false},
		{"a preflight Pod goes", looking(notBootstrapped(3)), changes.DeletePreflight{UID: "preflight"}, true},
		{"and no other", looking(notBootstrapped(3)), changes.DeletePreflight{UID: "another"}, false},
	} {
		if why := Veto(row.world.Observation, row.change); (why == "") != row.allowed {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

// Each first member is in each state, with each wish: whatever comes out, nothing starts empty beside a backup, nothing
// that answers is given up, and every world has a word said about it.
func TestNothingOfARestoreIsLostOrStartsEmptyInEverySmallWorld(t *testing.T) {
	edits := map[string]func(*facts.Replica){
		"restoring": func(*facts.Replica) {}, "taskDone": taskDone, "failed": failed(time.Second), "cleared": cleared,
		"written":     func(r *facts.Replica) { taskDone(r); written(r) },
		"ready":       func(r *facts.Replica) { written(r); cleared(r) },
		"no volume":   func(r *facts.Replica) { r.Volume = nil; cleared(r) },
		"starting":    func(r *facts.Replica) { *r = restoredWorld(3).Current.Members[r.Ordinal]; unpullable(r) },
		"up":          func(r *facts.Replica) { *r = restoredWorld(3).Current.Members[r.Ordinal] },
		"up, answers": func(r *facts.Replica) { *r = restoredWorld(3).Current.Members[r.Ordinal]; answered(r) },
		"wiped":       func(r *facts.Replica) { *r = restoredWorld(3).Current.Members[r.Ordinal]; wiped(r) },
		"old":         task(func(p *facts.RestorePod) { p.Incarnation = "old" }),
	}
	verdicts := map[Verdict]int{}
	for first, a := range edits {
		for second, b := range edits {
			for third, c := range edits {
				for _, hash := range []string{"wish", "another", ""} {
					o := restoringWorld(3).edit(0, a).edit(1, b).edit(2, c)
					o.Desired.Restore.Hash = hash
					d := Decide(o.Observation)
					verdicts[d.Verdict]++
					if d.Message == "" || d.Verdict == Settled || facts.IsVeto(d.Reason) {
						t.Fatalf("%s, %s, %s with %q: %+v", first, second, third, hash, d)
					}
					holdRestore(t, o, d)
				}
			}
		}
	}
	if verdicts[Act] == 0 || verdicts[Wait] == 0 || verdicts[Refuse] == 0 {
		t.Fatalf("%v", verdicts)
	}
}

func holdRestore(t *testing.T, o scene, d Decision) {
	t.Helper()
	isAnswering := false
	for _, r := range o.Current.Members {
		isAnswering = isAnswering || r.Answer != nil
	}
	switch c := d.Change.(type) {
	case changes.VoidBootstrap:
		if isAnswering {
			t.Fatalf("a birth that answers is voided: %s", d.Message)
		}
	case changes.Bootstrap:
		for _, s := range c.Pods {
			if r := o.Current.Find(s.Name); s.Flags != facts.FlagsSealed || r.Volume == nil ||
				r.Volume.Restored != o.Current.Bootstrap.Incarnation {
				t.Fatalf("%s starts with flags %s on %+v", s.Name, s.Flags, r.Volume)
			}
		}
		for _, l := range c.Restores {
			if r := o.Current.Find(l.Name); r.Pod != nil || r.Volume != nil && r.Volume.Restored != "" {
				t.Fatalf("the volume of %s is restored again", l.Name)
			}
		}
	case changes.DeleteVolumes, changes.NextBootstrap:
		t.Fatalf("%s while the birth was not given up", changes.KindOf(c))
	default:
	}
}

func TestARestoredMemberIsRecordedAsTheOneThatAnswered(t *testing.T) {
	o := restoredAndUnrecorded()
	c, ok := Decide(o.Observation).Change.(changes.RecordMembers)
	if !ok || c.Members[0].Record.MemberID != etcdutil.ID(2) {
		t.Errorf("%+v", Decide(o.Observation))
	}
}

func TestAFirstMemberStartsOnlyOnceNothingRestoresItsVolume(t *testing.T) {
	ready := restoringWorld(3)
	for i := range 3 {
		ready = ready.edit(i, written).edit(i, cleared)
	}
	c, past := Decide(ready.Observation).Change, goneBy(now.Add(-time.Minute))
	for _, row := range []struct {
		name   string
		world  scene
		passes bool
	}{
		{"nothing is there", ready, true},
		{"a Pod on a node that died", ready.edit(1, past), true},
		{"a Pod that was not deleted", ready.edit(1, past).edit(1,
			func(r *facts.Replica) { r.Restoring.Terminating = false }), false},
		{"a Pod that did not restore all of it", ready.edit(1, past).edit(1,
			func(r *facts.Replica) { r.Volume.Restored = "" }), false},
	} {
		if veto := Veto(row.world.Observation, c); (veto == "") != row.passes {
			t.Errorf("%s: %q", row.name, veto)
		}
	}
}
