package world

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// buildPlugin builds the kubectl plugin once, and says where it is.
var buildPlugin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plugin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kubectl-etcd_steward")
	build := exec.Command("go", "build", "-o", path, "./cmd/kubectl-etcd-steward")
	build.Dir = project
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the kubectl plugin: %w: %s", err, out)
	}
	return path, nil
})

// Plugin runs the kubectl plugin in the namespace of a story: what it prints on each stream, and its exit code. The
// namespace and the kubeconfig stand first, since arguments may have dashes.
func (s *Story) Plugin(ctx context.Context, in io.Reader, args ...string) (out, errOut string, err error) {
	path, err := buildPlugin()
	if err != nil {
		return "", "", err
	}
	var printed, said bytes.Buffer
	command := exec.CommandContext(ctx, path, append([]string{"--kubeconfig", s.Kubeconfig, "-n", s.Namespace}, args...)...)
	command.Stdin, command.Stdout, command.Stderr = in, &printed, &said
	err = command.Run()
	return printed.String(), said.String(), err
}
