package csi

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Controller answers what the resizer asks.
type Controller struct {
	spec.UnimplementedControllerServer

	Volumes Volumes
}

// ControllerGetCapabilities says that volumes grow, and that a VolumeAttributesClass changes them.
func (Controller) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (
	*spec.ControllerGetCapabilitiesResponse, error) {
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, what := range []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_EXPAND_VOLUME, spec.ControllerServiceCapability_RPC_MODIFY_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: what}},
		})
	}
	return answer, nil
}

// ControllerExpandVolume makes a volume larger as far as its controller is concerned; its node has to follow.
func (c Controller) ControllerExpandVolume(_ context.Context, r *spec.ControllerExpandVolumeRequest) (
	*spec.ControllerExpandVolumeResponse, error) {
	found, err := c.Volumes.find(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	bytes := r.GetCapacityRange().GetRequiredBytes()
	if found.Parameters[expand] == broken {
		return nil, status.Error(codes.Internal, "the storage is out of order: its class says expand: broken")
	}
	if err := found.checkFits(limit, bytes); err != nil {
		return nil, err
	}
	if bytes > found.Bytes {
		found.Bytes = bytes
		if err := found.write(); err != nil {
			return nil, err
		}
	}
	return &spec.ControllerExpandVolumeResponse{CapacityBytes: found.Bytes, NodeExpansionRequired: true}, nil
}

// ControllerModifyVolume has a volume answer by the parameters of another VolumeAttributesClass.
func (c Controller) ControllerModifyVolume(_ context.Context, r *spec.ControllerModifyVolumeRequest) (
	*spec.ControllerModifyVolumeResponse, error) {
	found, err := c.Volumes.find(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := checkParameters(r.GetMutableParameters()); err != nil {
		return nil, err
	}
	return &spec.ControllerModifyVolumeResponse{}, found.with(r.GetMutableParameters()).write()
}
