package images

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// namespace is the one of containerd's namespaces that the kubelet uses.
const namespace = "k8s.io"

// Import makes the images of a docker-archive known to the containerd behind a socket.
func Import(ctx context.Context, socket, archive string) error {
	_, err := Ctr(ctx, socket, "image", "import", archive)
	if err != nil {
		return fmt.Errorf("importing %s: %w", archive, err)
	}
	return nil
}

// Ctr runs containerd's own client against a socket, in the kubelet's namespace, and returns its output.
func Ctr(ctx context.Context, socket string, args ...string) (string, error) {
	args = append([]string{"--address", socket, "--namespace", namespace}, args...)
	cmd := exec.CommandContext(ctx, "ctr", args...)
	// It may wait for a socket for long; if this program is killed meanwhile, nothing of it stays.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ctr: %w: %s", err, strings.TrimSpace(errors.String()))
	}
	return string(out), nil
}
