package main

import (
	"fmt"
	"os"
	"path/filepath"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// requestsOf are what the members' logs have. Etcd's reader panics at a question about alarms, which is in the log as well
// (etcd-io/etcd:tests/robustness/report/wal.go parseEntryNormal), and the operator asks that. So it reads copies of the
// logs in which these entries are empty: no client sees anything of them.
func requestsOf(directory string) ([]model.EtcdRequest, error) {
	members, err := filepath.Glob(filepath.Join(directory, "server-*"))
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "logs-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for copies of the logs: %w", err)
	}
	defer os.RemoveAll(scratch)
	var copies []string
	for _, member := range members {
		into := filepath.Join(scratch, filepath.Base(member))
		if err := copyLog(member, into, emptyIfQuestion); err != nil {
			return nil, err
		}
		copies = append(copies, into)
	}
	return report.PersistedRequests(zap.NewNop(), copies)
}

// emptyIfQuestion empties an entry that asks for the alarms. Those that raise or disarm one stay.
func emptyIfQuestion(entry *raftpb.Entry) {
	var q pb.InternalRaftRequest
	isNormal := entry.GetType() == raftpb.EntryNormal
	if !isNormal || proto.Unmarshal(entry.GetData(), &q) != nil || q.GetAlarm() == nil {
		return
	}
	if q.GetAlarm().GetAction() == pb.AlarmRequest_GET {
		entry.Data = nil
	}
}

// copyLog copies the log of a member, with each entry changed.
func copyLog(from, into string, change func(*raftpb.Entry)) error {
	state, entries, err := report.ReadWAL(zap.NewNop(), from)
	if err != nil {
		return fmt.Errorf("reading the log of %s: %w", filepath.Base(from), err)
	}
	for _, entry := range entries {
		change(entry)
	}
	log, err := wal.Create(zap.NewNop(), datadir.ToWALDir(into), nil)
	if err != nil {
		return fmt.Errorf("copying the log of %s: %w", filepath.Base(from), err)
	}
	defer log.Close()
	if err := log.Save(state, entries); err != nil {
		return fmt.Errorf("copying the log of %s: %w", filepath.Base(from), err)
	}
	return nil
}
