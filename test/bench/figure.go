package main

import (
	"fmt"
	"math"
)

// side is who did the work.
type side string

const (
	ours  side = "ours"
	floor side = "floor" // Kubernetes and etcd with no operator
)

// sides in the order in which they take turns.
var sides = []side{floor, ours}

// sample is one measurement.
type sample struct {
	Value    float64  `json:"value"`
	Note     string   `json:"note,omitempty"`
	Busy     float64  `json:"busy,omitempty"`     // share of the machine's processors, by everybody on it
	Timeline []string `json:"timeline,omitempty"` // what happened when, in seconds of this sample
}

// figure is something measured again and again, and what it should be: at most so many times the floor's median, plus
// something. With nothing on top it is the ratio that is shown; with no floor to hold it against, Plus is the target.
type figure struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Times  float64  `json:"times,omitempty"`
	Plus   float64  `json:"plus"`            // in the unit
	Worst  bool     `json:"worst,omitempty"` // the worst sample is held against it, and not the median
	Ours   []sample `json:"ours"`
	Floor  []sample `json:"floor,omitempty"`
	Detail any      `json:"detail,omitempty"`
}

// isRatio reports a figure that is a number of times its floor, and nothing else.
func (f *figure) isRatio() bool { return f.Times > 0 && f.Plus == 0 }

// value is what is held against the target, NaN while a side lacks.
func (f *figure) value() float64 {
	value := spreadOf(f.Ours).Median
	if f.Worst {
		value = spreadOf(f.Ours).Max
	}
	if f.isRatio() {
		value /= spreadOf(f.Floor).Median
	}
	return value
}

// target is how high the value may be, NaN while it depends on a floor that was not measured.
func (f *figure) target() float64 {
	switch {
	case f.isRatio():
		return f.Times
	case f.Times > 0:
		return f.Times*spreadOf(f.Floor).Median + f.Plus
	}
	return f.Plus
}

// isHit is false for a figure of which a side was not measured: NaN is below nothing.
func (f *figure) isHit() bool { return f.value() <= f.target() }

// rule says where the target comes from, where that is more than one number.
func (f *figure) rule() string {
	if f.isRatio() || f.Times == 0 {
		return ""
	}
	return fmt.Sprintf(" = %g × floor + %g %s", f.Times, f.Plus, f.Unit)
}

// show is a value in the figure's unit.
func (f *figure) show(value float64) string {
	switch {
	case math.IsNaN(value):
		return "-"
	case f.Unit == unitCount, f.Unit == unitChanges:
		return fmt.Sprintf("%g", value)
	}
	return fmt.Sprintf("%.2f %s", value, f.Unit)
}

// Units of figures.
const (
	unitSeconds = "s"
	unitCount   = "requests"
	unitChanges = "changes"
	unitMemory  = "MiB"

	unitMilliseconds = "ms"
)
