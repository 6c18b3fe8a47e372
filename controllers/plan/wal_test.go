package plan

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// fast is a volume that the write-ahead log has for itself.
var fast = facts.WAL{Bytes: 4 << 30, StorageClass: "fast"}

func onLog(wal facts.WAL) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Volume.WAL = wal
		r.Volume.Half = facts.Half{VolumeRef: facts.VolumeRef{Name: r.Name + "-wal", UID: "log-" + r.Name}, Bytes: wal.Bytes,
			Capacity: wal.Bytes, Class: wal.StorageClass}
	}
}

// logGrowing is the claim of a log that asks for 8Gi by the spec, and has not got that.
func logGrowing(state facts.GrowthState) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Volume.WAL.Bytes, r.Volume.Half.Bytes = 8<<30, 8<<30
		r.Volume.Half.Growth = facts.Growth{State: state, Since: now.Add(-time.Minute)}
		if state == facts.GrowthInfeasible {
			r.Volume.Half.Growth.Message = "the pool has no room"
		}
	}
}

// askingLog has the spec ask for such a volume.
func (o scene) askingLog(wal facts.WAL) scene {
	return desire(o, func(d *facts.Desired) { d.WAL = wal })
}

// logged is a settled cluster whose members have them.
func logged(size int) scene {
	o := settledWorld(size).askingLog(fast)
	for i := range size {
		o = o.edit(i, onLog(fast))
	}
	return o
}

// torn is a volume whose log is gone.
func torn(r *facts.Replica) {
	r.Volume.Phase, r.Volume.Torn = facts.VolumeLost, "the volume of its write-ahead log is gone"
}

func TestAMemberIsSucceededForAnotherVolumeOfItsLog(t *testing.T) {
	larger := bound(logged(3).askingLog(facts.WAL{Bytes: 8 << 30, StorageClass: "fast"}), 8<<30)
	both := desire(larger, func(d *facts.Desired) { d.StorageBytes = 20 << 30 })
	cannot := larger.edit(2, logGrowing(facts.GrowthInfeasible))
	for _, row := range []row{
		{"one is added", settledWorld(3).askingLog(fast), Act, "grow", "", "PrepareMember",
			"(its write-ahead log lies beside its data, and the spec asks for a volume of its own)"},
		{"it is taken away", logged(3).askingLog(facts.WAL{}), Act, "grow", "", "PrepareMember",
			"(its write-ahead log has a volume of its own, and the spec asks for none)"},
		{"it is of another class", logged(3).askingLog(facts.WAL{Bytes: 4 << 30, StorageClass: "faster"}), Act, "grow", "",
			"PrepareMember",
			`(the volume of its write-ahead log is of StorageClass "fast", and the spec names "faster")`},
		{"it becomes smaller", logged(3).askingLog(facts.WAL{Bytes: 1 << 30, StorageClass: "fast"}), Act, "grow", "",
			"PrepareMember", "(the volume of its write-ahead log was made for 4Gi, and the spec asks for 1Gi)"},
		{"but not where it becomes larger: its claim asks for more", larger, Act, "expand-volume", "", "ExpandVolume",
			"Expand the volume of the write-ahead log of demo-2 to 8Gi: spec.storage.wal.size asks for it."},
		{"the next one waits for the first", larger.edit(2, logGrowing(facts.GrowthUnderWay)), Wait, "expand-volume",
			facts.ReasonExpand, "", `The volume of the write-ahead log of demo-2, of StorageClass "fast", grows from 4Gi to 8Gi`},
		{"what says more of it is named", larger.edit(2, logGrowing(facts.GrowthUnderWay)), Wait, "expand-volume",
			facts.ReasonExpand, "", "kubectl describe pvc demo-2-wal -n default says more, or spec.storage.wal.size can be put back."},
		{"what cannot be had is told with its field", cannot, Refuse, "expand-volume", facts.ReasonExpand, "",
			"Put spec.storage.wal.size back to 4Gi"},
		{"a size that is put back takes back what cannot be had", cannot.askingLog(fast), Act, "expand-volume", "",
			"ExpandVolume", "Expand the volume of the write-ahead log of demo-2 to 4097Mi"},
		{"where it cannot be had members can move", desire(cannot, func(d *facts.Desired) { d.ExpandsByMove = true }), Act,
			"grow", "", "PrepareMember", "(the volume of its write-ahead log has 4Gi, and the spec asks for 8Gi)"},
		{"each claim of a member follows its own size, and the one of the data is first", both, Act, "expand-volume", "",
			"ExpandVolume", "Expand the volume of demo-2 to 20Gi"},
		{"and then the other one", both.edit(2, growingTo(20<<30, facts.GrowthUnderWay)), Act, "expand-volume", "",
			"ExpandVolume", "Expand the volume of the write-ahead log of demo-2 to 8Gi"},
		{"a log that a person made larger stays", bound(logged(3), 8<<30).edit(1, func(r *facts.Replica) {
			r.Volume.Half.Bytes, r.Volume.Half.Capacity = 30<<30, 30<<30
		}), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a full disk may be that of the log", bound(logged(3), 8<<30).edit(1, exited(etcdutil.ExitDiskFull)), Refuse,
			"member-health", facts.ReasonCrashing, "", "Raise spec.storage.size or spec.storage.wal.size"},
		{"and grows first", larger.edit(1, exited(etcdutil.ExitDiskFull)), Act, "expand-volume", "", "ExpandVolume",
			"Expand the volume of the write-ahead log of demo-1 to 8Gi"},
		{"a cluster that sleeps wakes on both halves", desire(bound(recordedAsleep(atRest()), 8<<30).edit(0, onLog(fast)).
			edit(1, onLog(fast)).edit(2, onLog(fast)), func(d *facts.Desired) { d.WAL = fast }), Act, "pods", "", "StartPods",
			"demo-0, demo-1, demo-2"},
		{"and starts none on one half", desire(bound(recordedAsleep(atRest()), 8<<30).edit(0, onLog(fast)).
			edit(1, onLog(fast)).edit(1, torn).edit(2, onLog(fast)), func(d *facts.Desired) { d.WAL = fast }), Act, "pods", "",
			"StartPods", "demo-0, demo-2"},
		{"nor where the spec names no class any more", logged(3).askingLog(facts.WAL{Bytes: 4 << 30}), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},
		{"nor where it is as the spec asks", logged(3), Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"a member whose log is gone is replaced", logged(3).edit(1, noPod).edit(1, torn), Act, "replace", "", "RemoveMember",
			"the volume of its write-ahead log is gone"},
		{"one that runs yet is followed by a new one first", logged(3).edit(1, torn), Act, "grow", "", "PrepareMember",
			"demo-1"},
	} {
		t.Run(row.name, row.check)
	}
}

