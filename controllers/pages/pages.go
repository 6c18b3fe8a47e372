// Package pages knows where the pages of this release are. It imports nothing, so that every room may name one.
package pages

import "regexp"

// Docs is where the pages of this release are; the path of one follows, such as docs/restore.md. A message names it,
// since who reads the message may have no clone of the repository.
var Docs = "https://github.com/etcdsteward/etcd-steward/blob/" + branchOf(version) + "/"

// version is that of the binary. The linker sets it: see LDFLAGS in the Makefile.
var version string

var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// described is what `git describe` says of a commit after a tag.
var described = regexp.MustCompile(`-\d+-g[0-9a-f]+|-dirty$`)

// branchOf is the tag of a release, and main for every other build: only a release has pages that stay.
func branchOf(version string) string {
	if released.MatchString(version) && !described.MatchString(version) {
		return version
	}
	return "main"
}
