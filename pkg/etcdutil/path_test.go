package etcdutil

import (
	"strings"
	"testing"
)

// progress is a row's world: "3.5.35 3.5.35 3.6.16" with what is said of it as key=value.
func progress(t *testing.T, text string) Progress {
	t.Helper()
	var at Progress
	for _, word := range strings.Fields(text) {
		key, value, isSaid := strings.Cut(word, "=")
		switch {
		case !isSaid && word == "covered":
			at.Covered = true
		case !isSaid && word == "blind":
			at.Blind = true
		case !isSaid && word == "late":
			at.Late = true
		case !isSaid && word == "saved":
			at.Saved = true
		case !isSaid && word == "uneven":
			at.Uneven = true
		case !isSaid:
			at.Members = append(at.Members, version(t, word))
		case key == "cluster":
			at.Cluster = version(t, value+".0")
		case key == "storage":
			at.Storage = version(t, value+".0")
		case key == "downgrade":
			at.Downgrade = version(t, value+".0")
		}
	}
	return at
}

func TestTheNextStopOnTheWayToAVersion(t *testing.T) {
	for _, row := range []struct{ name, at, target, stop, needs string }{
		{"a cluster without members begins at the target", "", "3.7.3", "3.7.3", ""},
		{"a patch is one step", "3.6.4 3.6.4 3.6.4 cluster=3.6 storage=3.6", "3.6.16", "3.6.16", ""},
		{"and so is the way back", "3.6.16 3.6.4 3.6.4 cluster=3.6 storage=3.6", "3.6.4", "3.6.4", ""},

		{"members below the patch that may be left go to the waypoint of their minor first",
			"3.5.21 3.5.21 3.5.21 cluster=3.5", "3.7.3", "3.5.35", ""},
		{"until each of them is there", "3.5.35 3.5.35 3.5.21 cluster=3.5", "3.6.16", "3.5.35", ""},
		{"a patch that may be left is a stop as good as the waypoint", "3.5.32 3.5.33 3.5.32 cluster=3.5", "3.6.14",
			"3.6.14", ""},
		{"one minor up is entered at the target", "3.5.35 3.5.35 3.5.35 cluster=3.5", "3.6.11", "3.6.11", ""},
		{"two minors up are entered at the waypoint between", "3.5.35 3.5.35 3.5.35 cluster=3.5", "3.7.3", "3.6.16",
			""},
		{"while one is there, the others follow", "3.6.16 3.5.35 3.5.35 cluster=3.5", "3.7.3", "3.6.16", ""},
		{"also where an older operator chose another patch", "3.6.14 3.5.35 3.5.35 cluster=3.5", "3.7.3", "3.6.14", ""},
		{"but not at one that may not be left", "3.6.4 3.5.35 3.5.35 cluster=3.5", "3.7.3", "3.6.16", ""},
		{"the first one that came to a patch that may be left is followed", "3.5.33 3.5.21 3.5.21 cluster=3.5",
			"3.6.16", "3.5.33", ""},
		{"one that went down too far to go up at once is met at the waypoint",
			"3.6.16 3.5.21 3.6.16 cluster=3.5 storage=3.5", "3.6.16", "3.5.35", ""},
		{"also on the way further up", "3.6.16 3.5.21 3.6.16 cluster=3.5 storage=3.5", "3.7.3", "3.5.35", ""},
		{"and not on the way down", "3.6.16 3.5.21 3.6.16 cluster=3.5 storage=3.5 downgrade=3.5", "3.5.21",
			"3.5.21", ""},
		{"the target turned back brings them back", "3.6.16 3.5.35 3.5.35 cluster=3.5", "3.5.35", "3.5.35", ""},
		{"to any patch", "3.6.16 3.5.35 3.5.35 cluster=3.5", "3.5.21", "3.5.21", ""},

		{"no member goes on before the cluster version moved",
			"3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5 covered",
			"3.7.3", "3.6.16", "ClusterVersion"},
		{"nor before it is known", "3.6.16 3.6.16 3.6.16 covered", "3.7.3", "3.6.16", "ClusterVersion"},
		{"nor before the storage version did", "3.6.16 3.6.16 3.6.16 cluster=3.6 storage=3.5 covered", "3.7.3",
			"3.6.16", "StorageVersion"},
		{"nor before what 3.5 wrote is behind a snapshot", "3.6.16 3.6.16 3.6.16 cluster=3.6 storage=3.6", "3.7.3",
			"3.6.16", "CoverLog"},
		{"members that a wrong image took two minors apart meet at the one between", "3.7.3 3.5.35 3.5.35 cluster=3.5",
			"3.5.35", "3.6.16", ""},
		{"also on the way up", "3.5.35 3.5.35 3.7.3 cluster=3.5", "3.7.3", "3.6.16", ""},
		{"at the target where that lies there", "3.5.35 3.5.35 3.7.3 cluster=3.5", "3.6.11", "3.6.11", ""},
		{"and go on from there as others do", "3.6.16 3.5.35 3.7.3 cluster=3.5", "3.5.35", "3.6.16", ""},

		{"no member leaves a minor while nothing says who is a member",
			"3.5.35 3.5.35 3.5.35 cluster=3.5 blind", "3.6.16",
			"3.5.35", ""},
		{"then on", "3.6.16 3.6.16 3.6.16 cluster=3.6 storage=3.6 covered", "3.7.3", "3.7.3", ""},
		{"the way ends once the versions moved", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6", "3.7.3", "3.7.3",
			"ClusterVersion"},
		{"and is at its end then", "3.7.3 3.7.3 3.7.3 cluster=3.7 storage=3.7", "3.7.3", "3.7.3", ""},

		{"turned back, members go down at once where etcd never moved the cluster version",
			"3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5 late", "3.5.35", "3.5.35", ""},
		{"and not while it may still move it", "3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5", "3.5.35", "3.6.16",
			"ClusterVersion"},
		{"nor where one of them does not say so", "3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5 late uneven", "3.5.35",
			"3.6.16", "ClusterVersion"},
		{"nor once it is enabled to go further down", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.7 downgrade=3.6 late",
			"3.6.16", "3.7.3", "StorageVersion"},
		{"nor where it is not known", "3.6.16 3.6.16 3.6.16 storage=3.5 late", "3.5.35", "3.6.16", "ClusterVersion"},
		{"a downgrade is enabled first", "3.7.3 3.7.3 3.7.3 cluster=3.7 storage=3.7", "3.5.21", "3.7.3", "Downgrade"},
		{"and not before the way up ended", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6", "3.6.16", "3.7.3",
			"ClusterVersion"},
		{"then all data has to follow", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.7 downgrade=3.6", "3.6.16", "3.7.3",
			"StorageVersion"},
		{"and the cluster version", "3.7.3 3.7.3 3.7.3 cluster=3.7 storage=3.6 downgrade=3.6", "3.6.16", "3.7.3",
			"ClusterVersion"},
		{"and a snapshot in a file, from which 3.6 starts", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6",
			"3.5.21", "3.7.3", "SaveLog"},
		{"then one after the other goes down", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6 saved",
			"3.5.21", "3.6.16", ""},
		{"at the target where that is of this minor", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6 saved",
			"3.6.11", "3.6.11", ""},
		{"3.5 reads what 3.6 wrote, and 3.7 what 3.8 wrote",
			"3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5 downgrade=3.5", "3.5.35", "3.5.35", ""},
		{"so members of the next minor need no file",
			"3.8.0-alpha.0 3.8.0-alpha.0 3.8.0-alpha.0 cluster=3.7 storage=3.7 downgrade=3.7", "3.6.16", "3.7.3", ""},
		{"the pre-release is entered where it is asked for", "3.7.3 3.7.3 3.7.3 cluster=3.7 storage=3.7",
			"3.8.0-alpha.0", "3.8.0-alpha.0", ""},
		{"by way of a patch that may be left", "3.7.1 3.7.3 3.7.1 cluster=3.7 storage=3.7", "3.8.0-alpha.0", "3.7.3", ""},
		{"one member of it turns round", "3.8.0-alpha.0 3.7.3 3.7.3 cluster=3.7 storage=3.7", "3.7.3", "3.7.3", ""},
		{"the others follow", "3.7.3 3.6.16 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6", "3.5.21", "3.6.16", ""},
		{"the downgrade has to end before the next one", "3.6.16 3.6.16 3.6.16 cluster=3.6 storage=3.6 downgrade=3.6",
			"3.5.21", "3.6.16", "NoDowngrade"},
		{"the target turned round with one down brings it up again",
			"3.7.3 3.6.16 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6", "3.7.3", "3.7.3",
			"NoDowngrade"},
		{"and cancels the downgrade then", "3.7.3 3.7.3 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6", "3.7.3", "3.7.3",
			"NoDowngrade"},
		{"a member that does not say that its data followed holds the others up",
			"3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5 downgrade=3.5 uneven", "3.5.35", "3.6.16", "StorageVersion"},
		{"a downgrade that began and is not asked for any more is cancelled while members go back",
			"3.6.16 3.5.35 3.5.35 cluster=3.5 storage=3.5 downgrade=3.5", "3.6.16", "3.6.16", "NoDowngrade"},
		{"and not while it is asked for", "3.6.16 3.5.35 3.5.35 cluster=3.5 storage=3.5 downgrade=3.5", "3.5.21",
			"3.5.21", ""},
		{"a downgrade that the target does not ask for is cancelled",
			"3.6.16 cluster=3.5 storage=3.5 downgrade=3.5", "3.6.16",
			"3.6.16", "NoDowngrade"},
	} {
		t.Run(row.name, func(t *testing.T) {
			stop, err := NextStop(progress(t, row.at), version(t, row.target))
			if err != nil || stop.Version != version(t, row.stop) || string(stop.Needs) != row.needs {
				t.Errorf("%s to %s stops at %s and needs %q, %v; want %s, %q", row.at, row.target, stop.Version,
					stop.Needs, err, row.stop, row.needs)
			}
		})
	}
}

