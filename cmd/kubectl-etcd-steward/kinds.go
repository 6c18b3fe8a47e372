package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	{v1alpha1.Group, "v1alpha1", "EtcdClient", "etcdclients.yaml", "its EtcdClients"},
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
	namespace, isNamed, _ := unstructured.NestedString(object.Object, "spec", "clusterRef", "namespace")
	return name == cluster && (!isNamed || namespace == object.GetNamespace())
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

// leaseName is what the replicas of each install of the operator elect their leader by, in the install's namespace.
const leaseName = "manager.etcdsteward.dev"

// An operator whose Lease was not renewed for goneAfter is gone: another install takes it for gone then. A Lease that
// its holder gave back as it stopped is taken by the next replica within goneAfterRelease, if there is one.
const (
	goneAfter        = 2 * time.Minute
	goneAfterRelease = 15 * time.Second
)

// What is known of the operator that looks after a cluster.
const (
	operatorRuns    = "Running"
	operatorGone    = "Gone"
	operatorUnknown = "Unknown"
)

// noOperator is said of a cluster whose Services no operator has made.
const noOperator = "No operator has begun with this cluster. Look whether one runs and looks after this namespace."

// operatorView is the install of the operator that looks after a cluster. What the status says is as old as its last
// pass.
type operatorView struct {
	Name      string       `json:"name,omitempty"` // namespace/name
	State     string       `json:"state"`
	RenewedAt *metav1.Time `json:"leaseRenewedAt,omitempty"`
	Message   string       `json:"message"`
}

func (o operatorView) namespace() string {
	namespace, _, _ := strings.Cut(o.Name, "/")
	return namespace
}

// operators finds the installs that look after clusters, by the peer Services of these, and whether they run, by their
// Leases.
type operators struct {
	*session

	keepers map[client.ObjectKey]string // namespace/name, by the cluster
	judged  map[string]operatorView     // each is looked at once
	err     error
}

// operators reads those Services, of one namespace or of all.
func (s *session) operators(ctx context.Context, namespace string, o ...client.ListOption) operators {
	found := operators{session: s, keepers: map[client.ObjectKey]string{}, judged: map[string]operatorView{}}
	var services corev1.ServiceList
	found.err = s.list(ctx, namespace, &services, o...)
	for _, service := range services.Items {
		if keeper := service.Annotations[v1alpha1.AnnotationOperator]; keeper != "" {
			cluster := client.ObjectKey{Namespace: service.Namespace, Name: service.Labels[v1alpha1.LabelInstance]}
			found.keepers[cluster] = keeper
		}
	}
	return found
}

// operator is the install that looks after one cluster.
func (s *session) operator(ctx context.Context, c *v1alpha1.EtcdCluster) operatorView {
	return s.operators(ctx, c.Namespace, client.MatchingLabels{v1alpha1.LabelInstance: c.Name}).of(ctx, c)
}

// of is the install that looks after a cluster.
func (o operators) of(ctx context.Context, c *v1alpha1.EtcdCluster) operatorView {
	name := o.keepers[client.ObjectKeyFromObject(c)]
	switch {
	case o.err != nil:
		return operatorView{State: operatorUnknown, Message: "Which operator looks after the cluster cannot be read: " +
			o.err.Error()}
	case name == "":
		return operatorView{State: operatorUnknown, Message: noOperator}
	}
	if _, isJudged := o.judged[name]; !isJudged {
		o.judged[name] = o.judge(ctx, operatorView{Name: name})
	}
	return o.judged[name]
}

func (s *session) judge(ctx context.Context, o operatorView) operatorView {
	var lease coordinationv1.Lease
	err := s.get(ctx, client.ObjectKey{Namespace: o.namespace(), Name: leaseName}, &lease)
	switch {
	case apierrors.IsNotFound(err):
		o.State, o.Message = operatorGone, o.Name+" does not run: it has no Lease. Start it again."
		return o
	case err != nil:
		o.State, o.Message = operatorUnknown, "Whether "+o.Name+" runs cannot be read: "+err.Error()
		return o
	}
	renewed := renewedAt(&lease)
	o.RenewedAt = &renewed
	holder, silence := lease.Spec.HolderIdentity, s.now().Sub(renewed.Time)
	isReleased := holder == nil || *holder == ""
	switch {
	case isReleased && silence >= goneAfterRelease:
		o.State, o.Message = operatorGone, fmt.Sprintf(
			"%s does not run: it stopped %s, and no replica has taken over. Look at its Pods: kubectl get pods -n %s",
			o.Name, ago(renewed.Time, s.now()), o.namespace())
		return o
	case silence >= goneAfter:
		o.State, o.Message = operatorGone, fmt.Sprintf(
			"%s does not run: its Lease was last renewed %s. Start it again.", o.Name, ago(renewed.Time, s.now()))
		return o
	}
	o.State, o.Message = operatorRuns, o.Name+" runs."
	return o
}

// renewedAt is when the API server last took a renewal. It dates that by its own clock, which is right where that of
// the operator's machine is not.
func renewedAt(lease *coordinationv1.Lease) metav1.Time {
	var newest metav1.Time
	for _, entry := range lease.ManagedFields {
		if entry.Time != nil && newest.Before(entry.Time) {
			newest = *entry.Time
		}
	}
	if newest.IsZero() && lease.Spec.RenewTime != nil {
		newest = metav1.NewTime(lease.Spec.RenewTime.Time)
	}
	return newest
}
