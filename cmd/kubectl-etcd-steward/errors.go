package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

// explain says what an error of the API server means, and what the reader can do about it.
func explain(err error, verb, namespace string) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return errors.New("this Kubernetes does not know EtcdClusters: the custom resource definitions of " +
			"etcd-steward are not installed. Install the operator, or choose another cluster with --context")
	case apierrors.IsForbidden(err) && errors.As(err, &status) && lackOf(status) != "":
		resource := lackOf(status)
		return fmt.Errorf("you may not %s %s in namespace %s. Ask an administrator for that right: "+
			pages.Docs+"docs/kubectl.md lists the rights of each command", verb, resource, namespace)
	case apierrors.IsUnauthorized(err):
		return errors.New("the API server does not know who you are. Sign in again, or choose another user with " +
			"--user, --context or --kubeconfig")
	}
	return err
}

// lack is how the API server says which right is missing. Policies and quotas forbid as well, and say why themselves.
var lack = regexp.MustCompile(`is forbidden: User .* cannot \S+ resource "([^"]+)" in API group "([^"]*)"`)

// lackOf is the resource that a person has no right to, such as pods/log or etcdclusters.etcdsteward.dev.
func lackOf(status apierrors.APIStatus) string {
	found := lack.FindStringSubmatch(status.Status().Message)
	if found == nil {
		return ""
	}
	return strings.TrimSuffix(found[1]+"."+found[2], ".")
}

func (s *session) get(ctx context.Context, key client.ObjectKey, object client.Object) error {
	return explain(s.Get(ctx, key, object), "get", key.Namespace)
}

// list lists objects of a namespace.
func (s *session) list(ctx context.Context, namespace string, all client.ObjectList, o ...client.ListOption) error {
	return explain(s.List(ctx, all, append(o, client.InNamespace(namespace))...), "list", namespace)
}

// cluster reads an EtcdCluster, and names those that there are where it is not there.
func (s *session) cluster(ctx context.Context, name string) (*v1alpha1.EtcdCluster, error) {
	c := &v1alpha1.EtcdCluster{}
	err := s.get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, c)
	if !apierrors.IsNotFound(err) {
		return c, err
	}
	var all v1alpha1.EtcdClusterList
	if err := s.list(ctx, s.namespace, &all); err != nil {
		return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s; %w", name, s.namespace, err)
	}
	if len(all.Items) == 0 {
		return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s, and no other one either. "+
			"Choose another namespace with --namespace", name, s.namespace)
	}
	return nil, fmt.Errorf("there is no EtcdCluster %s in namespace %s. The namespace has: %s", name, s.namespace,
		namesOf(all.Items))
}

func namesOf(clusters []v1alpha1.EtcdCluster) string {
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
