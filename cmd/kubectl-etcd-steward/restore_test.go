package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const digestShown = "a1b2c3d4e5f60718"

// answering runs a command whose question is answered with this.
func answering(t *testing.T, s *session, answer string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), args, program{
		connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil },
		in:      strings.NewReader(answer), out: &out, errOut: &errOut,
	})
	everyCommandNamesItsNamespace(t, out.String()+errOut.String())
	return result{out.String(), errOut.String(), code}
}

func approvalOf(t *testing.T, s *session, name string) string {
	t.Helper()
	r, err := s.restore(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return r.Spec.Approval
}

func TestTheEvidenceIsShownInWordsAndAsData(t *testing.T) {
	s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
	got := plugin(t, s, "restore", "demo")
	if got.code != 0 || got.errOut != "" {
		t.Errorf("exit code %d: %s", got.code, got.errOut)
	}
	golden(t, "restore.txt", got.out)
	var data map[string]any
	if err := json.Unmarshal([]byte(plugin(t, s, "restore", "demo", "-o", "json").out), &data); err != nil || len(data) < 7 {
		t.Errorf("got %v: %v", data, err)
	}
	if got := plugin(t, s, "restore", "demo", "-o", "wide"); got.code != exitFailed || !strings.Contains(got.errOut, `--output is "wide"`) {
		t.Errorf("got %+v", got)
	}
}

func TestWithoutEvidenceTheBackupsAreShownAndTheWayToBegin(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "healthy"), interceptor.Funcs{}), "restore", "demo")
	for _, want := range []string{"Evidence:     None yet: ", "Loses:        All that was written after the backup", "demo-nightly-20260504-1000  2026-05-04 10:00:03 UTC (119m ago)  184467",
		"`kubectl etcd-steward restore demo -n prod --from BACKUP`"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing: %+v", want, got)
		}
	}
}

func TestNothingButYesApprovesTheEvidenceThatWasShown(t *testing.T) {
	for answer, isApproved := range map[string]bool{"yes\n": true, "yes": true, "y\n": false, "\n": false, "": false, "no\nyes\n": false} {
		s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
		got := answering(t, s, answer, "restore", "approve", "demo-back")
		if !strings.Contains(got.out, "Loses:    All that was written after 2026-05-04 10:00:03 UTC (119m ago).") ||
			!strings.Contains(got.out, "demo-1  Lost") {
			t.Errorf("%q: the evidence was not shown: %+v", answer, got)
		}
		if approval := approvalOf(t, s, "demo-back"); (approval == digestShown) != isApproved || (got.code == 0) != isApproved {
			t.Errorf("%q: approved on %q: %+v", answer, approval, got)
		}
	}
}

func TestAScriptApprovesTheEvidenceThatItSawAndNoOther(t *testing.T) {
	s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
	got := plugin(t, s, "restore", "approve", "demo-back", "--digest", "0011223344556677")
	if want := "the digest of the evidence is a1b2c3d4e5f60718 by now, and you saw 0011223344556677. Nothing was approved"; got.code != exitFailed ||
		!strings.Contains(got.errOut, want) || approvalOf(t, s, "demo-back") != "" {
		t.Errorf("got %+v", got)
	}
	got = plugin(t, s, "restore", "approve", "demo-back", "--digest", digestShown)
	if got.code != 0 || approvalOf(t, s, "demo-back") != digestShown ||
		!strings.Contains(got.out, "kubectl wait etcdrestore demo-back -n prod --for=condition=Complete") {
		t.Errorf("got %+v", got)
	}
}

func TestAnApprovalSaysWhatFollowsWhereMembersRollAfterTheRestore(t *testing.T) {
	const want = "The backup is of etcd 3.5, and members begin with that. Once it is Complete, they are upgraded to 3.6.16. " +
		"To wait for that as well: `kubectl wait etcd demo -n prod --for=condition=Ready --timeout=15m`."
	for version, isTold := range map[string]bool{"3.5.35": true, "3.6.12": false, "": false} {
		s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
		r, err := s.restore(t.Context(), "demo-back")
		if err != nil {
			t.Fatal(err)
		}
		var backup v1alpha1.EtcdBackup
		key := client.ObjectKey{Namespace: "prod", Name: r.Spec.Source.BackupRef.Name}
		if err := s.Get(t.Context(), key, &backup); err != nil {
			t.Fatal(err)
		}
		backup.Status.EtcdVersion = version
		if err := s.Update(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		got := plugin(t, s, "restore", "approve", "demo-back", "--digest", digestShown)
		if got.code != 0 || strings.Contains(got.out, want) != isTold {
			t.Errorf("of a backup of etcd %q: %+v", version, got)
		}
	}
}

// meanwhile changes objects while the person reads: at the first patch, which then meets another version.
func meanwhile(t *testing.T, change func(c client.Client)) *session {
	t.Helper()
	changed := false
	return sessionOf(objects(t, "restore"), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, o ...client.PatchOption) error {
			if !changed {
				changed = true
				change(c)
			}
			return c.Patch(ctx, object, patch, o...)
		},
	})
}

