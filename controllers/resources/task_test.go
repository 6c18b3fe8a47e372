package resources

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// tasksOf are the Pods of all tasks of a cluster, by their component.
func tasksOf(t *testing.T, c *v1alpha1.EtcdCluster, over *v1alpha1.TaskSpec) map[string]corev1.PodTemplateSpec {
	t.Helper()
	b := toVolume(func(b *v1alpha1.EtcdBackup) { b.Spec.Tasks = over })
	s := &v1alpha1.EtcdBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "hourly", UID: "uid-of-hourly"},
		Spec:       v1alpha1.EtcdBackupScheduleSpec{ClusterRef: b.Spec.ClusterRef, Store: b.Spec.Store, Tasks: over},
	}
	start := BackupStart{Platform: Platform{AgentImage: "agent:v1"}, EtcdImage: "etcd:v3.6.16", Members: []string{"demo-0"}, Deadline: time.Hour}
	preflight, restore := BuildPreflightPod(c, preflighting(stored())), mustRestorePod(t, c, restoring(c, stored()))
	return map[string]corev1.PodTemplateSpec{
		v1alpha1.ComponentBackup:    BuildBackupJob(b, c, start).Spec.Template,
		ComponentPrune:              BuildPruneJob(s, c, PruneStart{BackupStart: start, At: time.Unix(1, 0)}).Spec.Template,
		ComponentTestRestore:        BuildTestRestoreJob(s, c, start, time.Unix(1, 0)).Spec.Template,
		v1alpha1.ComponentPreflight: {ObjectMeta: preflight.ObjectMeta, Spec: preflight.Spec},
		v1alpha1.ComponentRestore:   {ObjectMeta: restore.ObjectMeta, Spec: restore.Spec},
	}
}

func TestNoLabelByWhichPeopleKeepMembersApartIsOnATask(t *testing.T) {
	c := cluster(full)
	for component, pod := range tasksOf(t, c, nil) {
		for _, key := range []string{v1alpha1.LabelName, v1alpha1.LabelInstance, v1alpha1.LabelRole, "team"} {
			if value, ok := pod.Labels[key]; ok {
				t.Errorf("%s has the label %s=%s", component, key, value)
			}
		}
		if v1alpha1.ClusterOf(pod.Labels) != "demo" || pod.Labels[v1alpha1.LabelComponent] != component {
			t.Errorf("%s: %v", component, pod.Labels)
		}
		if affinity := pod.Spec.Affinity; component != v1alpha1.ComponentRestore && affinity != nil &&
			(affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil) {
			t.Errorf("%s keeps apart from Pods: %+v", component, affinity)
		}
	}
}

func TestEachTaskHasTheSettingsOfTasks(t *testing.T) {
	all := &v1alpha1.TaskSpec{
		Labels: map[string]string{"team": "backup", "kuma.io/sidecar-injection": "enabled"}, Annotations: map[string]string{"linkerd.io/inject": "enabled"},
		Env: []v1alpha1.TaskEnv{{Name: "HTTPS_PROXY", Value: "http://$(PROXY):3128"}}, ServiceAccountName: "backup", PriorityClassName: "low",
		Resources:    &v1alpha1.ResourceRequirements{Limits: map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "1Gi"}},
		NodeSelector: map[string]string{"pool": "backup"}, Tolerations: []corev1.Toleration{{Key: "backup", Operator: corev1.TolerationOpExists}},
	}
	c := cluster(full, func(c *v1alpha1.EtcdCluster) { c.Spec.Tasks = all })
	for component, pod := range tasksOf(t, c, nil) {
		if pod.Labels["team"] != "backup" || pod.Labels["kuma.io/sidecar-injection"] != "enabled" || pod.Labels["sidecar.istio.io/inject"] != "false" ||
			pod.Annotations["linkerd.io/inject"] != "enabled" || pod.Annotations["karpenter.sh/do-not-disrupt"] != "true" || pod.Spec.ServiceAccountName != "backup" || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s: %+v, account %q", component, pod.ObjectMeta, pod.Spec.ServiceAccountName)
		}
		member := component == v1alpha1.ComponentRestore // its Pod runs as and where the member will
		for _, step := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			if step.Env[0] != (corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://$$(PROXY):3128"}) {
				t.Errorf("%s: %s has %v", component, step.Name, step.Env)
			}
			if memory := step.Resources.Limits.Memory(); member == (memory.String() == "1Gi") {
				t.Errorf("%s: %s may use %s", component, step.Name, memory)
			}
		}
		if member == (pod.Spec.PriorityClassName == "low") || member == maps.Equal(pod.Spec.NodeSelector, all.NodeSelector) ||
			member == (pod.Spec.Tolerations[len(pod.Spec.Tolerations)-1].Key == "backup") {
			t.Errorf("%s runs by %+v", component, pod.Spec)
		}
	}
}

