package s3server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// process is one run of a program.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how it ended, once done
}

// startProcess runs a program whose end is also that of this process, however that comes about.
func startProcess(binary, dir string, args, env []string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(binary, args...), log: log.Name(), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer log.Close()
		// The death signal comes when the thread that started it ends, so that thread has to stay (golang/go#27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		if p.err = p.cmd.Wait(); p.err == nil {
			p.err = fmt.Errorf("exit status 0")
		}
		close(p.done)
	}()
	return p, <-started
}

// Spawn runs a program until the test ends, which shows what it said if it failed. The program works in a directory of its
// own.
func Spawn(t testing.TB, binary string, args, env []string) {
	t.Helper()
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(binary, t.TempDir(), args, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", binary, p.output())
		}
	})
}

// kill asks nothing: what it kept is thrown away.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// output is what the process wrote, stdout and stderr as one.
func (p *process) output() []byte {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}
