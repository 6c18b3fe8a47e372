package contract

import (
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// dialect is a way to log that the spec of a cluster may ask for.
type dialect struct {
	name string
	args []string
}

// dialects are those beside etcd's own: JSON of the level info and above.
var dialects = []dialect{
	{"with a log for people", []string{"--log-format=console"}},
	{"with a log of all there is", []string{"--log-level=debug"}},
	{"with a log of errors alone", []string{"--log-level=error"}},
	{"with a log of all there is, for people", []string{"--log-format=console", "--log-level=debug"}},
	{"with a log of errors alone, for people", []string{"--log-format=console", "--log-level=error"}},
}

// ofData are the reasons by which the operator judges a member's data.
var ofData = []etcdutil.ExitReason{etcdutil.ExitDataEmpty, etcdutil.ExitDataCorrupt, etcdutil.ExitDataDiffers,
	etcdutil.ExitAlreadyBootstrapped, etcdutil.ExitRaftPanic}

// telling is a crash as it is told in one dialect.
type telling struct {
	crash
	dialect
}

// tellings are all crashes in etcd's own dialect and in a log for people, and those of data in every dialect. What etcd
// says of flags is a warning, and of a member that was removed no more: a log of errors alone lacks both.
func tellings() []telling {
	var all []telling
	for _, c := range crashes {
		all = append(all, telling{crash: c})
	}
	for _, d := range dialects {
		for _, c := range crashes {
			if d.isForPeople() || c.isOfData() {
				c.name += ", " + d.name
				all = append(all, telling{c, d})
			}
		}
	}
	return all
}

// isForPeople says that the format alone differs from etcd's own dialect.
func (d dialect) isForPeople() bool { return d.name == dialects[0].name }

func (c crash) isOfData() bool { return slices.Contains(ofData, c.reason) }

// isPlayed says whether a release plays a crash: of what differs in the log alone, only a full run plays more than how
// one release judges data in a log for people.
func (t telling) isPlayed(release string) bool {
	switch {
	case t.args == nil:
		return plays(release, t.crash.name)
	case !t.isKnown(release):
		return false
	}
	return needs.IsFull() || release == needs.Release && t.isOfData() && t.isForPeople()
}

// isRecorded says whether the last words are kept: what the level changes is in front of them.
func (t telling) isRecorded() bool { return t.args == nil || t.isForPeople() }

// isKnown says whether a release knows the flags by which it is told to log so.
func (t telling) isKnown(release string) bool {
	version, err := etcdutil.ParseVersion(release)
	return err == nil && !slices.ContainsFunc(t.args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		return !etcdutil.KnownFlag(version, name)
	})
}
