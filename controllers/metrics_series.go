package controllers

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/prometheus/client_golang/prometheus"
)

// series writes the series of one cluster.
type series struct {
	out    chan<- prometheus.Metric
	values report.Values
}

func (s series) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	labels = append([]string{s.values.Namespace, s.values.Name}, labels...)
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func (s series) collectState() {
	v := s.values
	s.gauge(infoDesc, 1, v.Version, v.TLS, v.Storage)
	s.gauge(readyDesc, number(v.Ready))
	s.gauge(servedDesc, number(v.Served))
	s.gauge(pausedDesc, number(v.Paused))
	for kind, status := range v.Conditions {
		s.gauge(conditionDesc, 1, kind, strings.ToLower(status))
	}
	for _, alarm := range v.Alarms {
		s.gauge(alarmDesc, 1, alarm)
	}
	if !v.CertificateExpiry.IsZero() {
		s.gauge(expiryDesc, float64(v.CertificateExpiry.Unix()))
	}
}

func (s series) collectMembers() {
	v := s.values
	s.gauge(desiredDesc, float64(v.Desired))
	if v.Members != nil {
		s.gauge(membersDesc, float64(v.Members.Voters), "voter")
		s.gauge(membersDesc, float64(v.Members.Learners), "learner")
		s.gauge(membersDesc, float64(v.Members.Unhealthy), "unhealthy")
		s.gauge(membersDesc, float64(v.Members.Unstarted), "unstarted")
	}
	if v.Margin != nil {
		s.gauge(marginDesc, float64(*v.Margin))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