func TestWhatChangedBetweenTheQuestionAndTheAnswerIsNotApproved(t *testing.T) {
	key := client.ObjectKey{Namespace: "prod", Name: "demo-back"}
	for name, row := range map[string]struct {
		change     func(c client.Client)
		isApproved bool
	}{
		"the members answer otherwise": {func(c client.Client) {
			var cluster v1alpha1.EtcdCluster
			r := &v1alpha1.EtcdRestore{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: "demo"}, &cluster); err != nil {
				t.Fatal(err)
			}
			cluster.Status.Evidence.Digest = "ffffffffffffffff"
			if err := c.Update(t.Context(), &cluster); err != nil {
				t.Fatal(err)
			}
			touch(t, c, key, r)
		}, false},
		"another EtcdRestore has the name": {func(c client.Client) {
			r := &v1alpha1.EtcdRestore{}
			if err := c.Get(t.Context(), key, r); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.UID, r.ResourceVersion, r.Spec.Source = "0e0e", "", v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}}
			if err := c.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}, false},
		"the operator wrote the status alone": {func(c client.Client) { touch(t, c, key, &v1alpha1.EtcdRestore{}) }, true},
	} {
		s := meanwhile(t, row.change)
		got := answering(t, s, "yes\n", "restore", "approve", "demo-back")
		if approval := approvalOf(t, s, "demo-back"); (approval != "") != row.isApproved || (got.code == 0) != row.isApproved {
			t.Errorf("%s: approved on %q: %+v", name, approval, got)
		}
		if !row.isApproved && !strings.Contains(got.errOut, "is another one than was shown. Nothing was approved") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// touch gives an EtcdRestore another resource version.
func touch(t *testing.T, c client.Client, key client.ObjectKey, r *v1alpha1.EtcdRestore) {
	t.Helper()
	if err := c.Get(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
	r.Labels = map[string]string{"seen": "again"}
	if err := c.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestAnApprovalWaitsAMinuteForTheEvidenceAndThenSaysWhyThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := objects(t, "restore")
		for _, o := range all {
			switch o := o.(type) {
			case *v1alpha1.EtcdCluster:
				o.Status.Evidence = nil
			case *v1alpha1.EtcdRestore:
				o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.RestoreApproved, Status: metav1.ConditionFalse,
					Reason: "ClusterNotBootstrapped", Message: "The cluster has never served."}}
			}
		}
		begin := time.Now()
		got := plugin(t, sessionOf(all, interceptor.Funcs{}), "restore", "approve", "demo-back")
		if took := time.Since(begin); got.code != exitFailed || took != time.Minute || !strings.Contains(got.errOut,
			"shows no evidence, so there is nothing to approve yet. EtcdRestore demo-back says (ClusterNotBootstrapped): The cluster has never served.") {
			t.Errorf("it took %s: %+v", took, got)
		}
	})
}

func TestWhatWasCarriedOutIsNeitherApprovedNorCalledOff(t *testing.T) {
	for stage, want := range map[string]string{"Stopping": "its stage is Stopping", "Starting": "its stage is Starting", "Complete": "its stage is Complete"} {
		all := objects(t, "restore")
		for _, o := range all {
			if r, isRestore := o.(*v1alpha1.EtcdRestore); isRestore {
				r.Status.Stage, r.Spec.Approval = stage, "0011223344556677"
			}
		}
		for _, command := range []string{"approve", "cancel"} {
			s := sessionOf(all, interceptor.Funcs{})
			got := answering(t, s, "yes\n", "restore", command, "demo-back")
			if got.code != exitFailed || !strings.Contains(got.errOut, want) || approvalOf(t, s, "demo-back") != "0011223344556677" {
				t.Errorf("%s in stage %s: %+v", command, stage, got)
			}
		}
	}
}

