package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fastEnough is the 99th percentile of a sync of the log up to which a disk is fast enough for etcd
// (etcd-io/website:content/en/docs/v3.6/faq.md).
const fastEnough = 10 * time.Millisecond

// errTooSlow ends `fio` of a disk that is too slow, after the page has said so.
var errTooSlow = errors.New("the disk is too slow for etcd")

type fioOptions struct {
	class, size, node, image string
	platformIDs              bool
	timeout                  time.Duration
}

func (p program) fioCommand() *cobra.Command {
	var o fioOptions
	c := &cobra.Command{
		Use: "fio", Short: "Tell whether a disk is fast enough for etcd", Args: cobra.NoArgs,
		Long: "Runs a Job in the namespace, with a new volume of a StorageClass. It writes as etcd writes its log: " +
			"10000 appends of 2300 bytes, each synced. etcd's documents want 99 % of syncs to take less than 10ms. " +
			"Job and volume are removed at the end. The exit code is 2 for a disk that is too slow, 1 for an error.",
		Example: "  kubectl etcd-steward fio\n" +
			"  kubectl etcd-steward fio --storage-class fast --size 10Gi --node worker-1",
	}
	p.showing(c, func(ctx context.Context, s *session, _ []string, show show) error {
		return s.fio(ctx, p.errOut, o, show)
	})
	flags := c.Flags()
	flags.StringVar(&o.class, "storage-class", "", "StorageClass of the volume; empty: the default one.")
	flags.StringVar(&o.size, "size", "1Gi", "Size of the volume. On many clouds a larger one is faster.")
	flags.StringVar(&o.node, "node", "", "Node to measure on; empty: any.")
	flags.StringVar(&o.image, "image", "", "Image of the operator, which has the program; empty: of this version.")
	flags.BoolVar(&o.platformIDs, "platform-ids", false,
		"Let the platform choose user and group of the Pod, as OpenShift does.")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long to wait for a node, the volume and the result.")
	return c
}

// measurement is how long appends to a log took until the disk had them, in microseconds: what the agent says.
type measurement struct {
	Appends int   `json:"appends"`
	P50     int64 `json:"p50us"`
	P99     int64 `json:"p99us"`
	P999    int64 `json:"p999us"`
	Max     int64 `json:"maxus"`
	// Node is where it was measured.
	Node string `json:"node"`
	// FastEnough is the verdict.
	FastEnough bool `json:"fastEnough"`
}

func (s *session) fio(ctx context.Context, errOut io.Writer, o fioOptions, show show) error {
	job, err := fioJob(o, s.namespace, "etcd-disk-"+s.now().UTC().Format("20060102-150405"))
	if err != nil {
		return err
	}
	if err := explain(s.Create(ctx, job), s.namespace); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "Job %s is created, with a volume of %s. It takes a minute or two.\n", job.Name, o.size)
	m, err := s.awaitMeasurement(ctx, job, o.timeout)
	err = errors.Join(err, s.removeJob(ctx, job))
	if err != nil {
		return err
	}
	shown := sight{text: m.print, data: m}
	if !m.FastEnough {
		shown.ends = errTooSlow
	}
	return show(shown)
}

// removeJob removes the Job with its Pod, and so the volume, also where the person has pressed Ctrl-C.
func (s *session) removeJob(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.Delete(ctx, job, client.PropagationPolicy("Background"))
	if err = explain(client.IgnoreNotFound(err), s.namespace); err != nil {
		return fmt.Errorf("%w. Remove it yourself: `kubectl delete job %s -n %s`. Kubernetes removes it an hour after "+
			"it ended", err, job.Name, s.namespace)
	}
	return nil
}

// awaitMeasurement waits until the only container of the Job's Pod has ended.
func (s *session) awaitMeasurement(ctx context.Context, job *batchv1.Job, timeout time.Duration) (measurement, error) {
	var m measurement
	why := "no Pod was made for it"
	err := wait.PollUntilContextTimeout(ctx, lookAgain, timeout, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := s.list(ctx, s.namespace, &pods, client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
			return false, err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			ended := terminationOf(pod)
			if ended == nil {
				why = cmp.Or(whyPending(pod), "it has not ended")
				continue
			}
			if ended.ExitCode != 0 {
				return false, errors.New("measuring the disk failed: " + cmp.Or(ended.Message, ended.Reason))
			}
			m.Node = pod.Spec.NodeName
			return true, json.Unmarshal([]byte(ended.Message), &m)
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return m, fmt.Errorf("the Job %s has no result after %s: %s", job.Name, timeout, why)
	}
	m.FastEnough = m.Appends > 0 && time.Duration(m.P99)*time.Microsecond <= fastEnough
	return m, err
}

func terminationOf(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if all := pod.Status.ContainerStatuses; len(all) == 1 {
		return all[0].State.Terminated
	}
	return nil
}

// whyPending is what keeps a Pod from a node, or its container from its start.
func whyPending(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if waiting := c.State.Waiting; waiting != nil {
			return strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

func (m measurement) print(out io.Writer) error {
	verdict := "Fast enough for etcd: 99 % of syncs took 10ms or less."
	if !m.FastEnough {
		verdict = "Too slow for etcd, which wants 99 % of syncs to take less than 10ms. Choose a faster " +
			"StorageClass, or a local disk. Other load on the disk counts, too."
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "Appends: %d, on node %s\n", m.Appends, m.Node)
	for _, line := range []struct {
		name string
		us   int64
	}{{"p50", m.P50}, {"p99", m.P99}, {"p99.9", m.P999}, {"max", m.Max}} {
		fmt.Fprintf(&text, "%-8s %s\n", line.name+":", time.Duration(line.us)*time.Microsecond)
	}
	fmt.Fprintln(&text, verdict)
	_, err := out.Write(text.Bytes())
	return err
}
