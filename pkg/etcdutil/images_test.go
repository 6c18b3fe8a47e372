package etcdutil

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestTheListOfImagesForAMirrorHasEachVersionAtWhichAnUpgradeStops(t *testing.T) {
	command := exec.CommandContext(t.Context(), "make", "--silent", "--no-print-directory", "-C", "../..", "etcd-images")
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") })
	said, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	images := strings.Fields(string(said))
	for _, minor := range knownMinors {
		if want := "gcr.io/etcd-development/etcd:v" + minor.waypoint.String(); !slices.Contains(images, want) {
			t.Errorf("%s is not among %v", want, images)
		}
	}
}