func TestAnApprovalIsTakenBack(t *testing.T) {
	s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
	if got := plugin(t, s, "restore", "cancel", "demo-back"); got.code != 0 || !strings.Contains(got.out, "is not approved. Nothing was written") {
		t.Errorf("got %+v", got)
	}
	plugin(t, s, "restore", "approve", "demo-back", "--digest", digestShown)
	got := plugin(t, s, "restore", "cancel", "demo-back")
	if got.code != 0 || approvalOf(t, s, "demo-back") != "" || !strings.Contains(got.out, "is taken back") {
		t.Errorf("got %+v", got)
	}
}

func TestARestoreBeginsWithoutAnApproval(t *testing.T) {
	for _, c := range []struct {
		args   []string
		source string
	}{
		{[]string{"--from", "demo-nightly-20260504-1000"}, "EtcdBackup demo-nightly-20260504-1000"},
		{[]string{"--survivor", "demo-0"}, "what the member demo-0 holds"},
		{[]string{"--survivor", "demo-2"}, "what the member demo-2 holds"}, // it is in the evidence alone
		{[]string{"--previous"}, "the members before the last restore"},
		{[]string{"--empty"}, "nothing: the cluster begins empty"},
	} {
		s := sessionOf(objects(t, "restore"), interceptor.Funcs{})
		got := plugin(t, s, append([]string{"restore", "demo"}, c.args...)...)
		if got.code != 0 || !strings.Contains(got.out, "`kubectl etcd-steward restore approve demo-back-20260504-120000 -n prod`") ||
			!strings.Contains(got.out, "EtcdRestore demo-back of this cluster has not ended") {
			t.Fatalf("%v: %+v", c.args, got)
		}
		r, err := s.restore(t.Context(), "demo-back-20260504-120000")
		if err != nil || r.Spec.Approval != "" || r.Spec.ClusterRef.Name != "demo" || sourceOf(r.Spec.Source) != c.source {
			t.Errorf("%v: %+v: %v", c.args, r.Spec, err)
		}
	}
}

func TestWhatCanNeverBeRestoredIsRefusedWithWhatCan(t *testing.T) {
	for _, c := range []struct {
		args   []string
		change func(*v1alpha1.EtcdCluster)
		want   string
	}{
		{[]string{"--from", "demo-nightly-20260504-1100"}, nil,
			"EtcdBackup demo-nightly-20260504-1100 is not Complete. Complete ones of cluster demo, the newest first: demo-nightly-20260504-1000. Nothing was written"},
		{[]string{"--from", "dmeo"}, nil, "there is no EtcdBackup dmeo in namespace prod. Complete ones"},
		{[]string{"--survivor", "demo-7"}, nil, "EtcdCluster demo has no member demo-7. It has: demo-0, demo-1, demo-2. Nothing was written"},
		{[]string{"--empty"}, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
		}, "has its data in Pods, and cannot be restored in place. Nothing was written"},
		{[]string{"--empty", "--previous"}, nil, "none of the others can be"},
	} {
		all := objects(t, "restore")
		if cluster := all[0].(*v1alpha1.EtcdCluster); c.change != nil {
			c.change(cluster)
		}
		got := plugin(t, sessionOf(all, interceptor.Funcs{}), append([]string{"restore", "demo"}, c.args...)...)
		if got.code != exitFailed || !strings.Contains(got.errOut, c.want) {
			t.Errorf("%v: %+v, want %q", c.args, got, c.want)
		}
	}
}

func TestAnEtcdRestoreThatIsNotThereIsAnsweredWithThoseThatAre(t *testing.T) {
	got := plugin(t, sessionOf(objects(t, "restore"), interceptor.Funcs{}), "restore", "approve", "dmeo")
	if want := "there is no EtcdRestore dmeo in namespace prod. The namespace has: demo-back, demo-earlier"; got.code != exitFailed ||
		!strings.Contains(got.errOut, want) {
		t.Errorf("got %+v", got)
	}
	got = plugin(t, sessionOf(objects(t, "healthy"), interceptor.Funcs{}), "restore", "cancel", "dmeo")
	if got.code != exitFailed || !strings.Contains(got.errOut, "and no other one in this namespace") {
		t.Errorf("got %+v", got)
	}
	if got := plugin(t, nil, "restore", "approve"); got.code != exitFailed || !strings.Contains(got.errOut, "restore approve takes the name of one EtcdRestore") {
		t.Errorf("got %+v", got)
	}
}

