package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Settings are what a member's Pod is made from: the etcd version and everything else of the user's that needs a
// restart. Inputs is canonical JSON, so that two Settings are the same exactly when they are equal. What follows it is
// read from it.
type Settings struct {
	Version     etcdutil.Version
	Inputs      string
	QuotaBytes  int64  // size of the database at which etcd stops accepting keys
	MemoryBytes int64  // limit of the container's memory; 0 for none
	RestartedAt string // for what a person had the members restarted; empty for nothing
	Sidecars    string // spec.pod.sidecars; empty for none
	// Fixed is Inputs without the amounts of CPU and memory, which Kubernetes changes in a Pod that runs.
	Fixed string
	Trust Trust // the CAs that etcd reads at its start

	Transport etcdutil.Transport // how the member is reached
}

// IsZero reports that no settings are written down.
func (c Settings) IsZero() bool { return c == Settings{} }

// IsLike reports settings that differ in nothing but amounts of CPU and memory, if at all.
func (c Settings) IsLike(other Settings) bool { return c.Fixed != "" && c.Fixed == other.Fixed }

// fieldsOfSpec are the settings that are called otherwise in the spec.
var fieldsOfSpec = map[string]string{
	"etcd.compactionMode":      "etcd.autoCompaction.mode",
	"etcd.compactionRetention": "etcd.autoCompaction.retention",
	"image.digest":             "image.digests",
	"tls":                      "tls.mode",
}

// Differing are the fields of the spec in which settings differ from others, sorted. It names no value: a flag or a
// variable may hold a secret. Of settings that cannot be read it says nothing.
func (c Settings) Differing(from Settings) []string {
	var fields []string
	for _, d := range c.differences(from) {
		fields = append(fields, d.field())
	}
	return fields
}

// Undo says how a person goes back from these settings to others, as a part of a sentence, or "". It tells the values
// of few fields, for the same reason.
func (c Settings) Undo(to Settings) string {
	const most = 2
	var steps []string
	for _, d := range c.differences(to) {
		isOfVersion := d.path == "image.digest" && c.Version != to.Version
		if d.path != "restartedAt" && !isOfVersion {
			steps = append(steps, d.undo())
		}
	}
	if more := len(steps) - most; more > 0 {
		steps = append(steps[:most], fmt.Sprintf("undo %d more changes", more))
	}
	return strings.Join(steps, " and ")
}

// NodeSelector is spec.pod.nodeSelector as kubectl takes it, such as pool=blue,zone=a, or "".
func (c Settings) NodeSelector() string {
	var in struct {
		Pod struct{ NodeSelector map[string]string }
	}
	if json.Unmarshal([]byte(c.Inputs), &in) != nil {
		return ""
	}
	labels := make([]string, 0, len(in.Pod.NodeSelector))
	for _, key := range slices.Sorted(maps.Keys(in.Pod.NodeSelector)) {
		labels = append(labels, key+"="+in.Pod.NodeSelector[key])
	}
	return strings.Join(labels, ",")
}

// difference is a path to what two values do not share, and what is there in the other one; nil where nothing is.
type difference struct {
	path  string
	other any
}

func (d difference) field() string { return "spec." + cmp.Or(fieldsOfSpec[d.path], d.path) }

func (d difference) undo() string {
	if d.other == nil {
		return "take " + d.field() + " out"
	}
	back := "put " + d.field() + " back"
	bytes, isNumber := d.other.(float64)
	switch {
	case d.path == "etcd.quotaBackendBytes" && isNumber:
		back += " to " + FormatBytes(int64(bytes))
	case d.path == "version" || d.path == "image.repository" || strings.HasPrefix(d.path, "pod.resources."):
		back += fmt.Sprintf(" to %v", d.other)
	}
	return back
}

func (c Settings) differences(from Settings) []difference {
	var now, before map[string]any
	if json.Unmarshal([]byte(c.Inputs), &now) != nil || json.Unmarshal([]byte(from.Inputs), &before) != nil {
		return nil
	}
	return differing("", now, before)
}

// differing does not look into lists: their items have no name.
func differing(at string, a, b any) []difference {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	inA, _ := a.(map[string]any)
	inB, _ := b.(map[string]any)
	all := maps.Clone(inA)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, inB)
	if len(all) == 0 {
		return []difference{{strings.TrimPrefix(at, "."), b}}
	}
	var found []difference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		found = append(found, differing(at+"."+key, inA[key], inB[key])...)
	}
	return found
}
