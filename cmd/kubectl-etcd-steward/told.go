package main

import "strings"

// telling is what stands on a page already, so that no paragraph stands there twice.
type telling []struct{ text, where string }

// paragraph is the least that is worth a reference instead.
const paragraph = 25

// say returns what of a text was not told yet, with a reference to the rest, and remembers the text.
func (t *telling) say(text, where string) string {
	left := text
	for _, earlier := range *t {
		switch {
		case len(left) < paragraph:
		case strings.Contains(earlier.text, left):
			return see(earlier.where)
		case len(earlier.text) >= paragraph:
			left = strings.Replace(left, earlier.text, see(earlier.where), 1)
		}
	}
	if left == text {
		*t = append(*t, struct{ text, where string }{text, where})
	}
	return left
}

func see(where string) string { return "See " + where + "." }

// isReference reports what tells nothing but where it is told.
func isReference(text string) bool {
	return strings.HasPrefix(text, "See ") && strings.Count(text, ".") == 1
}
