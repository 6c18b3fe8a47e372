package world

import (
	"reflect"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// hazardRuns are the hazards one by one, and many at once. The soak alone plays them.
var hazardRuns = []struct {
	name    string
	hazards Hazards
	happens []string
}{
	{"corruption", Hazards{Corruption: true}, []string{"is corrupted"}},
	{"copied-volumes", Hazards{CopiedVolumes: true}, []string{"by a backup tool", "bound anew"}},
	{"edited-metadata", Hazards{EditedMetadata: true}, []string{"are taken off", "is edited", "volumes are kept"}},
	{"skewed-clocks", Hazards{SkewedClocks: true}, []string{"the clock of", "answers are dated"}},
	{"refusals", Hazards{Refusals: true}, []string{"are refused: true"}},
	{"rolled-back-disks", Hazards{RolledBack: true}, []string{"is rolled back"}},
	{"skewed-caches", Hazards{SkewedCaches: true}, nil},
	{"stale-specs", Hazards{StaleSpecs: true}, []string{"spec: size"}},
	{"restless", Hazards{Restless: true}, []string{"in the middle of a pass"}},
	{"two-replicas", Hazards{Overlap: true}, []string{"another replica acts"}},
	{"two-installs", Hazards{Installs: true}, []string{"another install looks"}},
	{"lost-replies", Hazards{LostReplies: true}, []string{"(err=the reply was lost)"}},
	{"slow-etcd", Hazards{SlowEtcd: true}, []string{"(err=etcdserver: unhealthy cluster)"}},
	{"garbage-collector", Hazards{Collection: true}, []string{"takes uid-1 apart"}},
	{"restores-across-minors", Hazards{Minors: true}, []string{"the cluster is of version", "restored RecordRestored",
		"restore-switch-over SwitchOver", "cancel-downgrade CancelDowngrade"}},
	{"other-amounts", Hazards{Amounts: true}, []string{"spec: amounts", "resize ResizePod", `"Infeasible"`,
		`"Deferred"`}},
	{"withdrawn-classes", Hazards{Classes: true}, []string{"is withdrawn", "asks for another StorageClass"}},
	{"other-cas", Hazards{OtherCAs: true}, []string{"holds ca-2 by now", "holds ca-1 again"}},
	{"rolled-cas", Hazards{CARolls: true, SkewedCaches: true}, []string{"Make a new CA", "sign from now on",
		"Retire the CA", "Remove the retired CA", "Take the CA of Secret own", "Renew the certificate of the CA",
		"a person had the CA"}},
	{"turned-tls", Hazards{TLSTurns: true, SkewedCaches: true, LostReplies: true}, []string{`spec: TLS "Disabled"`,
		`spec: TLS "Permissive"`, `spec: TLS ""`, "peer-url SetPeerScheme", "tls-mode"}},
	{"turned-tls-and-more", Hazards{TLSTurns: true, StaleSpecs: true, Restless: true, Overlap: true, SlowEtcd: true,
		Sleep: true}, []string{"peer-url SetPeerScheme"}},
	{"finalizers", Hazards{Finalizers: true}, []string{"a finalizer keeps"}},
	{"bloat", Hazards{Bloat: true}, []string{"compact Compact", "defragment StartDefrag", "the Pod is killed", "alarms DisarmAlarms",
		"keeps the room of what is compacted"}},
	{"windows", Hazards{Windows: true, Bloat: true}, []string{"roll EvictPod", "defragment StartDefrag"}},
	{"windows-across-minors", Hazards{Windows: true, Minors: true, Amounts: true}, []string{"enable-downgrade EnableDowngrade"}},
	{"full-nodes", Hazards{FullNodes: true}, []string{"volume demo-", "only its Pod keeps its successor"}},
	{"sleep", Hazards{Sleep: true, StaleSpecs: true}, []string{"hibernate FallAsleep", "asleep StopMembers", "awake WakeUp", "spec: size 0"}},
	{"shared-nodes", Hazards{SharedNodes: true}, []string{"the node of"}},
	{"many-at-once", Hazards{RolledBack: true, SkewedCaches: true, StaleSpecs: true, Restless: true, Overlap: true,
		LostReplies: true, SlowEtcd: true, Collection: true, SharedNodes: true}, []string{"in the middle of a pass"}},
	{"growth", Hazards{Growth: true}, []string{"expand-volume ExpandVolume", `growth of demo-`, `"Infeasible"`,
		"is full"}},
	{"speeds", Hazards{Speeds: true}, []string{"modify-volume ModifyVolume", `faster-than-light of a volume of`,
		`"Infeasible"`, "asks for none by now"}},
	{"drained", Hazards{Drains: true, SkewedCaches: true}, []string{"the node of", "a drain evicts", "will take the place of demo-",
		"(its node is cordoned)", "so no new member can follow it"}},
	{"drained-across-minors", Hazards{Drains: true, Minors: true}, []string{"(its node is cordoned)", "a drain evicts",
		"enable-downgrade EnableDowngrade", "cancel-downgrade CancelDowngrade"}},
	{"drained-and-more", Hazards{Drains: true, Windows: true, Bloat: true, StaleSpecs: true}, []string{"a drain evicts", "roll EvictPod",
		"defragment StartDefrag"}},
	{"moved", Hazards{Moves: true}, []string{"(its volume is of StorageClass", "(its volume was made for", "(only node", "spec.storage.replace is InPlace",
		"It serves on as it was",
		"abandon-learner RemoveMember", "a new member has its place", "(its data is on a volume", "(its data is in its Pod"}},
	{"moved-and-more", Hazards{Moves: true, TLSTurns: true}, []string{"(its volume is of StorageClass",
		"peer-url SetPeerScheme"}},
	{"moved-and-asleep", Hazards{Moves: true, Sleep: true}, []string{"(its data is on a volume", "(its data is in its Pod",
		"hibernate FallAsleep", "the cluster is to sleep with"}},
	{"logs-of-their-own", Hazards{WALs: true}, []string{"the volume of the log of", "growth of the log of", "(its write-ahead log lies beside its data",
		"(the volume of its write-ahead log is of StorageClass", "(the volume of its write-ahead log is gone"}},
	{"authentication", Hazards{Auth: true}, []string{"authentication MakeUsers", "authentication EnableAuth",
		"authentication DisableAuth", "a person turns authentication on: true", "a person deletes the user"}},
	{"asked", Hazards{Asks: true, Windows: true}, []string{"abandon-learner RemoveMember",
		"a new member has its place: the annotation", "and the annotation etcdsteward.dev/replace names it",
		"move-leader MoveLeader", "fence-member EvictPod", "fence-member MoveLeader", "without it the others are no quorum"}},
}

// mixed are the hazards of two runs at once. Seeds that follow each other go through all pairs.
func mixed(seed uint64) Hazards {
	runs := uint64(len(hazardRuns))
	mix := hazardRuns[seed%runs].hazards
	into := reflect.ValueOf(&mix).Elem()
	more := reflect.ValueOf(hazardRuns[seed/runs%runs].hazards)
	for i := range more.NumField() {
		into.Field(i).SetBool(into.Field(i).Bool() || more.Field(i).Bool())
	}
	mix.Amounts = mix.Amounts && !mix.Moves // both are told by Settings.Inputs
	return mix
}

// playHazard is one story under hazards, of a cluster that is restored in place or of one that is not.
func playHazard(t *tale, hazards Hazards) (plan.Decision, bool) {
	if t.seed%2 == 1 {
		return playInPlaceUnder(t, hazards)
	}
	return playUnder(t, hazards)
}

// playUnder is one story and its quiet end, in which the spec is put right and the hazards end.
func playUnder(t *tale, hazards Hazards) (plan.Decision, bool) {
	s := t.seed
	spec := Spec3([]int{1, 3, 3, 3, 5}[s%5])
	spec.Ephemeral = s%7 == 0
	spec.TLS = s%4 != 0
	if hazards.Drains {
		spec.Size = []int{1, 3, 1, 3, 3, 3}[s%6]
	}
	if hazards.SkewedClocks || hazards.Finalizers {
		spec.ReplaceAfter = time.Minute // so that some are replaced
	}
	spec.TLS = spec.TLS || hazards.CARolls
	if hazards.Amounts {
		spec.Settings.Inputs, spec.Settings.Fixed = "small", "amounts"
	}
	if hazards.Moves {
		spec.Ephemeral, spec.Settings.Inputs, spec.StorageClass = s%4 == 2, inPool("a"), "a"
		spec.LeavesFirst = s%3 == 0
	}
	if hazards.WALs {
		spec.Ephemeral, spec.WAL = false, facts.WAL{Bytes: 1 << 30, StorageClass: "a"}
	}
	if hazards.Minors && !spec.Ephemeral {
		spec.Restore = restoring(spec.Size).Restore
	}
	if hazards.Bloat {
		spec.Settings.QuotaBytes, spec.Upkeep.Compacts = 2<<30, true
	}
	if hazards.Windows {
		spec.Upkeep.Reclaimable = 50
	}
	w := t.begin(spec)
	w.Suffer(hazards)
	if hazards.FullNodes {
		w.Nodes = spec.Size
	}
	if hazards.CARolls && s%3 == 0 {
		w.GiveCA() // the cluster begins with it
	}
	if !spec.Restore.IsZero() {
		w.storeOf(spec.Restore).newest = int(s / 2 % 5)
	}
	w.suffer(250, 4+w.chance(60, "rate", ""), w.Fault)
	if hazards.Refusals && !hazards.Restless && !w.IsUnsafe() {
		w.Spec.Paused = false
		w.Settle(200) // what is refused is not tried again and again
	}
	if hazards.FullNodes {
		w.Nodes = w.Spec.Size
	}
	w.Spec.Paused, w.Spec.Settings = false, spec.Settings
	w.ToggleQuota(false)
	w.SpoilBackups(false)
	w.Spec.Restore.Fault = ""
	w.Calm()
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	if hazards.FullNodes {
		w.Settle(400) // long enough for a member to make room
		w.Nodes = 0
	}
	return w.Settle(3000)
}
