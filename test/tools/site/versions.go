package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// minor is the directory of a release.
var minor = regexp.MustCompile(`^v(\d+)\.(\d+)$`)

// listVersions writes what a site of several versions has beside them: the list for every page, and a page that leads to the
// newest release, or to what is not released while there is none.
func listVersions(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("looking for versions: %w", err)
	}
	var versions []string
	for _, entry := range entries {
		if entry.IsDir() && (entry.Name() == unreleased || minor.MatchString(entry.Name())) {
			versions = append(versions, entry.Name())
		}
	}
	slices.SortFunc(versions, newestFirst)
	list, err := json.Marshal(versions)
	if err != nil {
		return fmt.Errorf("writing the list of versions: %w", err)
	}
	page := fmt.Sprintf("<!doctype html>\n<meta charset=\"utf-8\">\n<title>etcd-steward</title>\n"+
		"<meta http-equiv=\"refresh\" content=\"0; url=%[1]s/index.html\">\n<a href=\"%[1]s/index.html\">etcd-steward %[1]s</a>\n", versions[0])
	for name, text := range map[string]string{
		"versions.js": fmt.Sprintf("siteVersions(%s);\n", list),
		"index.html":  page,
		// GitHub Pages serves files as they are.
		".nojekyll": "",
	} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// newestFirst puts what is no release last.
func newestFirst(a, b string) int {
	number := func(name string, i int) int {
		m := minor.FindStringSubmatch(name)
		if m == nil {
			return -1
		}
		n, _ := strconv.Atoi(m[i]) // digits, and far too few of them to overflow
		return n
	}
	return cmp.Or(cmp.Compare(number(b, 1), number(a, 1)), cmp.Compare(number(b, 2), number(a, 2)))
}
