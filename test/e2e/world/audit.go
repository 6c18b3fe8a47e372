package world

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Request is one line of the API server's audit log.
type Request struct {
	Verb      string    `json:"verb"`
	UserAgent string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	User      struct {
		Name string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s/%s (%d)", r.Received.Format("15:04:05.000"), r.Verb,
		strings.Trim(r.Object.Resource+"/"+r.Object.Subresource, "/"), r.Object.Name, r.Response.Code)
}

// OperatorAgent is how every request of the operator introduces itself.
const OperatorAgent = "etcd-steward/"

// isWrite reports a request that changes something, other than what an operator may always do: renew its Lease, tell
// events, and ask who scrapes it.
func (r Request) isWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return false
	}
	switch r.Object.Resource {
	case "leases", "events", "tokenreviews", "subjectaccessreviews":
		return false
	}
	return true
}

// AuditMark is a place in the audit log.
type AuditMark int64

// Mark is the end of the audit log as it is now.
func (w *World) Mark(ctx context.Context) (AuditMark, error) {
	path, err := w.localkube(ctx, "audit-log")
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("reading the audit log: %w", err)
	}
	return AuditMark(info.Size()), nil
}

// OperatorWrites are the requests in a namespace by which the operator changed something since the mark.
func (w *World) OperatorWrites(ctx context.Context, since AuditMark, namespace string) ([]Request, error) {
	requests, err := w.operatorRequests(ctx, since, namespace)
	if err != nil {
		return nil, err
	}
	var writes []Request
	for _, r := range requests {
		if r.isWrite() {
			writes = append(writes, r)
		}
	}
	return writes, nil
}

func (w *World) operatorRequests(ctx context.Context, since AuditMark, namespace string) ([]Request, error) {
	path, err := w.localkube(ctx, "audit-log")
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(int64(since), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var requests []Request
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the last line may be half written
			return requests, nil
		}
		if !bytes.Contains(line, []byte(namespace)) || !bytes.Contains(line, []byte(OperatorAgent)) {
			continue
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("reading a line of the audit log: %w", err)
		}
		if r.Object.Namespace == namespace && strings.HasPrefix(r.UserAgent, OperatorAgent) {
			requests = append(requests, r)
		}
	}
}
