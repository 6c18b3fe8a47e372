package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcdsteward/etcd-steward/controllers/access"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/cluster"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

// That each of them is exported is for the tests of the wings.
func TestEveryMetricIsDocumentedAndEveryDocumentedMetricIsThere(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	_, ofClusters := cluster.NewMetrics(registry)
	_, ofBackups := backup.NewMetrics(registry)
	_, ofSchedules := schedule.NewMetrics(registry)
	_, ofClients := access.NewMetrics(registry)
	if err := errors.Join(ofClusters, ofBackups, ofSchedules, ofClients); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(etcdsteward_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(documented)
	if described := metrictest.Described(registry); len(described) == 0 || !slices.Equal(described, documented) {
		t.Errorf("metrics and their page differ\nmetrics:    %v\ndocumented: %v", described, documented)
	}
}
