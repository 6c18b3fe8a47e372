package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// inPlaceScene is a cluster that serves, and an EtcdRestore of it that nobody approved.
func inPlaceScene() (*scene, *v1alpha1.EtcdRestore) {
	w := demo(3, begin).settled()
	w.o.Requests = []facts.Request{{Name: "back", ID: "uid-1", Source: record.SourceBackup,
		WantedBackup: facts.WantedBackup{Hash: "h"}}}
	r := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "back", Generation: 2}}
	r.Spec.Source.BackupRef = &v1alpha1.BackupReference{Name: "nightly"}
	return w, r
}

func (w *scene) approved() *scene {
	w.o.Requests[0].Approval = plan.EvidenceOf(w.o).Digest
	return w
}

// restoring has volumes of the next members, so many of them restored.
func (w *scene) restoring(done int) *scene {
	w.approved()
	w.o.Current.Bootstrap.Next = record.Next{
		Incarnation: "cafe", Counter: 1, Token: "t", Names: []string{"demo-3", "demo-4", "demo-5"},
		Source: record.SourceBackup, Restore: "uid-1",
		Origin: record.Origin{Hash: "h", Key: "a/snapshot.db", SHA256: "s", Revision: 40, Version: wanted.Version},
	}
	for i := range 3 {
		v := w.volume(3 + i)
		v.Incarnation, v.Created = "cafe", begin.Add(time.Duration(i)*time.Second)
		if i < done {
			v.Restored = "cafe"
		}
		w.o.Next.Members = append(w.o.Next.Members,
			facts.Replica{Name: w.o.Current.Bootstrap.Next.Names[i], Ordinal: 3 + i, Volume: v, Secret: w.secret(3 + i)})
	}
	return w
}

// moved has the record of the next incarnation; the members of before still run.
func (w *scene) moved() *scene {
	w.restoring(3)
	next := w.o.Current.Bootstrap.Next
	w.o.Current.Bootstrap = record.Bootstrap{
		Incarnation: next.Incarnation, Counter: next.Counter, Token: next.Token, Names: next.Names, Origin: next.Origin,
		Begun: true, Restore: next.Restore, NextOrdinal: 6,
		Former: []record.Former{{Incarnation: incarnation, Voters: []string{"demo-0", "demo-1", "demo-2"}}},
	}
	w.o.Former = []facts.Incarnation{{Members: w.o.Current.Members}}
	w.o.Current.Members, w.o.Next.Members = w.o.Next.Members, nil
	w.o.Current.Membership = facts.Membership{Why: "no member runs"}
	return w
}

// restored has a quorum of the restored members serve, and clients led there.
func (w *scene) restored() *scene {
	w.o.Current.Bootstrap.ClusterID = clusterID + 1
	return w.led()
}

// led has the client Service lead to a member.
func (w *scene) led() *scene {
	if len(w.o.Current.Members) == 0 {
		w.o.Current.Members = []facts.Replica{{Name: "demo-3"}}
	}
	w.o.Current.Members[0].Pod = &facts.Pod{Role: facts.RoleVoter}
	return w
}

func toldOf(t *testing.T, w *scene, r *v1alpha1.EtcdRestore) v1alpha1.EtcdRestoreStatus {
	t.Helper()
	in := w.input()
	in.Backups = []Backup{{Name: "nightly", ClusterID: clusterID.String(), Revision: 40, StartedAt: begin,
		Proven: true}}
	status, ok := Restore(in, Status(in).Evidence, r)
	if !ok {
		t.Fatal("nothing is told of it")
	}
	return status
}

func saysOf(status v1alpha1.EtcdRestoreStatus, kind string) (metav1.ConditionStatus, string, string) {
	c := meta.FindStatusCondition(status.Conditions, kind)
	if c == nil {
		return "", "", ""
	}
	return c.Status, c.Reason, c.Message
}

