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

// figure is something measured again and again, and what it should be.
type figure struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Target float64  `json:"target"` // at most; of the ratio to the floor if IsRatio, else of the median
	Ratio  bool     `json:"ratio"`
	Ours   []sample `json:"ours"`
	Floor  []sample `json:"floor,omitempty"`
	Detail any      `json:"detail,omitempty"`
}

// value is what is held against the target: the ratio of the medians, or the median itself. It is NaN while a side lacks.
func (f *figure) value() float64 {
	if f.Ratio {
		return spreadOf(f.Ours).Median / spreadOf(f.Floor).Median
	}
	return spreadOf(f.Ours).Median
}

// isHit is false for a figure that was not measured.
func (f *figure) isHit() bool {
	value := f.value()
	return !math.IsNaN(value) && value <= f.Target
}

// show is a value in the figure's unit.
func (f *figure) show(value float64) string {
	switch {
	case math.IsNaN(value):
		return "-"
	case f.Unit == unitCount:
		return fmt.Sprintf("%g", value)
	}
	return fmt.Sprintf("%.2f %s", value, f.Unit)
}

// Units of figures.
const (
	unitSeconds = "s"
	unitCount   = "requests"
	unitMemory  = "MiB"
)