func TestTheLossIsSaidAsFarAsItIsKnown(t *testing.T) {
	backup := v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	started := metav1.NewTime(noon.Add(-time.Hour))
	backup.Status = v1alpha1.EtcdBackupStatus{StartedAt: &started, Revision: 100, ClusterID: "ab"}
	restoring := func(source v1alpha1.EtcdRestoreSource) *v1alpha1.EtcdRestore {
		return &v1alpha1.EtcdRestore{Spec: v1alpha1.EtcdRestoreSpec{Source: source}}
	}
	named := restoring(v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "one"}})
	survivor := restoring(v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-0"}})
	keyed := restoring(v1alpha1.EtcdRestoreSource{Store: &v1alpha1.BackupStore{}, Key: "legacy/demo.db"})
	looked := keyed.DeepCopy()
	looked.Status.Revision = 90
	member := func(m v1alpha1.MemberEvidence) v1alpha1.EvidenceStatus {
		m.Name = "demo-0"
		return v1alpha1.EvidenceStatus{ClusterID: "ab", Revision: 120, Members: []v1alpha1.MemberEvidence{m}}
	}
	behind := member(v1alpha1.MemberEvidence{State: "Answers", Revision: 80})
	behind.Revision, behind.Backup = 80, &v1alpha1.BackupEvidence{Name: "one", ClusterID: "ab", Revision: 100}
	for _, c := range []struct {
		restore  *v1alpha1.EtcdRestore
		evidence v1alpha1.EvidenceStatus
		want     string
	}{
		{named, v1alpha1.EvidenceStatus{ClusterID: "ab", Revision: 120}, "after 2026-05-04 11:00:00 UTC (60m ago). The backup is of revision 100, and the members are at 120 or later. Revisions that are lost: 20 or more."},
		{named, v1alpha1.EvidenceStatus{ClusterID: "ab", Revision: 100}, "as the members were when they were asked last."},
		{named, v1alpha1.EvidenceStatus{ClusterID: "ab", Revision: 80}, "are at 80: none of them has all that the backup has."},
		{named, v1alpha1.EvidenceStatus{ClusterID: "ab"}, "No member says how far it is."},
		{named, v1alpha1.EvidenceStatus{ClusterID: "cd", Revision: 120}, "of a former incarnation of this one: the revisions do not say how much is lost."},
		{keyed, v1alpha1.EvidenceStatus{Revision: 120}, "The operator looks at it once it is approved, and says its revision."},
		{looked, v1alpha1.EvidenceStatus{Revision: 120}, "which is of revision 90. The members are at revision 120 or later."},
		{survivor, member(v1alpha1.MemberEvidence{State: "Answers", Revision: 120}), "It is at revision 120, and no member that answers holds more."},
		{survivor, member(v1alpha1.MemberEvidence{State: "Answers", Revision: 110}), "It is at revision 110, and another member at 120."},
		{survivor, behind, "It is at revision 80. The EtcdBackup one is newer, of revision 100."},
		{survivor, member(v1alpha1.MemberEvidence{State: "Silent"}), "It does not answer. How much it holds is known once its volume is read."},
		{survivor, member(v1alpha1.MemberEvidence{State: "PutBack", Why: "its volume is another one"}), "Its volume was put back, and nothing says when that copy was made."},
		{survivor, member(v1alpha1.MemberEvidence{State: "Lost", Why: "its volume is gone"}), "Its own data is lost: its volume is gone."},
		{survivor, v1alpha1.EvidenceStatus{}, "The evidence has no such member."},
		{restoring(v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}}), v1alpha1.EvidenceStatus{}, "Every key."},
		{restoring(v1alpha1.EtcdRestoreSource{Previous: &v1alpha1.PreviousSource{}}), v1alpha1.EvidenceStatus{}, "Nothing that a client was told is written"},
	} {
		if got := lossOf(c.restore, []v1alpha1.EtcdBackup{backup}, &c.evidence, noon); !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestARightToRestoreThatIsMissingIsNamed(t *testing.T) {
	resource := func(name string) schema.GroupResource {
		return schema.GroupResource{Group: v1alpha1.Group, Resource: name}
	}
	for _, c := range []struct {
		args     []string
		verb     string
		resource schema.GroupResource
	}{
		{[]string{"restore", "demo"}, "get", resource("etcdclusters")},
		{[]string{"restore", "demo"}, "list", resource("etcdrestores")},
		{[]string{"restore", "demo"}, "list", resource("etcdbackups")},
		{[]string{"restore", "demo", "--empty"}, "create", resource("etcdrestores")},
		{[]string{"restore", "approve", "demo-back"}, "get", resource("etcdrestores")},
		{[]string{"restore", "approve", "demo-back"}, "list", resource("etcdbackups")},
		{[]string{"restore", "approve", "demo-back", "--digest", digestShown}, "patch", resource("etcdrestores")},
		{[]string{"pause", "demo"}, "patch", resource("etcdclusters")},
		{[]string{"connect", "demo"}, "get", resource("etcdclusters")},
	} {
		got := plugin(t, sessionOf(objects(t, "restore"), refusing(c.verb, c.resource)), c.args...)
		want := "you may not " + c.verb + " " + c.resource.String() + " in namespace prod"
		if got.code != exitFailed || !strings.Contains(got.errOut, want) {
			t.Errorf("%v: exit code %d, want %q: %s", c.args, got.code, want, got.errOut)
		}
	}
}

// Pods and Services are not needed to approve: what they add is left out.
func TestTheEvidenceIsShownWithoutTheRightToReadPods(t *testing.T) {
	s := sessionOf(objects(t, "restore"), refusing("list", schema.GroupResource{Resource: "pods"}))
	got := plugin(t, s, "restore", "demo")
	if got.code != 0 || !strings.Contains(got.out, "demo-0  Answers  <none>  190025") {
		t.Errorf("got %+v", got)
	}
}

// asked is a healthy cluster, and an EtcdRestore of this backup that is not approved.
func asked(t *testing.T, backup string) *session {
	t.Helper()
	all := objects(t, "settled")
	c := all[0].(*v1alpha1.EtcdCluster)
	c.Status.Evidence = &v1alpha1.EvidenceStatus{Digest: digestShown, Quorum: "Holds"}
	r := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "back", UID: "5c2d"}}
	r.Spec.ClusterRef.Name, r.Spec.Source.BackupRef = "demo", &v1alpha1.BackupReference{Name: backup}
	taking := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "taking"}}
	taking.Spec.ClusterRef.Name = "demo"
	return sessionOf(append(all, r, taking), interceptor.Funcs{})
}

func TestNothingInvitesToApproveARestoreOfABackupThatDoesNotExist(t *testing.T) {
	s := asked(t, "tuesday")
	const why = "EtcdBackup tuesday does not exist in namespace prod"
	got := plugin(t, s, "restore", "demo")
	if !strings.Contains(got.out, "Loses:    Nothing. "+why+", so nothing can be restored.\n"+
		"  Refuse:   kubectl delete etcdrestore back -n prod\n") || strings.Contains(got.out, "Approve:") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{nil, {"--digest", digestShown}} {
		got := answering(t, s, "yes\n", append([]string{"restore", "approve", "back"}, args...)...)
		if got.code != exitFailed || !strings.Contains(got.errOut, why+", so EtcdRestore back can restore nothing. "+
			"Nothing was approved.") || approvalOf(t, s, "back") != "" {
			t.Errorf("%+v", got)
		}
	}
	for _, args := range [][]string{{"status", "demo"}, {"status", "-A"}} {
		if got := plugin(t, s, args...); !strings.Contains(got.out, "EtcdRestore back can restore nothing: "+why+".") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestARestoreThatWaitsForItsApprovalIsToldByStatusAndPlan(t *testing.T) {
	s := asked(t, "taking")
	for _, args := range [][]string{{"status", "demo"}, {"status", "-A"}, {"plan", "demo"}} {
		if got := plugin(t, s, args...); !strings.Contains(got.out, "EtcdRestore back waits for an approval. It would "+
			"replace all data. It restores EtcdBackup taking. To see what would be lost, and how to approve or refuse "+
			"it: `kubectl etcd-steward restore demo -n prod`.") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
