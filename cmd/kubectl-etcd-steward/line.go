package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// line is one line of a member's log.
type line struct {
	Time   metav1.MicroTime `json:"time"` // when the member's node got it
	Member string           `json:"member"`
	Level  string           `json:"level,omitempty"`
	// Message is the whole line, where that is no JSON.
	Message string                     `json:"message"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`

	text  string   // as etcd wrote it
	names []string // of the fields, in etcd's order
}

// lineOf reads a line that begins with the time at which the node got it.
func lineOf(member, text string) *line {
	l := &line{Member: member, text: strings.TrimRight(text, "\r\n")}
	if stamp, rest, found := strings.Cut(l.text, " "); found || stamp != "" {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			l.Time, l.text = metav1.NewMicroTime(at), rest
		}
	}
	if !l.readJSON() {
		l.Level, l.Message, l.Fields, l.names = "", l.text, nil, nil
	}
	return l
}

// readJSON takes an entry of etcd's log apart. What is none is not.
func (l *line) readJSON() bool {
	decoder := json.NewDecoder(strings.NewReader(l.text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	l.Fields = map[string]json.RawMessage{}
	for decoder.More() {
		key, err := decoder.Token()
		name, isText := key.(string)
		var value json.RawMessage
		if err != nil || !isText || decoder.Decode(&value) != nil {
			return false
		}
		switch name {
		case "level":
			l.Level = plain(value)
		case "msg":
			l.Message = plain(value)
		case "ts":
		default:
			l.Fields[name] = value
			l.names = append(l.names, name)
		}
	}
	_, err := decoder.Token()
	return err == nil && l.Level != "" && strings.TrimSpace(l.text[decoder.InputOffset():]) == ""
}

// plain is a value without the quotes of a text.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// sight is the line as it is shown.
func (l line) sight(isRaw bool) sight {
	return sight{data: l, isLine: true, text: func(out io.Writer) error {
		text := l.text
		if !isRaw {
			text = l.words()
		}
		_, err := fmt.Fprintln(out, text)
		return err
	}}
}

// words is the line as people read it. Where in etcd's source it was written is left out.
func (l line) words() string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s ", l.Time.UTC().Format("2006-01-02T15:04:05.000Z"), l.Member)
	if l.Fields == nil {
		return text.String() + l.Message
	}
	fmt.Fprintf(&text, "%-5s %s", l.Level, l.Message)
	for _, name := range l.names {
		if name != "caller" {
			fmt.Fprintf(&text, " %s=%s", name, quoted(plain(l.Fields[name])))
		}
	}
	return text.String()
}

// quoted is a value that a space, a quote or an equals sign would make two of.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, " \t\r\n\"=") && !json.Valid([]byte(value)) {
		return strconv.Quote(value)
	}
	return value
}
