package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// happening is what events of one object say in the same words.
type happening struct {
	First   metav1.Time `json:"first"`
	Last    metav1.Time `json:"last"`
	Count   int32       `json:"count"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Object  string      `json:"object"` // Kind/name
	Message string      `json:"message"`
}

// eventTable is all that `events` prints.
type eventTable struct {
	Events  []happening `json:"events"`
	NotRead []string    `json:"notRead,omitempty"`
}

func (p program) eventsCommand() *cobra.Command {
	return p.showing(&cobra.Command{
		Use: "events CLUSTER", Short: "Show what happened to a cluster, the newest last", Args: oneCluster,
		Example: "  kubectl etcd-steward events demo\n" +
			"  kubectl etcd-steward events demo -o json",
		Long: "Shows events of a cluster, of its backups and restores, and of all that the operator made for it. " +
			"Those that repeat take one line with their number. Kubernetes keeps events for an hour, unless it is " +
			"told otherwise. The exit code is 1 for an error.",
	}, func(ctx context.Context, s *session, args []string, show show) error {
		if _, err := s.cluster(ctx, args[0]); err != nil {
			return err
		}
		all, missing, err := s.eventsOf(ctx, args[0])
		if err != nil {
			return err
		}
		t := eventTable{Events: fold(all), NotRead: missing}
		return show(sight{data: t, text: func(out io.Writer) error { return t.print(out, s.now()) }})
	})
}

// eventsOf reads the events that are about a cluster, and names what could not be read that tells which those are.
func (s *session) eventsOf(ctx context.Context, cluster string) (
	own []unstructured.Unstructured, missing []string, err error) {
	all, err := s.read(ctx, s.namespace, kind{version: "v1", kind: "Event"})
	if err != nil {
		return nil, nil, err
	}
	roots := roots{cluster: true}
	for _, k := range kinds {
		if k.group != v1alpha1.Group {
			continue
		}
		objects, err := s.read(ctx, s.namespace, k)
		if err != nil {
			missing = append(missing, err.Error())
		}
		for _, object := range objects {
			roots[object.GetName()] = roots[object.GetName()] || k.isOf(cluster, object)
		}
	}
	own = slices.DeleteFunc(all, func(e unstructured.Unstructured) bool {
		kind, _, _ := unstructured.NestedString(e.Object, "involvedObject", "kind")
		name, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		return kind == "EtcdCluster" && name != cluster || !roots.have(name)
	})
	return own, missing, nil
}

// roots are names by which the names of other objects begin: of clusters, backups, schedules and restores. Those of
// the cluster are true.
type roots map[string]bool

// have reports a name of the cluster, also of what is gone: the longest root that it begins with says whose it is.
func (r roots) have(name string) bool {
	for end := len(name); end > 0; end = strings.LastIndex(name[:end], "-") {
		if isOwn, isRoot := r[name[:end]]; isRoot {
			return isOwn
		}
	}
	return false
}

// fold puts events of one object that say the same into one line, and sorts by the time of the last one.
func fold(all []unstructured.Unstructured) []happening {
	folded := map[happening]happening{}
	for _, object := range all {
		var e corev1.Event
		if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &e) != nil {
			continue // no event that Kubernetes would write
		}
		key := happening{Type: e.Type, Reason: e.Reason, Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
			Message: strings.Join(strings.Fields(e.Message), " ")}
		one := key
		one.First, one.Last, one.Count = timesOf(e)
		if before, isThere := folded[key]; isThere {
			one.Count += before.Count
			if before.First.Before(&one.First) {
				one.First = before.First
			}
			if one.Last.Before(&before.Last) {
				one.Last = before.Last
			}
		}
		folded[key] = one
	}
	happened := make([]happening, 0, len(folded))
	for _, one := range folded {
		happened = append(happened, one)
	}
	slices.SortFunc(happened, func(a, b happening) int {
		return cmp.Or(a.Last.Compare(b.Last.Time), a.First.Compare(b.First.Time), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return happened
}

// timesOf is when an event came first and last, and how often. Old and new writers say it in different fields.
func timesOf(e corev1.Event) (first, last metav1.Time, count int32) {
	created := e.CreationTimestamp
	if !e.EventTime.IsZero() {
		created = metav1.NewTime(e.EventTime.Time)
	}
	first, last, count = e.FirstTimestamp, e.LastTimestamp, max(e.Count, 1)
	if s := e.Series; s != nil {
		last, count = metav1.NewTime(s.LastObservedTime.Time), max(s.Count, count)
	}
	if last.IsZero() {
		last = created
	}
	if first.IsZero() {
		first = created
	}
	if first.IsZero() || last.Before(&first) {
		first = last
	}
	return first, last, count
}

func (t eventTable) print(out io.Writer, now time.Time) error {
	err := printTable(out, "", t.Events, []column[happening]{
		{"LAST", func(e happening) string { return age(e.Last.Time, now) }},
		{"FIRST", func(e happening) string { return age(e.First.Time, now) }},
		{"COUNT", func(e happening) string { return fmt.Sprint(e.Count) }},
		{"TYPE", func(e happening) string { return e.Type }},
		{"REASON", func(e happening) string { return e.Reason }},
		{"OBJECT", func(e happening) string { return e.Object }},
		{"MESSAGE", func(e happening) string { return e.Message }},
	})
	if err != nil {
		return err
	}
	return printNotes(out, t.NotRead)
}

// addEvents adds the events of the cluster to a report.
func (g gatherer) addEvents(ctx context.Context) {
	const path = "events.txt"
	all, _, err := g.eventsOf(ctx, g.cluster) // what is missing of the rest is noted with the rest
	if err != nil {
		g.miss(path, err)
		return
	}
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = eventLine(e)
	}
	slices.Sort(lines)
	g.add(path, "events of the last hour or so, the newest last", []byte(strings.Join(lines, "")))
}

// eventLine is an event as one line that begins with its time.
func eventLine(e unstructured.Unstructured) string {
	field := func(path ...string) string {
		text, _, _ := unstructured.NestedString(e.Object, path...)
		return text
	}
	at := cmp.Or(field("series", "lastObservedTime"), field("lastTimestamp"), field("eventTime"),
		e.GetCreationTimestamp().UTC().Format(time.RFC3339))
	return fmt.Sprintf("%s %-7s %s %s/%s: %s\n", at, field("type"), field("reason"), field("involvedObject", "kind"),
		field("involvedObject", "name"), strings.Join(strings.Fields(field("message")), " "))
}
