package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
)

// defragmented is what came of it, in bytes of the member's database.
type defragmented struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

const (
	// lookAgain is between two looks at a member that cannot be asked yet.
	lookAgain = time.Second
	// answerWithin is for how long a member that does not answer may be starting. It is a small part of the time that
	// the Pod has.
	answerWithin = 30 * time.Second
)

// defragment has one member write its database anew. Only the member that was meant is asked, and none while it sends
// a snapshot: it would hold all its locks until that has ended.
func defragment(f *flagSet) work {
	var (
		from members
		id   etcdutil.ID
		by   time.Time
	)
	f.memberFlags(&from)
	memberID := f.String("member-id", "", "etcd's ID of the member, hexadecimal.")
	until := f.Int64("until-size", 0, "A file of fewer bytes is left as it is.")
	f.TextVar(&by, "start-by", time.Time{}, "After this time the member is left alone.")
	f.check(func() (err error) {
		if len(from.endpoints) != 1 || from.clusterID == 0 || by.IsZero() {
			return errors.New("want one endpoint, etcd's ID of its cluster, and --start-by")
		}
		if id, err = etcdutil.ParseID(*memberID); err != nil {
			return fmt.Errorf("--member-id: %w", err)
		}
		return nil
	})
	return func(ctx context.Context, _ backup.Transfer) (any, error) {
		if err := inTime(by, time.Now()); err != nil {
			return nil, err
		}
		config, err := backup.ReadTLS(from.tlsDir)
		if err != nil {
			return nil, err
		}
		member, err := connect(from.endpoints[0], config)
		if err != nil {
			return nil, err
		}
		defer func() { _ = member.Close() }()
		return giveBack(ctx, member, from.clusterID, id, *until)
	}
}

// inTime fails where nodes had no room for long: whether the member may be silent now, only a new Pod is asked for.
func inTime(by, now time.Time) error {
	if now.After(by) {
		return fmt.Errorf("it began at %s by the clock of its node, and was to begin by %s: the member was left alone",
			now.UTC().Format(time.RFC3339), by.UTC().Format(time.RFC3339))
	}
	return nil
}

func connect(endpoint backup.Endpoint, config *tls.Config) (client.Client, error) {
	at, err := url.Parse(endpoint.URL)
	if err != nil {
		return nil, fmt.Errorf("reading the address of %s: %w", endpoint.Name, err)
	}
	return dial.EtcdDialer{}.Dial(client.Endpoint{Address: at.Host, ServerName: at.Hostname(), TLS: config})
}

func giveBack(ctx context.Context, member client.Client, cluster, id etcdutil.ID, until int64) (any, error) {
	before, err := awaitAnswer(ctx, member)
	switch {
	case err != nil:
		return nil, err
	case before.ClusterID != cluster || before.MemberID != id:
		return nil, fmt.Errorf("member %s of cluster %s answers, and %s of %s is meant", before.MemberID,
			before.ClusterID, id, cluster)
	case before.DBSize < until:
		return defragmented{before.DBSize, before.DBSize}, nil
	}
	if err := awaitNoSnapshot(ctx, member); err != nil {
		return nil, err
	}
	if err := member.Defragment(ctx); err != nil {
		return nil, err
	}
	after, err := member.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("the member was defragmented, and does not answer: %w", err)
	}
	return defragmented{before.DBSize, after.DBSize}, nil
}

// awaitAnswer asks a member for its status. Its etcd may have been killed since the operator looked, and is starting.
func awaitAnswer(ctx context.Context, member client.Client) (client.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		answer, err := member.Status(ctx)
		if !client.IsUnreachable(err) || pause(ctx) != nil {
			return answer, err
		}
	}
}

// pause is over at the next look, or with an error when the time is.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lookAgain):
		return nil
	}
}

// awaitNoSnapshot waits until the member sends none. A person may take one at any time.
func awaitNoSnapshot(ctx context.Context, member client.Client) error {
	for {
		isSending, err := member.StreamsSnapshot(ctx)
		if err != nil || !isSending {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the member sent a snapshot all the while: %w", err)
		}
	}
}
