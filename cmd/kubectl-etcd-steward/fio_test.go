package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const fastDisk = `{"appends":10000,"p50us":780,"p99us":2380,"p999us":15800,"maxus":21000}`

// withKubelet is an API server whose Jobs get a Pod at once, in this state.
func withKubelet(t *testing.T, state corev1.ContainerState) *session {
	t.Helper()
	return sessionOf(nil, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			if err := c.Create(ctx, object, o...); err != nil {
				return err
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName() + "-x",
				Labels: map[string]string{batchv1.JobNameLabel: object.GetName()}}}
			pod.Spec.NodeName = "node-a"
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "disk", State: state}}
			return c.Create(ctx, pod)
		},
	})
}

func ended(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}
}

func jobsOf(t *testing.T, s *session) []batchv1.Job {
	t.Helper()
	var all batchv1.JobList
	if err := s.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func TestADiskIsJudgedByTheShareOfSyncsThatEtcdAsksFor(t *testing.T) {
	slow := strings.Replace(fastDisk, `"p99us":2380`, `"p99us":10001`, 1)
	for message, c := range map[string]struct {
		code int
		want string
	}{
		fastDisk: {0, "Appends: 10000, on node node-a\np50:     780µs\np99:     2.38ms\np99.9:   15.8ms\nmax:     21ms\nFast enough for etcd"},
		slow:     {exitTooSlow, "p99:     10.001ms\n"},
		strings.Replace(fastDisk, `"p99us":2380`, `"p99us":10000`, 1): {0, "Fast enough"},
		`{"appends":0}`: {exitTooSlow, "Too slow for etcd"},
	} {
		s := withKubelet(t, ended(0, message))
		got := plugin(t, s, "fio", "--image", "agent:v1")
		if got.code != c.code || !strings.Contains(got.out, c.want) {
			t.Errorf("%s: %+v", message, got)
		}
		if left := jobsOf(t, s); len(left) > 0 {
			t.Errorf("%d Jobs stay", len(left))
		}
	}
}

func TestTheResultOfADiskIsPrintedAsData(t *testing.T) {
	got := plugin(t, withKubelet(t, ended(0, fastDisk)), "fio", "--image", "agent:v1", "-o", "json")
	var m measurement
	if err := json.Unmarshal([]byte(got.out), &m); err != nil || !m.FastEnough || m.P99 != 2380 || m.Node != "node-a" {
		t.Errorf("got %+v: %v", got, err)
	}
}

func TestTheJobIsRemovedAlsoWhereThereIsNoResult(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	for want, state := range map[string]corev1.ContainerState{
		"measuring the disk failed: no space left":                  ended(1, "no space left"),
		"has no result after 5m0s: ImagePullBackOff: no such image": waiting,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := withKubelet(t, state)
			begin := time.Now()
			got := plugin(t, s, "fio", "--image", "agent:v1")
			if took := time.Since(begin); got.code != exitFailed || !strings.Contains(got.errOut, want) || took > 5*time.Minute {
				t.Errorf("it took %s, want %q: %+v", took, want, got)
			}
			if left := jobsOf(t, s); len(left) > 0 {
				t.Errorf("%d Jobs stay", len(left))
			}
		})
	}
}

func TestARightToMeasureThatIsMissingIsNamed(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	got := plugin(t, sessionOf(nil, refusing("create", jobs)), "fio", "--image", "agent:v1")
	if want := "you may not create jobs.batch in namespace prod"; got.code != exitFailed || !strings.Contains(got.errOut, want) {
		t.Errorf("got %+v", got)
	}
}

func TestTheJobIsMadeAsTheFlagsSay(t *testing.T) {
	o := fioOptions{class: "fast", size: "10Gi", node: "worker-1", image: "agent:v1"}
	job, err := fioJob(o, "prod", "etcd-disk")
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	claim := pod.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec
	if *claim.StorageClassName != "fast" || claim.Resources.Requests.Storage().String() != "10Gi" ||
		pod.NodeSelector[corev1.LabelHostname] != "worker-1" || pod.Containers[0].Image != "agent:v1" {
		t.Errorf("got %+v", pod)
	}
	for want, bad := range map[string]fioOptions{
		`--size is "big"; it must be an amount such as 1Gi`: {size: "big", image: "agent:v1"},
		`--size is "0"`:                        {size: "0", image: "agent:v1"},
		"Name the operator's own with --image": {size: "1Gi"},
	} {
		if _, err := fioJob(bad, "prod", "etcd-disk"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}
