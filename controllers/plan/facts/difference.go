package facts

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

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
	var now, before map[string]any
	if json.Unmarshal([]byte(c.Inputs), &now) != nil || json.Unmarshal([]byte(from.Inputs), &before) != nil {
		return nil
	}
	var fields []string
	for _, path := range differing("", now, before) {
		if called, isOther := fieldsOfSpec[path]; isOther {
			path = called
		}
		fields = append(fields, "spec."+path)
	}
	return fields
}

// differing are the paths to what two values do not share. Lists are not looked into: their items have no name.
func differing(at string, a, b any) []string {
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
		return []string{strings.TrimPrefix(at, ".")}
	}
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		paths = append(paths, differing(at+"."+key, inA[key], inB[key])...)
	}
	return paths
}
