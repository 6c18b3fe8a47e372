package main

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// scale is a unit that people read, by how many of Grafana's it has. A value is written in the largest that fits.
type scale struct {
	size float64
	name string
}

// scales are by Grafana's names of units, the smallest first.
var scales = map[string][]scale{
	"":            {{1, ""}},
	"s":           {{1e-6, " µs"}, {1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}, {day, " d"}},
	"bytes":       {{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}},
	"percentunit": {{0.01, " %"}},
	"ops":         {{1, " /s"}},
	"wps":         {{1, " /s"}},
	"reqps":       {{1, " /s"}},
}

func scaleOf(unit string, value float64) scale {
	fits := scales[unit][0]
	for _, s := range scales[unit] {
		if s.size <= math.Abs(value) {
			fits = s
		}
	}
	return fits
}

// written is a value with its unit, as people read it.
func written(unit string, value float64) string {
	if value == 0 {
		return "0"
	}
	s := scaleOf(unit, value)
	inUnit := value / s.size
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(inUnit)))))
	text := strconv.FormatFloat(inUnit, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + s.name
}

// nice is the first of 1, 2, 5, 10, 20, … that is not below a number above 0.
func nice(number float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(number)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= number*0.999 {
			return factor * power
		}
	}
	return 10 * power
}

// valueStep is how far apart the marks of an axis from 0 to a value are.
func valueStep(unit string, highest float64) float64 {
	s := scaleOf(unit, highest)
	return nice(highest/s.size/4) * s.size
}

// timeStep is how far apart the marks of an axis of time are.
func timeStep(span time.Duration) time.Duration {
	const most = 6
	for _, step := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
		5 * time.Minute, 10 * time.Minute, 30 * time.Minute} {
		if span <= most*step {
			return step
		}
	}
	return (span/most + time.Hour).Truncate(time.Hour)
}
