package etcdutil

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of etcd. Pre-releases are not versions that a cluster may run.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads "3.6.16" or "v3.6.16": exactly three numbers without leading zeros, no pre-release and no build.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("version %q: want three numbers as in 3.6.16", s)
	}
	var n [3]int
	for i, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil || v < 0 || v > 9999 || strconv.Itoa(v) != part {
			return Version{}, fmt.Errorf("version %q: %q is not a number as in 3.6.16", s, part)
		}
		n[i] = v
	}
	return Version{Major: n[0], Minor: n[1], Patch: n[2]}, nil
}

// String prints the version without a leading v, as etcd reports it.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// MarshalText is what String prints.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what ParseVersion reads.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// MinorString prints the minor alone: "3.6".
func (v Version) MinorString() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// IsZero says that no version was given.
func (v Version) IsZero() bool { return v == Version{} }

// Compare orders versions: negative when v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// AtLeast says that v is w or newer.
func (v Version) AtLeast(w Version) bool { return v.Compare(w) >= 0 }

// SameMinor says that members of the two versions differ in the patch at most, and may be mixed freely.
func (v Version) SameMinor(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }
