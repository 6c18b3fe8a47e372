package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestARestartIsTheAnnotationThatTheOperatorReads(t *testing.T) {
	writer := ""
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object,
		patch client.Patch, opts ...client.PatchOption) error {
		writer = (&client.PatchOptions{}).ApplyOptions(opts).FieldManager
		return c.Patch(ctx, object, patch, opts...)
	}})
	got := plugin(t, s, "restart", "demo")
	if got.code != 0 || !strings.Contains(got.out, "one at a time, while all others are healthy") {
		t.Fatalf("got %+v", got)
	}
	c, err := s.cluster(t.Context(), "demo")
	if err != nil || c.RestartedAt() != "2026-05-04T12:00:00Z" {
		t.Errorf("restartedAt is %q: %v", c.RestartedAt(), err)
	}
	if writer == "" || strings.HasPrefix(writer, "kubectl") {
		t.Errorf("it is written by %q, which Flux takes for kubectl, and undoes", writer)
	}
}

func TestADefragmentationIsTheAnnotationThatTheOperatorReads(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	got := plugin(t, s, "defragment", "demo")
	c, err := s.cluster(t.Context(), "demo")
	if got.code != 0 || err != nil || c.DefragmentAsked().Format(time.RFC3339) != "2026-05-04T12:00:00Z" {
		t.Errorf("got %+v, %s: %v", got, c.DefragmentAsked(), err)
	}
	if wait := "'{.status.defragmentedFor}'=2026-05-04T12:00:00Z"; !strings.Contains(got.out, wait) {
		t.Errorf("it does not say how to wait: %q", got.out)
	}
}

func TestAWindowIsOpenedByTheAnnotationThatTheOperatorReadsWhereThereAreWindows(t *testing.T) {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	s := sessionOf([]client.Object{c}, interceptor.Funcs{})
	if got := plugin(t, s, "maintain", "demo"); got.code != 0 || !strings.Contains(got.out, "Nothing was written") {
		t.Errorf("without windows: %+v", got)
	}
	c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{Window: &v1alpha1.WindowSpec{Schedule: "@daily", Duration: metav1.Duration{Duration: time.Hour}}}
	s = sessionOf([]client.Object{c}, interceptor.Funcs{})
	got := plugin(t, s, "maintain", "demo")
	now, err := s.cluster(t.Context(), "demo")
	if got.code != 0 || err != nil || now.MaintenanceAsked().Format(time.RFC3339) != "2026-05-04T12:00:00Z" ||
		!strings.Contains(got.out, "is open until 2026-05-04T13:00:00Z") {
		t.Errorf("got %+v, %s: %v", got, now.MaintenanceAsked(), err)
	}
}

func TestAMemberIsReplacedByTheAnnotationThatTheOperatorReads(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	for _, c := range []struct{ member, says, asked string }{
		{"demo-7", "has no member demo-7. It has: demo-0, demo-1, demo-2. Nothing was written", ""},
		{"dmeo-1", "there is no EtcdCluster dmeo in namespace prod. The namespace has: demo", ""},
		{"demo", "takes the name of one member, such as demo-1", ""},
		{"demo-1", "A new member in the place of demo-1 is asked for", "demo-1"},
		{"demo-2", "A new member in the place of demo-2 is asked for", "demo-1 demo-2"},
		{"demo-2", "`kubectl annotate etcd demo -n prod etcdsteward.dev/replace-`", "demo-1 demo-2"},
	} {
		got := plugin(t, s, "replace", c.member)
		now, err := s.cluster(t.Context(), "demo")
		if said := got.out + got.errOut; !strings.Contains(said, c.says) || err != nil ||
			strings.Join(now.ReplaceAsked(), " ") != c.asked {
			t.Errorf("%s: %q, asked for %v: %v", c.member, said, now.ReplaceAsked(), err)
		}
	}
}

func TestAReplacementSaysThatAPausedClusterWaits(t *testing.T) {
	all := objects(t, "healthy")
	for _, object := range all {
		if c, isCluster := object.(*v1alpha1.EtcdCluster); isCluster {
			c.Spec.Paused = true
		}
	}
	got := plugin(t, sessionOf(all, interceptor.Funcs{}), "replace", "demo-1")
	if want := "once you set it to false, the operator lets a new member join, and then demo-1 goes"; !strings.Contains(got.out, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestARestartSaysWhatTheOperatorWaitsFor(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.EtcdClusterSpec){
		"once you set it to false":   func(s *v1alpha1.EtcdClusterSpec) { s.Paused = true },
		"once you set it to Enforce": func(s *v1alpha1.EtcdClusterSpec) { s.Mode = v1alpha1.ModeDryRun },
		"once you wake the cluster":  func(s *v1alpha1.EtcdClusterSpec) { s.Size = 0 },
		"waits for the next window": func(s *v1alpha1.EtcdClusterSpec) {
			s.Maintenance = &v1alpha1.MaintenanceSpec{Window: &v1alpha1.WindowSpec{}}
		},
		"replaces each member by a new one": func(s *v1alpha1.EtcdClusterSpec) {
			s.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
		},
	} {
		c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
		c.Spec.Size = 3
		change(&c.Spec)
		if got := plugin(t, sessionOf([]client.Object{c}, interceptor.Funcs{}), "restart", "demo"); !strings.Contains(got.out, want) {
			t.Errorf("got %q, want %q", got.out, want)
		}
	}
}

const demoStore = "{volume: {claimName: backups}}"

// scheduled is the cluster, with schedules of these names, and one of another cluster.
func scheduled(t *testing.T, names ...string) *session {
	t.Helper()
	all := objects(t, "healthy")
	for _, name := range append(names, "other") {
		s := &v1alpha1.EtcdBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}}
		s.Spec.ClusterRef.Name = "demo"
		if name == "other" {
			s.Spec.ClusterRef.Name = name
		}
		s.Spec.Store.Volume = &v1alpha1.VolumeStore{ClaimName: "of-" + name}
		s.Spec.Deadline = &metav1.Duration{Duration: 5 * time.Minute}
		all = append(all, s)
	}
	return sessionOf(all, interceptor.Funcs{})
}

func TestABackupIsAsThoseOfTheScheduleOrWhereItsStoreSays(t *testing.T) {
	for _, c := range []struct {
		schedules []string
		args      []string
		claim     string
		verified  bool
	}{
		{[]string{"nightly"}, nil, "of-nightly", true},
		{[]string{"nightly", "hourly"}, []string{"--schedule", "hourly"}, "of-hourly", true},
		{nil, []string{"--store", demoStore}, "backups", true},
		{[]string{"nightly"}, []string{"--store", `{"volume":{"claimName":"backups"}}`, "--verify=false"}, "backups", false},
	} {
		s := scheduled(t, c.schedules...)
		got := plugin(t, s, append([]string{"backup", "demo"}, c.args...)...)
		if got.code != 0 || !strings.Contains(got.out, "EtcdBackup demo-manual-20260504-120000 is created.") {
			t.Fatalf("%v: got %+v", c.args, got)
		}
		b := &v1alpha1.EtcdBackup{}
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: "demo-manual-20260504-120000"}, b); err != nil {
			t.Fatal(err)
		}
		if b.Spec.Store.Volume.ClaimName != c.claim || b.Spec.IsVerified() != c.verified || b.Spec.ClusterRef.Name != "demo" ||
			b.Labels[v1alpha1.LabelSchedule] != "" {
			t.Errorf("%v: got %+v", c.args, b)
		}
	}
}

func TestABackupAsksWhereToGo(t *testing.T) {
	for _, c := range []struct {
		schedules []string
		args      []string
		want      string
	}{
		{nil, nil, "cluster demo has no EtcdBackupSchedule to take the store from. Say with --store"},
		{[]string{"hourly", "nightly"}, nil, "cluster demo has several EtcdBackupSchedules: hourly, nightly. Choose one"},
		{[]string{"nightly"}, []string{"--schedule", "other"}, "namespace prod has no EtcdBackupSchedule other of cluster demo"},
		{[]string{"nightly"}, []string{"--schedule", "nightly", "--store", demoStore}, "give one of them"},
		{nil, []string{"--store", "{volume: {claim: backups}}"}, "--store is no store"},
	} {
		s := scheduled(t, c.schedules...)
		if got := plugin(t, s, append([]string{"backup", "demo"}, c.args...)...); got.code != exitFailed ||
			!strings.Contains(got.errOut, c.want) {
			t.Errorf("%v: got %+v, want %q", c.args, got, c.want)
		}
	}
}

// ending is an API server on which a backup goes through stages, one at each look.
func ending(t *testing.T, stages ...func(*v1alpha1.EtcdBackup)) *session {
	t.Helper()
	looks := 0
	return sessionOf(objects(t, "healthy"), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
			err := c.Get(ctx, key, object, o...)
			if b, ok := object.(*v1alpha1.EtcdBackup); ok && err == nil {
				stages[min(looks, len(stages)-1)](b)
				looks++
			}
			return err
		},
	})
}

func stage(name string, conditions ...string) func(*v1alpha1.EtcdBackup) {
	return func(b *v1alpha1.EtcdBackup) {
		b.Status.Stage, b.Status.TotalKeys, b.Status.Revision, b.Status.Key = name, 12, 34, "prod/demo/snapshot.db"
		for _, c := range conditions {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue,
				Reason: "StoreFull", Message: "The store has no room."})
		}
	}
}

func TestWaitingForABackupTellsItsStagesAndItsEnd(t *testing.T) {
	for _, c := range []struct {
		last func(*v1alpha1.EtcdBackup)
		code int
		want string
	}{
		{stage("Complete", "Complete", "Verified"), 0,
			"is Complete and Verified: 12 keys at revision 34, prod/demo/snapshot.db."},
		{stage("Complete", "Complete"), 0, "is Complete and not Verified: "},
		{stage("Failed", "Failed"), exitFailed, "is Failed (StoreFull): The store has no room."},
		{stage("Fetch"), exitFailed, `has not ended, its stage is "Fetch". It goes on without this command`},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			s := ending(t, stage("Waiting"), stage("Snapshot"), stage("Snapshot"), c.last)
			got := plugin(t, s, "backup", "demo", "--store", demoStore, "--wait", "--timeout", "10m")
			if got.code != c.code || !strings.Contains(got.out+got.errOut, c.want) ||
				!strings.Contains(got.out, "Stage: Waiting\nStage: Snapshot\nStage: ") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
			if took := time.Since(begin); took > 10*time.Minute {
				t.Errorf("it waited for %s", took)
			}
		})
	}
}

// Where no operator runs, no backup ends.
func TestWaitingForABackupEndsAMinuteAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		got := plugin(t, ending(t, stage("")), "backup", "demo", "--store", demoStore, "--wait")
		if took := time.Since(begin); got.code != exitFailed || took != 61*time.Minute {
			t.Errorf("it waited for %s: %+v", took, got)
		}
	})
}

func TestWaitingForABackupThatWasDeletedFails(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
			if _, ok := object.(*v1alpha1.EtcdBackup); ok {
				return errors.New("not found")
			}
			return c.Get(ctx, key, object, o...)
		},
	})
	got := plugin(t, s, "backup", "demo", "--name", "one", "--store", demoStore, "--wait")
	if got.code != exitFailed || !strings.Contains(got.errOut, "waiting for EtcdBackup one: not found") {
		t.Errorf("got %+v", got)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	if got := plugin(t, nil, "version"); got.code != 0 || got.out != version+"\n" {
		t.Errorf("got %+v", got)
	}
}