func TestHowARestoreStandsIsToldInConditionsAndAStage(t *testing.T) {
	for name, row := range map[string]struct {
		edit   func(*scene)
		stage  string
		kind   string
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"without an approval it waits, and says what would be lost": {func(*scene) {}, "Waiting", "Approved", "False",
			RestoreReasonMissing,
			"Everything after revision 40, at which nightly was taken at 2026-05-04T09:00:00Z, would be lost. The " +
				"cluster is at revision 1 or later."},
		"an approval of other evidence is stale": {func(w *scene) {
			w.o.Requests[0].Approval = "0000000000000000"
		}, "Waiting", "Approved", "False", RestoreReasonStale,
			"Approval 0000000000000000 does not match the current evidence"},
		"a cluster that never served is not restored over": {func(w *scene) {
			w.o.Current.Bootstrap.ClusterID = 0
		}, "Waiting", "Approved", "False", RestoreReasonNotBootstrapped, "spec.bootstrap.restore"},
		"an approved one looks at its backup": {func(w *scene) {
			w.approved()
		}, "Checking", "Approved", "True", RestoreReasonApproved, "The approval matches the evidence."},
		"what it waits for is said": {func(w *scene) {
			w.approved()
		}, "Checking", "Complete", "False", "StartPreflight", "the backup is checked"},
		"what cannot be restored is said": {func(w *scene) {
			w.o.Requests[0].WantedBackup = facts.WantedBackup{Fault: "there is no EtcdBackup nightly"}
			w.approved()
		}, "Waiting", "Failed", "True", facts.ReasonRestoreHeld,
			"there is no EtcdBackup nightly"},
		"and that this is no end, and how to make one": {func(w *scene) {
			w.o.Requests[0].WantedBackup = facts.WantedBackup{Fault: "there is no EtcdBackup nightly"}
			w.approved()
		}, "Waiting", "Failed", "True", facts.ReasonRestoreHeld,
			`It goes on once that is done. Its approval expires after 24–48 h; then approve again. To end it for good, delete the EtcdRestore. To stop it until you approve again: kubectl patch etcdrestore back -n default --type merge -p '{"spec":{"approval":""}}'`},
		"while it is restored the missing volumes are named": {func(w *scene) {
			w.restoring(1)
		}, "Restoring", "Prepared", "False", RestoreReasonRestoring, "demo-4, demo-5. The old members serve on."},
		"all that is restored is prepared": {func(w *scene) {
			w.restoring(3)
		}, "Restoring", "Prepared", "True", RestoreReasonPrepared, "The old members serve on."},
		"and without a quorum no member is said to serve": {func(w *scene) {
			w.restoring(3)
			w.o.Current.Membership = facts.Membership{Why: "no member answers"}
		}, "Restoring", "Prepared", "True", RestoreReasonPrepared,
			"Every volume of the next members is restored. No data of the old members is deleted."},
		"an approval that went stale meanwhile is told": {func(w *scene) {
			w.restoring(3)
			w.o.Requests[0].Approval = "0000000000000000"
		}, "Restoring", "Approved", "False", RestoreReasonStale,
			"the old members are not stopped before you approve again"},
		"after the move the old members stop": {func(w *scene) {
			w.moved()
		}, "Stopping", "Prepared", "True", RestoreReasonPrepared, "Every volume"},
		"after them the next ones start": {func(w *scene) {
			for i := range w.moved().o.Former[0].Members {
				w.o.Former[0].Members[i].Pod = nil
			}
		}, "Starting", "Complete", "False", "", ""},
		"when they serve it is complete, and the old volumes are kept": {func(w *scene) {
			w.moved()
			w.restored()
		}, "Complete", "Complete", "True", RestoreReasonComplete,
			"The old volumes are kept: demo-0, demo-1, demo-2."},
		"and not while no client is led there": {func(w *scene) {
			w.settled().o.Current.Bootstrap.Restore = w.o.Requests[0].ID
			for i := range w.o.Current.Members {
				w.o.Current.Members[i].Pod.Role = ""
			}
		}, "Starting", "Complete", "False", "", ""},
		"but it was where nothing answers any more": {func(w *scene) {
			w.moved().restored().o.Current.Members[0].Pod.Role = ""
		}, "Complete", "Complete", "True", "", ""},
		"one that is not approved can be refused": {func(*scene) {}, "Waiting", "Approved", "False", RestoreReasonMissing,
			"To refuse it: kubectl delete etcdrestore back -n default"},
		"nothing invites to approve what can restore nothing": {func(w *scene) {
			w.o.Requests[0].WantedBackup = facts.WantedBackup{Fault: "there is no EtcdBackup nightly in this namespace"}
		}, "Waiting", "Approved", "False", RestoreReasonMissing,
			"The operator does nothing without an approval. Nothing can be restored: there is no EtcdBackup nightly in this " +
				"namespace. To remove this EtcdRestore: kubectl delete etcdrestore back -n default"},
		"a survivor's loss is its own": {func(w *scene) {
			w.o.Requests[0].Source, w.o.Requests[0].Survivor = record.SourceSurvivor, "demo-1"
		}, "Waiting", "Approved", "False", RestoreReasonMissing, "All data that demo-1 does not hold would be lost."},
		"that of nothing is everything": {func(w *scene) {
			w.o.Requests[0].Source = record.SourceEmpty
		}, "Waiting", "Approved", "False", RestoreReasonMissing, "Every key would be lost."},
		"a second one waits for the first": {func(w *scene) {
			first := w.o.Requests[0]
			first.Name, first.ID = "first", "uid-0"
			w.o.Requests = append([]facts.Request{first}, w.o.Requests...)
			w.o.Requests[0].Approval, w.o.Requests[1].Approval = plan.EvidenceOf(w.o).Digest,
				plan.EvidenceOf(w.o).Digest
		}, "Waiting", "Complete", "False", RestoreReasonAnother,
			"The EtcdRestore first of this cluster is carried out first. After that this approval is stale. To carry " +
				"out this one instead, delete first or take its approval back"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := inPlaceScene()
			row.edit(w)
			got := toldOf(t, w, r)
			status, reason, says := saysOf(got, row.kind)
			if got.Stage != row.stage || status != row.status || row.reason != "" && reason != row.reason ||
				!strings.Contains(says, row.says) {
				t.Errorf("stage %s, %s is %s (%s): %s", got.Stage, row.kind, status, reason, says)
			}
			if got.Evidence != plan.EvidenceOf(w.o).Digest || got.ObservedGeneration != 2 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheStatusOfARestoreNamesBothIncarnationsTheBackupAndTheOldVolumes(t *testing.T) {
	w, r := inPlaceScene()
	w.moved()
	got := toldOf(t, w, r)
	if got.FromIncarnation != incarnation || got.ToIncarnation != "cafe" || got.Key != "a/snapshot.db" ||
		got.Revision != 40 || !got.StartedAt.Time.Equal(begin) {
		t.Errorf("%+v", got)
	}
	if strings.Join(got.OldVolumes, " ") != "demo-0 demo-1 demo-2" || got.CompletedAt != nil {
		t.Errorf("%v, %v", got.OldVolumes, got.CompletedAt)
	}
	w.restored()
	r.Status = toldOf(t, w, r)
	if r.Status.CompletedAt == nil {
		t.Fatal("it was complete at no time")
	}
	at := *r.Status.CompletedAt
	w.o.Now = w.o.Now.Add(time.Hour)
	w.o.Former = nil
	if again := toldOf(t, w, r); !again.CompletedAt.Equal(&at) || len(again.OldVolumes) > 0 {
		t.Errorf("an hour later: %+v", again)
	}
}

func TestAClusterThatServesWithASurvivorsDataNamesTheSurvivor(t *testing.T) {
	w, r := inPlaceScene()
	w.moved()
	w.o.Requests[0].Source, w.o.Requests[0].Survivor = record.SourceSurvivor, "demo-0"
	w.o.Current.Bootstrap.Origin.Key, w.o.Current.Membership.Known = "", true
	const want = "Normal Restored: The cluster serves with the data of member demo-0."
	if got := tellings(w, changes.RecordBootstrap{ClusterID: clusterID + 1}); !slices.Contains(got, want) {
		t.Errorf("told %q", got)
	}
	w.restored()
	if _, _, says := saysOf(toldOf(t, w, r), v1alpha1.RestoreComplete); strings.Contains(says, "  ") {
		t.Errorf("it has a gap: %q", says)
	}
}

func TestAClusterThatMovesToWhatWasRestoredIsNotSaidToBeCreated(t *testing.T) {
	w, _ := inPlaceScene()
	before := Status(w.input())
	w.moved()
	got := Status(w.input())
	for _, c := range got.Conditions {
		if c.Reason == ReasonCreating {
			t.Errorf("%s is %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	if len(got.Endpoints) != 1 || got.Endpoints[0] != before.Endpoints[0] || got.ClientSecretRef == nil {
		t.Errorf("how clients connect was forgotten: %+v", got)
	}
	if got.Evidence == nil || got.Evidence.Digest == before.Evidence.Digest || got.Evidence.Incarnation != "cafe" {
		t.Errorf("what another restore would have to quote is not there: %+v", got.Evidence)
	}
}

func TestARestoreThatAnotherOneFollowedIsNotSaidToServe(t *testing.T) {
	w, r := inPlaceScene()
	w.moved()
	w.o.Current.Bootstrap.Former = append(w.o.Current.Bootstrap.Former,
		record.Former{Incarnation: w.o.Current.Bootstrap.Incarnation, Restore: "uid-1"})
	w.o.Current.Bootstrap.Incarnation, w.o.Current.Bootstrap.Restore, w.o.Current.Bootstrap.ClusterID = "beef", "uid-2", clusterID+2
	got := toldOf(t, w, r)
	if status, reason, _ := saysOf(got, v1alpha1.RestoreComplete); status != "False" || reason != RestoreReasonAfter ||
		got.CompletedAt != nil || got.Stage != "Failed" {
		t.Errorf("nobody saw it serve: %+v", got)
	}
	at := metav1.NewTime(begin)
	r.Status.CompletedAt = &at
	got = toldOf(t, w, r)
	if status, _, says := saysOf(got, v1alpha1.RestoreComplete); status != "True" ||
		!strings.Contains(says, "until another EtcdRestore") || got.Stage != "Complete" || !got.CompletedAt.Equal(&at) {
		t.Errorf("it served: %+v", got)
	}
}

func TestWhatBecameOfARestoreIsToldOnce(t *testing.T) {
	w, r := inPlaceScene()
	before := toldOf(t, w, r)
	w.moved()
	w.restored()
	after := toldOf(t, w, r)
	reasons := map[string]bool{}
	for _, e := range RestoreEvents(before, after) {
		reasons[e.Reason] = true
	}
	if len(reasons) != 3 || !reasons[EventRestoreApproved] || !reasons[EventRestorePrepared] ||
		!reasons[EventRestoreComplete] {
		t.Errorf("%v", reasons)
	}
	if again := RestoreEvents(after, after); len(again) > 0 {
		t.Errorf("it is told again: %v", again)
	}
}

func TestOfARestoreThatThePassDidNotSeeNothingIsTold(t *testing.T) {
	w, r := inPlaceScene()
	r.Name = "later"
	if _, ok := Restore(w.input(), nil, r); ok {
		t.Error("something is told")
	}
	r.Name = "back"
	in := w.input()
	in.IsBlind = true
	if _, ok := Restore(in, Status(in).Evidence, r); ok {
		t.Error("something is told of a cluster of which nothing is known")
	}
}

func TestEvidenceIsShownOnlyWhereAPersonMayHaveToReadIt(t *testing.T) {
	w := demo(3, begin).settled()
	if got := Status(w.input()).Evidence; got != nil {
		t.Errorf("a healthy cluster shows %+v", got)
	}
	w, _ = inPlaceScene()
	w.cluster.Status = stored(t, Status(w.input()))
	first := w.cluster.Status.Evidence
	if first == nil || first.Quorum != "Holds" || first.Revision != 1 || len(first.Members) != 3 ||
		first.Members[0].Revision != 0 {
		t.Fatalf("%+v", first)
	}
	for i := range w.o.Current.Members {
		w.o.Current.Members[i].Answer.Revision = 5000
	}
	if got := Status(w.input()); got.Evidence.Revision != 1 || got.Evidence.Digest != first.Digest {
		t.Errorf("a write of a client is a write of ours: %+v", got.Evidence)
	}
}

func TestTheMembersThatAreLeftOfALostQuorumAreNamed(t *testing.T) {
	w := demo(3, begin).settled().dataGone("demo-1").dataGone("demo-2").unreadable("nobody knows a leader")
	if got := Status(w.input()).Evidence; !strings.Contains(got.Message,
		"With source.survivor demo-0 the cluster gets all up to its revision 1. ") || got.Members[0].AppliedIndex != 100 {
		t.Errorf("%+v", got)
	}
	w.silent("demo-0").find("demo-0").Pod.Ready = false
	if got := Status(w.input()).Evidence; !strings.Contains(got.Message, "one that stopped answering (demo-0)") ||
		got.Members[0].State != "Silent" {
		t.Errorf("%+v", got)
	}
	w.dataGone("demo-0")
	if got := Status(w.input()).Evidence; !strings.Contains(got.Message, "can name no member") {
		t.Errorf("%+v", got)
	}
}

func TestOfSeveralBackupsTheNewestProvenOneOfThisIncarnationIsEvidence(t *testing.T) {
	w, _ := inPlaceScene()
	in := w.input()
	in.Backups = []Backup{
		{Name: "unproven", ClusterID: clusterID.String(), Revision: 90, StartedAt: begin},
		{Name: "older", ClusterID: clusterID.String(), Revision: 10, StartedAt: begin, Proven: true},
		{Name: "newer", ClusterID: clusterID.String(), Revision: 20, StartedAt: begin, Proven: true},
		{Name: "another", ClusterID: "1", Revision: 99, StartedAt: begin, Proven: true},
	}
	if got := Status(in).Evidence.Backup; got == nil || got.Name != "newer" {
		t.Errorf("%+v", got)
	}
	in.Backups = in.Backups[3:]
	if got := Status(in).Evidence; got.Backup.Name != "another" ||
		!strings.Contains(got.Message, "of a former incarnation") {
		t.Errorf("%+v", got)
	}
	in.Backups = nil
	if got := Status(in).Evidence; got.Backup != nil || !strings.Contains(got.Message, "No EtcdBackup") {
		t.Errorf("%+v", got)
	}
}

// failed has restored members that cannot start, and previous volumes to go back to.
func (w *scene) failed() *scene {
	w.moved()
	for i := range w.o.Former[0].Members {
		r := &w.o.Former[0].Members[i]
		r.Pod, r.Member, r.Answer, r.Secret = nil, nil, nil, facts.Object{State: facts.ObjectAbsent}
		r.Volume.Superseded = "cafe"
	}
	w.o.Budget = facts.Budget{Object: facts.Object{State: facts.ObjectAbsent}}
	w.o.Current.Members[1].Volume, w.o.Current.Members[2].Volume = nil, nil
	w.o.Requests = append(w.o.Requests, facts.Request{Name: "home", ID: "uid-2", Source: record.SourcePrevious})
	return w
}

// wentBack has gone back from there, and nothing of it has started yet.
func (w *scene) wentBack() *scene {
	w.failed()
	w.o.Requests[1].Approval = plan.EvidenceOf(w.o).Digest
	c, ok := plan.Decide(w.o).Change.(changes.GoBack)
	if !ok || !w.o.Current.Bootstrap.GoBack(c.From, c.Restore, record.Bootstrap(c.BeginBootstrap)) {
		panic("it does not go back")
	}
	failed := facts.Incarnation{Members: w.o.Current.Members}
	w.o.Current.Members, w.o.Former = w.o.Former[0].Members, []facts.Incarnation{failed}
	for i := range failed.Members {
		if v := failed.Members[i].Volume; v != nil {
			v.Superseded = incarnation
		}
	}
	return w
}

func homeRestore() *v1alpha1.EtcdRestore {
	r := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "home", Generation: 2}}
	r.Spec.Source.Previous = &v1alpha1.PreviousSource{}
	return r
}

func TestTheWayBackIsToldByTheClusterAndByEachOfItsRestores(t *testing.T) {
	w, back := inPlaceScene()
	w.failed()
	digest := plan.EvidenceOf(w.o).Digest
	command := `kubectl patch etcdrestore home -n default --type merge -p '{"spec":{"approval":"` + digest + `"}}'`
	cluster := Status(w.input())
	if !strings.Contains(cluster.NextStep.Message, command) {
		t.Errorf("the cluster says %s", cluster.NextStep.Message)
	}
	if cluster.Evidence == nil || !strings.Contains(cluster.Evidence.Message, "With source.previous nothing is lost") {
		t.Errorf("the evidence is %+v", cluster.Evidence)
	}
	if _, reason, says := saysOf(toldOf(t, w, back), v1alpha1.RestoreComplete); reason != facts.ReasonRestoreLost ||
		!strings.Contains(says, command) {
		t.Errorf("the one that failed says %s: %s", reason, says)
	}
	if _, _, says := saysOf(toldOf(t, w, homeRestore()), v1alpha1.RestoreApproved); !strings.Contains(says,
		"Nothing is lost that a client was told is written") || !strings.Contains(says, command) {
		t.Errorf("the one that is to be approved says %s", says)
	}
	w.o.Requests = nil
	if got := Status(w.input()); got.Evidence == nil || !strings.Contains(got.NextStep.Message,
		`"source":{"previous":{}},"approval":"`+got.Evidence.Digest) {
		t.Errorf("without an EtcdRestore it says %s, and shows %+v", got.NextStep.Message, got.Evidence)
	}
}

func TestARestoreThatGoesBackIsFollowedUntilTheClusterServes(t *testing.T) {
	w, back := inPlaceScene()
	w.wentBack()
	home := homeRestore()
	got := toldOf(t, w, home)
	if got.Stage != "Starting" || got.FromIncarnation != "cafe" || got.ToIncarnation != incarnation ||
		got.StartedAt == nil || got.CompletedAt != nil || strings.Join(got.OldVolumes, " ") != "demo-3" {
		t.Errorf("%+v", got)
	}
	if status, _, says := saysOf(got, v1alpha1.RestorePrepared); status != "True" || !strings.Contains(says,
		"previous volumes") {
		t.Errorf("%s", says)
	}
	failed := toldOf(t, w, back)
	if _, reason, _ := saysOf(failed, v1alpha1.RestoreComplete); reason != RestoreReasonAfter ||
		failed.Stage != "Failed" || failed.FromIncarnation != incarnation || failed.ToIncarnation != "cafe" ||
		len(failed.OldVolumes) > 0 {
		t.Errorf("%+v", failed)
	}
	w.led().o.Current.Membership = facts.Membership{Known: true, ClusterID: clusterID}
	home.Status = toldOf(t, w, home)
	if _, _, says := saysOf(home.Status, v1alpha1.RestoreComplete); home.Status.Stage != "Complete" ||
		home.Status.CompletedAt == nil || !strings.Contains(says, "before the last switch-over") {
		t.Errorf("%+v", home.Status)
	}
	w.o.Current.Membership = facts.Membership{Why: "no member answers"}
	if again := toldOf(t, w, home); again.Stage != "Complete" || !again.CompletedAt.Equal(home.Status.CompletedAt) {
		t.Errorf("it is not complete any more: %+v", again)
	}
}

func TestARestoreThatWaitsForItsApprovalIsToldOnce(t *testing.T) {
	w, r := inPlaceScene()
	waits := toldOf(t, w, r)
	first := RestoreEvents(v1alpha1.EtcdRestoreStatus{}, waits)
	if len(first) != 1 || first[0].Reason != EventRestoreWaits || len(RestoreEvents(waits, waits)) > 0 {
		t.Errorf("%+v", first)
	}
}
