package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

var replaced = figure{Name: "100 MiB: data of one member lost → 3 voters", Unit: unitSeconds, Plus: 20}

// What is written before the loss: fewer and larger values than etcd's limit of a request, 1.5 MiB, allows.
const (
	fillValues = 200
	fillEach   = 512 << 10 // bytes
)

func measureReplacement(ctx context.Context, b *bench) error {
	for run := range b.runs {
		err := b.takeTurn(ctx, ours, threeOnVolumes, func(ctx context.Context, t *trial) error {
			if _, err := t.create(ctx); err != nil {
				return err
			}
			if err := t.fill(ctx); err != nil {
				return err
			}
			return t.measureDataLoss(ctx, replaced, run%2 == 1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill writes 100 MiB.
func (t *trial) fill(ctx context.Context) error {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return err
	}
	etcd, err := client.Dial(client.Options{Endpoints: t.endpoints(), TLS: config, Connect: t.connect})
	if err != nil {
		return err
	}
	defer etcd.Close()
	value := strings.Repeat("x", fillEach)
	for i := range fillValues {
		if _, err := etcd.Put(ctx, fmt.Sprintf("/fill/%04d", i), value); err != nil {
			return fmt.Errorf("filling the cluster in %s, value %d: %w", t.namespace, i, err)
		}
	}
	status, err := t.status(ctx)
	if err != nil {
		return err
	}
	if status.DBSize < fillValues*fillEach {
		return fmt.Errorf("the database is %d bytes after %d were written", status.DBSize, fillValues*fillEach)
	}
	return nil
}
