package cluster

import (
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// series writes the series of one cluster.
type series struct {
	kit.Series
	values report.Values
}

func (s series) collectState() {
	v := s.values
	s.Gauge(infoDesc, 1, v.Version, v.TLS, v.Storage)
	s.Gauge(readyDesc, number(v.Ready))
	s.Gauge(servedDesc, number(v.Served))
	s.Gauge(pausedDesc, number(v.Paused))
	for kind, status := range v.Conditions {
		s.Gauge(conditionDesc, 1, kind, strings.ToLower(status))
	}
	for _, alarm := range v.Alarms {
		s.Gauge(alarmDesc, 1, alarm)
	}
	for reason, volumes := range v.Kept {
		s.Gauge(keptDesc, float64(volumes), reason)
	}
	if !v.CertificateExpiry.IsZero() {
		s.Gauge(expiryDesc, float64(v.CertificateExpiry.Unix()))
	}
}

func (s series) collectMembers() {
	v := s.values
	s.Gauge(desiredDesc, float64(v.Desired))
	if v.Members != nil {
		s.Gauge(membersDesc, float64(v.Members.Voters), "voter")
		s.Gauge(membersDesc, float64(v.Members.Learners), "learner")
		s.Gauge(membersDesc, float64(v.Members.Unhealthy), "unhealthy")
		s.Gauge(membersDesc, float64(v.Members.Unstarted), "unstarted")
	}
	if v.Margin != nil {
		s.Gauge(marginDesc, float64(*v.Margin))
	}
}

func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
