package world

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// Hold keeps a member busy with its defragmentation, as a very slow disk does. etcd holds all locks of its database when it makes
// the file of the new one (etcd-io/etcd:server/storage/backend/backend.go defrag): that file is not opened before Release. The
// process lives, answers pings, and can be killed.
type Hold struct {
	events *os.File // of fanotify: closing it lets everything be opened
	begun  chan string
}

// HoldDefragmentation holds each member of the cluster that is defragmented from now on, until the story ends at the latest.
func (c *Cluster) HoldDefragmentation(ctx context.Context) *Hold {
	ginkgo.GinkgoHelper()
	c.NeedLocalkube()
	pods, err := c.Pods(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	var beside []string
	for i := range pods {
		beside = append(beside, filepath.Dir(c.Database(ctx, pods[i].Name)))
	}
	h, err := holdIn(beside...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(h.Release)
	return h
}

// holdIn holds databases that are written anew in these directories.
func holdIn(directories ...string) (*Hold, error) {
	const flags = unix.FAN_CLASS_CONTENT | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK
	fd, err := unix.FanotifyInit(flags, unix.O_RDONLY|unix.O_LARGEFILE|unix.O_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("asking the kernel to decide who opens files: %w", err)
	}
	h := &Hold{events: os.NewFile(uintptr(fd), "fanotify"), begun: make(chan string, 1)}
	for _, directory := range directories {
		err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM|unix.FAN_EVENT_ON_CHILD, unix.AT_FDCWD, directory)
		if err != nil {
			h.Release()
			return nil, fmt.Errorf("deciding who opens files in %s: %w", directory, err)
		}
	}
	go h.follow()
	return h, nil
}

// Await waits until a member is held, and says which.
func (h *Hold) Await(ctx context.Context) (member string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, h.begun).WithTimeout(Patience).WithPolling(50*time.Millisecond).Should(gomega.Receive(&member), "no member is defragmented")
	return member
}

// Release lets the member go on, and holds none from then on. It may be called more than once.
func (h *Hold) Release() { _ = h.events.Close() }

// follow answers who opens a file beside a database, until Release.
func (h *Hold) follow() {
	var held []int // their files; the kernel forgets none of them before it is answered
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	for events := make([]byte, 4096); ; {
		n, err := h.events.Read(events)
		if err != nil {
			return
		}
		var event unix.FanotifyEventMetadata
		for rest := events[:n]; len(rest) > 0; rest = rest[event.Event_len:] {
			if _, err := binary.Decode(rest, binary.NativeEndian, &event); err != nil {
				return
			}
			if h.keeps(int(event.Fd)) {
				held = append(held, int(event.Fd))
			}
		}
	}
}

// keeps lets a file be opened unless it is a database that is written anew: /…/demo-0/member/snap/db.tmp.123.
func (h *Hold) keeps(fd int) bool {
	path, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if snap, file := filepath.Split(path); strings.HasPrefix(file, "db.tmp.") {
		select {
		case h.begun <- filepath.Base(filepath.Dir(filepath.Dir(filepath.Clean(snap)))):
		default:
		}
		return true
	}
	answer := unix.FanotifyResponse{Fd: int32(fd), Response: unix.FAN_ALLOW}
	if text, err := binary.Append(nil, binary.NativeEndian, answer); err == nil {
		_, _ = h.events.Write(text)
	}
	_ = unix.Close(fd)
	return false
}
