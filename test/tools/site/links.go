package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// page is what matters of a rendered page: where it leads, and where one may lead into it.
type page struct {
	links   []string
	anchors map[string]bool
}

// brokenLinks follows each link of each page below a directory that stays inside it, to its file and the place there. File says
// which file of this tree a link to elsewhere names, or nothing.
func brokenLinks(root string, file func(string) string) ([]string, error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	var broken []string
	for path, p := range pages {
		for _, link := range p.links {
			if why := follow(pages, path, link, file); why != "" {
				name, _ := filepath.Rel(root, path) // it is below
				broken = append(broken, fmt.Sprintf("%s: %s: %s", name, link, why))
			}
		}
	}
	slices.Sort(broken)
	return broken, nil
}

func follow(pages map[string]page, from, link string, file func(string) string) string {
	at, err := url.Parse(link)
	if err != nil {
		return "it is no address"
	}
	if at.Scheme != "" {
		if path := file(link); path != "" {
			if _, err := os.Stat(path); err != nil {
				return "no such file in this tree"
			}
		}
		return ""
	}
	to := from
	if at.Path != "" {
		to = filepath.Join(filepath.Dir(from), at.Path)
		if _, err := os.Stat(to); err != nil || strings.HasPrefix(at.Path, "/") {
			return "no such file"
		}
	}
	if at.Fragment != "" && !pages[to].anchors[at.Fragment] {
		return "no such place on the page"
	}
	return ""
}

func readPages(root string) (map[string]page, error) {
	pages := map[string]page{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		pages[path], err = readPage(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pages in %s: %w", root, err)
	}
	return pages, nil
}

func readPage(path string) (page, error) {
	opened, err := os.Open(path)
	if err != nil {
		return page{}, err
	}
	defer opened.Close()
	parsed, err := html.Parse(opened)
	if err != nil {
		return page{}, err
	}
	p := page{anchors: map[string]bool{}}
	for node := range parsed.Descendants() {
		for _, a := range node.Attr {
			switch a.Key {
			case "href", "src":
				p.links = append(p.links, a.Val)
			case "id":
				p.anchors[a.Val] = true
			}
		}
	}
	return p, nil
}
