package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// watching runs `status demo --watch` on an API server on which one of these happens at each watch. After the last the
// person presses Ctrl-C.
func watching(t *testing.T, all []client.Object, happens ...func(*session, watch.Interface) (watch.Interface, error)) result {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var s *session
	s = sessionOf(all, interceptor.Funcs{Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		o ...client.ListOption) (watch.Interface, error) {
		begun, err := c.Watch(ctx, list, o...)
		if err != nil || len(happens) == 0 {
			stop()
			return begun, err
		}
		next := happens[0]
		happens = happens[1:]
		return next(s, begun)
	}})
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"status", "demo", "--watch"}, program{
		connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil }, out: &out, errOut: &errOut,
	})
	return result{out.String(), errOut.String(), code}
}

// changing is a change of a cluster while it is watched.
func changing(t *testing.T, name string, change func(*v1alpha1.EtcdCluster)) func(*session, watch.Interface) (watch.Interface, error) {
	t.Helper()
	return func(s *session, begun watch.Interface) (watch.Interface, error) {
		c := &v1alpha1.EtcdCluster{}
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: name}, c); err != nil {
			t.Error(err)
		}
		change(c)
		return begun, s.Update(t.Context(), c)
	}
}

func TestAPageIsShownAgainWhenTheClusterChanges(t *testing.T) {
	got := watching(t, objects(t, "healthy"), changing(t, "demo", func(c *v1alpha1.EtcdCluster) {
		c.Status.NextStep.Message = "It restarts demo-1."
	}))
	if got.code != 0 || strings.Count(got.out, "EtcdCluster demo in namespace prod") != 2 ||
		strings.Count(got.out, "It restarts demo-1.") != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAWatchEndsWithTheExitCodeOfTheLastPage(t *testing.T) {
	got := watching(t, objects(t, "healthy"), changing(t, "demo", func(c *v1alpha1.EtcdCluster) { c.Status.Conditions = nil }))
	if got.code != exitNotAvailable || got.errOut != "" {
		t.Errorf("got %+v", got)
	}
}

// Ctrl-C may come while the page is read.
func TestAPageThatIsCutOffIsNotShown(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	looks := 0
	s := sessionOf(changed(t, func(c *v1alpha1.EtcdCluster) { c.Status.Conditions = nil }), interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			return nil, apierrors.NewResourceExpired("too old")
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if _, isBackups := list.(*v1alpha1.EtcdBackupList); isBackups {
				if looks++; looks == 2 {
					stop()
					return ctx.Err()
				}
			}
			return c.List(ctx, list, o...)
		},
	})
	var out bytes.Buffer
	code := run(ctx, []string{"status", "demo", "--watch"}, program{
		connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil }, out: &out, errOut: &out,
	})
	if code != exitNotAvailable || strings.Count(out.String(), "EtcdCluster demo in namespace prod") != 1 {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
}

func TestAnotherClusterThatChangesShowsNothing(t *testing.T) {
	got := watching(t, fleetObjects(t), func(s *session, begun watch.Interface) (watch.Interface, error) {
		begun, err := changing(t, "demo-big", func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true })(s, begun)
		if err != nil {
			return nil, err
		}
		return changing(t, "demo", func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true })(s, begun)
	})
	if strings.Count(got.out, "EtcdCluster demo in namespace prod") != 2 {
		t.Errorf("got %+v", got)
	}
}

// The API server ends each watch after some time, and forgets old versions.
func TestAWatchThatTheAPIServerEndsGoesOn(t *testing.T) {
	got := watching(t, objects(t, "healthy"),
		func(_ *session, begun watch.Interface) (watch.Interface, error) { begun.Stop(); return begun, nil },
		func(*session, watch.Interface) (watch.Interface, error) {
			return nil, apierrors.NewResourceExpired("too old")
		})
	if got.code != 0 || strings.Count(got.out, "EtcdCluster demo in namespace prod") != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestAWatchEndsWhenTheClusterIsDeletedOrItMayNotBeWatched(t *testing.T) {
	clusters := missingRight("watch", v1alpha1.GroupVersion.WithResource("etcdclusters").GroupResource())
	for want, happens := range map[string]func(*session, watch.Interface) (watch.Interface, error){
		"the EtcdCluster demo is deleted": func(s *session, begun watch.Interface) (watch.Interface, error) {
			c := &v1alpha1.EtcdCluster{}
			c.Namespace, c.Name = "prod", "demo"
			return begun, s.Delete(t.Context(), c)
		},
		"you may not watch etcdclusters.etcdsteward.dev in namespace prod": func(*session, watch.Interface) (watch.Interface, error) {
			return nil, clusters
		},
		"the line is cut": func(*session, watch.Interface) (watch.Interface, error) {
			return nil, errors.New("the line is cut")
		},
	} {
		got := watching(t, objects(t, "healthy"), happens)
		if got.code != exitFailed || !strings.Contains(got.errOut, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
