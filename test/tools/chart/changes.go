package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// released is the part of Chart.yaml that is by hand with the version of a release in it, and what that changed.
func released(root, byHand, version string) (string, []annotation, error) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", nil, fmt.Errorf("reading the changelog: %w", err)
	}
	number := strings.TrimPrefix(version, "v")
	changes, err := changesOf(string(text), number)
	if err != nil {
		return "", nil, err
	}
	isSecurity := slices.ContainsFunc(changes, func(c change) bool { return c.Kind == "security" })
	for _, line := range []struct{ field, value string }{
		{"version", number},
		{"appVersion", version},
		{"  artifacthub.io/prerelease", fmt.Sprintf("%q", fmt.Sprint(semver.Prerelease(version) != ""))},
		{"  artifacthub.io/containsSecurityUpdates", fmt.Sprintf("%q", fmt.Sprint(isSecurity))},
	} {
		expression := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(line.field) + ": .*$")
		if len(expression.FindAllString(byHand, -1)) != 1 {
			return "", nil, fmt.Errorf("the chart has not one line %q in Chart.yaml", strings.TrimSpace(line.field))
		}
		byHand = expression.ReplaceAllLiteralString(byHand, line.field+": "+line.value)
	}
	return byHand, []annotation{{"changes", changes}}, nil
}

// change is what Artifact Hub shows of one.
type change struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
}

var (
	// isItem is where an item of a list begins.
	isItem = regexp.MustCompile(`(?m)^- `)
	// marks are those of a link and of letters, which Artifact Hub shows as they stand.
	marks = regexp.MustCompile("\\*\\*|`|\\[([^]]*)\\]\\([^)]*\\)")
	// sentence ends where the next one begins.
	sentence = regexp.MustCompile(`.+?([.!?] |$)`)
)

// unreleased is the section of changes that no release has yet.
const unreleased = "Unreleased"

// changesOf are the changes of a version: a summary of each item of its section. Without a section they are
// those that no release has yet.
func changesOf(changelog, number string) ([]change, error) {
	section := sectionOf(changelog, "\n## ["+number+"]")
	if section == "" {
		fmt.Fprintf(os.Stderr, "chart: CHANGELOG.md has no section [%s], so the chart lists the changes of [%s]. "+
			"For a release that you publish, give the section the version and the date.\n", number, unreleased)
		section = sectionOf(changelog, "\n## ["+unreleased+"]")
	}
	var changes []change
	for _, part := range strings.Split(section, "\n### ")[1:] {
		kind, items, _ := strings.Cut(part, "\n")
		for _, item := range isItem.Split(items, -1)[1:] {
			changes = append(changes, change{strings.ToLower(strings.TrimSpace(kind)), summary(item)})
		}
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("CHANGELOG.md says nothing of %s, and nothing below [%s]", number, unreleased)
	}
	return changes, nil
}

// sectionOf is what stands below a heading, up to the next one of its kind.
func sectionOf(text, heading string) string {
	_, after, isFound := strings.Cut(text, heading)
	if !isFound {
		return ""
	}
	section, _, _ := strings.Cut(after, "\n## ")
	return section
}

// summary is the first sentence of an item, as plain text, with the title that stands before it.
func summary(item string) string {
	item = strings.Join(strings.Fields(item), " ")
	taken := 1
	if title, _, hasTitle := strings.Cut(strings.TrimPrefix(item, "**"), ".** "); hasTitle && !strings.Contains(title, "**") {
		taken = 2
	}
	plain := marks.ReplaceAllString(item, "$1")
	return strings.TrimSpace(strings.Join(sentence.FindAllString(plain, taken), ""))
}
