package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/backup"
)

// What etcd's documents have fio write to tell whether a disk is fast enough: 22 MB in pieces of 2300 bytes, each
// followed by fdatasync (etcd-io/website:content/en/docs/v3.6/faq.md, and the page that it leads to). etcd allocates a
// file of its log before it writes to it (etcd-io/etcd:server/storage/wal/wal.go).
const (
	diskPiece  = 2300
	diskPieces = 10_000
)

// measured is how long one append to a log takes until the disk has it, in microseconds.
type measured struct {
	Appends int   `json:"appends"`
	P50     int64 `json:"p50us"`
	P99     int64 `json:"p99us"`
	P999    int64 `json:"p999us"`
	Max     int64 `json:"maxus"`
}

// disk measures a disk as etcd uses it. On a slow one it ends before all is written.
func disk(f *flagSet) work {
	dir := f.String("dir", "", "Directory on the disk.")
	atMost := f.Duration("at-most", time.Minute, "How long it writes at most.")
	f.check(func() error {
		if *dir == "" {
			return errors.New("want --dir")
		}
		return nil
	})
	return func(ctx context.Context, _ backup.Transfer) (any, error) {
		took, err := appends(ctx, *dir, time.Now().Add(*atMost))
		if err != nil {
			return nil, err
		}
		return measurementOf(took), nil
	}
}

// appends writes a log, and gives the time that each append took.
func appends(ctx context.Context, dir string, by time.Time) (took []time.Duration, err error) {
	path := filepath.Join(dir, "disk-test.wal")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // as its caller asks
	if err != nil {
		return nil, fmt.Errorf("make the file to write to: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(path)) }()
	if err := syscall.Fallocate(int(file.Fd()), 0, 0, diskPiece*diskPieces); err != nil &&
		!errors.Is(err, syscall.EOPNOTSUPP) { // then etcd writes without, too
		return nil, fmt.Errorf("allocate the file to write to: %w", err)
	}
	piece := make([]byte, diskPiece)
	for len(took) < diskPieces && time.Now().Before(by) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("measure the disk: %w", err)
		}
		if _, err := file.Write(piece); err != nil {
			return nil, fmt.Errorf("append to the file: %w", err)
		}
		begin := time.Now()
		if err := syscall.Fdatasync(int(file.Fd())); err != nil {
			return nil, fmt.Errorf("sync the file: %w", err)
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// measurementOf sorts the times. Of fewer than a thousand the slowest stands for the rarest.
func measurementOf(took []time.Duration) measured {
	if len(took) == 0 {
		return measured{}
	}
	slices.Sort(took)
	at := func(share float64) int64 {
		return took[int(math.Ceil(share*float64(len(took))))-1].Microseconds()
	}
	return measured{Appends: len(took), P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1)}
}
