package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// bench is one run: what was asked for, where, and what came of it so far.
type bench struct {
	options
	kube       *kube
	began      time.Time
	loadBefore string
	figures    []*figure
}

// figure finds the figure of that name, or begins it.
func (b *bench) figure(wanted figure) *figure {
	for _, f := range b.figures {
		if f.Name == wanted.Name {
			return f
		}
	}
	b.figures = append(b.figures, &wanted)
	return &wanted
}

// add notes a sample of one side and says so at once: the whole takes long.
func (b *bench) add(f *figure, s side, taken sample) {
	if s == floor {
		f.Floor = append(f.Floor, taken)
	} else {
		f.Ours = append(f.Ours, taken)
	}
	note := taken.Note
	if taken.Busy > 0 {
		note = fmt.Sprintf("machine %.0f %% busy  %s", taken.Busy*100, note)
	}
	b.say("%-5s %-34s %-10s %s", s, f.Name, f.show(taken.Value), note)
	if b.verbose {
		for _, line := range taken.Timeline {
			b.say("        %s", line)
		}
	}
}

func (b *bench) say(format string, args ...any) {
	fmt.Printf("%7.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// loadAverage is the machine's, which every figure is a child of; empty where there is none to read.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
