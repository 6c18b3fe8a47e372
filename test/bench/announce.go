package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// announcedLate tells which new members opened to clients 7 s late, for a reason in etcd that no operator can help. A new
// member gets a snapshot from the leader, and announces its name to it at the same time. If the announcement is committed
// first it is part of the snapshot, and the member, who never gets to apply it, waits for it until etcd's request timeout
// (5 s and two election timeouts); the second announcement is through at once. Until then etcd has no client listener
// (etcd-io/etcd:server/etcdserver/server.go publishV3, server/embed/serve.go). It befalls more than half of the members that
// join a cluster of more than a hundred entries, with etcd 3.6 and 3.7.
func (t *trial) announcedLate(ctx context.Context, old []types.UID) (string, error) {
	var late []string
	for _, pod := range t.watched.members() {
		if slices.Contains(old, pod.UID) {
			continue
		}
		log, err := t.kube.clientset.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: etcdContainer}).DoRaw(ctx)
		if err != nil {
			return "", fmt.Errorf("reading the log of %s: %w", pod.Name, err)
		}
		if strings.Contains(string(log), "failed to publish local member to cluster through raft") {
			late = append(late, pod.Name)
		}
	}
	if len(late) == 0 {
		return "no announcement was lost in etcd's snapshot", nil
	}
	return "7 s by etcd, whose snapshot overtook the announcement of " + strings.Join(late, ", "), nil
}

// podUIDs are the Pods that there are.
func (t *trial) podUIDs() []types.UID {
	var uids []types.UID
	for _, pod := range t.watched.members() {
		uids = append(uids, pod.UID)
	}
	return uids
}
