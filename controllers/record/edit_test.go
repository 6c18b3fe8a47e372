package record

import (
	"reflect"
	"slices"
	"testing"
)

func beginning() Bootstrap {
	return Bootstrap{Incarnation: "ab", Counter: 1, Token: "t", Names: []string{"demo-0", "demo-1"}, LastCounter: 3, NextOrdinal: 4}
}

func having(edit func(*Bootstrap)) Bootstrap {
	b := beginning()
	edit(&b)
	return b
}

func restoring(b *Bootstrap) { b.ClusterID, b.Next = 1, second() }

func second() Next {
	return Next{Incarnation: "cd", Counter: 4, Token: "t2", Names: []string{"demo-4"}, Source: SourceBackup, Origin: backedUp(), Restore: "wish"}
}

// failing is a record that switched over to an incarnation which does not serve.
func failing(b *Bootstrap) {
	b.Incarnation, b.Counter, b.Token, b.Names, b.Origin, b.Restore, b.Served = "cd", 3, "t2", []string{"demo-2", "demo-3"}, backedUp(), "wish", 9
	b.Former = []Former{{Incarnation: "01"}, {Incarnation: "ab", Restore: "wish before", Voters: []string{"demo-0", "demo-1"}}}
}

func TestAnEditFindsTheRecordThatItsCallerSawOrChangesNothing(t *testing.T) {
	volumes := map[string]string{"demo-4": "uid-4"}
	void := func(b *Bootstrap) { b.Void = true }
	bootstrapped := func(b *Bootstrap) { b.ClusterID = 1 }
	giveUp := func(b *Bootstrap) bool { return b.GiveUp("ab") }
	again := func(b *Bootstrap) bool {
		return b.BeginAgain("ab", Bootstrap{Incarnation: "ef", Token: "t3", Names: []string{"demo-0"}})
	}
	begin := func(b *Bootstrap) bool { return b.Begin("ab", volumes) }
	identify := func(b *Bootstrap) bool { return b.Identify("ab", 1) }
	promise := func(b *Bootstrap) bool { return b.Promise("ab", "demo-4", 4) }
	next := func(b *Bootstrap) bool { return b.BeginNext("ab", second(), 5) }
	drop := func(b *Bootstrap) bool { return b.DropNext("cd") }
	move := func(b *Bootstrap) bool { return b.SwitchOver("ab", "cd", volumes, []string{"demo-0"}) }
	back := func(b *Bootstrap) bool {
		return b.GoBack("cd", "wish back", Bootstrap{Incarnation: "ab", Token: "t", Names: []string{"demo-0"}, ClusterID: 1})
	}
	asleep := func(b *Bootstrap) { b.ClusterID, b.Asleep = 1, true }
	sleep := func(b *Bootstrap) bool { return b.FallAsleep("ab") }
	wake := func(b *Bootstrap) bool { return b.WakeUp("ab") }
	own := func(b *Bootstrap) bool { return b.OwnAuth("ab", true) }
	disown := func(b *Bootstrap) bool { return b.OwnAuth("ab", false) }
	owned := func(b *Bootstrap) { b.ClusterID, b.Auth = 1, true }
	another := func(b *Bootstrap) { b.Incarnation = "99" }
	both := func(edits ...func(*Bootstrap)) func(*Bootstrap) {
		return func(b *Bootstrap) {
			for _, edit := range edits {
				edit(b)
			}
		}
	}
	for name, row := range map[string]struct {
		from func(*Bootstrap)
		edit func(*Bootstrap) bool
	}{
		"another bootstrap is not given up":             {another, giveUp},
		"a cluster that serves is not given up":         {bootstrapped, giveUp},
		"what was not given up is not followed":         {func(*Bootstrap) {}, again},
		"what serves is not followed":                   {both(void, bootstrapped), again},
		"another one is not followed":                   {both(void, another), again},
		"another bootstrap does not begin":              {another, begin},
		"what was given up does not begin":              {void, begin},
		"another incarnation is another cluster":        {another, identify},
		"no cluster came of what was given up":          {void, identify},
		"a cluster has one identity":                    {func(b *Bootstrap) { b.ClusterID = 2 }, identify},
		"a name is never given twice":                   {func(b *Bootstrap) { b.NextOrdinal = 5 }, promise},
		"a name is not given in what was given up":      {void, promise},
		"a name is not given in another incarnation":    {another, promise},
		"a restore is not of another incarnation":       {another, next},
		"a restore is not of what was given up":         {void, next},
		"one restore at a time":                         {func(b *Bootstrap) { b.Next = Next{Incarnation: "99"} }, next},
		"a counter is never used twice":                 {func(b *Bootstrap) { b.LastCounter = 4 }, next},
		"nor that of the current one":                   {func(b *Bootstrap) { b.Counter, b.LastCounter = 4, 0 }, next},
		"nor a name that was promised meanwhile":        {func(b *Bootstrap) { b.NextOrdinal = 5 }, next},
		"what is current by now is not dropped":         {func(b *Bootstrap) { b.Incarnation = "cd" }, drop},
		"another restore is not dropped":                {func(b *Bootstrap) { b.Next = Next{Incarnation: "99"} }, drop},
		"nothing is switched over to without a restore": {bootstrapped, move},
		"nor to another incarnation":                    {func(b *Bootstrap) { b.Next = Next{Incarnation: "99"} }, move},
		"nor from another one":                          {both(restoring, another), move},
		"nor from what was given up":                    {both(restoring, void), move},
		"a cluster does not go back from what serves":   {both(failing, bootstrapped), back},
		"nor from another incarnation":                  {both(failing, another), back},
		"nor from what was given up to another":         {both(failing, void), back},
		"nor while a restore prepares another":          {both(failing, func(b *Bootstrap) { b.Next = second() }), back},
		"nor to what did not end last":                  {both(failing, func(b *Bootstrap) { b.Former = b.Former[:1] }), back},
		"nor where nothing ended":                       {both(failing, func(b *Bootstrap) { b.Former = nil }), back},
		"nor to what has no identity":                   {failing, func(b *Bootstrap) bool { return b.GoBack("cd", "wish back", Bootstrap{Incarnation: "ab"}) }},
		"nor for another request once it did": {func(b *Bootstrap) { failing(b); back(b) }, func(b *Bootstrap) bool {
			return b.GoBack("cd", "another wish", Bootstrap{Incarnation: "ab", ClusterID: 1})
		}},
		"nor to what is current all the while":              {bootstrapped, back},
		"another incarnation does not sleep":                {both(bootstrapped, another), sleep},
		"nor what never served":                             {func(*Bootstrap) {}, sleep},
		"nor what was given up":                             {both(bootstrapped, void), sleep},
		"nor what a restore is about to end":                {restoring, sleep},
		"another incarnation does not wake":                 {both(asleep, another), wake},
		"nor is authentication of another one for the spec": {another, own},
	} {
		got := having(row.from)
		if row.edit(&got) || !reflect.DeepEqual(got, having(row.from)) {
			t.Errorf("%s: it became %+v", name, got)
		}
	}
	for name, row := range map[string]struct {
		from func(*Bootstrap)
		edit func(*Bootstrap) bool
		want func(*Bootstrap)
	}{
		"a bootstrap is given up": {func(*Bootstrap) {}, giveUp, void},
		"what it used up stays used up in the next one": {void, again, func(b *Bootstrap) {
			*b = Bootstrap{Incarnation: "ef", Token: "t3", Names: []string{"demo-0"}, LastCounter: 3, NextOrdinal: 4}
		}},
		"Pods may begin":                    {func(*Bootstrap) {}, begin, func(b *Bootstrap) { b.Begun, b.Volumes, b.NextOrdinal = true, volumes, 2 }},
		"what began stays as it began":      {func(b *Bootstrap) { b.Begun = true }, begin, func(b *Bootstrap) { b.Begun = true }},
		"a cluster is identified":           {func(*Bootstrap) {}, identify, bootstrapped},
		"a name is promised":                {func(*Bootstrap) {}, promise, func(b *Bootstrap) { b.Promised, b.NextOrdinal = "demo-4", 5 }},
		"a restore begins":                  {bootstrapped, next, both(restoring, func(b *Bootstrap) { b.LastCounter, b.NextOrdinal = 4, 5 })},
		"a restore is called off":           {restoring, drop, bootstrapped},
		"a cluster falls asleep":            {bootstrapped, sleep, asleep},
		"a cluster wakes":                   {asleep, wake, bootstrapped},
		"authentication is on for the spec": {bootstrapped, own, owned},
		"and is so no more":                 {owned, disown, bootstrapped},
		"the next incarnation is the current one": {both(restoring, func(b *Bootstrap) { b.Restore, b.Promised = "wish before", "demo-3" }), move, func(b *Bootstrap) {
			*b = Bootstrap{Incarnation: "cd", Counter: 4, Token: "t2", Names: []string{"demo-4"}, Origin: backedUp(), Restore: "wish", Begun: true, Volumes: volumes,
				LastCounter: 3, NextOrdinal: 4, Served: 7, Former: []Former{{Incarnation: "ab", Restore: "wish before", Voters: []string{"demo-0"}}}}
		}},
		"the previous incarnation is the current one again": {failing, back, func(b *Bootstrap) {
			*b = Bootstrap{Incarnation: "ab", Counter: 3, Token: "t", Names: []string{"demo-0"}, ClusterID: 1, Restore: "wish before",
				LastCounter: 3, NextOrdinal: 4, Served: 9, Former: []Former{{Incarnation: "01"},
					{Incarnation: "cd", Restore: "wish", Voters: []string{"demo-2", "demo-3"}, Back: "wish back"}}}
		}},
	} {
		got := having(row.from)
		for _, time := range []string{"first", "second"} {
			if !row.edit(&got) || !reflect.DeepEqual(got, having(row.want)) {
				t.Errorf("%s, the %s time: it became %+v\nwant %+v", name, time, got, having(row.want))
			}
		}
	}
}

func TestAFormerIncarnationIsNotLostByAnotherRestore(t *testing.T) {
	b := having(restoring)
	b.Former = []Former{{Incarnation: "01"}}
	if !b.SwitchOver("ab", "cd", nil, nil) || !slices.EqualFunc(b.Former, []string{"01", "ab"}, func(f Former, name string) bool { return f.Incarnation == name }) {
		t.Errorf("%+v", b.Former)
	}
}

func TestAPromiseEndsWithItsNameOnly(t *testing.T) {
	b := Bootstrap{Promised: "demo-4"}
	if b.BreakPromise("demo-3"); b.Promised != "demo-4" {
		t.Error("the promise of another name ended")
	}
	if b.BreakPromise("demo-4"); b.Promised != "" {
		t.Error("the promise stands")
	}
}

func TestARestoreIsPreparedForItsOwnRequestOnly(t *testing.T) {
	b := having(restoring)
	if !b.Prepares("cd", "wish") || b.Prepares("cd", "another wish") || b.Prepares("ef", "wish") {
		t.Errorf("%+v", b.Next)
	}
	if b.Incarnation = "cd"; b.Prepares("cd", "wish") {
		t.Error("the current incarnation is not prepared")
	}
}
