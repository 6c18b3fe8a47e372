package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// kind is a kind of objects that a report has. Secrets are none of them.
type kind struct {
	group, version, kind string
	file, about          string
}

// kinds are read as they come: a report has fields that this plugin is too old to know.
var kinds = []kind{
	{v1alpha1.Group, "v1alpha1", "EtcdCluster", "etcdcluster.yaml", "the EtcdCluster"},
	{v1alpha1.Group, "v1alpha1", "EtcdBackup", "etcdbackups.yaml", "its EtcdBackups"},
	{v1alpha1.Group, "v1alpha1", "EtcdBackupSchedule", "etcdbackupschedules.yaml", "its EtcdBackupSchedules"},
	{v1alpha1.Group, "v1alpha1", "EtcdRestore", "etcdrestores.yaml", "its EtcdRestores"},
	{"", "v1", "Pod", "pods.yaml", "Pods of its members and tasks"},
	{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims.yaml", "its volumes"},
	{"", "v1", "Service", "services.yaml", "its Services"},
	{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets.yaml", "its disruption budget"},
	{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies.yaml", "its NetworkPolicy"},
	{"batch", "v1", "Job", "jobs.yaml", "Jobs of its backups and restores"},
}

// isOf reports whether an object is of a cluster: the cluster itself, what names it, and what the operator made for it.
func (k kind) isOf(cluster string, object unstructured.Unstructured) bool {
	if k.group != v1alpha1.Group {
		labels := object.GetLabels()
		return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue && v1alpha1.ClusterOf(labels) == cluster
	}
	if k.kind == "EtcdCluster" {
		return object.GetName() == cluster
	}
	name, _, _ := unstructured.NestedString(object.Object, "spec", "clusterRef", "name")
	return name == cluster
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// read lists the objects of a kind, page after page.
func (s *session) read(ctx context.Context, namespace string, k kind, o ...client.ListOption) (
	[]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind + "List"})
		options := append(slices.Clone(o), client.Limit(pageSize), client.Continue(next))
		if err := s.list(ctx, namespace, list, options...); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// addYAML adds objects to the report, without what may be confidential.
func (b *bundle) addYAML(path, about string, objects []unstructured.Unstructured) {
	if len(objects) == 0 {
		return
	}
	b.addText(path, about, func(out io.Writer) error {
		for i, object := range objects {
			object.SetManagedFields(nil)
			text, err := yaml.Marshal(redacted(object.Object))
			if err != nil {
				return fmt.Errorf("writing %s: %w", object.GetName(), err)
			}
			if i > 0 {
				text = append([]byte("---\n"), text...)
			}
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// removed stands in the place of a value that was taken out.
const removed = "<removed>"

// redacted is a value without the values of environment variables, also inside annotations that are JSON. Those that
// the operator gives etcd stay.
func redacted(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if variables, ok := child.([]any); ok && key == "env" {
				hide(variables)
			}
			v[key] = redacted(child)
		}
	case []any:
		for i, child := range v {
			v[i] = redacted(child)
		}
	case string:
		return redactedJSON(v)
	}
	return value
}

// redactedJSON is a text that may be a JSON object.
func redactedJSON(text string) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // numbers stay as they are written
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(redacted(object)); err != nil {
		return removed
	}
	return strings.TrimSpace(out.String())
}

func hide(variables []any) {
	for _, variable := range variables {
		v, ok := variable.(map[string]any)
		name, _ := v["name"].(string)
		if ok && v["value"] != nil && !strings.HasPrefix(name, "ETCD") {
			v["value"] = removed
		}
	}
}

// addEvents adds events about the cluster and about all whose names begin with its name: its members, volumes, Services
// and Jobs, those too that are gone.
func (g gatherer) addEvents(ctx context.Context) {
	const path = "events.txt"
	all, err := g.read(ctx, g.namespace, kind{version: "v1", kind: "Event"})
	if err != nil {
		g.miss(path, err)
		return
	}
	var lines []string
	for _, e := range all {
		about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		if about == g.cluster || strings.HasPrefix(about, g.cluster+"-") {
			lines = append(lines, eventLine(e))
		}
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
