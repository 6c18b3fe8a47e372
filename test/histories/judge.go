package main

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/etcd/tests/v3/robustness/validate"
	"go.uber.org/zap"
)

// verdict is what etcd's own checks say of one history. Each is "yes", "no: …" or "not judged: …".
type verdict struct {
	Linearizable string `json:"linearizable,omitempty"`
	Watch        string `json:"watch,omitempty"` // whether the watch kept what etcd promises of one
}

const yes = "yes"

func (v verdict) err() error {
	if v.Linearizable != yes {
		return fmt.Errorf("linearizable: %s", v.Linearizable)
	}
	if v.Watch != yes {
		return fmt.Errorf("watch: %s", v.Watch)
	}
	return nil
}

// judge does to a history what TestDataReports of etcd's robustness tests does.
func judge(directory string, patience time.Duration) (v verdict) {
	defer func() {
		if panicked := recover(); panicked != nil { // so does etcd's reader at a request that it does not know
			v = notJudged(fmt.Errorf("%v", panicked))
		}
	}()
	clients, err := report.LoadClientReports(directory)
	if err == nil && len(clients) == 0 {
		err = errors.New("there is no history of a client")
	}
	if err != nil {
		return notJudged(err)
	}
	persisted, err := requestsOf(directory)
	if err == nil && len(persisted) == 0 {
		err = errors.New("the logs of the members have no request")
	}
	if err != nil {
		return notJudged(err)
	}
	found := validate.ValidateAndReturnVisualize(zap.NewNop(), validate.Config{}, clients, persisted, patience)
	if found.Assumptions.Status != validate.Success {
		return notJudged(found.Assumptions.Error())
	}
	return verdict{Linearizable: said(found.Linearization.Result), Watch: said(found.Watch)}
}

func notJudged(err error) verdict {
	return verdict{Linearizable: "not judged: " + err.Error(), Watch: "not judged"}
}

func said(r validate.Result) string {
	switch r.Status {
	case validate.Success:
		return yes
	case validate.Failure:
		return "no: " + r.Message
	case validate.Unknown:
		return "not judged"
	default:
		return "not judged: " + r.String()
	}
}
