package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// NeedLocalkube skips a story that hurts nodes, containers or directories on any cluster but a localkube.
func (w *World) NeedLocalkube() {
	if w.Localkube == "" {
		needs.Missing(ginkgo.GinkgoT(), "it breaks what only a localkube lets us break; LOCALKUBE names none")
	}
}

// localkube runs a command of localkube and returns what it prints.
func (w *World) localkube(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, w.Localkube, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("localkube %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// KillEtcd ends a member's process as the kernel would, and waits until the container of that start is over.
func (c *Cluster) KillEtcd(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	pod, err := c.Pod(ctx, member)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	before := etcdContainer(pod).ContainerID
	pid := c.pid(ctx, member)
	gomega.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(gomega.Succeed())
	gomega.Eventually(ctx, func() (string, error) {
		pod, err := c.Pod(ctx, member)
		if client.IgnoreNotFound(err) != nil || pod == nil {
			return before, err
		}
		return runningID(pod), nil
	}).WithTimeout(time.Minute).WithPolling(100*time.Millisecond).ShouldNot(gomega.Equal(before), "the container of %s was killed and runs on", member)
}

// KillEveryEtcd ends the processes of all members at once, and waits until each container of that start is over.
func (c *Cluster) KillEveryEtcd(ctx context.Context, members ...string) {
	ginkgo.GinkgoHelper()
	pids, containers := map[string]int{}, map[string]string{}
	for _, member := range members {
		pod, err := c.Pod(ctx, member)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		pids[member], containers[member] = c.pid(ctx, member), etcdContainer(pod).ContainerID
	}
	for _, pid := range pids {
		gomega.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(gomega.Succeed())
	}
	for member, before := range containers {
		gomega.Eventually(ctx, func() (string, error) {
			pod, err := c.Pod(ctx, member)
			if err != nil {
				return before, err
			}
			return runningID(pod), nil
		}).WithTimeout(time.Minute).WithPolling(100*time.Millisecond).ShouldNot(gomega.Equal(before), "the container of %s was killed and runs on", member)
	}
}

// Freeze stops a member's process as a hung disk does: it is there, and does nothing.
func (c *Cluster) Freeze(ctx context.Context, member string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(syscall.Kill(c.pid(ctx, member), syscall.SIGSTOP)).To(gomega.Succeed())
}

// FreezeAtStart freezes a member's process as soon as there is one again. The returned function waits until that is done.
func (c *Cluster) FreezeAtStart(ctx context.Context, member string) (frozen func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ginkgo.GinkgoRecover()
		gomega.Eventually(ctx, func() error {
			text, err := c.localkube(ctx, "pid", c.Namespace, member, "etcd")
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			return syscall.Kill(pid, syscall.SIGSTOP)
		}).WithTimeout(Patience).WithPolling(20 * time.Millisecond).Should(gomega.Succeed())
	}()
	return func() { <-done }
}

// pid is the member's process, on this machine.
func (c *Cluster) pid(ctx context.Context, member string) int {
	ginkgo.GinkgoHelper()
	text, err := c.localkube(ctx, "pid", c.Namespace, member, "etcd")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	pid, err := strconv.Atoi(text)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(pid).To(gomega.BeNumerically(">", 1))
	return pid
}

// etcdContainer is the state of the container called etcd; the zero value while there is none.
func etcdContainer(pod *corev1.Pod) corev1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "etcd" {
			return status
		}
	}
	return corev1.ContainerStatus{}
}

// runningID is the container that runs now, or "".
func runningID(pod *corev1.Pod) string {
	status := etcdContainer(pod)
	if status.State.Running == nil {
		return ""
	}
	return status.ContainerID
}

// WipeDirectory empties a member's volume on its node, under a running process or none, and says how many files went.
func (c *Cluster) WipeDirectory(ctx context.Context, member string) int {
	ginkgo.GinkgoHelper()
	directory := c.directory(ctx, member)
	files := 0
	gomega.Expect(filepath.WalkDir(directory, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
		}
		return err
	})).To(gomega.Succeed())
	entries, err := os.ReadDir(directory)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, entry := range entries {
		gomega.Expect(os.RemoveAll(filepath.Join(directory, entry.Name()))).To(gomega.Succeed())
	}
	gomega.Expect(files).To(gomega.BeNumerically(">", 0), "there was nothing in %s to wipe", directory)
	return files
}

// directory is where the provisioner keeps a member's volume, as this machine sees it.
func (c *Cluster) directory(ctx context.Context, member string) string {
	ginkgo.GinkgoHelper()
	path, err := c.VolumePath(ctx, c.Namespace, member)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return path
}

// VolumePath is where the provisioner keeps the volume of a Pod with the same name as its claim, as this machine sees it.
func (w *World) VolumePath(ctx context.Context, namespace, name string) (string, error) {
	claim, pod := &corev1.PersistentVolumeClaim{}, &corev1.Pod{}
	for _, object := range []client.Object{claim, pod} {
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			return "", fmt.Errorf("looking for the volume of %s: %w", name, err)
		}
	}
	root, err := w.localkube(ctx, "volumes", pod.Spec.NodeName)
	return filepath.Join(root, fmt.Sprintf("%s_%s_%s", claim.Spec.VolumeName, namespace, name)), err
}

// Restarts is how often the member's etcd container was started again inside its Pod.
func (c *Cluster) Restarts(ctx context.Context, member string) (int, error) {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return 0, err
	}
	return int(etcdContainer(pod).RestartCount), nil
}

// LastWords is what the member's etcd said when it ended last.
func (c *Cluster) LastWords(ctx context.Context, member string) (string, error) {
	end, err := c.lastEnd(ctx, member)
	return end.Message, err
}

// lastEnd is how the member's container ended last; the zero value when it never did.
func (c *Cluster) lastEnd(ctx context.Context, member string) (corev1.ContainerStateTerminated, error) {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return corev1.ContainerStateTerminated{}, err
	}
	status := etcdContainer(pod)
	for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
		if state.Terminated != nil {
			return *state.Terminated, nil
		}
	}
	return corev1.ContainerStateTerminated{}, nil
}

// AddEtcd has every node know the image of a version that it has none of from the start. The first time that builds it.
func (w *World) AddEtcd(ctx context.Context, version string) {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	_, err := w.localkube(ctx, "add-etcd", version)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}
