package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// unpack is what an archive has, by path, without the directory that it all is in.
func unpack(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	stream, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		path, isInside := strings.CutPrefix(header.Name, "etcd-steward-prod-demo-20260504-120000/")
		if !isInside || header.Mode != 0o600 {
			t.Errorf("%s has mode %o", header.Name, header.Mode)
		}
		files[path] = string(text)
	}
}

// reported is the report of a session, to the standard output.
func reported(t *testing.T, s *session, args ...string) map[string]string {
	t.Helper()
	got := plugin(t, s, append([]string{"report", "demo", "-f", "-"}, args...)...)
	if got.code != 0 {
		t.Fatal(got.errOut)
	}
	return unpack(t, []byte(got.out))
}

func TestAReportHasWhatIsOfTheClusterAndNoSecret(t *testing.T) {
	files := reported(t, sessionOf(objects(t, "report"), interceptor.Funcs{}))
	want := []string{"README.md", "etcdbackups.yaml", "etcdcluster.yaml", "events.txt",
		"logs/demo-0/etcd.log", "logs/demo-0/etcd.previous.log", "logs/demo-0/exporter.log", "logs/demo-backup-1/report.log",
		"operator/logs/manager-0/manager.log", "operator/pods.yaml", "persistentvolumeclaims.yaml", "pods.yaml",
		"services.yaml", "status.txt"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for path, text := range files {
		for _, confidential := range []string{"sesame", "Secret\n", "application-of-others", "name: other", "demonstration"} {
			if strings.Contains(text, confidential) {
				t.Errorf("%s has %q:\n%s", path, confidential, text)
			}
		}
		if path != "README.md" && !strings.Contains(files["README.md"], "- `"+path+"`: ") {
			t.Errorf("the README does not tell what %s is:\n%s", path, files["README.md"])
		}
	}
	for path, kept := range map[string]string{
		"pods.yaml":     "value: /certs/ca.crt",
		"services.yaml": `{"id":12345678901234567890}`,
		"events.txt": "2026-05-04T11:00:00.000000Z Normal  Ready EtcdCluster/demo: All members are healthy: 3 of 3\n" +
			"2026-05-04T11:58:00Z Warning BackOff Pod/demo-0: Back-off restarting failed container\n",
		"README.md": "## What could not be read\n\nNothing.\n",
	} {
		if !strings.Contains(files[path], kept) {
			t.Errorf("%s lacks %q:\n%s", path, kept, files[path])
		}
	}
}

func TestAReportNamesWhatCouldNotBeRead(t *testing.T) {
	s := sessionOf(objects(t, "report"), refusing("list", schema.GroupResource{Resource: "persistentvolumeclaims"}))
	s.logs = func(_ context.Context, pod client.ObjectKey, _ *corev1.PodLogOptions) (io.ReadCloser, error) {
		if pod.Name == "manager-0" {
			return nil, missingRight("get", schema.GroupResource{Resource: "pods/log"})
		}
		return nil, errors.New("the node does not answer")
	}
	readme := reported(t, s)["README.md"]
	for _, want := range []string{
		"- persistentvolumeclaims.yaml: you may not list persistentvolumeclaims in namespace prod.",
		"- logs/demo-0/etcd.log: the node does not answer\n",
		"- operator/logs/manager-0/manager.log: you may not get pods/log in namespace etcd-steward-system.",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("it lacks %q:\n%s", want, readme)
		}
	}
}

func TestAReportToAFileSaysHowMuchIsMissing(t *testing.T) {
	s := sessionOf(objects(t, "report"), refusing("list", schema.GroupResource{Resource: "persistentvolumeclaims"}))
	got := plugin(t, s, "report", "demo", "-f", filepath.Join(t.TempDir(), "report.tar.gz"))
	if got.code != 0 || !strings.Contains(got.out, "\nNot read: 1. The README.md says why.\n") {
		t.Errorf("got %+v", got)
	}
}

func TestAReportIsBounded(t *testing.T) {
	pods := objects(t, "report")
	for i := range 40 {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = "prod", fmt.Sprintf("demo-backup-%02d", i+10)
		pod.Labels = map[string]string{"etcdsteward.dev/cluster": "demo", "app.kubernetes.io/managed-by": "etcd-steward"}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "report"}}
		pods = append(pods, pod)
	}
	s := sessionOf(pods, interceptor.Funcs{})
	s.logs = func(_ context.Context, _ client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		if *o.TailLines != 7 || *o.LimitBytes != mostOfOneLog {
			t.Errorf("%d lines and %d bytes are asked for", *o.TailLines, *o.LimitBytes)
		}
		return io.NopCloser(bytes.NewReader(make([]byte, mostOfOneLog+1))), nil
	}
	files, size := reported(t, s, "--tail", "7"), 0
	for path, text := range files {
		if len(text) > mostOfOneLog {
			t.Errorf("%s has %d bytes", path, len(text))
		}
		size += len(text)
	}
	if size > mostOfAll+mostOfOneLog || !strings.Contains(files["README.md"], "the report would be larger than 32 MiB") {
		t.Errorf("%d bytes:\n%s", size, files["README.md"])
	}
}

func TestAReportNeverWritesOverAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.tar.gz")
	s := sessionOf(objects(t, "report"), interceptor.Funcs{})
	first := plugin(t, s, "report", "demo", "-f", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || first.code != 0 || !strings.Contains(first.out, "has 14 files") {
		t.Fatalf("%v %v: %+v", info, err, first)
	}
	if second := plugin(t, s, "report", "demo", "-f", path); second.code != exitFailed ||
		!strings.Contains(second.errOut, "file exists") {
		t.Errorf("got %+v", second)
	}
	for _, tail := range []string{"0", "100001"} {
		if got := plugin(t, s, "report", "demo", "--tail", tail); got.code != exitFailed ||
			!strings.Contains(got.errOut, "--tail is "+tail+"; it must be from 1 to 100000") {
			t.Errorf("got %+v", got)
		}
	}
}
