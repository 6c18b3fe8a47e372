package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/registry"
)

// Registry is the host and port of the registry, by which its images are named.
func (c *Cluster) Registry() (string, error) {
	state, err := c.readState()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(state.Families[0].ControlPlane, registry.Port), nil
}

// Push puts the images of docker-archives into the registry, or without any those of etcd. It returns the name that each
// has there, with its digest.
func (c *Cluster) Push(ctx context.Context, archives []string) ([]string, error) {
	host, err := c.Registry()
	if err != nil {
		return nil, err
	}
	transport, err := registry.Trusting(filepath.Join(c.Paths.PKI(), "ca.crt"))
	if err != nil {
		return nil, err
	}
	if len(archives) == 0 {
		work, err := os.MkdirTemp("", "localkube-")
		if err != nil {
			return nil, fmt.Errorf("making a directory for images: %w", err)
		}
		defer func() { _ = os.RemoveAll(work) }()
		if archives, err = c.writeReleased(work); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, archive := range archives {
		pushed, err := registry.Client{Host: host, Transport: transport}.Push(ctx, archive)
		if err != nil {
			return names, err
		}
		names = append(names, pushed...)
	}
	return names, nil
}

// writeReleased writes an archive for each version of etcd that nodes have images of.
func (c *Cluster) writeReleased(work string) ([]string, error) {
	state, err := c.readState()
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, version := range state.EtcdVersions {
		archive, err := c.Cache.WriteReleasedEtcd(work, version)
		if err != nil {
			return nil, err
		}
		archives = append(archives, archive)
	}
	return archives, nil
}
