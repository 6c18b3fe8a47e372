package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

var update = flag.Bool("update", false, "write the golden files anew")

// begin is when every story begins.
var begin = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// story plays passes over worlds, one after the other, on a clock that stands still between them.
type story struct {
	t *testing.T
	*scene
	events []corev1.Event
}

// tell begins a story with a cluster of three that was just applied. It runs where time is as the story says.
func tell(t *testing.T, play func(*story)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begin))
		play(&story{t: t, scene: demo(3, begin)})
	})
}

// after lets time go by.
func (s *story) after(d time.Duration) *story {
	time.Sleep(d)
	s.o.Now = time.Now().UTC()
	return s
}

// pass looks at the world as it is now, and stores the status as the API server would.
func (s *story) pass() *story {
	in := s.input()
	status := Status(in)
	events := Events(in, status)
	s.cluster.Status = stored(s.t, status)
	for _, e := range events {
		s.events = append(s.events, corev1.Event{
			Type: e.Type(), Reason: e.Reason, Action: e.Action, Message: e.Note, Count: 0,
			EventTime: metav1.NewMicroTime(time.Now()), ReportingController: "etcdsteward.dev/controller",
		})
	}
	return s
}

// stored is the status as it reads back from the API server.
func stored(t *testing.T, status v1alpha1.EtcdClusterStatus) v1alpha1.EtcdClusterStatus {
	t.Helper()
	raw, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var back v1alpha1.EtcdClusterStatus
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// begins plays the bootstrap up to the moment when Pods start.
func (s *story) begins() *story {
	s.pass()
	s.recorded()
	s.pass()
	s.starting()
	return s.after(time.Second).pass()
}

// play plays the bootstrap to its end, and lets a quarter of an hour go by.
func (s *story) play() *story {
	s.begins().after(4 * time.Second)
	s.answering()
	s.pass()
	s.identified()
	s.pass()
	s.settled()
	return s.after(time.Second).pass().after(15 * time.Minute).pass()
}

func (s *story) shows(golden string) {
	s.t.Helper()
	text := "$ kubectl get etcd\n" + get(s.t, s.cluster, false) +
		"\n$ kubectl get etcd -o wide\n" + get(s.t, s.cluster, true) +
		"\n$ kubectl describe etcd demo\n" + describeCluster(s.t, s.cluster, s.events)
	path := filepath.Join("testdata", golden+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if string(want) != text {
		s.t.Errorf(
			"%s differs; if that is wanted, run go test ./controllers/report -update and read the file as a user would\n%s", path, text)
	}
}

// decides fails the test when the story is not about what it is called.
func (s *story) decides(verdict, reason string) *story {
	s.t.Helper()
	if next := s.cluster.Status.NextStep; next.Verdict != verdict || next.Reason != reason {
		s.t.Fatalf("the planner says %s", fmt.Sprint(*next))
	}
	return s
}

func TestAClusterThatIsBeingCreatedReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.begins().decides(v1alpha1.VerdictWait, facts.ReasonFirstQuorum).shows("creating")
	})
}

func TestASettledClusterReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play().decides(v1alpha1.VerdictSettled, facts.ReasonSettled).shows("settled")
	})
}

func TestAHealingClusterReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play()
		s.dataGone("demo-1")
		s.pass().decides(v1alpha1.VerdictAct, "RemoveMember")
		s.without("demo-1")
		s.after(time.Second).pass().decides(v1alpha1.VerdictAct, "PrepareMember")
		s.promised(3)
		s.pass()
		s.learning(3)
		s.after(2*time.Second).pass().decides(v1alpha1.VerdictWait, facts.ReasonStarting).after(time.Second).shows("healing")
	})
}

func TestARefusedChangeReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play()
		s.cluster.Generation, s.cluster.Spec.Version = 2, "3.7.3"
		s.o.Desired.Settings.Version.Minor, s.o.Desired.Settings.Version.Patch = 7, 3
		s.o.Desired.Target, s.o.Desired.NoWay = s.o.Desired.Settings.Version, "This release takes no such step"
		s.after(time.Second).pass().decides(v1alpha1.VerdictStalled,
			facts.ReasonNotSupported).after(5 * time.Minute).shows("refused")
	})
}

func TestAPausedClusterReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play()
		s.cluster.Generation, s.cluster.Spec.Paused, s.o.Desired.Paused = 2, true, true
		s.pass().after(time.Minute)
		s.podGone("demo-2")
		s.pass().decides(v1alpha1.VerdictWait, facts.ReasonPaused).after(30 * time.Second).shows("paused")
	})
}

func TestAClusterWithoutQuorumReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play()
		s.dataGone("demo-1").dataGone("demo-2").unreadable("the members that answer know no leader: demo-0")
		s.pass().decides(v1alpha1.VerdictStalled, facts.ReasonQuorumLost).after(3 * time.Minute).shows("lost-quorum")
	})
}

func TestAClusterWithKeptVolumesReadsWell(t *testing.T) {
	tell(t, func(s *story) {
		s.play()
		s.o.Desired.KeepVolumes = 24 * time.Hour
		s.o.Kept = []facts.KeptVolume{
			{Name: "demo-7", UID: "volume-7", Ordinal: 7, For: facts.CauseCorruption, Since: begin},
			{Name: "demo-8", UID: "volume-8", Ordinal: 8, For: facts.CauseDisk, Since: begin.Add(10 * time.Minute)},
		}
		s.pass().decides(v1alpha1.VerdictSettled, facts.ReasonSettled).shows("kept-volumes")
	})
}
