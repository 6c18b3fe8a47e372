package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"time"
)

// Limits of a report: it is mailed, and attached to issues.
const (
	mostOfOneLog = 1 << 20  // bytes of one container's log
	mostOfAll    = 32 << 20 // bytes of all files together
)

// bundle is a report that is being made.
type bundle struct {
	name    string
	at      time.Time
	files   []file
	size    int
	missing []string // one line each
}

type file struct {
	path, about string
	text        []byte
}

// add takes a file, unless the report would get too large.
func (b *bundle) add(path, about string, text []byte) {
	if b.size+len(text) > mostOfAll {
		b.missing = append(b.missing, fmt.Sprintf(
			"%s: the report would be larger than %d MiB. Take fewer lines with --tail.", path, mostOfAll>>20))
		return
	}
	b.size += len(text)
	b.files = append(b.files, file{path, about, text})
}

func (b *bundle) addText(path, about string, write func(io.Writer) error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		b.miss(path, err)
		return
	}
	b.add(path, about, text.Bytes())
}

// miss notes what could not be read.
func (b *bundle) miss(path string, err error) { b.missing = append(b.missing, path+": "+err.Error()) }

// write writes the report, with a README that says what it has.
func (b *bundle) write(out io.Writer) error {
	packed := gzip.NewWriter(out)
	archive := tar.NewWriter(packed)
	for _, f := range append([]file{{path: "README.md", text: []byte(b.readme())}}, b.files...) {
		err := archive.WriteHeader(&tar.Header{Name: b.name + "/" + f.path, Mode: 0o600, Size: int64(len(f.text)),
			ModTime: b.at.Truncate(time.Second)})
		if err == nil {
			_, err = archive.Write(f.text)
		}
		if err != nil {
			return fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("packing the report: %w", err)
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("packing the report: %w", err)
	}
	return nil
}

func (b *bundle) readme() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\nMade on %s by `kubectl etcd-steward report` %s. Begin with `status.txt`.\n\n", b.name,
		date(b.at), version)
	text.WriteString("No Secret was read. Values of environment variables are replaced by `" + removed + "`, but for " +
		"those whose names begin with ETCD. Fields of managers are left out. Names, addresses, arguments of " +
		"containers and logs are as they were: look through them before you pass this on.\n\n")
	fmt.Fprintf(&text, "A log has its last lines, at most %d KiB. All files together have at most %d MiB.\n\n",
		mostOfOneLog>>10, mostOfAll>>20)
	text.WriteString("## Files\n\n")
	for _, f := range b.files {
		fmt.Fprintf(&text, "- `%s`: %s\n", f.path, f.about)
	}
	text.WriteString("\n## What could not be read\n\n")
	for _, line := range b.missing {
		text.WriteString("- " + line + "\n")
	}
	if len(b.missing) == 0 {
		text.WriteString("Nothing.\n")
	}
	return text.String()
}