func TestThePathNamesEachVersionThatMembersHaveYetToRun(t *testing.T) {
	for _, row := range []struct{ at, target, path string }{
		{"3.5.21 3.5.21 3.5.21 cluster=3.5", "3.7.3", "3.5.35 3.6.16 3.7.3"},
		{"3.5.35 3.5.21 3.5.35 cluster=3.5", "3.7.3", "3.5.35 3.6.16 3.7.3"},
		{"3.6.16 3.6.16 3.6.16 cluster=3.5 storage=3.5", "3.7.3", "3.7.3"},
		{"3.6.16 3.6.16 3.6.16 cluster=3.6 storage=3.6", "3.6.16", ""},
		{"3.7.3 3.7.3 3.7.3 cluster=3.7 storage=3.7", "3.5.21", "3.6.16 3.5.21"},
		{"3.5.21 3.5.21 3.5.21 cluster=3.5", "3.8.0-alpha.0", "3.5.35 3.6.16 3.7.3 3.8.0-alpha.0"},
		{"3.8.0-alpha.0 3.8.0-alpha.0 3.8.0-alpha.0 cluster=3.8 storage=3.8", "3.5.35", "3.7.3 3.6.16 3.5.35"},
		{"3.7.3 3.6.16 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6", "3.5.35", "3.6.16 3.5.35"},
		{"3.7.3 3.6.16 3.7.3 cluster=3.6 storage=3.6 downgrade=3.6", "3.7.3", "3.7.3"},
		{"3.7.3 3.5.35 cluster=3.5", "3.5.35", "3.6.16 3.5.35"},
		{"3.7.3 3.5.21", "3.7.3", ""},
		{"", "3.7.3", ""},
	} {
		var path []string
		for _, v := range Path(progress(t, row.at), version(t, row.target)) {
			path = append(path, v.String())
		}
		if got := strings.Join(path, " "); got != row.path {
			t.Errorf("%s to %s: %q, not %q", row.at, row.target, got, row.path)
		}
	}
}

