package backup

import (
	"context"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestUsersAndGroupsOfABackupAreLeftToAPlatformThatChoosesThem(t *testing.T) {
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	w.operator.AskIDs = func(context.Context) (bool, error) { return true, nil }
	w.passes(3)
	if s := w.Job().Spec.Template.Spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil {
		t.Errorf("%+v", s)
	}
}
