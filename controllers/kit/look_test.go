package kit

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// answering is an API server that answers lists of each namespace so.
type answering map[string]error

func (a answering) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nothing is read but lists")
}

func (a answering) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	return a[o.Namespace]
}

func TestAKindIsLeftOutOnlyWhereItIsNotThereOrMayNotBeListed(t *testing.T) {
	clients := schema.GroupResource{Group: v1alpha1.Group, Resource: "etcdclients"}
	forbidden := apierrors.NewForbidden(clients, "", nil)
	for _, row := range []struct {
		name       string
		answers    answering
		namespaces []string
		isLeftOut  bool
	}{
		{"it is there", answering{}, nil, false},
		{"its definition is not installed", answering{"": &meta.NoKindMatchError{}}, nil, true},
		{"its definition was just deleted", answering{"": apierrors.NewNotFound(clients, "")}, nil, true},
		{"the operator's role is of an earlier release", answering{"": forbidden}, nil, true},
		{"the API server does not answer", answering{"": context.DeadlineExceeded}, nil, false},
		{"an operator of some namespaces may not list in all", answering{"": forbidden}, []string{"a", "b"}, false},
		{"it may not in one of its namespaces", answering{"b": forbidden}, []string{"a", "b"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Unserved(t.Context(), row.answers, &v1alpha1.EtcdClientList{}, row.namespaces)
			if (err != nil) != row.isLeftOut {
				t.Errorf("%v", err)
			}
		})
	}
}
