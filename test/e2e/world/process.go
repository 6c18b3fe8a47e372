package world

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is a program that runs on this machine for a story.
type process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

// startProcess runs a program, which ends with this process at the latest. What it says goes to the end of the log.
func startProcess(log string, args []string) (*process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", args[0], err)
	}
	p := &process{command: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = output, output
	p.command.Env = []string{"PATH=" + os.Getenv("PATH")} // and no proxy of this machine's between it and etcd
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer output.Close()
		// The death signal comes when the thread that started it ends, so that thread has to stay (golang/go#27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	return p, nil
}

// kill ends the process; ending one that is ended does nothing.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop asks the process to end, as a person or a kubelet does, and waits until it has.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal)
	<-p.ended
}

func (p *process) checkRunning() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %s", p.command.Path, p.command.ProcessState)
	default:
		return nil
	}
}

// withDNS has a program that has files in a directory look names up where Pods do, the names of Services below the
// domain first: in mounts of its own another file says who knows names. Each step replaces the process by the next one, so
// that it stays the one that was started.
func withDNS(dir, domain string, args []string) ([]string, error) {
	resolv := fmt.Sprintf("nameserver %s\nsearch %s\noptions ndots:5\n", dnsAddress, domain)
	err := writeFiles(dir, map[string][]byte{"resolv.conf": []byte(resolv)})
	return append([]string{
		"unshare", "--mount", "--propagation", "private", "--",
		"/bin/sh", "-ec", `mount --bind "$1" /etc/resolv.conf; shift; exec "$@"`, "sh", filepath.Join(dir, "resolv.conf"),
	}, args...), err
}

func writeFiles(dir string, files map[string][]byte) error {
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("writing a file of a program: %w", err)
		}
	}
	return nil
}
