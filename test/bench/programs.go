package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"time"
)

const (
	// lookAtPrograms is how often processes are looked for, and weighed: how exactly their beginning and end are known.
	lookAtPrograms = 20 * time.Millisecond
	// becoming is how long a new process may be that of its container's runtime before it is what it is.
	becoming = 5 * time.Second
)

// Steps of a backup and of its floor that are programs of etcd; the agent's have its own names.
const (
	stepSave    = "etcdctl snapshot save"
	stepRestore = "etcdutl snapshot restore"
)

// stay is one process from its beginning to its end, with the most memory that it was seen with, in MiB.
type stay struct {
	step                string
	pid                 string
	began, ended        time.Time
	resident, anonymous float64 // all of it; without files that are mapped
}

func (s stay) seconds() float64 { return s.ended.Sub(s.began).Seconds() }

// stepOf names the step that a process works on, by its arguments; empty for any other process.
func stepOf(arguments []string) string {
	if len(arguments) < 2 {
		return ""
	}
	switch program := path.Base(arguments[0]); {
	case arguments[0] == "/agent":
		return arguments[1]
	case (program == "etcdctl" || program == "etcdutl") && arguments[1] == "snapshot" && len(arguments) > 2:
		return program + " snapshot " + arguments[2]
	}
	return ""
}

// programs watches the processes of this machine, where localkube's containers run, for those that do such a step.
type programs struct {
	proc    string // where processes are listed
	first   map[string]time.Time
	running map[string]*stay
	ended   []stay
}

func newPrograms(proc string) *programs {
	return &programs{proc: proc, first: map[string]time.Time{}, running: map[string]*stay{}}
}

// watch looks until ctx ends, and returns the processes that came to their end by then.
func (p *programs) watch(ctx context.Context) ([]stay, error) {
	tick := time.NewTicker(lookAtPrograms)
	defer tick.Stop()
	for isLast := false; ; {
		if err := p.look(time.Now()); err != nil || isLast {
			return p.ended, err
		}
		select {
		case <-ctx.Done():
			isLast = true
		case <-tick.C:
		}
	}
}

// look goes once over all processes.
func (p *programs) look(now time.Time) error {
	for pid, s := range p.running {
		if !p.weigh(s) {
			s.ended = now
			p.ended = append(p.ended, *s)
			delete(p.running, pid)
		}
	}
	directory, err := os.Open(p.proc)
	if err != nil {
		return fmt.Errorf("looking for processes: %w", err)
	}
	defer directory.Close()
	names, err := directory.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("looking for processes: %w", err)
	}
	seen := make(map[string]time.Time, len(names))
	for _, pid := range names {
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		first, known := p.first[pid]
		if !known {
			first = now
		}
		seen[pid] = first
		if p.running[pid] == nil && now.Sub(first) < becoming {
			p.meet(pid, now)
		}
	}
	p.first = seen
	return nil
}

// meet begins to follow a process that does a step.
func (p *programs) meet(pid string, now time.Time) {
	line, err := os.ReadFile(path.Join(p.proc, pid, "cmdline"))
	if err != nil {
		return // it is gone
	}
	var arguments []string
	for argument := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
		arguments = append(arguments, string(argument))
	}
	step := stepOf(arguments)
	if step == "" || slices.ContainsFunc(p.ended, func(s stay) bool { return s.pid == pid && s.step == step }) {
		return
	}
	s := &stay{step: step, pid: pid, began: now}
	if p.weigh(s) {
		p.running[pid] = s
	}
}

// weigh notes the memory of a process, and reports whether it is still there. One that waits to be buried has none.
func (p *programs) weigh(s *stay) bool {
	file, err := os.Open(path.Join(p.proc, s.pid, "status"))
	if err != nil {
		return false
	}
	defer file.Close()
	sizes, err := readStatus(file)
	if err != nil {
		return false
	}
	s.resident, s.anonymous = max(s.resident, sizes["VmHWM"]), max(s.anonymous, sizes["RssAnon"])
	return true
}

// observed is what happened while something was done.
type observed struct {
	stays  []stay
	writes writes
	wrote  wrote
}

// writes tells how slow they were in a time, and how many.
type writes func(from, to time.Time) (p99 time.Duration, acknowledged int)

func (o observed) p99(from, to time.Time) (time.Duration, int) { return o.writes(from, to) }

// only finds the one process that did a step: where there were more, something was begun anew and nothing was measured.
func (o observed) only(step string) (stay, error) {
	var found []stay
	for _, s := range o.stays {
		if s.step == step {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return stay{}, fmt.Errorf("%d processes were seen that did %q, not one", len(found), step)
	}
	return found[0], nil
}

// steps are the first and the last of a backup that is proven.
func (o observed) steps() (first, last stay, err error) {
	first, err = o.only("snapshot")
	_, fetchErr := o.only("fetch")
	last, lastErr := o.only("compare")
	return first, last, errors.Join(err, fetchErr, lastErr)
}
