package main

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/etcd/tests/v3/robustness/validate"
	"go.uber.org/zap"
)

// verdict is what etcd's own checks say of one history. Each is "yes", or why not.
type verdict struct {
	Linearizable string `json:"linearizable,omitempty"`
	Watch        string `json:"watch,omitempty"` // whether the watch kept what etcd promises of one
}

const yes = "yes"

func (v verdict) err() error {
	if v.Linearizable != yes {
		return fmt.Errorf("not linearizable: %s", v.Linearizable)
	}
	if v.Watch != yes {
		return fmt.Errorf("the watch broke a promise: %s", v.Watch)
	}
	return nil
}

// judge does to a history what TestDataReports of etcd's robustness tests does.
func judge(directory string, patience time.Duration) (v verdict) {
	defer func() {
		if panicked := recover(); panicked != nil { // so does etcd's reader at a request that it does not know
			v = verdict{Linearizable: fmt.Sprintf("not judged: %v", panicked), Watch: "not judged"}
		}
	}()
	clients, err := report.LoadClientReports(directory)
	if err == nil && len(clients) == 0 {
		err = errors.New("there is no history of a client")
	}
	if err != nil {
		return verdict{Linearizable: "not judged: " + err.Error(), Watch: "not judged"}
	}
	persisted, err := report.LoadClusterPersistedRequests(zap.NewNop(), directory)
	if err == nil && len(persisted) == 0 {
		err = errors.New("the logs of the members have no request")
	}
	if err != nil {
		return verdict{Linearizable: "not judged: " + err.Error(), Watch: "not judged"}
	}
	found := validate.ValidateAndReturnVisualize(zap.NewNop(), validate.Config{}, clients, persisted, patience)
	v.Linearizable = said(errors.Join(found.Assumptions.Error(), found.Linearization.Error()))
	v.Watch = "not judged"
	if v.Linearizable == yes && found.Watch.Status == validate.Success {
		v.Watch = yes
	} else if v.Linearizable == yes {
		v.Watch = found.Watch.String()
	}
	return v
}

func said(err error) string {
	if err != nil {
		return err.Error()
	}
	return yes
}
