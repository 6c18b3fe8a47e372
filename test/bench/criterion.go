package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	etcdContainer = "etcd"

	// again is how soon etcdctl is asked again where it was not content: often enough for the figures, and seldom enough not
	// to be a load of its own. What Kubernetes says is heard as it happens.
	again = 200 * time.Millisecond
	// patience bounds one sample.
	patience = 3 * time.Minute
)

// member is an entry of the list as etcdctl prints it.
type member struct {
	ID      uint64 `json:"ID"`
	Name    string `json:"name"` // empty until the member has started
	Learner bool   `json:"isLearner"`
}

// without says who may not count: the Pods that were there before, the member whose data was lost.
type without struct {
	pods   []types.UID
	member uint64
}

// untilHealthy waits for the criterion, the same for both sides, and says when it was met: as many Pods as the size, all
// Ready; as many started voters and nobody else in a linearizable member list; and etcdctl endpoint health --cluster passes.
func (t *trial) untilHealthy(ctx context.Context, not without) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.patience, patience))
	defer cancel()
	poll := time.NewTicker(again)
	defer poll.Stop()
	for {
		err := checkPods(t.watched.members(), t.size, not)
		if err == nil {
			err = t.checkEtcd(ctx, not)
		}
		if err == nil {
			return time.Now(), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s in %s is not healthy: %w", t.side, t.namespace, errors.Join(err, ctx.Err()))
		case <-t.watched.changed:
		case <-poll.C:
		}
	}
}

// checkPods says what Kubernetes has against it.
func checkPods(pods []*corev1.Pod, size int, not without) error {
	if len(pods) != size {
		return fmt.Errorf("%d Pods, not %d", len(pods), size)
	}
	for _, pod := range pods {
		if slices.Contains(not.pods, pod.UID) || pod.DeletionTimestamp != nil || !isReady(pod) {
			return fmt.Errorf("the Pod %s is not Ready, or on its way out", pod.Name)
		}
	}
	return nil
}

// checkEtcd says what etcd has against it.
func (t *trial) checkEtcd(ctx context.Context, not without) error {
	list, err := t.memberList(ctx)
	if err != nil {
		return err
	}
	if err := checkMembers(list, t.size, not); err != nil {
		return err
	}
	_, err = t.etcdctl(ctx, "endpoint", "health", "--cluster")
	return err
}

func checkMembers(list []member, size int, not without) error {
	if len(list) != size {
		return fmt.Errorf("%d members, not %d", len(list), size)
	}
	for _, m := range list {
		if m.Learner || m.Name == "" || m.ID == not.member {
			return fmt.Errorf("member %x (%q) is a learner, not started, or the one that was lost", m.ID, m.Name)
		}
	}
	return nil
}

// memberList asks linearizably, as etcdctl does by default.
func (t *trial) memberList(ctx context.Context) ([]member, error) {
	out, err := t.etcdctl(ctx, "member", "list", "-w", "json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Members []member `json:"members"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, fmt.Errorf("reading the member list: %w", err)
	}
	return answer.Members, nil
}

// leader is the name of the member that leads.
func (t *trial) leader(ctx context.Context) (string, error) {
	list, err := t.memberList(ctx)
	if err != nil {
		return "", err
	}
	status, err := t.status(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list {
		if m.ID == status.Leader {
			return m.Name, nil
		}
	}
	return "", errors.New("no member of the list leads")
}

// status is what a member says of itself and of the cluster.
type status struct {
	Leader uint64 `json:"leader"`
	Term   uint64 `json:"raftTerm"`
	DBSize int64  `json:"dbSize"` // bytes
}

// status asks the first member.
func (t *trial) status(ctx context.Context) (status, error) {
	out, err := t.etcdctl(ctx, "endpoint", "status", "-w", "json")
	if err != nil {
		return status{}, err
	}
	var answers []struct {
		Status status `json:"Status"`
	}
	if err := json.Unmarshal([]byte(out), &answers); err != nil {
		return status{}, fmt.Errorf("reading the status of a member: %w", err)
	}
	if len(answers) == 0 {
		return status{}, errors.New("no member told its status")
	}
	return answers[0].Status, nil
}

// etcdctl runs it in the first Pod, with the environment that the Pod has for it.
func (t *trial) etcdctl(ctx context.Context, args ...string) (string, error) {
	pods := t.watched.members()
	if len(pods) == 0 {
		return "", errors.New("there is no Pod to run etcdctl in")
	}
	return t.etcdctlIn(ctx, pods[0].Name, args...)
}

func (t *trial) etcdctlIn(ctx context.Context, pod string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return t.kube.exec(ctx, t.namespace, pod, append([]string{"etcdctl"}, args...)...)
}
