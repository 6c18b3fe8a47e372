// Package metrictest reads metrics as tests compare them.
package metrictest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Gather returns all samples by name with labels, such as `etcdsteward_cluster_ready{name="demo",namespace="team"}`.
func Gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			samples[family.GetName()+"{"+labelsOf(metric)+"}"] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return samples
}

func labelsOf(metric *dto.Metric) string {
	var pairs []string
	for _, l := range metric.GetLabel() {
		pairs = append(pairs, l.GetName()+`="`+l.GetValue()+`"`)
	}
	return strings.Join(pairs, ",")
}

var nameInDesc = regexp.MustCompile(`fqName: "([a-z_]+)"`)

// Described are the names of all metrics that may be exported, sorted.
func Described(registry *prometheus.Registry) []string {
	descs := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descs)
		close(descs)
	}()
	var names []string
	for desc := range descs {
		names = append(names, nameInDesc.FindStringSubmatch(desc.String())[1])
	}
	slices.Sort(names)
	return names
}

// Exported fails unless each metric that is described has a series.
func Exported(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, family := range families {
		exported = append(exported, family.GetName())
	}
	if described := Described(registry); len(exported) == 0 || !slices.Equal(exported, described) {
		t.Errorf("described and exported metrics differ\ndescribed: %v\nexported:  %v", described, exported)
	}
}
