package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// whySick says more of the first member that is not healthy where a word does not tell what to do, as sentences with a
// space in front, or "".
func (in Input) whySick() string {
	o := in.Observation
	for _, r := range o.Current.Voters() {
		if r.IsHealthy(o.Current.Membership) || !r.Member.Started() || r.Pod == nil {
			continue
		}
		if why := r.Pod.WhyNotStopped(); why != "" {
			return fmt.Sprintf(" The Pod of %s is terminating. %s %s", r.Name, why, r.Pod.WayOn())
		}
		if facts.AwaitsImage(r.Pod.Waiting) {
			image, says := pullFailure(r.Pod.Message)
			return fmt.Sprintf(" The Pod of %s cannot start: its image%s cannot be pulled%s. Correct %s, or what "+
				"keeps its node from the registry.", r.Name, image, says, in.imageField())
		}
	}
	return ""
}

// imageField is where the image of members comes from.
func (in Input) imageField() string {
	if image := in.Cluster.Spec.Image; image != nil && image.Repository != "" {
		return "spec.image.repository"
	}
	return "spec.image or the operator's flag --etcd-repository"
}

// pullFailure is which image a kubelet could not pull, and what it met in the end, each to follow a word, or "": a
// kubelet says "failed to pull image "a": failed to resolve "a": failed to do request: Head "b": dial tcp: no route".
func pullFailure(message string) (image, says string) {
	_, after, _ := strings.Cut(message, ` image "`)
	if name, _, isWhole := strings.Cut(after, `"`); isWhole {
		image = " " + name
	}
	if i := strings.LastIndex(message, `": `); i >= 0 {
		message = message[i+len(`": `):]
	}
	if message = strings.TrimSuffix(message, "."); message != "" {
		says = ": " + words.Bounded(message)
	}
	return image, cmp.Or(says, ", and Kubernetes does not say why")
}
