package world

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// The StorageClasses of the CSI driver of a localkube, and the VolumeAttributesClasses.
const (
	Expandable = "csi-expandable" // grows while Pods use it
	Fixed      = "csi-fixed"      // does not grow
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