func TestWhereEtcdHasNoStepThereIsNoStop(t *testing.T) {
	for at, target := range map[string]string{"3.7.3 3.5.21": "3.7.3", "3.6.16": "4.0.0", "2.3.0": "3.6.16"} {
		if stop, err := NextStop(progress(t, at), version(t, target)); err == nil {
			t.Errorf("%s to %s stops at %+v", at, target, stop)
		}
	}
}

func TestFromEachVersionToEachOtherAClusterArrivesByStepsOfOneMinor(t *testing.T) {
	versions := []string{"3.5.21", "3.5.35", "3.6.4", "3.6.16", "3.7.0", "3.7.3", "3.8.0-alpha.0"}
	for _, from := range versions {
		for _, to := range versions {
			for _, turn := range append(versions, "") {
				walk(t, version(t, from), version(t, to), turn)
			}
		}
	}
}

// walk plays three members that go to a target as an operator and etcd would move them. After four steps the target
// may become another one.
func walk(t *testing.T, from, target Version, turn string) {
	t.Helper()
	at := Progress{Members: []Version{from, from, from}, Cluster: from, Storage: from, Covered: from.Minor >= 7}
	for step := range 60 {
		if step == 4 && turn != "" {
			target = version(t, turn)
		}
		stop, err := NextStop(at, target)
		if err != nil {
			t.Fatalf("%+v to %s: %v", at, target, err)
		}
		if !at.take(t, stop) && stop.Version == target && stop.Needs == NeedNothing {
			if step >= 4 {
				return
			}
		}
	}
	t.Fatalf("from %s never arrives at %s: %+v", from, target, at)
}

