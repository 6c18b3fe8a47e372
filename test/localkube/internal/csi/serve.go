package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// RunController answers the resizer until ctx ends.
func RunController(ctx context.Context, volumes Volumes, socket string) error {
	server := grpc.NewServer()
	spec.RegisterIdentityServer(server, Identity{})
	spec.RegisterControllerServer(server, Controller{Volumes: volumes})
	return serve(ctx, server, socket)
}

// RunNode answers a kubelet until ctx ends. The kubelet finds the driver by a socket in a directory that it watches.
func RunNode(ctx context.Context, node Node, kubelet string) error {
	socket := filepath.Join(kubelet, "plugins", Name, "csi.sock")
	server := grpc.NewServer()
	spec.RegisterIdentityServer(server, Identity{})
	spec.RegisterNodeServer(server, node)
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, Registration{Socket: socket})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- serve(ctx, server, socket) }()
	go func() { ended <- serve(ctx, registrar, filepath.Join(kubelet, "plugins_registry", Name+".sock")) }()
	err := <-ended
	cancel()
	return errors.Join(err, <-ended)
}

// serve first removes the socket of a process that was killed.
func serve(ctx context.Context, server *grpc.Server, socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return fmt.Errorf("making the directory of a socket: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer context.AfterFunc(ctx, server.Stop)()
	return server.Serve(listener)
}

// Identity says what this driver is.
type Identity struct {
	spec.UnimplementedIdentityServer
}

// GetPluginInfo tells its name.
func (Identity) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: Name, VendorVersion: "1"}, nil
}

// GetPluginCapabilities says that it has a controller.
func (Identity) GetPluginCapabilities(context.Context, *spec.GetPluginCapabilitiesRequest) (
	*spec.GetPluginCapabilitiesResponse, error) {
	controller := &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_CONTROLLER_SERVICE}
	return &spec.GetPluginCapabilitiesResponse{Capabilities: []*spec.PluginCapability{
		{Type: &spec.PluginCapability_Service_{Service: controller}},
	}}, nil
}

// Probe says that it is ready.
func (Identity) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{}, nil
}

// Registration tells a kubelet where the driver of its node listens.
type Registration struct {
	registration.UnimplementedRegistrationServer

	Socket string
}

// GetInfo tells it.
func (r Registration) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: Name, Endpoint: r.Socket, SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus has the process end, and be named by `localkube status`, if a kubelet refused it.
func (Registration) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (
	*registration.RegistrationStatusResponse, error) {
	if !s.GetPluginRegistered() {
		fmt.Fprintln(os.Stderr, "the kubelet refuses the driver:", s.GetError())
		os.Exit(1)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
