package etcdutil

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a version of etcd. Pre says which pre-release of it, such as "alpha.0", and is empty for a release.
type Version struct {
	Major, Minor, Patch int
	Pre                 string
}

// release is a version without a pre-release.
func release(major, minor, patch int) Version {
	return Version{Major: major, Minor: minor, Patch: patch}
}

// preRelease is what etcd puts after the three numbers of a pre-release.
var preRelease = regexp.MustCompile(`^(alpha|beta|rc)\.(0|[1-9][0-9]{0,3})$`)

// ParseVersion reads "3.6.16" or "v3.6.16": exactly three numbers without leading zeros and no build, and after them at
// most a pre-release as etcd names it, as in "3.8.0-alpha.0".
func ParseVersion(s string) (Version, error) {
	numbers, pre, isPre := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 3 || isPre && !preRelease.MatchString(pre) {
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
	return Version{Major: n[0], Minor: n[1], Patch: n[2], Pre: pre}, nil
}

// String prints the version without a leading v, as etcd reports it.
func (v Version) String() string {
	if v.Pre != "" {
		return fmt.Sprintf("%d.%d.%d-%s", v.Major, v.Minor, v.Patch, v.Pre)
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// MarshalText is what String prints.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what ParseVersion reads.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// MinorString prints the minor alone: "3.6".
func (v Version) MinorString() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// OfMinor is the minor as a version: that of a cluster, or of the format of data, of which a patch says nothing.
func (v Version) OfMinor() Version { return release(v.Major, v.Minor, 0) }

// IsZero says that no version was given.
func (v Version) IsZero() bool { return v == Version{} }

// Compare orders versions: negative when v is older than w. A pre-release comes before its release.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch),
		comparePre(v.Pre, w.Pre))
}

// comparePre orders pre-releases of one version: alpha, beta, rc, then by number. None is the release.
func comparePre(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	aName, aNumber, _ := strings.Cut(a, ".")
	bName, bNumber, _ := strings.Cut(b, ".")
	return cmp.Or(strings.Compare(aName, bName), cmp.Compare(len(aNumber), len(bNumber)),
		strings.Compare(aNumber, bNumber))
}

// AtLeast says that v is w or newer.
func (v Version) AtLeast(w Version) bool { return v.Compare(w) >= 0 }

// SameMinor says that members of the two versions differ in the patch at most, and may be mixed freely.
func (v Version) SameMinor(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }
