package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

type reportOptions struct {
	file, operatorNamespace string
	tail                    int64
}

// mostLines is how many lines of each container a report may have.
const mostLines = 100_000

func (p program) reportCommand() *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use: "report CLUSTER", Args: oneCluster,
		Short: "Write all that is known of a cluster to a file, without Secrets",
		Example: "  kubectl etcd-steward report demo\n" +
			"  kubectl etcd-steward report demo --file demo.tar.gz",
		Long: "Writes a .tar.gz with the objects, events and logs of a cluster, and the logs of the operator. " +
			"It has no Secrets. The README.md inside says what it has, what was taken out and what could not be read.",
		RunE: p.onCluster(func(c *cobra.Command, s *session, name string) error {
			if o.tail < 1 || o.tail > mostLines {
				return fmt.Errorf("--tail is %d; it must be from 1 to %d", o.tail, mostLines)
			}
			b, err := s.report(c.Context(), name, o)
			if err != nil {
				return err
			}
			return p.writeReport(b, o.file)
		}),
	}
	flags := c.Flags()
	flags.StringVarP(&o.file, "file", "f", "",
		"File to write, - for the standard output; empty: a name with cluster and time.")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", "",
		"Namespace of the operator; empty: that of the install that looks after the cluster.")
	flags.Int64Var(&o.tail, "tail", 2000, "How many of the last lines of each container's log are taken.")
	return c
}

// writeReport writes to a new file alone: the name of an old one may be a mistake.
func (p program) writeReport(b *bundle, name string) error {
	if name == "-" {
		return b.write(p.out)
	}
	if name == "" {
		name = b.name + ".tar.gz"
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // as its user asks
	if err != nil {
		return fmt.Errorf("making the file of the report: %w", err)
	}
	if err := errors.Join(b.write(file), file.Close()); err != nil {
		return fmt.Errorf("writing the report to %s: %w", name, err)
	}
	fmt.Fprintf(p.out, "%s has %d files. Its README.md says what they are.\n", name, len(b.files)+1)
	if len(b.missing) > 0 {
		fmt.Fprintf(p.out, "Not read: %d. The README.md says why.\n", len(b.missing))
	}
	return nil
}

type gatherer struct {
	*session
	*bundle

	cluster string
	tail    int64
}

// report reads what a person who was not there needs to understand a cluster. Only the EtcdCluster is needed: what else
// cannot be read is named in the README.
func (s *session) report(ctx context.Context, name string, o reportOptions) (*bundle, error) {
	in, err := s.look(ctx, name)
	if err != nil {
		return nil, err
	}
	b := &bundle{name: fmt.Sprintf("etcd-steward-%s-%s-%s", s.namespace, name, s.now().UTC().Format("20060102-150405")),
		at: s.now()}
	g := gatherer{session: s, bundle: b, cluster: name, tail: o.tail}
	b.addText("status.txt", "the page of `kubectl etcd-steward status`", func(out io.Writer) error {
		return page{summary: summarize(in), unseen: unseen(in.cluster), now: s.now()}.print(out)
	})
	for _, k := range kinds {
		g.addObjects(ctx, k)
	}
	g.addEvents(ctx)
	g.addOperator(ctx, cmp.Or(o.operatorNamespace, in.operator.namespace()))
	return b, nil
}

// addObjects adds the objects of a kind that are the cluster's, and the logs of Pods.
func (g gatherer) addObjects(ctx context.Context, k kind) {
	all, err := g.read(ctx, g.namespace, k)
	if err != nil {
		g.miss(k.file, err)
		return
	}
	var own []unstructured.Unstructured
	for _, object := range all {
		if k.isOf(g.cluster, object) {
			own = append(own, object)
		}
	}
	g.addYAML(k.file, k.about, own)
	if k.kind == "Pod" {
		g.addLogs(ctx, "logs", own)
	}
}

// addOperator adds the operator's Pods and logs.
func (g gatherer) addOperator(ctx context.Context, namespace string) {
	if namespace == "" {
		g.miss("operator", errors.New("no operator has begun with this cluster: "+
			"name its namespace with --operator-namespace"))
		return
	}
	pods, err := g.read(ctx, namespace, kind{group: "", version: "v1", kind: "Pod"},
		client.MatchingLabels{v1alpha1.LabelName: v1alpha1.OperatorNameValue})
	if err != nil {
		g.miss("operator", err)
		return
	}
	g.addYAML("operator/pods.yaml", "the Pods of the operator, in namespace "+namespace, pods)
	g.addLogs(ctx, "operator/logs", pods)
}

// addLogs adds the end of the log of each container, and of its last run before this one.
func (g gatherer) addLogs(ctx context.Context, dir string, pods []unstructured.Unstructured) {
	for _, object := range pods {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
			g.miss(dir+"/"+object.GetName(), err)
			continue
		}
		key := client.ObjectKeyFromObject(&pod)
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			g.addLog(ctx, dir, key, &corev1.PodLogOptions{Container: c.Name})
			if c.RestartCount > 0 {
				g.addLog(ctx, dir, key, &corev1.PodLogOptions{Container: c.Name, Previous: true})
			}
		}
	}
}

