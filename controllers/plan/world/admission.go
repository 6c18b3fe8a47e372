package world

import (
	"errors"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// errRefused says that Kubernetes admits no such Pod.
var errRefused = errors.New("refused")

// admit is what is left of a change that makes Pods while Kubernetes admits none: where others make them first, all that comes before.
func (w *World) admit(c plan.Change) (plan.Change, error) {
	switch c := c.(type) {
	case plan.Bootstrap:
		if w.refusing && len(c.Restores)+len(c.Pods) > 0 {
			c.Restores, c.Pods = nil, nil
			return c, errRefused
		}
	case plan.LayNext:
		if w.refusing && len(c.Restores) > 0 {
			c.Restores = nil
			return c, errRefused
		}
	default:
		if w.refusing && needsAdmission(c) {
			return nil, errRefused
		}
	}
	return c, nil
}

// needsAdmission reports a change that makes Pods, or makes sure first that they could be made.
func needsAdmission(c plan.Change) bool {
	switch c := c.(type) {
	case plan.StartPods, plan.EvictPod, plan.StartPreflight, plan.MoveLife:
		return true
	case plan.SetChoices:
		return c.Rehearse
	default:
		return false
	}
}
