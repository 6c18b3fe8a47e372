package main

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/etcd/tests/v3/robustness/validate"
	"go.uber.org/zap"
)

// verdict is what etcd's own checks say of one history. Each is "yes", "no: …" or "not judged: …".
type verdict struct {
	Linearizable string `json:"linearizable,omitempty"`
	Watch        string `json:"watch,omitempty"` // whether the watch kept what etcd promises of one

	// WatchLatestBy is the longest time from the answer to a write until the watch was told of it, in seconds.
	WatchLatestBy float64 `json:"watchLatestBy"`
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
	return verdict{Linearizable: said(found.Linearization.Result), Watch: said(found.Watch), WatchLatestBy: latestBy(clients).Seconds()}
}

// latestBy is the longest time from the answer to a write until a watch was told of it. Of a write that was not answered
// none knows when it took effect.
func latestBy(clients []report.ClientReport) (latest time.Duration) {
	answered := answersToWrites(clients)
	for _, c := range clients {
		for _, told := range responses(c.Watch) {
			for _, event := range told.Events {
				if at, isKnown := answered[event.Revision]; isKnown {
					latest = max(latest, told.Time-at)
				}
			}
		}
	}
	return latest
}

// answersToWrites are when the answer to the write of each revision came.
func answersToWrites(clients []report.ClientReport) map[int64]time.Duration {
	answered := map[int64]time.Duration{}
	for _, c := range clients {
		for _, o := range c.KeyValue {
			request, answer := o.Input.(model.EtcdRequest), o.Output.(model.MaybeEtcdResponse)
			if request.IsRead() || answer.Error != "" || answer.Txn == nil || answer.Txn.Failure {
				continue
			}
			at := time.Duration(o.Return)
			if first, isKnown := answered[answer.Revision]; !isKnown || at < first {
				answered[answer.Revision] = at
			}
		}
	}
	return answered
}

func responses(watches []model.WatchOperation) (all []model.WatchResponse) {
	for _, w := range watches {
		all = append(all, w.Responses...)
	}
	return all
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
