package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
)

// rightsInWords says what rights allow, one sentence for each kind of access: "read and write shop/*, orders/*".
func rightsInWords(rights []accessplan.Right) []string {
	said := []string{}
	for _, kind := range []struct {
		read, write bool
		verb        string
	}{{true, true, "read and write"}, {true, false, "read"}, {false, true, "write"}} {
		var keys []string
		for _, right := range rights {
			if right.Read == kind.read && right.Write == kind.write {
				keys = append(keys, rangeInWords(right))
			}
		}
		if len(keys) > 0 {
			said = append(said, kind.verb+" "+strings.Join(keys, ", "))
		}
	}
	return said
}

// rangeInWords is how people write a range of keys: shop/* for all that begin with shop/.
func rangeInWords(right accessplan.Right) string {
	const least = "\x00" // the first key that there can be, and as an end: no end
	switch {
	case right.End == least && (right.Key == least || right.Key == ""):
		return "all keys"
	case right.End == least:
		return "all keys from " + keyInWords(right.Key) + " on"
	case right.End == "":
		return keyInWords(right.Key)
	case right.End == accessplan.Behind(right.Key):
		return keyInWords(right.Key) + "*"
	}
	return fmt.Sprintf("from %s to before %s", keyInWords(right.Key), keyInWords(right.End))
}

// keyInWords is a key as it is, or quoted where it would not be read as one word.
func keyInWords(key string) string {
	isPlain := func(r rune) bool { return unicode.IsPrint(r) && !unicode.IsSpace(r) && r != utf8.RuneError }
	if key != "" && strings.IndexFunc(key, func(r rune) bool { return !isPlain(r) }) < 0 {
		return key
	}
	return fmt.Sprintf("%q", key)
}

// mostInCell is how much of what a row lists is in a table. All of it is printed with -o.
const mostInCell = 80

// briefly is a list in one cell.
func briefly(all []string) string {
	text := strings.Join(all, "; ")
	if utf8.RuneCountInString(text) <= mostInCell {
		return text
	}
	return string([]rune(text)[:mostInCell-1]) + "…"
}
