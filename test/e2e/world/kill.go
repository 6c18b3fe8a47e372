package world

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Victim is one step of a Pod that runs to its end.
type Victim struct {
	Pod     *corev1.Pod
	Command string // how its process is called, to the last word that tells it from others
}

// killed is the exit code of what SIGKILL has ended.
const killed = 128 + int32(syscall.SIGKILL)

// KillSteps ends steps with SIGKILL, each as soon as it is there, and waits until Kubernetes has heard. A step may be over before
// anybody has read of it in Kubernetes, so its process is looked for on this machine.
func (w *World) KillSteps(ctx context.Context, victims ...Victim) {
	ginkgo.GinkgoHelper()
	w.NeedLocalkube()
	left := slices.Clone(victims)
	gomega.Eventually(ctx, func() []Victim {
		left = slices.DeleteFunc(left, Victim.kill)
		return left
	}).WithTimeout(Patience).WithPolling(2*time.Millisecond).Should(gomega.BeEmpty(), "steps that never ran")
	for _, v := range victims {
		gomega.Eventually(ctx, func() ([]int32, error) {
			pod := &corev1.Pod{}
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(v.Pod), pod)
			return exitCodes(pod), err
		}).Should(gomega.ContainElement(killed), "%s of %s was killed", v.Command, v.Pod.Name)
	}
}

// kill finds the process by its command, and by what its kubelet mounts into it, which is of that Pod alone.
func (v Victim) kill() bool {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		if !strings.HasPrefix(strings.ReplaceAll(string(command), "\x00", " "), v.Command+" ") {
			continue
		}
		mounts, _ := os.ReadFile(filepath.Join(process, "mountinfo"))
		if pid, err := strconv.Atoi(filepath.Base(process)); err == nil && bytes.Contains(mounts, []byte("/pods/"+string(v.Pod.UID)+"/")) {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// exitCodes are of the Pod's containers that have ended.
func exitCodes(pod *corev1.Pod) (codes []int32) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Terminated != nil {
			codes = append(codes, status.State.Terminated.ExitCode)
		}
	}
	return codes
}
