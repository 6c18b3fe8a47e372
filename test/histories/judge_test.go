package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// paused is what three clients asked a cluster of three whose members were stopped one after the other, a second each.
const paused = "testdata/paused"

func TestAHistoryOfARealEtcdIsLinearizableAndItsWatchKeptItsPromises(t *testing.T) {
	if found := judge(paused, time.Minute); found.Linearizable != yes || found.Watch != yes {
		t.Errorf("%+v", found)
	}
}

// These have reads return a value that was never written.
const (
	fromRead = `"KVs":\[\{"Key":"(/report/\d)","Value":\{"Value":"v\d+"`
	intoRead = `"KVs":[{"Key":"$1","Value":{"Value":"v999"`
)

func TestAHistoryThatNoEtcdMayTellIsNotLinearizable(t *testing.T) {
	for name, change := range map[string]struct{ pattern, into string }{
		"an answer has a value that was never written": {fromRead, intoRead},
		"a write is acknowledged at another revision":  {`"Results":\[\{\}\]\},"Revision":(\d+)`, `"Results":[{}]},"Revision":${1}9`},
		"the database was not empty at the start":      {`"Revision":1,`, `"Revision":2,`},
	} {
		directory := changed(t, "client-*/operations.json", change.pattern, change.into)
		if found := judge(directory, time.Minute); found.Linearizable == yes || found.err() == nil {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestAWatchThatLeavesOutAnEventBreaksItsPromise(t *testing.T) {
	directory := changed(t, "client-*/watch.json", `\{"Events":\[\{[^][]*?\}\],"Revision":5,"Time":\d+\},`, "")
	if found := judge(directory, time.Minute); found.Linearizable != yes || found.Watch == yes || found.err() == nil {
		t.Errorf("%+v", found)
	}
}

func TestAHistoryThatLacksAPartIsNotCalledLinearizable(t *testing.T) {
	for _, part := range []string{"client-*", "server-*"} {
		directory := copied(t)
		found, err := filepath.Glob(filepath.Join(directory, part))
		if err != nil || len(found) == 0 {
			t.Fatal(part, err)
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		if found := judge(directory, time.Minute); found.Linearizable == yes || found.err() == nil {
			t.Errorf("without %s: %+v", part, found)
		}
	}
}

func TestAQuestionAboutAlarmsInTheLogIsNoPartOfWhatIsJudged(t *testing.T) {
	asks := pb.AlarmRequest_GET
	if found := judge(withAlarm(t, asks), time.Minute); found.Linearizable != yes || found.Watch != yes {
		t.Errorf("%s: %+v", asks, found)
	}
	raises := pb.AlarmRequest_ACTIVATE
	if found := judge(withAlarm(t, raises), time.Minute); found.Linearizable == yes || found.err() == nil {
		t.Errorf("%s: %+v", raises, found)
	}
}

// withAlarm has a request about alarms in the place of the first request by which a member says where it is.
func withAlarm(t *testing.T, action pb.AlarmRequest_AlarmAction) string {
	t.Helper()
	alarm, err := proto.Marshal(&pb.InternalRaftRequest{Alarm: &pb.AlarmRequest{Action: action}})
	if err != nil {
		t.Fatal(err)
	}
	directory, into := copied(t), t.TempDir()
	members, err := filepath.Glob(filepath.Join(directory, "server-*"))
	if err != nil || len(members) == 0 {
		t.Fatal(members, err)
	}
	for _, member := range members {
		changed := filepath.Join(into, filepath.Base(member))
		var at uint64
		err := copyLog(member, changed, func(e *raftpb.Entry) {
			var q pb.InternalRaftRequest
			isMember := proto.Unmarshal(e.GetData(), &q) == nil && q.GetClusterMemberAttrSet() != nil
			if e.GetType() == raftpb.EntryNormal && isMember && at == 0 {
				at, e.Data = e.GetIndex(), alarm
			}
		})
		if err != nil || at == 0 {
			t.Fatal("no place in the log of ", member, err)
		}
		if err := errors.Join(os.RemoveAll(member), os.Rename(changed, member)); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestAWatchIsLateFromTheAnswerToAWriteUntilItIsToldOfThat(t *testing.T) {
	put := model.EtcdRequest{Type: model.Txn, Txn: &model.TxnRequest{OperationsOnSuccess: []model.EtcdOperation{{Type: model.PutOperation}}}}
	get := model.EtcdRequest{Type: model.Range, Range: &model.RangeRequest{}}
	answer := func(revision int64, failure bool) model.MaybeEtcdResponse {
		return model.MaybeEtcdResponse{EtcdResponse: model.EtcdResponse{Revision: revision, Txn: &model.TxnResponse{Failure: failure}}}
	}
	asked := func(q model.EtcdRequest, at time.Duration, a model.MaybeEtcdResponse) porcupine.Operation {
		return porcupine.Operation{Input: q, Return: at.Nanoseconds(), Output: a}
	}
	event := func(revision int64, at time.Duration) model.WatchResponse {
		return model.WatchResponse{Time: at, Events: []model.WatchEvent{{PersistedEvent: model.PersistedEvent{Revision: revision}}}}
	}
	clients := []report.ClientReport{
		{KeyValue: []porcupine.Operation{asked(put, 2*time.Second, answer(2, false)), asked(put, 5*time.Second, answer(3, false)),
			asked(get, time.Second, model.MaybeEtcdResponse{EtcdResponse: model.EtcdResponse{Revision: 3}}), // a read tells of no write of its own
			asked(put, time.Second, answer(2, true)),
			asked(put, time.Second, model.MaybeEtcdResponse{Error: "it was not answered"})}},
		{Watch: []model.WatchOperation{{Responses: []model.WatchResponse{event(2, 3*time.Second)}},
			{Responses: []model.WatchResponse{event(3, 9*time.Second), event(4, time.Minute)}}}},
	}
	if late := latestBy(clients); late != 4*time.Second {
		t.Errorf("it is said to be late by %s", late)
	}
}

func copied(t *testing.T) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "history")
	if err := os.CopyFS(directory, os.DirFS(paused)); err != nil {
		t.Fatal(err)
	}
	return directory
}

// changed is a copy with something changed in each file that has it.
func changed(t *testing.T, files, pattern, into string) string {
	t.Helper()
	directory, times := copied(t), 0
	paths, err := filepath.Glob(filepath.Join(directory, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		after := regexp.MustCompile(pattern).ReplaceAll(before, []byte(into))
		if !bytes.Equal(before, after) {
			times++
		}
		if err := os.WriteFile(path, after, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if times == 0 {
		t.Fatalf("nothing in %s is like %s", files, pattern)
	}
	return directory
}
