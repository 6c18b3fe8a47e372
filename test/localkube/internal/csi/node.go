package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Node answers what the kubelet of one node asks. It runs among the mounts of that node.
type Node struct {
	spec.UnimplementedNodeServer

	Name    string
	Volumes Volumes
	Mounts  Mounts
}

// Mounts are those of the node.
type Mounts interface {
	// Bind shows a directory in another place.
	Bind(what, where string) error
	Unbind(where string) error
	// IsBound says whether something is mounted there.
	IsBound(where string) (bool, error)
	// Places are all those where a directory is shown.
	Places(what string) ([]string, error)
}

// NodeGetInfo says which node it is.
func (n Node) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: n.Name}, nil
}

// NodeGetCapabilities says that volumes are staged, and then grow, before a Pod gets them.
func (n Node) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (
	*spec.NodeGetCapabilitiesResponse, error) {
	answer := &spec.NodeGetCapabilitiesResponse{}
	for _, what := range []spec.NodeServiceCapability_RPC_Type{
		spec.NodeServiceCapability_RPC_EXPAND_VOLUME, spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.NodeServiceCapability{
			Type: &spec.NodeServiceCapability_Rpc{Rpc: &spec.NodeServiceCapability_RPC{Type: what}},
		})
	}
	return answer, nil
}

// NodeStageVolume shows a volume to the kubelet.
func (n Node) NodeStageVolume(_ context.Context, r *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	return &spec.NodeStageVolumeResponse{}, n.show(r.GetVolumeId(), r.GetStagingTargetPath())
}

// NodeUnstageVolume takes that back.
func (n Node) NodeUnstageVolume(_ context.Context, r *spec.NodeUnstageVolumeRequest) (
	*spec.NodeUnstageVolumeResponse, error) {
	return &spec.NodeUnstageVolumeResponse{}, n.hide(r.GetStagingTargetPath())
}

// NodePublishVolume shows it to a Pod.
func (n Node) NodePublishVolume(_ context.Context, r *spec.NodePublishVolumeRequest) (
	*spec.NodePublishVolumeResponse, error) {
	return &spec.NodePublishVolumeResponse{}, n.show(r.GetVolumeId(), r.GetTargetPath())
}

// NodeUnpublishVolume takes that back. Kubernetes asks for the directory to go.
func (n Node) NodeUnpublishVolume(_ context.Context, r *spec.NodeUnpublishVolumeRequest) (
	*spec.NodeUnpublishVolumeResponse, error) {
	if err := n.hide(r.GetTargetPath()); err != nil {
		return nil, err
	}
	if err := os.Remove(r.GetTargetPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing where a Pod had its volume: %w", err)
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

// NodeExpandVolume makes a volume as large here as its controller has made it, or fails as its class says.
func (n Node) NodeExpandVolume(_ context.Context, r *spec.NodeExpandVolumeRequest) (
	*spec.NodeExpandVolumeResponse, error) {
	found, err := n.Volumes.find(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := found.checkFits(nodeLimit, r.GetCapacityRange().GetRequiredBytes()); err != nil {
		return nil, err
	}
	switch found.Parameters[expand] {
	case stuck:
		return nil, status.Error(codes.Internal, "the node cannot make it larger: its class says expand: stuck")
	case offline:
		if err := n.checkUnused(found); err != nil {
			return nil, err
		}
	}
	return &spec.NodeExpandVolumeResponse{CapacityBytes: found.Bytes}, nil
}

func (n Node) checkUnused(v volume) error {
	places, err := n.Mounts.Places(v.data())
	if err != nil {
		return err
	}
	for _, place := range places {
		if strings.Contains(place, "/pods/") {
			return status.Error(codes.FailedPrecondition, "a Pod uses it, and its class says expand: offline")
		}
	}
	return nil
}

func (n Node) show(name, where string) error {
	found, err := n.Volumes.find(name)
	if err != nil {
		return err
	}
	if bound, err := n.Mounts.IsBound(where); err != nil || bound {
		return err
	}
	if err := os.MkdirAll(where, 0o750); err != nil {
		return fmt.Errorf("making where a volume is shown: %w", err)
	}
	return n.Mounts.Bind(found.data(), where)
}

func (n Node) hide(where string) error {
	if bound, err := n.Mounts.IsBound(where); err != nil || !bound {
		return err
	}
	return n.Mounts.Unbind(where)
}

// Kernel does it, in the mount namespace of this process.
type Kernel struct{}

// Bind shows a directory in another place.
func (Kernel) Bind(what, where string) error {
	if err := unix.Mount(what, where, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("showing %s at %s: %w", what, where, err)
	}
	return nil
}

// Unbind takes that back.
func (Kernel) Unbind(where string) error {
	if err := unix.Unmount(where, 0); err != nil {
		return fmt.Errorf("unmounting %s: %w", where, err)
	}
	return nil
}

// IsBound says whether something is mounted there.
func (Kernel) IsBound(where string) (bool, error) {
	all, err := readMounts()
	if err != nil {
		return false, err
	}
	for _, m := range all {
		if m.point == where {
			return true, nil
		}
	}
	return false, nil
}

// Places are all those where a directory is shown. What the kernel tells of a directory is its path on its own disk,
// which is mounted somewhere, so the end of the path has to do.
func (Kernel) Places(what string) ([]string, error) {
	all, err := readMounts()
	return places(all, what), err
}

func places(all []mount, what string) []string {
	var points []string
	for _, m := range all {
		if strings.HasSuffix(what, m.root) && m.root != "/" {
			points = append(points, m.point)
		}
	}
	return points
}

type mount struct{ root, point string }

// readMounts reads mountinfo, proc(5). No path of a localkube has a blank in it.
func readMounts() ([]mount, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	return parseMounts(string(data)), nil
}

func parseMounts(mountinfo string) []mount {
	const root, point = 3, 4
	var all []mount
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > point {
			all = append(all, mount{root: fields[root], point: fields[point]})
		}
	}
	return all
}
