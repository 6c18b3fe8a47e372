package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAStepIsToldByTheArgumentsOfItsProcess(t *testing.T) {
	for arguments, want := range map[string]string{
		"/agent snapshot --store={}":                 "snapshot",
		"/agent compare":                             "compare",
		"etcdctl snapshot save /scratch/saved.db":    stepSave,
		"/usr/local/bin/etcdutl snapshot restore /a": stepRestore,
		"etcdctl endpoint health --cluster":          "",
		"etcdctl snapshot":                           "",
		"/manager --agent-image=x":                   "",
		"/elsewhere/agent snapshot":                  "",
		"/agent":                                     "",
		"":                                           "",
		"runc init":                                  "",
		"grep snapshot save":                         "",
	} {
		if got := stepOf(strings.Fields(arguments)); got != want {
			t.Errorf("%q: got %q, want %q", arguments, got, want)
		}
	}
}

// fakeProc is a directory like /proc.
type fakeProc struct {
	t   *testing.T
	dir string
}

func (p fakeProc) has(pid, arguments string, resident, anonymous int) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, pid), 0o700); err != nil {
		p.t.Fatal(err)
	}
	status := "Name:\tx\n"
	if resident > 0 { // a process that waits to be buried has no memory
		status += fmt.Sprintf("VmHWM:\t%d kB\nVmRSS:\t%d kB\nRssAnon:\t%d kB\n", resident<<10, resident<<10, anonymous<<10)
	}
	for name, text := range map[string]string{"cmdline": strings.ReplaceAll(arguments, " ", "\x00") + "\x00", "status": status} {
		if err := os.WriteFile(filepath.Join(p.dir, pid, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p fakeProc) lost(pid string) {
	if err := os.RemoveAll(filepath.Join(p.dir, pid)); err != nil {
		p.t.Fatal(err)
	}
}

func TestAProcessIsFollowedFromItsBeginningToItsEndWithTheMostMemoryThatItHad(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	programs, now := newPrograms(proc.dir), time.Now()
	begin := now
	look := func() {
		t.Helper()
		now = now.Add(time.Second)
		if err := programs.look(now); err != nil {
			t.Fatal(err)
		}
	}
	proc.has("7", "runc init", 5, 1)
	proc.has("8", "etcd --name=a", 500, 400)
	proc.has("self", "/agent snapshot", 1, 1)
	look() // 1 s
	proc.has("7", "/agent snapshot --verify", 40, 20)
	look() // 2 s
	proc.has("7", "/agent snapshot --verify", 60, 50)
	look()
	proc.has("7", "/agent snapshot --verify", 60, 30)
	look()
	proc.has("7", "/agent snapshot --verify", 0, 0)
	look() // 5 s: it has ended, and is still listed
	look()
	proc.lost("7")
	look()
	proc.has("7", "/agent fetch", 30, 10)
	look() // 8 s: another one of its number
	proc.lost("7")
	look() // 9 s
	if len(programs.ended) != 2 || len(programs.running) != 0 {
		t.Fatalf("ended %+v, running %+v", programs.ended, programs.running)
	}
	for i, want := range []stay{
		{step: "snapshot", pid: "7", began: begin.Add(2 * time.Second), ended: begin.Add(5 * time.Second), resident: 60, anonymous: 50},
		{step: "fetch", pid: "7", began: begin.Add(8 * time.Second), ended: begin.Add(9 * time.Second), resident: 30, anonymous: 10},
	} {
		if programs.ended[i] != want {
			t.Errorf("got  %+v\nwant %+v", programs.ended[i], want)
		}
	}
}

func TestARealProcessIsSeenForAsLongAsItRuns(t *testing.T) {
	const lasts = 300 * time.Millisecond
	seen, err := watching(t.Context(), func(ctx context.Context) error {
		command := exec.CommandContext(ctx, "/bin/sh")
		command.Args = []string{"/agent", "-c", "sleep 0.3; true"}
		return command.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := seen.only("-c")
	if err != nil {
		t.Fatal(err)
	}
	if s.seconds() < lasts.Seconds()/2 || s.resident == 0 {
		t.Errorf("seen for %.2f s, with %.1f MiB", s.seconds(), s.resident)
	}
}

func TestABackupThatWasBegunAnewIsNoMeasure(t *testing.T) {
	whole := []stay{{step: "snapshot"}, {step: "fetch"}, {step: stepRestore}, {step: "compare", pid: "9"}}
	for name, c := range map[string]struct {
		stays []stay
		ok    bool
	}{
		"each once":        {whole, true},
		"snapshot twice":   {append([]stay{{step: "snapshot"}}, whole...), false},
		"compare unseen":   {whole[:3], false},
		"nothing was seen": {nil, false},
	} {
		_, last, err := observed{stays: c.stays}.steps()
		if (err == nil) != c.ok || c.ok && last.pid != "9" {
			t.Errorf("%s: %+v, %v", name, last, err)
		}
	}
}
