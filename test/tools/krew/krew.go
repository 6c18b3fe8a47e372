// Package krew fills the manifest by which krew, the package manager of kubectl, finds the plugin of a release.
package krew

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

// Prefix begins the name of each archive of the plugin, before version and platform.
const Prefix = "kubectl-etcd-steward_"

// program is the plugin in its archive: kubectl looks for this name when it is asked for etcd-steward.
const program = "kubectl-etcd_steward"

// released is a version as krew and the release have it.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// platform is one archive.
type platform struct{ OS, Arch, Archive, SHA256, Program string }

// Manifest fills a template with a version and with each archive of the plugin in a directory, which are named
// kubectl-etcd-steward_<version>_<os>_<arch>.tar.gz.
func Manifest(manifest, directory, version string) (string, error) {
	if !released.MatchString(version) {
		return "", fmt.Errorf("the version is %q; krew wants one such as v1.2.3", version)
	}
	parsed, err := template.New("krew").Option("missingkey=error").Parse(manifest)
	if err != nil {
		return "", fmt.Errorf("reading the template of krew's manifest: %w", err)
	}
	platforms, err := archives(directory, version)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, map[string]any{"Version": version, "Platforms": platforms}); err != nil {
		return "", fmt.Errorf("filling krew's manifest: %w", err)
	}
	return text.String(), nil
}

// archives are those of a version, sorted by name.
func archives(directory, version string) ([]platform, error) {
	paths, err := filepath.Glob(filepath.Join(directory, Prefix+version+"_*.tar.gz"))
	if err != nil {
		return nil, fmt.Errorf("looking for archives in %s: %w", directory, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no archives %s%s_<os>_<arch>.tar.gz", directory, Prefix, version)
	}
	var all []platform
	for _, path := range paths {
		name := filepath.Base(path)
		on := strings.TrimSuffix(strings.TrimPrefix(name, Prefix+version+"_"), ".tar.gz")
		p := platform{Archive: name, Program: program}
		var isWhole bool
		if p.OS, p.Arch, isWhole = strings.Cut(on, "_"); !isWhole {
			return nil, fmt.Errorf("%s names no <os>_<arch>", name)
		}
		if p.OS == "windows" {
			p.Program += ".exe"
		}
		packed, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading an archive: %w", err)
		}
		sum := sha256.Sum256(packed)
		p.SHA256 = hex.EncodeToString(sum[:])
		all = append(all, p)
	}
	return all, nil
}
