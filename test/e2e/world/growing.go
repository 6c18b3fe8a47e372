package world

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// The StorageClasses of the CSI driver of a localkube, and the VolumeAttributesClasses.
const (
	Expandable = "csi-expandable" // grows while Pods use it
	Fixed      = "csi-fixed"      // does not grow
	Offline    = "csi-offline"    // grows at the next start of the Pod that uses it
	Infeasible = "csi-infeasible" // grows to 16Gi, and no further

	Fast       = "csi-fast"
	Impossible = "csi-impossible" // is refused by the driver
)

// GrowingVolumes starts the driver, which runs already after the first story that asks for it.
func (w *World) GrowingVolumes(ctx context.Context) {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	_, err := w.localkube(ctx, "csi")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// AwaitUnstaged waits until the kubelet of a node has put a volume away, after the last Pod that used it. An offline volume
// that the next Pod finds there does not grow.
func (w *World) AwaitUnstaged(ctx context.Context, node, volume string) {
	ginkgo.GinkgoHelper()
	volumes, err := w.localkube(ctx, "volumes", node)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	staged := filepath.Join(filepath.Dir(volumes), "kubelet", "plugins", "kubernetes.io", "csi", "csi.localkube",
		fmt.Sprintf("%x", sha256.Sum256([]byte(volume))))
	gomega.Eventually(ctx, func() bool {
		_, err := os.Stat(filepath.Join(staged, "globalmount"))
		return os.IsNotExist(err)
	}).WithTimeout(time.Minute).Should(gomega.BeTrue(), "the volume %s is on %s", volume, node)
}
