package report

import "time"

// Values are the values of one cluster's metrics after a pass.
type Values struct {
	Namespace, Name string

	Version string // the lowest that runs; empty when none does
	TLS     string // Managed or Disabled
	Storage string // Volume or Ephemeral

	Desired int      // voters asked for
	Members *Members // nil while the member list is not known
	Margin  *int     // further voters that may fail before writes stop; nil while the member list is not known
	Ready   bool
	Paused  bool

	Conditions map[string]string // type to True, False or Unknown
	Alarms     []string          // that members raise now: NOSPACE, CORRUPT

	Rule  string    // the rule that has something to do or waits; empty when settled
	Since time.Time // since when

	CertificateExpiry time.Time // of the member's certificate that ends first; zero when not known

	Change, Result string // kind of the change that was tried in this pass, and what came of it; empty when none was
}

// Members counts members by state. Unhealthy and unstarted members are voters or learners as well.
type Members struct{ Voters, Learners, Unhealthy, Unstarted int }

// Metrics are the values of the cluster's metrics after this pass.
func Metrics(in Input) Values { return Values{} }
