package cache

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// targetDir is keyed by the version and by all that goes into the build.
func (c *Cache) targetDir(t Target) string {
	mod, sum := t.moduleFiles()
	key := digest(string(mod), string(sum), t.LDFlags, fmt.Sprint(t.Packages))
	return filepath.Join(c.Dir, "bin", t.Directory+"-"+key)
}

func (t Target) moduleFiles() (mod, sum []byte) {
	mod, err := modules.ReadFile("modules/" + t.Module + ".mod")
	if err != nil {
		panic(fmt.Sprintf("no module file is embedded for %s: %v", t.Module, err))
	}
	sum, err = modules.ReadFile("modules/" + t.Module + ".sum")
	if err != nil {
		panic(fmt.Sprintf("no sums are embedded for %s: %v", t.Module, err))
	}
	return mod, sum
}

func (c *Cache) build(ctx context.Context, t Target) error {
	return c.once(c.targetDir(t), "building "+t.Directory, func(tmp string) error {
		if err := t.compile(ctx, tmp); err != nil {
			return err
		}
		if t.Rename[0] == "" {
			return nil
		}
		return os.Rename(filepath.Join(tmp, t.Rename[0]), filepath.Join(tmp, t.Rename[1]))
	})
}

// compile runs go in a module of its own, away from any other module and workspace.
func (t Target) compile(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "localkube-build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mod, sum := t.moduleFiles()
	for name, data := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	args := []string{"build", "-trimpath", "-ldflags", "-s -w " + t.LDFlags, "-o", out + "/"}
	cmd := exec.CommandContext(ctx, "go", append(args, t.Packages...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false -mod=readonly")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, lastLines(output.Bytes()))
	}
	return nil
}

// lastLines leaves out the thousand modules that were downloaded before something failed.
func lastLines(output []byte) []byte {
	const enough = 4000
	return output[max(0, len(output)-enough):]
}