func (g gatherer) addLog(ctx context.Context, dir string, pod client.ObjectKey, o *corev1.PodLogOptions) {
	path, about := dir+"/"+pod.Name+"/"+o.Container+".log", "log"
	if o.Previous {
		path, about = dir+"/"+pod.Name+"/"+o.Container+".previous.log", "log of the run before the last restart"
	}
	limit := int64(mostOfOneLog)
	o.TailLines, o.LimitBytes, o.Timestamps = &g.tail, &limit, true
	stream, err := g.logs(ctx, pod, o)
	if err != nil {
		g.miss(path, explain(err, pod.Namespace))
		return
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, mostOfOneLog))
	if err != nil {
		g.miss(path, fmt.Errorf("its end is missing: %w", err))
	}
	g.add(path, about, text)
}

// Limits of a report: it is mailed, and attached to issues.
const (
	mostOfOneLog = 1 << 20  // bytes of one container's log
	mostOfAll    = 32 << 20 // bytes of all files together
)

// bundle is a report that is being made.
type bundle struct {
	name    string
	at      time.Time
	files   []file
	size    int
	missing []string // one line each
}

type file struct {
	path, about string
	text        []byte
}

// add takes a file, unless the report would get too large.
func (b *bundle) add(path, about string, text []byte) {
	if b.size+len(text) > mostOfAll {
		b.missing = append(b.missing, fmt.Sprintf(
			"%s: the report would be larger than %d MiB. Take fewer lines with --tail.", path, mostOfAll>>20))
		return
	}
	b.size += len(text)
	b.files = append(b.files, file{path, about, text})
}

func (b *bundle) addText(path, about string, write func(io.Writer) error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		b.miss(path, err)
		return
	}
	b.add(path, about, text.Bytes())
}

// miss notes what could not be read.
func (b *bundle) miss(path string, err error) { b.missing = append(b.missing, path+": "+err.Error()) }

// write writes the report, with a README that says what it has.
func (b *bundle) write(out io.Writer) error {
	packed := gzip.NewWriter(out)
	archive := tar.NewWriter(packed)
	for _, f := range append([]file{{path: "README.md", text: []byte(b.readme())}}, b.files...) {
		err := archive.WriteHeader(&tar.Header{Name: b.name + "/" + f.path, Mode: 0o600, Size: int64(len(f.text)),
			ModTime: b.at.Truncate(time.Second)})
		if err == nil {
			_, err = archive.Write(f.text)
		}
		if err != nil {
			return fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return fmt.Errorf("packing the report: %w", err)
	}
	return nil
}

func (b *bundle) readme() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\nMade on %s by `kubectl etcd-steward report` %s. Begin with `status.txt`.\n\n", b.name,
		date(b.at), version)
	text.WriteString("No Secret was read. Values of environment variables are replaced by `" + removed + "`, but for " +
		"those whose names begin with ETCD. Fields of managers are left out. Names, addresses, arguments of " +
		"containers and logs are as they were: look through them before you pass this on.\n\n")
	fmt.Fprintf(&text, "A log has its last lines, at most %d KiB. All files together have at most %d MiB.\n\n",
		mostOfOneLog>>10, mostOfAll>>20)
	text.WriteString("## Files\n\n")
	for _, f := range b.files {
		fmt.Fprintf(&text, "- `%s`: %s\n", f.path, f.about)
	}
	text.WriteString("\n## What could not be read\n\n")
	for _, line := range b.missing {
		text.WriteString("- " + line + "\n")
	}
	if len(b.missing) == 0 {
		text.WriteString("Nothing.\n")
	}
	return text.String()
}
