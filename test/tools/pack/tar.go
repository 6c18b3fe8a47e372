// Package pack makes archives, images and OCI layouts of files, with no Docker and no registry. The same files give the
// same bytes: they are sorted, owned by root, and dated as the caller says.
package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Epoch is the date of every file that needs no date of its own: a real one would make each build another one.
var Epoch = time.Unix(0, 0).UTC()

// Modes of files: nothing that a release has is written to.
const (
	Program  fs.FileMode = 0o555
	Document fs.FileMode = 0o644
)

// File is one file of an archive or image.
type File struct {
	Target string      // path in the archive
	Source string      // path on this machine
	Mode   fs.FileMode // Program or Document
}

// Below lists the files of a directory, each with its path below target.
func Below(directory, target string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(directory, name)
		files = append(files, File{path.Join(target, filepath.ToSlash(below)), name, Document})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", directory, err)
	}
	return files, nil
}

// Tar archives files, with the directories above them.
func Tar(files []File, at time.Time) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Target, b.Target) })
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	made := map[string]bool{"/": true, ".": true}
	for _, f := range files {
		if err := addParents(w, f.Target, at, made); err != nil {
			return nil, err
		}
		content, err := os.ReadFile(f.Source)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f.Source, err)
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Target, "/"), Size: int64(len(content)),
			Mode: int64(f.Mode), ModTime: at}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("adding %s: %w", f.Target, err)
		}
		if _, err := w.Write(content); err != nil {
			return nil, fmt.Errorf("adding %s: %w", f.Target, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("closing the archive: %w", err)
	}
	return archive.Bytes(), nil
}

func addParents(w *tar.Writer, target string, at time.Time, made map[string]bool) error {
	dir := path.Dir(target)
	if made[dir] {
		return nil
	}
	if err := addParents(w, dir, at, made); err != nil {
		return err
	}
	made[dir] = true
	header := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755, ModTime: at}
	if err := w.WriteHeader(header); err != nil {
		return fmt.Errorf("adding %s: %w", dir, err)
	}
	return nil
}

// TarGz is the same, compressed.
func TarGz(files []File, at time.Time) ([]byte, error) {
	archive, err := Tar(files, at)
	if err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := io.Copy(w, bytes.NewReader(archive)); err != nil {
		return nil, fmt.Errorf("compressing the archive: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing the archive: %w", err)
	}
	return compressed.Bytes(), nil
}
