package schedule

import (
	"context"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestUsersAndGroupsOfASchedulesJobsAreLeftToAPlatformThatChoosesThem(t *testing.T) {
	for job, w := range map[string]*scheduleWorld{
		"pruning":        newScheduleWorld(t, hourly(keepingTwo), jobworld.Serving()...),
		"a test restore": newScheduleWorld(t, hourly(testedAtTen), jobworld.Serving()...),
	} {
		w.keeper.AskIDs = func(context.Context) (bool, error) { return true, nil }
		w.hours(map[string]int{"pruning": 3, "a test restore": 1}[job])
		w.looks(3)
		if s := w.running().Spec.Template.Spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil {
			t.Errorf("%s: %+v", job, s)
		}
	}
}
