package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// auditLine is a line of an audit log, in the namespace bench-x unless the resource says another.
func auditLine(agent, verb, resource string, code int) string {
	namespace := "bench-x"
	if where, what, ok := strings.Cut(resource, ":"); ok {
		namespace, resource = where, what
	}
	resource, subresource, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"verb":%q,"userAgent":%q,"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z",`+
		`"objectRef":{"resource":%q,"subresource":%q,"namespace":%q,"name":"o"},"responseStatus":{"code":%d}}`,
		verb, agent, resource, subresource, namespace, code)
}

// logged is a world whose audit log holds these lines.
func logged(t *testing.T, lines ...string) *world.World {
	t.Helper()
	directory := t.TempDir()
	log, program := filepath.Join(directory, "audit.log"), filepath.Join(directory, "localkube")
	for path, text := range map[string]string{
		log: strings.Join(lines, "\n") + "\n", program: "#!/bin/sh\necho " + log + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &world.World{Localkube: program}
}

func TestOnlyWhatTheOperatorChangesCounts(t *testing.T) {
	const operator = "etcd-steward/v1 (linux/amd64)"
	w := logged(t,
		auditLine(operator, "create", "pods", 201),
		auditLine(operator, "create", "pods", 409),
		auditLine(operator, "patch", "etcdclusters/status", 200),
		auditLine(operator, "patch", "etcdclusters/status", 200),
		auditLine(operator, "create", "pods/eviction", 201),
		auditLine(operator, "delete", "persistentvolumeclaims", 200),
		auditLine(operator, "get", "secrets", 200),
		auditLine(operator, "watch", "pods", 200),
		auditLine(operator, "update", "leases", 200),
		auditLine(operator, "create", "events", 201),
		auditLine(operator, "create", "tokenreviews", 201),
		auditLine(operator, "create", "subjectaccessreviews", 201),
		auditLine(operator, "create", "elsewhere:pods", 201),
		auditLine("kubelet/v1.36.3", "patch", "pods/status", 200),
		auditLine("bench", "delete", "pods", 200),
		`{"half a line`,
	)
	writes, err := w.OperatorWrites(context.Background(), 0, "bench-x")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"2 × patch etcdclusters/status", "1 × create pods", "1 × create pods (refused: 409)", "1 × create pods/eviction",
		"1 × delete persistentvolumeclaims",
	}
	if got := breakdown(writes); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
