package client

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// What follows is the form in which etcd's own robustness tests keep what clients asked and were told, and their model
// judges it: go.etcd.io/etcd/tests/v3/robustness. It has only what a Recorder asks for. test/histories reads it.

// operation is one request with its answer; times are nanoseconds from the beginning of the history.
type operation struct {
	ClientID int `json:"ClientId"`
	Input    request
	Call     int64
	Output   response
	Return   int64
}

func (o operation) isAnswered() bool { return o.Output.Error == "" }

// request is a range or a transaction, which a put and a delete are too.
type request struct {
	Type  string
	Range *rangeOptions `json:",omitempty"`
	Txn   *txnRequest   `json:",omitempty"`
}

type rangeOptions struct {
	Start string
	End   string `json:",omitempty"`
}

type txnRequest struct {
	Conditions          []condition `json:",omitempty"`
	OperationsOnSuccess []txnOperation
}

type condition struct {
	Key              string
	ExpectedRevision int64
}

type txnOperation struct {
	Type   string
	Put    *putOptions    `json:",omitempty"`
	Delete *deleteOptions `json:",omitempty"`
}

type putOptions struct {
	Key   string
	Value value
}

type deleteOptions struct{ Key string }

// value is one of less than 20 bytes: of longer ones etcd's form has a hash.
type value struct {
	Value string `json:",omitempty"`
}

// response has an error where it is not known whether the request took effect.
type response struct {
	Range    *rangeResponse `json:",omitempty"`
	Txn      *txnResponse   `json:",omitempty"`
	Revision int64          `json:",omitempty"`
	MemberID string         `json:"member-id,omitempty"`
	Error    string         `json:",omitempty"`
}

type rangeResponse struct {
	KVs   []keyValue // an empty list, and not null, where there are none
	Count int64
}

type keyValue struct {
	Key string
	valueRevision
}

type valueRevision struct {
	Value       value
	ModRevision int64
	Version     int64
}

type txnResponse struct {
	Failure bool // the condition did not hold
	Results []txnResult
}

type txnResult struct {
	Deleted int64 `json:",omitempty"`
}

// watchOperation is one watch with all that it was told.
type watchOperation struct {
	Request   watchRequest
	Responses []watchResponse
}

type watchRequest struct {
	Key        string
	Revision   int64
	WithPrefix bool
	WithPrevKV bool
}

type watchResponse struct {
	Events           []watchEvent `json:",omitempty"`
	IsProgressNotify bool         `json:",omitempty"`
	Revision         int64        `json:",omitempty"`
	Time             int64
	Error            string `json:",omitempty"`
}

type watchEvent struct {
	Type      string
	Key       string
	Value     value
	Revision  int64
	IsCreate  bool           `json:",omitempty"`
	PrevValue *valueRevision `json:",omitempty"`
}

// The kinds of requests and of what is in a transaction.
const (
	kindRange  = "range"
	kindTxn    = "txn"
	kindPut    = "put-operation"
	kindDelete = "delete-operation"
)

func listRequest(prefix string) request {
	return request{Type: kindRange, Range: &rangeOptions{Start: prefix, End: clientv3.GetPrefixRangeEnd(prefix)}}
}

func getRequest(key string) request {
	return request{Type: kindRange, Range: &rangeOptions{Start: key}}
}

func putRequest(key, text string) request {
	put := txnOperation{Type: kindPut, Put: &putOptions{Key: key, Value: value{text}}}
	return request{Type: kindTxn, Txn: &txnRequest{OperationsOnSuccess: []txnOperation{put}}}
}

// compareAndPut is a put if the key has not changed since a revision, which is 0 for one that is not there.
func compareAndPut(key string, revision int64, text string) request {
	r := putRequest(key, text)
	r.Txn.Conditions = []condition{{Key: key, ExpectedRevision: revision}}
	return r
}

func deleteRequest(key string) request {
	remove := txnOperation{Type: kindDelete, Delete: &deleteOptions{Key: key}}
	return request{Type: kindTxn, Txn: &txnRequest{OperationsOnSuccess: []txnOperation{remove}}}
}

func rangeAnswer(answer *clientv3.GetResponse) response {
	kvs := make([]keyValue, 0, len(answer.Kvs))
	for _, kv := range answer.Kvs {
		kvs = append(kvs, keyValue{string(kv.Key), revisionOf(kv)})
	}
	return response{Range: &rangeResponse{KVs: kvs, Count: answer.Count}, Revision: answer.Header.Revision,
		MemberID: memberID(answer.Header.MemberId)}
}

func txnAnswer(answer *clientv3.TxnResponse) response {
	results := make([]txnResult, 0, len(answer.Responses))
	for _, done := range answer.Responses {
		results = append(results, txnResult{Deleted: done.GetResponseDeleteRange().GetDeleted()})
	}
	return response{Txn: &txnResponse{Failure: !answer.Succeeded, Results: results}, Revision: answer.Header.Revision,
		MemberID: memberID(answer.Header.MemberId)}
}

func memberID(id uint64) string { return strconv.FormatUint(id, 16) }

func revisionOf(kv *mvccpb.KeyValue) valueRevision {
	return valueRevision{Value: value{string(kv.Value)}, ModRevision: kv.ModRevision, Version: kv.Version}
}

func watchAnswer(answer clientv3.WatchResponse, at int64) watchResponse {
	r := watchResponse{IsProgressNotify: answer.IsProgressNotify(), Revision: answer.Header.Revision, Time: at}
	if err := answer.Err(); err != nil {
		r.Error = err.Error()
	}
	for _, event := range answer.Events {
		e := watchEvent{Type: kindPut, Key: string(event.Kv.Key), Value: value{string(event.Kv.Value)},
			Revision: event.Kv.ModRevision, IsCreate: event.IsCreate()}
		if event.Type == clientv3.EventTypeDelete {
			e.Type = kindDelete
		}
		if event.PrevKv != nil {
			e.PrevValue = new(revisionOf(event.PrevKv))
		}
		r.Events = append(r.Events, e)
	}
	return r
}

// writeLines writes a file of one JSON object a line.
func writeLines[T any](path string, lines []T) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing a history: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing a history: %w", err)
	}
	encoder := json.NewEncoder(file)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			_ = file.Close()
			return fmt.Errorf("writing a history: %w", err)
		}
	}
	return file.Close()
}
