package client

import (
	"fmt"

	"go.etcd.io/etcd/client/pkg/v3/types"
)

// checkPeerURL refuses what etcd could not parse again.
func checkPeerURL(peerURL string) error {
	if _, err := types.NewURLs([]string{peerURL}); err != nil {
		return fmt.Errorf("peer URL %q: %w", peerURL, err)
	}
	return nil
}
