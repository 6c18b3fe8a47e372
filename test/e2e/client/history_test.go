package client

import (
	"encoding/json"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The form is etcd's: test/histories reads it with etcd's own reader. A list that is empty must not be null there.
func TestAHistoryIsWrittenInTheFormOfEtcdsOwnTests(t *testing.T) {
	header := &pb.ResponseHeader{Revision: 7, MemberId: 0xab}
	kv := &mvccpb.KeyValue{Key: []byte("/k/1"), Value: []byte("v1"), ModRevision: 5, CreateRevision: 5, Version: 1}
	for want, written := range map[string]any{
		`{"ClientId":3,"Input":{"Type":"range","Range":{"Start":"/k/","End":"/k0"}},"Call":1,` +
			`"Output":{"Range":{"KVs":[],"Count":0},"Revision":7,"member-id":"ab"},"Return":2}`: operation{ClientID: 3,
			Input: listRequest("/k/"), Call: 1, Output: rangeAnswer(&clientv3.GetResponse{Header: header}), Return: 2},
		`{"Range":{"KVs":[{"Key":"/k/1","Value":{"Value":"v1"},"ModRevision":5,"Version":1}],"Count":1},"Revision":7,` +
			`"member-id":"ab"}`: rangeAnswer(&clientv3.GetResponse{Header: header, Kvs: []*mvccpb.KeyValue{kv}, Count: 1}),
		`{"Type":"txn","Txn":{"Conditions":[{"Key":"/k/1","ExpectedRevision":5}],"OperationsOnSuccess":` +
			`[{"Type":"put-operation","Put":{"Key":"/k/1","Value":{"Value":"v2"}}}]}}`: compareAndPut("/k/1", 5, "v2"),
		`{"Type":"txn","Txn":{"OperationsOnSuccess":[{"Type":"delete-operation","Delete":{"Key":"/k/1"}}]}}`: deleteRequest("/k/1"),
		`{"Txn":{"Failure":true,"Results":[]},"Revision":7,"member-id":"ab"}`:                                txnAnswer(&clientv3.TxnResponse{Header: header}),
		`{"Events":[{"Type":"put-operation","Key":"/k/1","Value":{"Value":"v1"},"Revision":5,"IsCreate":true}],"Revision":7,` +
			`"Time":9}`: watchAnswer(clientv3.WatchResponse{Header: header, Events: []*clientv3.Event{{Kv: kv}}}, 9),
	} {
		if got, err := json.Marshal(written); err != nil || string(got) != want {
			t.Errorf("%s\nwant %s (%v)", got, want, err)
		}
	}
}

func TestTheLongestGapIsThatOfTheClientThatWaitedLongest(t *testing.T) {
	now := time.Now()
	r := &Recorder{}
	for _, answered := range [][]time.Duration{{time.Second, 2 * time.Second, 3 * time.Second}, {time.Second, 3 * time.Second}} {
		c := &recorded{Recorder: &Recorder{began: now}}
		for _, at := range answered {
			c.operations = append(c.operations, operation{Return: at.Nanoseconds()})
		}
		unanswered := operation{Return: (2 * time.Second).Nanoseconds(), Output: response{Error: "too late"}}
		c.operations = append(c.operations, unanswered)
		r.clients = append(r.clients, c)
	}
	if got := r.LongestGap(now, now.Add(3500*time.Millisecond)); got != 2*time.Second {
		t.Errorf("the longest gap is %s", got)
	}
	if all, failed := r.Counts(); all != 7 || failed != 2 {
		t.Errorf("%d requests, %d failed", all, failed)
	}
	if r.AnsweredSince(now.Add(2500*time.Millisecond), 1) != true || r.AnsweredSince(now, 3) != false {
		t.Error("each client must have so many answers")
	}
}
