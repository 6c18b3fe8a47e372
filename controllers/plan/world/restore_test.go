package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// restoring is the usual wish, to begin with a backup.
func restoring(size int) facts.Desired {
	spec := Spec3(size)
	spec.Restore.Hash = "one"
	spec.Settings.QuotaBytes = usualQuota
	return spec
}

func TestAClusterOfEachSizeIsRestoredAndSettles(t *testing.T) {
	each(t, []int{1, 3, 5, 7}, func(t *testing.T, size int) {
		w := New(uint64(size), restoring(size))
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 ||
			len(w.Observe().Current.HealthyVoters()) != size {
			t.Fatalf("size %d: %+v %v\n%s", size, d, w.Violations, firstStory(t, w))
		}
		if c := w.clusters[w.bootstrapped]; c == nil || c.from != "sha of one/0" {
			t.Fatalf("size %d: the cluster does not hold the backup\n%s", size, firstStory(t, w))
		}
		if w.objects.preflight != nil || len(w.objects.restores) > 0 {
			t.Fatalf("size %d: Pods of the restore are left\n%s", size, firstStory(t, w))
		}
	})
}

func TestABackupThatCannotBeUsedIsRefusedUntilItIsPutRight(t *testing.T) {
	w := New(1, restoring(3))
	w.storeOf(w.Spec.Restore).spoiled = true
	for range 900 {
		w.Advance()
		w.Pass()
	}
	if d := w.Pass(); w.objects.bootstrap.Exists() || d.Rule != "restore-source" {
		t.Fatalf("something was born of a backup that cannot be read: %+v\n%s", d, firstStory(t, w))
	}
	w.SpoilBackups(false)
	if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("%+v %v\n%s", d, w.Violations, firstStory(t, w))
	}
}

func TestABackupLargerThanTheQuotaIsBegunWithOnceThereIsRoom(t *testing.T) {
	w := New(1, restoring(3))
	w.storeOf(w.Spec.Restore)
	w.LargerBackups()
	if d, rests := w.Settle(1500); !rests || d.Rule != "restore-source" || !d.NeedsHuman || w.objects.bootstrap.Exists() {
		t.Fatalf("%+v\n%s", d, firstStory(t, w))
	}
	w.Spec.Settings.QuotaBytes = 2 * usualQuota
	if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("%+v %v\n%s", d, w.Violations, firstStory(t, w))
	}
	if n := mentions(w.Log, "restore-source StartPreflight"); n != 1 {
		t.Errorf("it was looked at %d times\n%s", n, firstStory(t, w))
	}
}

func TestABackupThatIsNoneIsLookedAtOnceUntilAPersonAsksAgain(t *testing.T) {
	w := New(2, restoring(3))
	w.storeOf(w.Spec.Restore)
	w.DamageNewest()
	for range 900 {
		w.Advance()
		w.Pass()
	}
	if n := mentions(w.Log, "restore-source StartPreflight"); n != 1 || w.objects.bootstrap.Exists() {
		t.Fatalf("it was looked at %d times\n%s", n, firstStory(t, w))
	}
	w.NewerBackups()
	w.NewerBackups() // one without an alarm
	w.DeletePreflight()
	if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("%+v %v\n%s", d, w.Violations, firstStory(t, w))
	}
}

func TestAnAlarmThatCameWithABackupIsTakenBackOnceThereIsRoom(t *testing.T) {
	each(t, seeds(8), func(t *testing.T, seed uint64) {
		w := New(seed, restoring(3))
		w.storeOf(w.Spec.Restore)
		w.NewerBackups()
		d, rests := w.Settle(1500)
		wasFull := w.clusters[w.bootstrapped].full
		if !rests || len(w.Violations) > 0 || wasFull != (d.Reason == facts.ReasonAlarm) ||
			wasFull != w.clusters[w.bootstrapped].alarm {
			t.Fatalf("seed %d, full %v: %+v %v\n%s", seed, wasFull, d, w.Violations, firstStory(t, w))
		}
		w.FreeSpace()
		if d, rests = w.Settle(300); !rests || d.Verdict != plan.Settled || w.clusters[w.bootstrapped].alarm ||
			len(w.Violations) > 0 {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}

func TestABackupWithAuthenticationBeginsNothingWithoutCertificates(t *testing.T) {
	each(t, []bool{true, false}, func(t *testing.T, tls bool) {
		spec := restoring(3)
		spec.Restore.Hash, spec.TLS = "two", tls
		w := New(4, spec)
		d, rests := w.Settle(1500)
		if !rests || len(w.Violations) > 0 || tls != (d.Verdict == plan.Settled) || tls != w.objects.bootstrap.Exists() {
			t.Fatalf("certificates %v: %+v %v\n%s", tls, d, w.Violations, firstStory(t, w))
		}
	})
}

func TestAWishThatChangesOnALivingClusterChangesNothing(t *testing.T) {
	each(t, []bool{false, true}, func(t *testing.T, isRestored bool) {
		begin := Spec3(3)
		if isRestored {
			begin = restoring(3)
		}
		w := New(3, begin)
		w.Settle(1500)
		for _, wish := range []string{"two", ""} {
			w.Spec.Restore.Hash = wish
			before := len(w.Log)
			if d, rests := w.Settle(300); !rests || d.Verdict != plan.Settled || len(w.Log) != before {
				t.Fatalf("%q to %q: %+v\n%s", begin.Restore.Hash, wish, d, firstStory(t, w))
			}
		}
	})
}

// The operator dies after each number of effects in turn, in every pass.
func TestARestoreGoesOnWhereverTheOperatorDies(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		each(t, []int{1, 2, 3, 4}, func(t *testing.T, effects int) {
			w := New(uint64(10*size+effects), restoring(size))
			for range 600 {
				w.Advance()
				w.take(w.ObserveStale(), effects)
			}
			if d, rests := w.Settle(1500); !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
				t.Fatalf("size %d, %d effects: %+v %v\n%s", size, effects, d, w.Violations, firstStory(t, w))
			}
		})
	})
}

// restoreEvents must happen in stories, or these prove nothing.
var restoreEvents = []string{
	"restore-source StartPreflight", "restore-source DeletePreflight", "restored RecordRestored",
	"restored DeleteRestores", "and is tried again",
	"asks to begin with another backup", "void-birth DeleteRestores", "void-birth NextBootstrap",
	"restore-leftover DeletePreflight", "RecordBootstrap",
	"fault: restore Pod", "alarms DisarmAlarms", "fault: preflight Pod", "fault: backups spoiled: true",
	"fault: the newest backups are damaged", "spec: begin with",
}

// playRestore is one story of a cluster that is to begin with a backup, whose faults come early.
func playRestore(t *tale) (plan.Decision, bool) {
	s := t.seed
	spec := restoring([]int{1, 3, 3, 5}[s%4])
	spec.TLS = s%4 != 0
	w := t.begin(spec)
	w.storeOf(spec.Restore).newest = int(s % 2)
	w.suffer(60+w.chance(120, "steps", ""), 3+w.chance(30, "rate", ""), w.restoreFaultOrOther)
	w.Spec.Paused, w.Spec.Settings = false, spec.Settings
	w.ToggleQuota(false)
	w.SpoilBackups(false)
	w.Spec.Restore.Fault = ""
	if s%2 == 0 {
		w.FreeSpace()
	}
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	return w.Settle(3000)
}
