package main

import (
	"math"
	"testing"
)

func samples(values ...float64) []sample {
	out := make([]sample, 0, len(values))
	for _, v := range values {
		out = append(out, sample{Value: v})
	}
	return out
}

func TestTheMedianIsTheMiddleAndOfAnEvenNumberTheMeanOfTwo(t *testing.T) {
	for name, c := range map[string]struct {
		samples []sample
		want    spread
	}{
		"one":            {samples(4), spread{4, 4, 4}},
		"odd, unsorted":  {samples(9, 1, 5), spread{5, 1, 9}},
		"even, unsorted": {samples(8, 2, 4, 1), spread{3, 1, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spreadOf(c.samples); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if got := spreadOf(nil).Median; !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestAFigureIsHeldAgainstItsFloorOrAgainstANumber(t *testing.T) {
	for name, c := range map[string]struct {
		figure figure
		value  float64
		hit    bool
	}{
		"a ratio below":             {figure{Times: 1.3, Ours: samples(12), Floor: samples(10)}, 1.2, true},
		"a ratio right at it":       {figure{Times: 1.5, Ours: samples(3), Floor: samples(2)}, 1.5, true},
		"a ratio above":             {figure{Times: 1.3, Ours: samples(14), Floor: samples(10)}, 1.4, false},
		"a number below":            {figure{Plus: 36, Ours: samples(31, 40, 30)}, 31, true},
		"a sum right at it":         {figure{Times: 2, Plus: 4, Ours: samples(12), Floor: samples(4)}, 12, true},
		"a sum above":               {figure{Times: 2, Plus: 4, Ours: samples(13), Floor: samples(4)}, 13, false},
		"the worst, not the median": {figure{Plus: 1, Worst: true, Ours: samples(0, 0, 2)}, 2, false},
		"a number above":            {figure{Ours: samples(1)}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.figure.value(); got != c.value {
				t.Errorf("the value is %v, want %v", got, c.value)
			}
			if got := c.figure.isHit(); got != c.hit {
				t.Errorf("hit is %v, want %v", got, c.hit)
			}
		})
	}
}

func TestAFigureWithOneSideIsNoHit(t *testing.T) {
	for name, f := range map[string]figure{
		"no floor":           {Times: 1.3, Ours: samples(1)},
		"no floor of a sum":  {Times: 2, Plus: 4, Ours: samples(1)},
		"no ours":            {Times: 1.3, Floor: samples(1)},
		"nothing":            {Plus: 15},
		"nothing, the worst": {Plus: 1, Worst: true},
	} {
		if f.isHit() {
			t.Errorf("%s: hit", name)
		}
	}
}
