package record

import (
	"math"
	"testing"
)

func TestARecordSaysHowFarRevisionsHaveComeOverEveryKindOfRestore(t *testing.T) {
	const bump, before = 2 * DefaultBump, DefaultBump + 5
	restored := func(edit func(*Bootstrap)) Bootstrap {
		return having(func(b *Bootstrap) {
			restoring(b)
			b.Served, b.Next.Bump = before, bump
			edit(b)
		})
	}
	for name, row := range map[string]struct {
		from        Bootstrap
		begins, now int64
	}{
		"of a backup": {restored(func(*Bootstrap) {}), bump + 7, bump + 7},
		"of a survivor": {restored(func(b *Bootstrap) {
			b.Next.Source, b.Next.Survivor, b.Next.Origin = SourceSurvivor, "demo-0", Origin{Hash: "h", Revision: before + 9}
		}), before + 9 + bump, before + 9 + bump},
		"of a survivor that said nothing": {restored(func(b *Bootstrap) {
			b.Next.Source, b.Next.Survivor, b.Next.Origin = SourceSurvivor, "demo-0", Origin{Hash: "h"}
		}), before + bump, before + bump + DefaultBump},
		"of nothing":                          {restored(func(b *Bootstrap) { b.Next.Source, b.Next.Origin = SourceEmpty, Origin{} }), bump, bump},
		"that an older release began too low": {restored(func(b *Bootstrap) { b.Next.Bump = 1 }), 8, before},
		"beyond what etcd can count":          {restored(func(b *Bootstrap) { b.Next.Bump = math.MaxInt64 }), math.MinInt64 + 6, before},
	} {
		if got := row.from.BeginsAt(row.from.Next); got != row.begins {
			t.Errorf("a restore %s begins at %d, want %d", name, got, row.begins)
		}
		if !row.from.SwitchOver("ab", "cd", nil, nil) || row.from.Served != row.now {
			t.Errorf("after a restore %s the record says %d, want %d", name, row.from.Served, row.now)
		}
	}
}

func TestARecordOfAnOlderReleaseIsTakenToHaveBeenRaisedByTheDefault(t *testing.T) {
	for want, b := range map[int64]Bootstrap{
		0: {}, DefaultBump + 7: {Origin: backedUp()}, 5 * DefaultBump: {Origin: backedUp(), Served: 5 * DefaultBump}, 9: {Served: 9},
	} {
		if got := b.BeganAt(); got != want {
			t.Errorf("%+v: %d, want %d", b, got, want)
		}
	}
}
