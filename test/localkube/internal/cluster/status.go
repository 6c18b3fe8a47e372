package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
	"github.com/etcdsteward/etcd-steward/test/localkube/internal/network"
)

// Status writes a line for each host. It returns an error if localkube is not up, or something that should run does not.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	state, err := c.readState()
	if err != nil {
		return err
	}
	ready := map[string]bool{}
	if api, err := newAPI(c.Paths, state.Families); err == nil {
		// An API server that does not answer leaves every node without a mark, which is what is known of them.
		ready, _ = api.readyNodes(ctx)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "HOST\tADDRESS\tPODS\tNETWORK\tDAEMONS\tREADY")
	missing := c.ended(layout.ControlPlane, state.daemons(layout.ControlPlane))
	writeStatus(w, layout.Node{Name: layout.ControlPlane, IPs: state.Families.ControlPlanes(), PodCIDRs: []string{"-"}}, missing, "-")
	for _, n := range state.nodes() {
		ended := c.ended(n.Name, state.daemons(n.Name))
		missing = append(missing, ended...)
		writeStatus(w, n, ended, strconv.FormatBool(ready[n.Name]))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return errors.Join(missing...)
}

func writeStatus(w io.Writer, host layout.Node, ended []error, ready string) {
	link, daemons := "connected", "running"
	if network.IsCut(host.Name) {
		link = "cut"
	}
	if len(ended) > 0 {
		daemons = fmt.Sprintf("%d ended", len(ended))
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", host.Name, strings.Join(host.IPs, ","),
		strings.Join(host.PodCIDRs, ","), link, daemons, ready)
}

// ContainerPID returns the process, as this machine numbers it, that is the first in a running container of a Pod.
func (c *Cluster) ContainerPID(ctx context.Context, namespace, pod, container string) (int, error) {
	if _, err := c.readState(); err != nil {
		return 0, err
	}
	query := fmt.Sprintf(`jsonpath={.spec.nodeName} {.status.containerStatuses[?(@.name==%q)].containerID}`, container)
	out, err := c.Kubectl(ctx, "get", "pod", "--namespace="+namespace, pod, "--output="+query).Output()
	if err != nil {
		return 0, fmt.Errorf("asking for Pod %s/%s: %w", namespace, pod, err)
	}
	nodeName, id, found := strings.Cut(strings.TrimSpace(string(out)), " containerd://")
	if !found {
		return 0, fmt.Errorf("container %s of Pod %s/%s has not started", container, namespace, pod)
	}
	file := filepath.Join(c.Paths.Node(nodeName).ContainerdState(), "io.containerd.runtime.v2.task", "k8s.io", id, "init.pid")
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("container %s of Pod %s/%s does not run: %w", container, namespace, pod, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}
