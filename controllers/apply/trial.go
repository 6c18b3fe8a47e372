package apply

import (
	"context"
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// startTrials creates the Pods that try another version of etcd beside members.
func (s step) startTrials(ctx context.Context, c changes.StartTrials) error {
	inputs, err := resources.DecodeInputs(c.Choices.Inputs)
	if err != nil {
		return Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("trying etcd %s: %v", c.Choices.Version, err)}
	}
	return each(ctx, c.Beside, func(ctx context.Context, p changes.Place) error {
		pod, err := resources.BuildTrialPod(s.cluster, resources.TrialStart{Member: p.Member, Node: p.Node,
			Inputs: inputs})
		if err != nil {
			return err
		}
		_, err = s.create(ctx, resources.KindPod, pod)
		return err
	})
}

// deleteTrials deletes trial Pods. They ask for no time to stop, so their names are free at once, also where their node
// is away.
func (s step) deleteTrials(ctx context.Context, c changes.DeleteTrials) error {
	return each(ctx, c.Pods, func(ctx context.Context, pod facts.PodRef) error {
		return s.delete(ctx, resources.KindPod, podNamed(resources.TrialPod(pod.Name)), pod.UID)
	})
}
