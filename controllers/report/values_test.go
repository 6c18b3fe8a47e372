package report

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestValuesOfASettledCluster(t *testing.T) {
	w := demo(3, begin).settled()
	margin := 1
	want := Values{
		Namespace: "default", Name: "demo", Version: "3.6.16", TLS: "Managed", Storage: "Volume",
		Desired: 3, Members: &Members{Voters: 3}, Margin: &margin, Ready: true, Served: true,
		Conditions: map[string]string{"Ready": "True", "Available": "True", "Degraded": "False",
			"UpToDate": "True", "BackedUp": "Unknown"},
		Kept:              map[string]int{},
		CertificateExpiry: begin.AddDate(0, 3, 0),
	}
	if got := metrics(w.input()); !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

func TestMembersAreCountedByState(t *testing.T) {
	for name, row := range map[string]struct {
		scene *scene
		want  *Members
	}{
		"a silent voter": {demo(3, begin).settled().silent("demo-1"), &Members{Voters: 3, Unhealthy: 1}},
		"a learner without a Pod": {demo(3, begin).settled().without("demo-1").promised(3).learning(3),
			&Members{Voters: 2, Learners: 1, Unstarted: 1}},
		"a promised volume alone":  {demo(3, begin).settled().without("demo-1").promised(3), &Members{Voters: 2}},
		"a list that is not known": {demo(3, begin).settled().unreadable("no answer"), nil},
	} {
		if got := metrics(row.scene.input()).Members; !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

func TestAMemberIsCalledDefragmentedUntilTheDeadlineOfItsPod(t *testing.T) {
	for name, row := range map[string]struct {
		scene *scene
		late  time.Duration
		want  bool
	}{
		"a silent member in time":         {demo(1, begin).settled().silent("demo-0"), time.Minute, true},
		"a silent member past the time":   {demo(1, begin).settled().silent("demo-0"), time.Hour, false},
		"a member that answers meanwhile": {demo(1, begin).settled(), time.Minute, false},
	} {
		row.scene.find("demo-0").Defragmenting = &facts.DefragPod{Task: facts.Task{Created: begin, Started: true},
			Since: begin, Deadline: facts.StartDeadline}
		row.scene.o.Now = begin.Add(row.late)
		if got := metrics(row.scene.input()).Busy; got != row.want {
			t.Errorf("%s: busy %v", name, got)
		}
	}
}

func TestTheWaitCountsFromWhenTheStepWasFirstWanted(t *testing.T) {
	w := demo(3, begin).starting().written(t).later(time.Minute)
	if got := metrics(w.input()); got.Rule != "first-quorum" || !got.Since.Equal(begin) {
		t.Errorf("rule %q since %s, want first-quorum since %s", got.Rule, got.Since, begin)
	}
	if got := metrics(w.settled().input()); got.Rule != "" {
		t.Errorf("a settled cluster waits for %q", got.Rule)
	}
}

func TestAClusterThatMovedToAnotherIncarnationHasServedBefore(t *testing.T) {
	moving, _ := inPlaceScene()
	for name, row := range map[string]struct {
		scene *scene
		want  bool
	}{
		"one that is being created":              {demo(3, begin).starting().written(t), false},
		"one that serves":                        {demo(3, begin).settled(), true},
		"one that moved, and does not serve yet": {moving.moved(), true},
	} {
		if got := metrics(row.scene.input()).Served; got != row.want {
			t.Errorf("%s: served %v", name, got)
		}
	}
}

func TestAlarmsAreCountedOnce(t *testing.T) {
	w := demo(3, begin).settled()
	w.find("demo-0").Answer.Alarms = []facts.Alarm{{Name: "NOSPACE"}, {Name: "CORRUPT"}}
	w.find("demo-1").Answer.Alarms = []facts.Alarm{{Name: "NOSPACE", Member: 1}}
	if got := metrics(w.input()).Alarms; !reflect.DeepEqual(got, []string{"CORRUPT", "NOSPACE"}) {
		t.Errorf("alarms %q", got)
	}
}

func TestEachOutcomeHasItsResult(t *testing.T) {
	change := changes.AddLearner{Name: "demo-3"}
	for want, outcome := range map[string]Outcome{
		"":             {},
		ResultApplied:  {Change: change, Applied: true},
		ResultDeferred: {Change: change, Reason: "EtcdNotReady"},
		ResultRejected: {Change: change, Rejected: true, Reason: "QuotaExceeded"},
		ResultFailed:   {Change: change, Err: errors.New("connection refused")},
	} {
		in := demo(3, begin).settled().input()
		in.Outcome = outcome
		if got := metrics(in); got.Result != want || (got.Change != "") != (want != "") {
			t.Errorf("%+v gives change %q, result %q, want %q", outcome, got.Change, got.Result, want)
		}
	}
}

func TestOnlyAMemberThatWasGivenUpIsReplaced(t *testing.T) {
	removed := Outcome{Change: changes.RemoveMember{Name: "demo-1"}, Applied: true}
	for name, row := range map[string]struct {
		reason  string
		outcome Outcome
		want    string
	}{
		"its data was lost":       {facts.ReasonRepair, removed, facts.ReasonRepair},
		"it was dead":             {facts.ReasonReplaceDead, removed, facts.ReasonReplaceDead},
		"the spec asks for fewer": {"", removed, ""},
		"etcd did not remove it": {facts.ReasonRepair, Outcome{Change: changes.RemoveMember{Name: "demo-1"},
			Reason: "EtcdNotReady"}, ""},
		"something else was done first": {"", Outcome{Change: changes.MoveLeader{From: "demo-1"}, Applied: true}, ""},
	} {
		in := demo(3, begin).settled().input()
		in.Decision.GivenUp, in.Outcome = row.reason, row.outcome
		if got := metrics(in).Replaced; got != row.want {
			t.Errorf("%s: replaced because of %q, want %q", name, got, row.want)
		}
	}
}

// metrics are those of a pass with the status that it makes.
func metrics(in Input) Values { return Metrics(in, Status(in)) }
