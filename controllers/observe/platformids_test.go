package observe_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// apis is a server with these groups of the API, which may be away.
type apis struct {
	groups []string
	err    error
	asked  int
}

func (a *apis) ServerGroups() (*metav1.APIGroupList, error) {
	a.asked++
	list := &metav1.APIGroupList{}
	for _, name := range a.groups {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: name})
	}
	return list, a.err
}

func TestIDsAreLeftToAPlatformThatHandsThemOutUnlessItIsSaid(t *testing.T) {
	for _, row := range []struct {
		given  string
		groups []string
		want   bool
		asked  int
	}{
		{"auto", []string{"apps", "security.openshift.io"}, true, 1},
		{"auto", []string{"apps", "route.openshift.io"}, false, 1},
		{"true", nil, true, 0},
		{"false", []string{"security.openshift.io"}, false, 0},
	} {
		server := &apis{groups: row.groups}
		ask := observe.PlatformIDs(row.given, server)
		for range 2 {
			if got, err := ask(t.Context()); err != nil || got != row.want {
				t.Errorf("%s with %v: %v, %v", row.given, row.groups, got, err)
			}
		}
		if server.asked != row.asked {
			t.Errorf("%s: the server was asked %d times", row.given, server.asked)
		}
	}
}

func TestAServerThatDoesNotSayWhichAPIsItHasIsAskedAgain(t *testing.T) {
	server := &apis{err: errors.New("away")}
	ask := observe.PlatformIDs("auto", server)
	if _, err := ask(t.Context()); err == nil {
		t.Error("it is taken for one that hands out no IDs")
	}
	server.err, server.groups = nil, []string{"security.openshift.io"}
	if got, err := ask(t.Context()); err != nil || !got {
		t.Errorf("%v, %v", got, err)
	}
}
