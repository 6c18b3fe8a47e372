package main

import (
	"math"
	"slices"
)

// spread is the middle of some samples and how far they lie apart.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf is NaN throughout when there are no samples.
func spreadOf(samples []sample) spread {
	if len(samples) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, s.Value)
	}
	slices.Sort(values)
	return spread{Median: median(values), Min: values[0], Max: values[len(values)-1]}
}

// median takes sorted values; of an even number it is the mean of the two in the middle.
func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