func TestATaskHasTheLimitsOfMembersAndNoneWhereTheyHaveNone(t *testing.T) {
	type amounts = map[corev1.ResourceName]v1alpha1.Amount
	for name, row := range map[string]struct {
		members              amounts
		cpu, memory, request string
	}{
		"none":                         {nil, "0", "0", "128Mi"},
		"both":                         {amounts{"cpu": "2", "memory": "4Gi"}, "2", "4Gi", "128Mi"},
		"one":                          {amounts{"memory": "1Gi"}, "0", "1Gi", "128Mi"},
		"less than a task asks for":    {amounts{"memory": "64Mi"}, "0", "64Mi", "64Mi"},
		"of what a task has no use of": {amounts{"hugepages-2Mi": "2Mi"}, "0", "0", "128Mi"},
		"what is no amount":            {amounts{"memory": "much"}, "0", "0", "128Mi"},
	} {
		c := cluster(full, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.Resources, c.Spec.Tasks = &v1alpha1.ResourceRequirements{Limits: row.members}, nil
		})
		got := BuildBackupJob(toVolume(), c, BackupStart{Deadline: time.Hour}).Spec.Template.Spec.Containers[0].Resources
		for what, isSo := range map[string]bool{
			row.cpu:     got.Limits.Cpu().Equal(resource.MustParse(row.cpu)),
			row.memory:  got.Limits.Memory().Equal(resource.MustParse(row.memory)),
			row.request: got.Requests.Memory().Equal(resource.MustParse(row.request)),
		} {
			if !isSo {
				t.Errorf("members' limits: %s: want %s, got %+v", name, what, got)
			}
		}
	}
}

func TestASettingOfABackupWinsOverThatOfItsCluster(t *testing.T) {
	c := cluster(func(c *v1alpha1.EtcdCluster) {
		c.Spec.Tasks = &v1alpha1.TaskSpec{Labels: map[string]string{"a": "cluster", "b": "cluster"}, ServiceAccountName: "cluster", PriorityClassName: "cluster",
			Env: []v1alpha1.TaskEnv{{Name: "A"}}, NodeSelector: map[string]string{"pool": "cluster"}}
	})
	over := &v1alpha1.TaskSpec{Labels: map[string]string{"b": "backup"}, ServiceAccountName: "backup", Env: []v1alpha1.TaskEnv{{Name: "B"}},
		NodeSelector: map[string]string{"zone": "backup"}}
	for component, pod := range tasksOf(t, c, over) {
		if component == v1alpha1.ComponentRestore || component == v1alpha1.ComponentPreflight {
			continue // of the cluster alone
		}
		if pod.Labels["a"] != "cluster" || pod.Labels["b"] != "backup" || pod.Spec.ServiceAccountName != "backup" || pod.Spec.PriorityClassName != "cluster" ||
			pod.Spec.Containers[0].Env[0].Name != "B" || !maps.Equal(pod.Spec.NodeSelector, over.NodeSelector) {
			t.Errorf("%s: %+v, %+v", component, pod.ObjectMeta, pod.Spec)
		}
	}
}

// Where a restore lands, its volume stays, and with it the member: it keeps apart from members and restores of its own
// incarnation, and not from the members that serve until it is done.
func TestARuleAboutMembersMeansThoseOfTheIncarnationForAPodThatRestores(t *testing.T) {
	byName := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelName, Operator: metav1.LabelSelectorOpIn, Values: []string{v1alpha1.MemberNameValue}}}}
	byInstance := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelInstance: "demo"}}
	byTeam := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "storage"}}
	for name, selector := range map[string]*metav1.LabelSelector{"name": byName, "instance": byInstance, "spec.pod.labels": byTeam} {
		c := cluster(full, func(c *v1alpha1.EtcdCluster) {
			term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selector}
			c.Spec.Pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
			c.Spec.Pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector}}
		})
		restore, former := mustRestorePod(t, c, restoring(c, stored())), sealed(c)
		former.Incarnation = "before"
		another := cluster(full, func(c *v1alpha1.EtcdCluster) { c.Name, c.UID = "demo", "another" })
		terms := restore.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		for whose, row := range map[string]struct {
			labels map[string]string
			apart  bool
		}{
			"its member":                      {mustPod(t, c, sealed(c)).Labels, true},
			"another restore":                 {restore.Labels, true},
			"a member that serves until then": {mustPod(t, c, former).Labels, false},
			"a member of another cluster":     {mustPod(t, another, sealed(another)).Labels, true},
			"a backup":                        {tasksOf(t, c, nil)[v1alpha1.ComponentBackup].Labels, false},
		} {
			apart := false
			for _, term := range terms {
				fits, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
				if err != nil {
					t.Fatal(err)
				}
				apart = apart || fits.Matches(labels.Set(row.labels))
			}
			if apart != row.apart {
				t.Errorf("by %s: it keeps apart from %s: %v", name, whose, apart)
			}
		}
		spread, err := metav1.LabelSelectorAsSelector(restore.Spec.TopologySpreadConstraints[0].LabelSelector)
		if err != nil || !spread.Matches(labels.Set(restore.Labels)) || spread.Matches(labels.Set(mustPod(t, c, former).Labels)) {
			t.Errorf("by %s: it is spread among %v", name, spread)
		}
		if len(selector.MatchExpressions) > 1 {
			t.Error("the spec was changed")
		}
	}
}
