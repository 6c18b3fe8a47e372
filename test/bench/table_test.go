package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func measured() result {
	r := result{Kubernetes: "v1.36.3"}
	for _, f := range []*figure{
		{Name: "create", Unit: unitSeconds, Times: 1.3, Ours: samples(7, 8, 6.5), Floor: samples(6, 7, 5)},
		{Name: "writes", Unit: unitCount, Plus: 36, Ours: samples(37)},
		{Name: "gap", Unit: unitSeconds, Times: 3, Plus: 6, Ours: samples(20), Floor: samples(4)},
		{Name: "half", Unit: unitSeconds, Times: 1.2, Floor: samples(6)},
	} {
		r.Figures = append(r.Figures, judge(f))
	}
	return r
}

func TestTheTableShowsBothSidesTheirSpreadAndTheVerdict(t *testing.T) {
	var text strings.Builder
	measured().print(&text)
	rows := map[string]string{}
	for line := range strings.Lines(text.String()) {
		if fields := strings.Fields(line); len(fields) > 0 {
			rows[fields[0]] = strings.Join(fields, " ")
		}
	}
	for name, want := range map[string]string{
		"create": "create 7.00 s [6.5..8] n=3 6.00 s [5..7] n=3 1.17 × ≤ 1.30 × hit",
		"writes": "writes 37 [37..37] n=1 - 37 ≤ 36 MISS",
		"gap":    "gap 20.00 s [20..20] n=1 4.00 s [4..4] n=1 20.00 s ≤ 18.00 s = 3 × floor + 6 s MISS",
		"half":   "half - 6.00 s [6..6] n=1 - ≤ 1.20 × MISS",
	} {
		if rows[name] != want {
			t.Errorf("got  %q\nwant %q", rows[name], want)
		}
	}
}

func TestAMissedTargetIsAnErrorThatNamesTheFigureItsValueAndItsTarget(t *testing.T) {
	r := measured()
	err := r.missed()
	if err == nil {
		t.Fatal("three figures miss their target, and that is no error")
	}
	for _, want := range []string{"3 of 4", "writes is 37, and may be 36", "gap is 20.00 s, and may be 18.00 s", "half is -, and may be 1.20 ×"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	r.Figures = r.Figures[:1]
	if err := r.missed(); err != nil {
		t.Errorf("all hit: %v", err)
	}
}

func TestTheFileHoldsEverySampleAndTheValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there", "bench.json")
	if err := measured().write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Figures []struct {
			Name  string
			Ours  []sample
			Value *float64
			Hit   bool
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	create, half := read.Figures[0], read.Figures[3]
	if len(create.Ours) != 3 || create.Value == nil || *create.Value < 1.16 || *create.Value > 1.17 || !create.Hit {
		t.Errorf("read back %+v", create)
	}
	if half.Value != nil || half.Hit {
		t.Errorf("a figure that lacks a side has a value: %+v", half)
	}
}
