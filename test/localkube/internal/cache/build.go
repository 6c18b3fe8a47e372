package cache

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
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
		if err := c.compile(ctx, t, tmp); err != nil {
			return err
		}
		if t.Rename[0] == "" {
			return nil
		}
		return os.Rename(filepath.Join(tmp, t.Rename[0]), filepath.Join(tmp, t.Rename[1]))
	})
}

// compile runs go in a module of its own, away from any other module and workspace.
func (c *Cache) compile(ctx context.Context, t Target, out string) error {
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
	var listed, built tally
	list := append([]string{"list", "-deps"}, t.Packages...)
	err = c.runGo(ctx, dir, list, &listed, func() string {
		return fmt.Sprintf("%d modules downloaded", listed.count().modules)
	})
	if err != nil {
		return err
	}
	build := []string{"build", "-v", "-trimpath", "-ldflags", "-s -w " + t.LDFlags, "-o", out + "/"}
	return c.runGo(ctx, dir, append(build, t.Packages...), &built, func() string {
		return fmt.Sprintf("%d packages of at most %d", built.count().packages, listed.count().packages)
	})
}

// runGo runs go, and says every so often how far it is. It ends with this process, however that ends: nothing else
// writes into the cache then.
func (c *Cache) runGo(ctx context.Context, dir string, args []string, said *tally, far func() string) error {
	const patience = 10 * time.Second // until it has removed its own temporary files
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false -mod=readonly")
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.during(cmd.Run, far); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, lastLines(said.count().others))
	}
	return nil
}

// during does something, and says every so often how far it is: in lines, which are read in a log as well.
func (c *Cache) during(do func() error, far func() string) error {
	ended, begin := make(chan error, 1), time.Now()
	go func() { ended <- do() }()
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			c.say("    %4.0f s: %s\n", time.Since(begin).Seconds(), far())
		}
	}
}

// lastLines are enough of what was said before something failed.
func lastLines(output []byte) []byte {
	const enough = 4000
	return bytes.TrimSpace(output[max(0, len(output)-enough):])
}
