package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// clients has what each client needs to be told, in a file of its name. docs/connect.md and docs/kubernetes.md show the
// same lines. Patroni asks for the members' own URLs once it has connected
// (patroni/patroni:docs/yaml_configuration.rst).
//
//go:embed clients/*.tmpl
var clients embed.FS

// clientLines are the templates of all clients.
var clientLines = template.Must(template.ParseFS(clients, "clients/*.tmpl"))

// clientNames are the clients that there are lines for.
func clientNames() []string {
	var names []string
	for _, t := range clientLines.Templates() {
		names = append(names, strings.TrimSuffix(t.Name(), ".tmpl"))
	}
	slices.Sort(names)
	return names
}

// linesFor are the lines for a client that has the files of the Secret in a directory.
func linesFor(client, dir string, a access) (string, error) {
	lines := clientLines.Lookup(client + ".tmpl")
	if lines == nil {
		return "", fmt.Errorf("--for is %q; it must be one of %s", client, strings.Join(clientNames(), ", "))
	}
	scheme, host, _ := strings.Cut(a.URL, "://")
	in := struct {
		URL, Scheme, Host, Namespace, Member, Dir, FilesHere string

		Outside bool
		TLS     *tlsAccess
	}{URL: a.URL, Scheme: scheme, Host: host, Namespace: a.Namespace, Member: a.member, Dir: dir, TLS: a.TLS,
		Outside: slices.Contains(a.Outside, a.URL)}
	if a.TLS != nil {
		in.FilesHere = " --cacert=ca.crt --cert=tls.crt --key=tls.key"
	}
	var text strings.Builder
	if err := lines.Execute(&text, in); err != nil {
		return "", fmt.Errorf("writing lines for %s: %w", client, err)
	}
	return text.String(), nil
}
