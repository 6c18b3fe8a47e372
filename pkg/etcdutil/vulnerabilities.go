package etcdutil

// vulnerability is a security advisory of etcd, and the patch of each known minor that ended it. A minor that is not
// named never had it.
type vulnerability struct {
	id     string // as etcd itself names it
	fixed  []Version
	source string
}

// vulnerabilities, by the time when they were told.
var vulnerabilities = []vulnerability{
	{"CVE-2026-33343", []Version{{3, 5, 28}, {3, 6, 9}}, "etcd-io/etcd CHANGELOG, GHSA-rfx7-8w68-q57q"},
	{"CVE-2026-33413", []Version{{3, 5, 28}, {3, 6, 9}}, "etcd-io/etcd CHANGELOG, GHSA-q8m4-xhhv-38mg"},
	{"CVE-2026-44283", []Version{{3, 5, 30}, {3, 6, 11}}, "etcd-io/etcd PRs 21681, 21685, GHSA-x35m-3gp4-4fh5"},
	{"GHSA-3wh4-j44w-pg92", []Version{{3, 5, 32}, {3, 6, 13}}, "etcd-io/etcd PRs 22021, 22025"},
	{"GHSA-xg4h-6gfc-h4m8", []Version{{3, 5, 33}, {3, 6, 14}, {3, 7, 1}},
		"etcd-io/website:content/en/blog/2026, v3.7.1, v3.6.14, and v3.5.33"},
	{"GHSA-6vch-q96h-7gc3", []Version{{3, 5, 33}, {3, 6, 14}, {3, 7, 1}},
		"etcd-io/website:content/en/blog/2026, v3.7.1, v3.6.14, and v3.5.33"},
}

// Vulnerabilities names the security advisories that a version is known to be open to, and the first patch of its minor
// without any of them. Both are empty for a version without one.
func Vulnerabilities(v Version) (ids []string, fixed Version) {
	for _, known := range vulnerabilities {
		for _, f := range known.fixed {
			if !v.SameMinor(f) || v.AtLeast(f) {
				continue
			}
			ids = append(ids, known.id)
			if !fixed.AtLeast(f) {
				fixed = f
			}
		}
	}
	return ids, fixed
}
