package changes

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var update = flag.Bool("update", false, "write the table of changes in docs/conditions.md anew")

// samples are changes of every kind; two in a row of one that is told in two ways.
func samples() []Change {
	first := []string{"demo-0", "demo-1", "demo-2"}
	pod, volume := facts.PodRef{Name: "demo-1"}, facts.VolumeRef{Name: "demo-1"}
	pods, volumes := []facts.PodRef{pod}, []facts.VolumeRef{volume}
	minor := etcdutil.Version{Major: 3, Minor: 5}
	return []Change{
		TakeOver{}, AdoptData{},
		BeginBootstrap{Names: first}, BeginBootstrap{Names: first, ClusterID: 1},
		Bootstrap{Pods: []Start{{Name: "demo-0"}}}, Bootstrap{Restores: []Restoring{{Name: "demo-0"}}}, Bootstrap{},
		RecordBootstrap{ClusterID: 0xcdf818194e3a8c32}, VoidBootstrap{},
		NextBootstrap{BeginBootstrap: BeginBootstrap{Names: first}},
		StartPreflight{}, DeletePreflight{}, RecordRestored{Volumes: volumes}, DeleteRestores{Pods: pods},
		BeginNext{Next: record.Next{Names: []string{"demo-3", "demo-4", "demo-5"}}}, PrepareNext{}, DropNext{},
		MarkFlushed{Volume: volume}, SwitchOver{}, MarkFormer{Volumes: volumes},
		GoBack{BeginBootstrap: BeginBootstrap{Names: first}}, MarkCurrent{Volumes: volumes},
		ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo"}}, Secrets: []string{"demo-1"}},
		AskIssuer{CA: "demo-ca", From: "ClusterIssuer corp"}, DeleteRequests{Requests: []facts.RequestRef{{Name: "demo-1-tls-peers"}}},
		TurnCA{CA: "demo-ca", Turn: facts.TurnRenew, From: "Secret corp"}, TurnCA{CA: "demo-ca", Turn: facts.TurnWiden, From: "Secret corp"},
		TurnCA{CA: "demo-ca", Turn: facts.TurnWiden}, TurnCA{CA: "demo-ca", Turn: facts.TurnSwap},
		TurnCA{CA: "demo-ca", Turn: facts.TurnNarrow}, TurnCA{CA: "demo-ca", Turn: facts.TurnForget},
		FollowPolicy{Retain: true}, FollowPolicy{},
		SetBudget{MinAvailable: 2}, SetBudget{}, DeleteSecret{Name: "demo-1"},
		StartPods{Pods: []Start{{Name: "demo-1"}}}, SealPods{Pods: []Seal{{Pod: pod}}},
		LabelRole{Pod: pod, Role: facts.RoleVoter}, LabelRole{Pod: pod},
		DressPods{Pods: pods}, RestoreInputs{Pod: pod}, ResizePod{Pod: pod}, EvictPod{Pod: pod}, DeletePods{Pods: pods},
		WriteSettings{Volumes: volumes}, MarkVolume{Volume: volume, For: facts.CauseDisk}, KeepVolume{Volume: volume},
		ExpandVolume{Volume: volume, Bytes: 20 << 30}, ModifyVolume{Volume: volume, Class: "fast"}, DeleteVolumes{Volumes: volumes},
		PrepareMember{Volume: NewVolume{Name: "demo-3"}}, AddLearner{Name: "demo-3"}, SetPeerScheme{Name: "demo-1", Scheme: "https"}, Promote{Name: "demo-3"},
		RecordMembers{Members: []MemberRecord{{Name: "demo-1"}}},
		MoveLeader{From: "demo-1", To: "demo-0"}, RemoveMember{Name: "demo-1"},
		DisarmAlarms{Alarms: []facts.Alarm{{Name: facts.AlarmNoSpace}}}, AppendEntries{},
		Compact{Revision: 7}, StartDefrag{Name: "demo-1"}, DeleteDefrag{Name: "demo-1"},
		FallAsleep{}, StopMembers{Pods: pods}, WakeUp{},
		EnableDowngrade{Minor: minor}, CancelDowngrade{Minor: minor},
		MakeUsers{}, OwnAuth{Own: true}, OwnAuth{}, EnableAuth{}, DisableAuth{},
	}
}

func TestThePageOfConditionsSaysWhatEachChangeIsCalledAndWhichEventTellsIt(t *testing.T) {
	const path, head = "../../../docs/conditions.md", "| Reason | What the operator does | Event |\n|---|---|---|\n"
	var rows []string
	kinds := map[string]bool{}
	for _, c := range samples() {
		kind, says := KindOf(c), WordsOf(c)
		if says.Event == "" {
			t.Errorf("%s has no event", kind)
		}
		if n := len(rows) - 1; kinds[kind] { // another way of the change above
			cells := strings.Split(rows[n], " | ")
			cells[1] += "<br>" + says.Do()
			if event := fmt.Sprintf("`%s` |\n", says.Event); cells[2] != event {
				cells[2] = strings.TrimSuffix(cells[2], " |\n") + " or " + event
			}
			rows[n] = strings.Join(cells, " | ")
			continue
		}
		kinds[kind] = true
		rows = append(rows, fmt.Sprintf("| `%s` | %s | `%s` |\n", kind, says.Do(), says.Event))
	}
	for kind := range methods(t)["words"] {
		if !kinds[kind] {
			t.Errorf("%s is not among the samples", kind)
		}
	}
	slices.Sort(rows)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, isThere := strings.Cut(string(page), head)
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + head + strings.Join(rows, "") + "\n" + after
	switch {
	case !isThere:
		t.Fatalf("%s has no such table: %s", path, head)
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(page):
		t.Errorf("%s says it differently; go test ./controllers/plan/changes -run PageOfConditions -update writes\n%s",
			path, strings.Join(rows, ""))
	}
}

func TestAChangeIsToldBeforeAndAfterItIsMadeAndWhereItMustNotBe(t *testing.T) {
	for want, c := range map[string]Change{
		"Delete the Pods of a, b; Deleted the Pods of a, b; cannot delete the Pods of a, b; it deletes the Pods of a, b; ": DeletePods{
			Pods: []facts.PodRef{{Name: "a"}, {Name: "b"}}},
		"Remove member a; Removed member a; cannot remove member a; it removes member a; a":                                                                  RemoveMember{Name: "a"},
		"Apply ; Applied ; cannot apply ; it applies ; ":                                                                                                     ApplyObjects{},
		"Go back to a; Went back to a; cannot go back to a; it goes back to a; ":                                                                             GoBack{BeginBootstrap: BeginBootstrap{Names: []string{"a"}}},
		"Switch over to the next members; Switched over to the next members; cannot switch over to the next members; it switches over to the next members; ": SwitchOver{},
	} {
		w := WordsOf(c)
		if got := strings.Join([]string{w.Do(), w.Done(), "cannot " + w.Name(), "it " + w.Does(), w.Member}, "; "); got != want {
			t.Errorf("%s: %q", KindOf(c), got)
		}
	}
}
