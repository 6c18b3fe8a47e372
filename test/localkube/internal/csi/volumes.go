// Package csi is a driver of volumes that grow, or fail to as volumes do in the field. One is a directory of its node.
// Kubernetes asks this driver as it asks any: kubelets over the sockets of their nodes, and the resizer that Kubernetes
// publishes over that of the controller. What a volume answers stands in the parameters of its class.
package csi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Name is what classes and nodes call the driver.
const Name = "csi.localkube"

// What a class, or a VolumeAttributesClass of a claim, may say.
const (
	expand    = "expand"    // how the volume grows, one of modes
	limit     = "limit"     // beyond which the controller refuses to make it larger
	nodeLimit = "nodeLimit" // beyond which the node does
	speed     = "speed"     // has no effect
)

// The ways to grow.
const (
	online  = "online"  // while a Pod uses the volume, which is the default
	offline = "offline" // on the node only before a Pod gets it: at the next start of one that uses it
	stuck   = "stuck"   // the node fails, and is asked again
	broken  = "broken"  // the controller fails, and is asked again
)

// Volumes holds those of each node in a directory of this machine.
type Volumes map[string]string

// volume is what is written down about one, beside its data.
type volume struct {
	Bytes      int64             `json:"bytes"`
	Parameters map[string]string `json:"parameters,omitempty"`

	dir string
}

// data is the directory that Pods see.
func (v volume) data() string { return filepath.Join(v.dir, "data") }

func (v volume) write() error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the volume %s: %w", v.dir, err)
	}
	// The node reads while the controller writes.
	file := filepath.Join(v.dir, "volume.json")
	if err := os.WriteFile(file+".tmp", text, 0o600); err != nil {
		return fmt.Errorf("writing the volume %s: %w", v.dir, err)
	}
	return os.Rename(file+".tmp", file)
}

// find returns the volume of that name on the node that has it.
func (v Volumes) find(name string) (volume, error) {
	if name == "" || name != filepath.Base(name) || name[0] == '.' {
		return volume{}, status.Errorf(codes.InvalidArgument, "%q is no name of a volume", name)
	}
	for _, root := range v {
		found := volume{dir: filepath.Join(root, name)}
		text, err := os.ReadFile(filepath.Join(found.dir, "volume.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(text, &found)
		}
		return found, err
	}
	return volume{}, status.Errorf(codes.NotFound, "there is no volume %s", name)
}

// checkParameters refuses what the driver does not know: a misspelled parameter would be a volume that never fails.
func checkParameters(parameters map[string]string) error {
	words := map[string][]string{expand: {online, offline, stuck, broken}, speed: {"slow", "fast"}}
	for key, value := range parameters {
		known := false
		switch key {
		case limit, nodeLimit:
			_, err := resource.ParseQuantity(value)
			known = err == nil
		default:
			for _, word := range words[key] {
				known = known || word == value
			}
		}
		if !known {
			return status.Errorf(codes.InvalidArgument, "the parameter %s: %q is none of this driver's", key, value)
		}
	}
	return nil
}

// checkFits refuses a size beyond one of the limits.
func (v volume) checkFits(which string, bytes int64) error {
	value, isSet := v.Parameters[which]
	if !isSet {
		return nil
	}
	most, err := resource.ParseQuantity(value)
	if err != nil {
		return fmt.Errorf("reading the %s of %s: %w", which, v.dir, err)
	}
	if bytes > most.Value() {
		return status.Errorf(codes.OutOfRange, "a volume of this class has at most %s", value)
	}
	return nil
}

// with has the volume answer by other parameters from now on. What they do not name stays as it is.
func (v volume) with(parameters map[string]string) volume {
	merged := maps.Clone(v.Parameters)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, parameters)
	v.Parameters = merged
	return v
}
