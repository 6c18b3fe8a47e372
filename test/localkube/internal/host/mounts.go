package host

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmountBelow takes down every mount of this mount namespace below a directory, the deepest first. The directory itself
// may be a mount of whoever runs this machine.
func UnmountBelow(dir string) error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	for _, point := range mountsBelow(string(data), dir) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", point, err)
		}
	}
	return nil
}

// mountsBelow reads mountinfo, proc(5): the mount point is field 5, with blanks and the like as octal escapes.
func mountsBelow(mountinfo, dir string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	const pointField = 4
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) <= pointField {
			continue
		}
		point := unescape.Replace(fields[pointField])
		if strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	sort.SliceStable(points, func(i, j int) bool { return len(points[i]) > len(points[j]) })
	return points
}

// MakeDirs makes directories that have to exist for something to be mounted over them.
func MakeDirs(dirs []string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	return nil
}

// RemoveDirs removes them again, if nobody has put anything into them since.
func RemoveDirs(dirs []string) {
	for _, dir := range dirs {
		_ = os.Remove(dir)
	}
}
