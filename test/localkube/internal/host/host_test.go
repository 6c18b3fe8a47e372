package host

import (
	"slices"
	"testing"
)

func TestMountsAreTakenDownDeepestFirstAndOnlyThoseBelow(t *testing.T) {
	const mountinfo = `22 1 8:1 / / rw - ext4 /dev/a rw
30 22 0:5 / /state rw - tmpfs tmpfs rw
31 30 0:5 / /state/a\040b rw - tmpfs tmpfs rw
32 31 0:5 / /state/a\040b/deep/er rw - tmpfs tmpfs rw
33 22 0:5 / /state-of-others rw - tmpfs tmpfs rw
`
	want := []string{"/state/a b/deep/er", "/state/a b"}
	if got := mountsBelow(mountinfo, "/state"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAvailableMemoryIsWhatTheKernelSays(t *testing.T) {
	const meminfo = "MemTotal:       24644936 kB\nMemAvailable:   21952712 kB\nBuffers: 1 kB\n"
	if got := availableKiB(meminfo); got != 21952712 {
		t.Errorf("got %d", got)
	}
	if got := availableKiB("MemTotal: 24644936 kB\n"); got != 0 {
		t.Errorf("of a kernel that does not say: %d", got)
	}
}
