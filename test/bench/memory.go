package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var (
	memoryOfLeader  = figure{Name: "memory of the leading manager", Unit: unitMemory, Plus: 48}
	memoryOfStandby = figure{Name: "memory of the manager that stands by", Unit: unitMemory, Plus: 48}
)

// managerLease is by what managers agree on who leads.
const managerLease = "manager.etcdsteward.dev"

// measureMemory weighs what the managers alone take, without what their binary maps.
func (b *bench) measureMemory(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	if err := b.kube.client.Get(ctx, client.ObjectKey{Namespace: world.OperatorNamespace, Name: managerLease}, lease); err != nil {
		return fmt.Errorf("finding out which manager leads: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return fmt.Errorf("nobody holds the Lease %s", lease.Name)
	}
	pods := &corev1.PodList{}
	err := b.kube.client.List(ctx, pods, client.InNamespace(world.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	if err != nil {
		return fmt.Errorf("listing the managers: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		wanted := memoryOfStandby
		if strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name+"_") {
			wanted = memoryOfLeader
		}
		taken, err := b.weigh(ctx, pod)
		if err != nil {
			return err
		}
		b.add(b.figure(wanted), ours, taken)
	}
	return nil
}

func (b *bench) weigh(ctx context.Context, pod *corev1.Pod) (sample, error) {
	pid, err := b.kube.pid(ctx, pod.Namespace, pod.Name, "manager")
	if err != nil {
		return sample{}, err
	}
	file, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		return sample{}, fmt.Errorf("weighing %s: %w", pod.Name, err)
	}
	defer file.Close()
	status, err := readStatus(file)
	if err != nil {
		return sample{}, fmt.Errorf("weighing %s: %w", pod.Name, err)
	}
	note := fmt.Sprintf("resident in all %.1f MiB, at most %.1f MiB", status["VmRSS"], status["VmHWM"])
	return sample{Value: status["RssAnon"], Note: note}, nil
}

// readStatus reads the sizes in /proc/<pid>/status, in MiB.
func readStatus(from io.Reader) (map[string]float64, error) {
	sizes := map[string]float64{}
	for lines := bufio.NewScanner(from); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		kilobytes, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("reading the size %q: %w", lines.Text(), err)
		}
		sizes[strings.TrimSuffix(fields[0], ":")] = kilobytes / 1024
	}
	if sizes["RssAnon"] == 0 {
		return nil, fmt.Errorf("the kernel does not say how much memory is anonymous")
	}
	return sizes, nil
}
