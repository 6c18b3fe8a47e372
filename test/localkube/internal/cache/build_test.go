package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is what a person sees of a build.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// program puts a shell script of this name before all programs of this machine.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestOnlyTheEtcdThatIsAskedForIsBuiltAndTheControlPlanes(t *testing.T) {
	c := &Cache{}
	for list, want := range map[string][]string{
		"3.6.16": {"3.6.16"}, "3.7.3,3.5.35": {"3.5.35", "3.6.16", "3.7.3"}, "3.8.0-alpha.0": {"3.6.16", "3.8.0-alpha.0"},
	} {
		if err := c.Choose(list); err != nil || !slices.Equal(c.EtcdVersions, want) {
			t.Errorf("of %s: %v, %v", list, c.EtcdVersions, err)
		}
		if got := len(c.targets()); got != len(want)+1 {
			t.Errorf("for %s there are %d targets", list, got)
		}
	}
	for _, list := range []string{"", "3.6", "3.6.16,", "3.6.16 3.7.3"} {
		if err := c.Choose(list); err == nil || !strings.Contains(err.Error(), "3.7.3") {
			t.Errorf("%q is accepted, or not told what there is: %v", list, err)
		}
	}
}

func TestAKubernetesIsChosenByItsMinorAndIsTheDefaultOtherwise(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	before := c.Binary("kubelet")
	if !strings.Contains(before, "kubernetes-"+KubernetesVersion+"-") {
		t.Errorf("without a choice it is %s", before)
	}
	for _, version := range kubernetesVersions {
		if err := c.ChooseKubernetes(minorOf(version)); err != nil {
			t.Fatal(err)
		}
		path := c.Binary("kubelet")
		if !strings.Contains(path, "kubernetes-"+version+"-") || c.targets()[0].Directory != "kubernetes-"+version {
			t.Errorf("%s is built as %s and taken from %s", version, c.targets()[0].Directory, path)
		}
		if isDefault := version == KubernetesVersion; isDefault != (path == before) {
			t.Errorf("%s is at %s", version, path)
		}
	}
	for _, minor := range []string{"", "1", "1.33", "1.34.4", "v1.34"} {
		if err := c.ChooseKubernetes(minor); err == nil || !strings.Contains(err.Error(), "1.34, 1.35, 1.36, 1.37") {
			t.Errorf("%q is accepted, or not told what there is: %v", minor, err)
		}
	}
}

func TestNodesWithOtherVersionsHaveOtherImages(t *testing.T) {
	program(t, "containerd", "echo containerd 1")
	one, all := &Cache{EtcdVersions: []string{controlPlaneEtcd}}, &Cache{EtcdVersions: etcdVersions}
	first, err := one.Template()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := all.Template(); err != nil || second == first {
		t.Errorf("both start from %s, %v", second, err)
	}
}

func TestABuildSaysInLinesHowFarItIs(t *testing.T) {
	program(t, "go", `case $1 in
list) printf 'go: downloading a v1\na\nb\nc\n';;
build) printf 'a\nb\n'; while [ ! -e "$SEEN" ]; do sleep 0.01; done; echo c
esac
`)
	seen, shown := filepath.Join(t.TempDir(), "seen"), &screen{}
	t.Setenv("SEEN", seen)
	c := &Cache{Dir: t.TempDir(), Progress: shown, Every: time.Millisecond}
	built := make(chan error, 1)
	go func() { built <- c.compile(t.Context(), etcdTarget(controlPlaneEtcd), t.TempDir()) }()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(shown.String(), "s: 2 packages of at most 3\n"); {
		if time.Now().After(deadline) {
			t.Fatalf("shown is\n%s", shown)
		}
		time.Sleep(time.Millisecond)
	}
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-built; err != nil || strings.Contains(shown.String(), "\r") {
		t.Errorf("%v, shown is\n%s", err, shown)
	}
}

func TestABuildThatFailsSaysWhyAndNotWhatWentWell(t *testing.T) {
	program(t, "go", `[ $1 = list ] && exit
for i in 1 2 3; do echo "go: downloading m$i v1"; echo "m$i/p"; done
echo '# m4/p'; echo 'write /x: no space left on device'; exit 1
`)
	c := &Cache{Dir: t.TempDir(), Progress: &screen{}, Every: time.Minute}
	err := c.build(t.Context(), etcdTarget(controlPlaneEtcd))
	if err == nil || !strings.Contains(err.Error(), "no space left") || strings.Contains(err.Error(), "m3/p") {
		t.Errorf("said is %v", err)
	}
}

func TestWhoWaitsForTheLockSaysForWhomAndCanBeStopped(t *testing.T) {
	shown := &screen{}
	c := &Cache{Dir: t.TempDir(), Progress: shown}
	unlock, err := c.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is locked twice, or waits for ever: %v", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d (%s, in %s) has had the lock for ", os.Getpid(), strings.Join(os.Args, " "), here)
	if strings.Count(shown.String(), want) != 1 || !strings.HasSuffix(shown.String(), " s\n") {
		t.Errorf("said is %q, want %q once", shown, want)
	}
	unlock()
	unlock, err = c.Lock(t.Context())
	if err != nil {
		t.Errorf("it stays locked: %v", err)
	}
	unlock()
}
