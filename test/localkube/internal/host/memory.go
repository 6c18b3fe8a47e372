package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// plenty is how many KiB of memory a machine has to have available for a localkube to keep data there.
const plenty = 8 << 20

// HasPlentyOfMemory reports that data that is written for a test can be kept in memory.
func HasPlentyOfMemory() (bool, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return false, fmt.Errorf("reading how much memory is available: %w", err)
	}
	return availableKiB(string(data)) >= plenty, nil
}

// availableKiB reads meminfo, proc_meminfo(5); 0 where it does not say.
func availableKiB(meminfo string) (kib int64) {
	_, line, _ := strings.Cut(meminfo, "MemAvailable:")
	_, _ = fmt.Sscan(line, &kib)
	return kib
}

// diskSize is how large a disk in memory claims to be. It takes as much as is written to it.
const diskSize = 64 << 30

// DiskInMemory mounts over a directory a disk that lies in memory, in a second directory, until both are unmounted. A
// file system in memory would be simpler, and what a container writes there counts as memory of its own.
func DiskInMemory(ctx context.Context, memory, dir string) error {
	if err := MakeDirs([]string{memory, dir}); err != nil {
		return err
	}
	if err := unix.Mount("localkube", memory, "tmpfs", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mounting memory over %s: %w", memory, err)
	}
	disk := filepath.Join(memory, "disk")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		return fmt.Errorf("making a disk in memory: %w", err)
	}
	if err := os.Truncate(disk, diskSize); err != nil {
		return fmt.Errorf("making a disk in memory: %w", err)
	}
	for _, command := range [][]string{
		{"mkfs.ext4", "-q", "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=1", disk},
		{"mount", "-o", "loop,discard,noatime", disk, dir}, // what is removed is memory again
	} {
		if output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, output)
		}
	}
	return nil
}
