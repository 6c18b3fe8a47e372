package main

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

const imageRepository = "ghcr.io/etcdsteward/etcd-steward"

// fioJob is the Job that measures a disk as the flags say.
func fioJob(o fioOptions, namespace, name string) (*batchv1.Job, error) {
	size, err := resource.ParseQuantity(o.size)
	if err != nil || size.Sign() <= 0 {
		return nil, fmt.Errorf("--size is %q; it must be an amount such as 1Gi", o.size)
	}
	image := o.image
	if image == "" {
		if version == "dev" {
			return nil, errors.New("this plugin is no release, so it knows no image of its version. Name the " +
				"operator's own with --image: `kubectl get deployment -n etcd-steward-system -o wide` shows it")
		}
		image = imageRepository + ":" + version
	}
	return resources.BuildDiskJob(resources.DiskTest{Namespace: namespace, Name: name, Image: image, Size: size,
		StorageClass: o.class, Node: o.node, PlatformIDs: o.platformIDs}), nil
}
