package resources

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// StepDefragment is the name of the only container of a Pod that has a member defragmented.
const StepDefragment = "defragment"

// DefragPod is the name of the Pod that has a member defragmented. No member has such a name.
func DefragPod(member string) string { return member + "-defragment" }

// DefragmentedMember is the member whose Pod of that kind has this name; false for all other names.
func DefragmentedMember(pod string) (string, bool) { return strings.CutSuffix(pod, DefragPod("")) }

// untilSize is the flag of the agent that says which file it leaves as it is.
const untilSize = "--until-size="

// DefragmentUntil is what such a Pod was told of that, in bytes; zero where it was told nothing.
func DefragmentUntil(pod *corev1.Pod) int64 {
	for _, arg := range pod.Spec.Containers[0].Args {
		if size, isIt := strings.CutPrefix(arg, untilSize); isIt {
			bytes, _ := strconv.ParseInt(size, 10, 64)
			return bytes
		}
	}
	return 0
}

// Defragmented is how large the file of its member was before and when such a Pod ended well, in bytes; zero while it
// has not.
func Defragmented(pod *corev1.Pod) (before, after int64) {
	var result struct{ Before, After int64 }
	for _, step := range Steps(pod) {
		if _, isGood := step.Ended(); isGood {
			_ = json.Unmarshal([]byte(step.State.Terminated.Message), &result)
		}
	}
	return result.Before, result.After
}

// DefragStart says which member is defragmented, and how long that may take.
type DefragStart struct {
	Platform

	Member    string
	MemberID  etcdutil.ID
	ClusterID etcdutil.ID
	Deadline  time.Duration
	Until     int64     // bytes: a smaller file stays as it is
	StartBy   time.Time // after which it asks for nothing: no node took it for long, and things are others by then
}

// BuildDefragPod builds the Pod that asks one member to write its database anew without the room that it does not use.
// It mounts nothing but the certificate that members know the operator by.
func BuildDefragPod(c *v1alpha1.EtcdCluster, s DefragStart) *corev1.Pod {
	secret := mountOperatorSecret(c)
	args := append([]string{"--endpoints=" + backupEndpoints(c, []string{s.Member}),
		"--cluster-id=" + s.ClusterID.String(), "--member-id=" + s.MemberID.String(),
		untilSize + strconv.FormatInt(s.Until, 10), "--start-by=" + s.StartBy.UTC().Format(time.RFC3339),
		"--progress-address="},
		secret.args...)
	pod := task{name: DefragPod(s.Member), component: v1alpha1.ComponentDefrag, Platform: s.Platform,
		grace: podGraceSeconds, deadline: s.Deadline,
		steps: []step{agentStep(StepDefragment, s.AgentImage, args, secret)}}.pod(c, Inputs(c))
	pod.Labels[v1alpha1.LabelMember] = s.Member
	return pod
}

// IsStreaming reports a Pod of a backup that may read the data of a member now, or soon.
func IsStreaming(pod *corev1.Pod) bool {
	if pod.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentBackup || pod.DeletionTimestamp != nil ||
		TaskPhase(pod) == corev1.PodFailed || TaskPhase(pod) == corev1.PodSucceeded {
		return false
	}
	return !slices.ContainsFunc(Steps(pod), func(s Step) bool {
		ended, _ := s.Ended()
		return s.Name == StepSnapshot && ended
	})
}