// take does what the stop asks for, or what etcd does by itself, and reports whether that was anything.
func (at *Progress) take(t *testing.T, stop Stop) bool {
	t.Helper()
	for i, m := range at.Members {
		if m != stop.Version {
			if why := WhyNotOn(stop.Version, m, at.Cluster); why != "" {
				t.Fatalf("a step to %s from %+v: %s", stop.Version, at, why)
			}
			if stop.Version.Minor == 6 && m.Minor == 7 && at.Cluster.Minor == 6 && !at.Downgrade.IsZero() && !at.Saved {
				t.Fatalf("3.6 begins on what 3.7 wrote: %+v", at)
			}
			if stop.Version.Minor == 7 && m.Minor == 6 && !at.Covered {
				t.Fatalf("3.7 begins on what 3.5 wrote: %+v", at)
			}
			at.Members[i] = stop.Version
			at.Covered = at.Covered && stop.Version.Minor != 5
			return true
		}
	}
	members := at.Members[0]
	switch stop.Needs {
	case NeedDowngrade:
		at.Downgrade = release(3, members.Minor-1, 0)
	case NeedNoDowngrade:
		at.Downgrade = Version{}
	case NeedCluster:
		at.Cluster = members
		if !at.Downgrade.IsZero() {
			at.Cluster = at.Downgrade
		}
	case NeedStorage:
		at.Storage = at.Cluster
	case NeedCover:
		at.Covered = true
	case NeedSave:
		at.Saved = true
	case NeedNothing:
		return false
	}
	return true
}

func TestWhatMayStartOnWhichData(t *testing.T) {
	for _, row := range []struct{ start, wrote, cluster, why string }{
		{"3.6.16", "3.6.4", "3.6", ""},
		{"3.6.4", "3.6.16", "", ""},
		{"3.6.16", "3.5.35", "3.5", ""},
		{"3.6.16", "3.5.21", "3.5", "only a later patch of 3.5 may be left"},
		{"3.7.3", "3.6.4", "3.6", "only a later patch of 3.6 may be left"},
		{"3.5.21", "3.6.4", "3.5", ""},
		{"3.6.16", "3.5.35", "", ""},
		{"3.5.35", "3.6.16", "3.5", ""},
		{"3.5.35", "3.6.16", "3.6", "the cluster is of version 3.6"},
		{"3.5.35", "3.6.16", "", "the cluster is of version 3.6"},
		{"3.7.3", "3.5.35", "3.5", "would skip a minor"},
		{"3.7.3", "3.6.16", "3.5", "would skip a minor"},
		{"3.7.3", "3.6.16", "3.6", ""},
		{"3.6.16", "3.7.3", "3.6", ""},
		{"3.5.35", "3.7.3", "3.6", "the cluster is of version 3.6"},
		{"3.5.35", "3.7.3", "3.5", "would skip a minor"},
		{"4.0.0", "3.7.3", "3.7", "nothing says"},
	} {
		var cluster Version
		if row.cluster != "" {
			cluster = version(t, row.cluster+".0")
		}
		why := WhyNotOn(version(t, row.start), version(t, row.wrote), cluster)
		if (why == "") != (row.why == "") || !strings.Contains(why, row.why) {
			t.Errorf("%s on data of %s in a cluster of %q: %q", row.start, row.wrote, row.cluster, why)
		}
	}
}

func TestAClusterBeginsWithTheMinorThatWroteItsData(t *testing.T) {
	for _, row := range []struct{ wrote, target, begins, why string }{
		{"3.5.21", "3.7.3", "3.5.35", ""},
		{"3.5.21", "3.5.33", "3.5.33", ""},
		{"3.6.11", "3.7.3", "3.6.16", ""},
		{"3.6.16", "3.6.11", "3.6.11", ""},
		{"3.7.3", "3.6.16", "3.7.3", "is older"},
		{"3.4.20", "3.7.3", "3.7.3", "knows no way"},
		{"4.0.0", "3.7.3", "3.7.3", "is older"},
		{"3.7.3", "4.0.0", "3.7.3", "knows no way"},
	} {
		wrote, target := version(t, row.wrote), version(t, row.target)
		stop, err := NextStop(Progress{Begins: wrote}, target)
		if err != nil || stop != (Stop{Version: version(t, row.begins)}) {
			t.Errorf("%s for %s: %+v %v", row.wrote, row.target, stop, err)
		}
		if why := WhyNotBegin(wrote, target); (why == "") != (row.why == "") || !strings.Contains(why, row.why) {
			t.Errorf("%s for %s: %q", row.wrote, row.target, why)
		}
	}
}
