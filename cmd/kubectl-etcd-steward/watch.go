package main

import (
	"context"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// watch shows the page of a cluster again each time the object changes. With Ctrl-C it ends as the last page does.
func (s *session) watch(ctx context.Context, name, before string, show show) error {
	var last error
	for {
		version, in, err := s.lookFrom(ctx, name)
		if ctx.Err() != nil {
			return last
		}
		if err != nil {
			return err
		}
		shown := s.pageOf(in).sight()
		last = shown.ends
		shown.ends, shown.text = nil, func(out io.Writer) error {
			if _, err := fmt.Fprintf(out, "%s%s, until Ctrl-C\n\n", before, date(s.now())); err != nil {
				return err
			}
			return s.pageOf(in).print(out)
		}
		if err := show(shown); err != nil {
			return err
		}
		if err := s.awaitChange(ctx, name, version); err != nil {
			return err
		}
	}
}

// lookFrom reads what a page tells, and before that the version from which changes are asked for: none is missed.
func (s *session) lookFrom(ctx context.Context, name string) (version string, in seen, err error) {
	var newest v1alpha1.EtcdClusterList
	if err := s.list(ctx, s.namespace, &newest, client.Limit(1)); err != nil {
		return "", seen{}, err
	}
	in, err = s.look(ctx, name)
	return newest.ResourceVersion, in, err
}

// awaitChange waits until a cluster is another one than at a version, or its watch ends, as the API server ends each
// after some time.
func (s *session) awaitChange(ctx context.Context, name, version string) error {
	events, err := s.Watch(ctx, &v1alpha1.EtcdClusterList{}, client.InNamespace(s.namespace),
		client.MatchingFields{"metadata.name": name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	switch {
	case err == nil:
	case ctx.Err() != nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return nil // the page is read anew, or the person has seen enough
	default:
		return explain(err, s.namespace)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, isOpen := <-events.ResultChan():
			if c, isCluster := e.Object.(*v1alpha1.EtcdCluster); !isOpen || !isCluster || c.Name == name {
				return gone(e, name)
			}
		}
	}
}

// gone tells that the cluster is deleted.
func gone(e watch.Event, name string) error {
	if e.Type == watch.Deleted {
		return fmt.Errorf("the EtcdCluster %s is deleted", name)
	}
	return nil
}

// betweenPages is what stands before each page that follows another one: a terminal is cleared.
func betweenPages(out io.Writer) string {
	if file, isFile := out.(*os.File); isFile {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "\x1b[H\x1b[2J\x1b[3J"
		}
	}
	return "\n"
}