func TestWhatIsLeftOfAVolumeIsDeletedOnceItsMemberIsGone(t *testing.T) {
	stray := facts.Stray{Member: "demo-7", VolumeRef: facts.VolumeRef{Name: "demo-7-wal", UID: "log"}}
	o := logged(3)
	o.Strays = []facts.Stray{stray}
	promised := o
	promised.Current.Bootstrap.Promised = "demo-7"
	ofMember := logged(3)
	ofMember.Strays = []facts.Stray{{Member: "demo-1", VolumeRef: stray.VolumeRef}}
	for _, row := range []row{
		{"its log goes", o, Act, "collect", "", "DeleteVolumes", "it held a write-ahead log, and the data of that is gone"},
		{"not where a member is about to get that name", promised, Settled, RuleSettled, facts.ReasonSettled, "", ""},
		{"the log of a member stays", ofMember, Settled, RuleSettled, facts.ReasonSettled, "", ""},
	} {
		t.Run(row.name, row.check)
	}
}

// guardedHalves are rows of volumes of which a half is lost.
func guardedHalves() []guardRow {
	sealed := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed, Settings: settings}}}
	whole := logged(3).edit(1, noPod)
	join := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsJoin}}}
	first := atBootstrap(3).edit(1, noPod)
	born := changes.Bootstrap{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsBootstrap, Settings: settings}}}
	left := logged(3)
	left.Strays = []facts.Stray{{Member: "demo-7", VolumeRef: facts.VolumeRef{Name: "demo-7-wal", UID: "log"}}}
	used := logged(3)
	used.Strays = []facts.Stray{{Member: "demo-1", VolumeRef: facts.VolumeRef{Name: "demo-7-wal", UID: "log"}}}
	ref := facts.VolumeRef{Name: "demo-2-wal", UID: "log-demo-2"}
	expand := changes.ExpandVolume{Volume: ref, Bytes: 8 << 30, LogOf: "demo-2"}
	small := bound(logged(3), 8<<30)
	collected := changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-7-wal", UID: "log"}}}
	return []guardRow{
		{"one log grows at a time", small, expand, small.edit(1, logGrowing(facts.GrowthUnderWay)), expand, "one does at a time"},
		{"no log shrinks", small, expand, small, changes.ExpandVolume{Volume: ref, Bytes: 1 << 30, LogOf: "demo-2"},
			"the volume demo-2-wal has more than 1Gi"},
		{"only the member's own log grows", small, expand, small, changes.ExpandVolume{Volume: facts.VolumeRef{Name: ref.Name,
			UID: "another"}, Bytes: 8 << 30, LogOf: "demo-2"}, "another one by now"},
		{"a member that starts on its data without its log", whole, sealed, whole.edit(1, torn), sealed,
			"of the volume of demo-1 one half is lost"},
		{"a learner that joins on half of its volume", settledWorld(1).with(added(1)), join,
			settledWorld(1).with(added(1)).edit(1, torn), join, "of the volume of demo-1 one half is lost"},
		{"a first member that starts on half of its volume", first, born, first.edit(1, torn), born,
			"of the volume of demo-1 one half is lost"},
		{"a log that is deleted beside its member", left, collected, used, collected, "nothing is left of demo-1"},
	}
}
