package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// scene is an observation that a test puts together step by step.
type scene struct{ facts.Observation }

// Test data reads as a phrase: world(3).with(member(0).wiped()).

var (
	now       = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	settings  = facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}, Inputs: "a", QuotaBytes: 2 << 30}
	other     = facts.Settings{Version: settings.Version, Inputs: "b", QuotaBytes: 2 << 30}
	patched   = facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 17}, Inputs: "d", QuotaBytes: 2 << 30}
	restarted = facts.Settings{Version: settings.Version, Inputs: "r", QuotaBytes: 2 << 30, RestartedAt: "2030-01-01"}
	newer     = facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 7, Patch: 3}, Inputs: "c", QuotaBytes: 2 << 30}
)

const clusterID = etcdutil.ID(0xc1)

// settledWorld is a healthy cluster of so many voters, with nothing left to do. The first one leads.
func settledWorld(size int) scene {
	o := scene{facts.Observation{
		Now:     now,
		Cluster: facts.Identity{Namespace: "default", Name: "demo", UID: "u1", Operator: "ns/op"},
		Desired: facts.Desired{Size: size, Settings: settings, StorageBytes: 8 << 30, TLS: true,
			Retain: true, HasBudget: true},
		Objects: []facts.Object{
			{Kind: "Secret", Name: "demo-ca", State: facts.ObjectCurrent, CA: true},
			{Kind: "Service", Name: "demo", State: facts.ObjectCurrent},
		},
		Current: facts.Incarnation{Membership: facts.Membership{Known: true, ClusterID: clusterID, Leader: 1}},
	}}
	o.ClaimedBy = "ns/op"
	o.Current.Bootstrap = record.Bootstrap{Incarnation: facts.IncarnationID("u1", 0),
		Token: token("u1", facts.IncarnationID("u1", 0)),
		Names: firstNames(current(o.Observation)), ClusterID: clusterID, Begun: true, Volumes: map[string]string{},
		NextOrdinal: size}
	for _, name := range o.Current.Bootstrap.Names {
		o.Current.Bootstrap.Volumes[name] = "volume-" + name
	}
	o.Budget = facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo", State: facts.ObjectCurrent},
		MinAvailable: facts.BudgetFor(*current(o.Observation).View, size)}
	for i := range size {
		o.Current.Members = append(o.Current.Members, voter(i))
	}
	return o.joined()
}

// bootstrappedWorld is an observation before anything exists.
func notBootstrapped(size int) scene {
	o := settledWorld(size)
	o.Current.Bootstrap, o.Current.Members, o.Current.Membership = record.Bootstrap{}, nil,
		facts.Membership{Why: "nobody there"}
	o.Budget = facts.Budget{Object: facts.Object{Kind: "PodDisruptionBudget", Name: "demo", State: facts.ObjectAbsent}}
	o.ClaimedBy = ""
	for i := range o.Objects {
		o.Objects[i].State = facts.ObjectAbsent
	}
	return o
}

// atBootstrap is an observation with the record and the objects of the bootstrap, and Pods that have not yet found each
// other.
func atBootstrap(size int) scene {
	o := settledWorld(size)
	o.Current.Bootstrap.ClusterID, o.Current.Membership = 0, facts.Membership{Why: "no quorum yet"}
	o.Budget = facts.Budget{Object: facts.Object{State: facts.ObjectAbsent}}
	for i := range o.Current.Members {
		r := &o.Current.Members[i]
		r.Member, r.Answer, r.Volume.Record = nil, nil, record.Member{}
		r.Pod.Flags, r.Pod.Role, r.Pod.Ready = facts.FlagsBootstrap, "", false
		r.Pod.Created, r.Pod.ReadySince, r.Volume.Created = now.Add(-time.Second), time.Time{}, now.Add(-2*time.Second)
	}
	return o
}

// promising says in the bootstrap record that the member of an ordinal was prepared.
func (o scene) promising(ordinal int) scene {
	o.Current.Bootstrap.Promised, o.Current.Bootstrap.NextOrdinal = etcdutil.MemberName("demo", ordinal), ordinal+1
	return o
}

// joined fills the member list from the replicas.
func (o scene) joined() scene {
	o.Current.Membership.Members = nil
	for _, r := range o.Current.Members {
		if r.Member != nil {
			o.Current.Membership.Members = append(o.Current.Membership.Members, *r.Member)
		}
	}
	return o
}

// edit changes the replica of an ordinal.
func (o scene) edit(ordinal int, change func(*facts.Replica)) scene {
	replicas := make([]facts.Replica, len(o.Current.Members))
	for i, r := range o.Current.Members {
		replicas[i] = copied(r)
		if r.Ordinal == ordinal {
			change(&replicas[i])
		}
	}
	o.Current.Members = replicas
	return o.joined()
}

// with adds a replica.
func (o scene) with(r facts.Replica) scene {
	o.Current.Members = append(append([]facts.Replica(nil), o.Current.Members...), r)
	return o.joined()
}

// blind is the same world with no answer from etcd.
func (o scene) blind() scene {
	o.Current.Membership = facts.Membership{Why: "no member answers"}
	replicas := make([]facts.Replica, len(o.Current.Members))
	for i, r := range o.Current.Members {
		r.Member, r.Answer = nil, nil
		replicas[i] = r
	}
	o.Current.Members = replicas
	return o
}

func copied(r facts.Replica) facts.Replica {
	if r.Member != nil {
		m := *r.Member
		r.Member = &m
	}
	if r.Answer != nil {
		a := *r.Answer
		r.Answer = &a
	}
	if r.Pod != nil {
		p := *r.Pod
		r.Pod = &p
	}
	if r.Volume != nil {
		v := *r.Volume
		r.Volume = &v
	}
	return r
}

// denied is the same world, whose etcd does not let the operator in.
func denied(o scene) scene {
	o = o.blind()
	o.Current.Membership.Why, o.Current.Membership.Denied = "demo-0: etcdserver: user name is empty", true
	return o
}

func voter(ordinal int) facts.Replica {
	name, id := etcdutil.MemberName("demo", ordinal), etcdutil.ID(ordinal+1)
	incarnation := facts.IncarnationID("u1", 0)
	known := record.Member{ClusterID: clusterID, MemberID: id, Version: settings.Version, VolumeUID: "volume-" + name}
	return facts.Replica{
		Name: name, Ordinal: ordinal,
		Member: &etcdutil.Member{ID: id, Name: name,
			PeerURLs: []string{etcdutil.PeerURL("https", name, "demo", "default")}, ClientURLs: []string{"c"}},
		Answer: &facts.Answer{ID: id, ClusterID: clusterID, Leader: 1, Version: settings.Version, Revision: 10,
			Applied: 5000},
		Pod: &facts.Pod{UID: "pod-" + name, Created: now.Add(-time.Hour), Phase: facts.PodRunning, Scheduled: true,
			Started: true, Running: true, Booted: true, Process: "process-" + name,
			Ready: true, ReadySince: now.Add(-time.Hour), Flags: facts.FlagsSealed, Role: facts.RoleVoter,
			Incarnation: incarnation, Settings: settings},
		Volume: &facts.Volume{UID: "volume-" + name, Created: now.Add(-time.Hour), Phase: facts.VolumeBound,
			Incarnation: incarnation, Settings: settings, Bytes: 8 << 30, Record: known},
		Secret: facts.Object{Kind: "Secret", Name: name + "-tls", State: facts.ObjectCurrent, UID: "secret-" + name},
	}
}

func learner(ordinal int) facts.Replica {
	r := voter(ordinal)
	r.Member.Learner, r.Answer.Learner, r.Pod.Role = true, true, facts.RoleLearner
	return r
}

func added(ordinal int) facts.Replica {
	r := learner(ordinal)
	r.Member.Name, r.Member.ClientURLs, r.Answer, r.Pod = "", nil, nil, nil
	r.Volume.Record, r.Volume.Phase = record.Member{}, facts.VolumePending
	return r
}

// starting is an added learner whose Pod was just made.
func starting(ordinal int) facts.Replica {
	r, made := added(ordinal), voter(ordinal)
	r.Pod = made.Pod
	r.Pod.Created, r.Pod.Phase, r.Pod.Running, r.Pod.Started, r.Pod.Ready, r.Pod.Flags,
		r.Pod.Role = now.Add(-time.Second), facts.PodPending, false, false, false, facts.FlagsJoin, ""
	return r
}

// promised is a volume made for a member that is not yet added.
func promised(ordinal int) facts.Replica {
	r := added(ordinal)
	r.Member = nil
	return r
}

// Edits, for (Observation).edit.

func noPod(r *facts.Replica) { r.Pod, r.Answer = nil, nil }

func noData(r *facts.Replica) { r.Pod, r.Answer, r.Volume = nil, nil, nil }

func unsaidSecret(r *facts.Replica) { r.Secret.UID = "" }
func noSecret(r *facts.Replica)     { r.Secret.State = facts.ObjectAbsent }

func crashing(r *facts.Replica) {
	r.Answer, r.Pod.Ready, r.Pod.Running, r.Pod.Waiting = nil, false, false, "CrashLoopBackOff"
	r.Pod.Exit = &facts.Exit{Reason: etcdutil.ExitBadFlag, Code: 2, Message: "flag"}
}

// stoppedBy is a member whose etcd stopped for this reason.
func stoppedBy(reason etcdutil.ExitReason, words string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		crashing(r)
		r.Pod.Exit = &facts.Exit{Reason: reason, Message: words}
	}
}

func silent(r *facts.Replica) { r.Answer, r.Pod.Ready = nil, false }

func wiped(r *facts.Replica) {
	r.Answer, r.Pod.Ready, r.Pod.Running = nil, false, false
	r.Pod.Exit = &facts.Exit{Reason: etcdutil.ExitDataEmpty, Code: 1, Message: "empty"}
}

func doomed(r *facts.Replica) { r.Volume.Terminating = true }

func ended(r *facts.Replica) {
	r.Answer, r.Pod.Phase, r.Pod.Running, r.Pod.Ready = nil, facts.PodFailed, false, false
}

func leaving(r *facts.Replica) {
	r.Answer, r.Pod.Terminating, r.Pod.Ready, r.Pod.GoneBy = nil, true, false, now.Add(time.Minute)
}

func removed(r *facts.Replica) { r.Member = nil }

func unlabelled(r *facts.Replica) { r.Pod.Role = "" }

func stripped(r *facts.Replica) { r.Pod.Flags = facts.FlagsNone }

func unrecorded(r *facts.Replica) {
	r.Volume.Record, r.Pod.Flags, r.Pod.Role = record.Member{}, facts.FlagsBootstrap, ""
}

func unpullable(r *facts.Replica) {
	r.Answer, r.Pod.Running, r.Pod.Started, r.Pod.Ready = nil, false, false, false
	r.Pod.Phase, r.Pod.Waiting, r.Pod.Message = facts.PodPending, "ImagePullBackOff", "not found"
}

func otherImage(r *facts.Replica) { r.Pod.OtherImage = true }

// Edits and worlds of rolls.

func mistaken(r *facts.Replica) {
	unpullable(r)
	r.Volume.Settings, r.Pod.Settings = patched, patched
}

func adopted(r *facts.Replica) { r.Volume.Settings = other }

func rolled(r *facts.Replica) { r.Volume.Settings, r.Pod.Settings = other, other }

// inputs are settings of the version that all run, with these inputs.
func inputs(json string) facts.Settings {
	return facts.Settings{Version: settings.Version, Inputs: json, QuotaBytes: 2 << 30}
}

func restart(r *facts.Replica) { r.Volume.Settings, r.Pod.Settings = restarted, restarted }

func unspoken(r *facts.Replica) { r.Pod.Settings = facts.Settings{} }

func answersPatched(r *facts.Replica) {
	r.Answer.Version, r.Volume.Record.Version = patched.Version, patched.Version
}

func undressed(r *facts.Replica) { r.Pod.Undressed = true }

func unready(r *facts.Replica) { r.Pod.Ready = false }

func unstartedOnDeadNode(r *facts.Replica) {
	onDeadNode(r)
	r.Pod.Created, r.Pod.Started, r.Pod.Running, r.Pod.Ready = now.Add(-time.Hour), false, false, false
}

func behind(r *facts.Replica) { r.Answer.Applied, r.Pod.Ready = 1, false }

func wanting(o scene, c facts.Settings) scene {
	return desire(o, func(d *facts.Desired) { d.Settings = c })
}

// needing is a cluster that was 3.6, at a stop of this version, which it leaves only after this.
func needing(need etcdutil.Need, stop etcdutil.Version) scene {
	o := settledWorld(3).edit(2, readyFor(time.Second))
	for i := range 3 {
		o = o.edit(i, func(r *facts.Replica) {
			r.Answer.Versions = facts.Versions{Cluster: settings.Version, Storage: settings.Version}
			r.Volume.Record.ClusterVersion = settings.Version
			r.Answer.Version, r.Volume.Record.Version = stop, stop
			r.Pod.Settings.Version, r.Volume.Settings.Version = stop, stop
		})
	}
	return desire(o, func(d *facts.Desired) { d.Needs, d.Settings.Version = need, stop })
}

// covered is the same world, in which each voter that answers passed the mark that was written down of it.
func covered(o scene) scene {
	var pods []string
	for _, r := range o.Current.Members {
		if (r.IsVoter() || r.IsLearner() && r.IsRecorded()) && r.Pod != nil {
			pods = append(pods, r.Pod.UID)
		}
	}
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) {
			if r.Answer == nil {
				return
			}
			r.Answer.Versions.Cluster, r.Answer.Snapshots = settings.Version, new(uint64(1))
			r.Answer.Applied += 10_000
			if r.Volume != nil && r.IsRecorded() {
				r.Volume.Record.LogMark = record.LogMark{Pods: strings.Join(pods, ","), Applied: 5_000}
				r.Volume.Record.ClusterVersion = settings.Version
			}
		})
	}
	return o
}

// inNewer is a member that runs a higher minor, in a cluster of this version.
func inNewer(cluster etcdutil.Version) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Volume.Settings, r.Pod.Settings, r.Answer.Version = newer, newer, newer.Version
		r.Volume.Record.Version, r.Volume.Record.ClusterVersion = newer.Version, cluster
	}
}

// noWay is a spec whose version no step of this release leads to.
func noWay(o scene) scene {
	return desire(o, func(d *facts.Desired) {
		d.Settings, d.Target, d.NoWay = newer, newer.Version, "This release takes no such step"
	})
}

// inMemory is the same world with data in the Pods.
func inMemory(o scene) scene {
	o.Desired.Ephemeral = true
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, inItsPod)
	}
	return o
}

// newcomer is a voter with the new settings.
func newcomer(ordinal int) facts.Replica {
	r := voter(ordinal)
	rolled(&r)
	return r
}

func rejecting(o scene, rule string) scene {
	o.Refused = []facts.Note{{Rule: rule, Reason: "QuotaExceeded", Message: "no room"}}
	return o
}

func (o scene) budgeting(minAvailable int) scene {
	o.Budget.MinAvailable = minAvailable
	return o
}

// Edits and worlds of dead members.

func patient(o scene) scene {
	return desire(o, func(d *facts.Desired) { d.ReplaceAfter = 5 * time.Minute })
}

func deadFor(d time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Answer, r.Pod.Ready, r.Pod.ReadySince = nil, false, now.Add(-d) }
}

// readyFor is a member that was away, and is back since.
func readyFor(d time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.ReadySince = now.Add(-d) }
}

// onNodeSilentFor puts a member on a node of which nothing is heard.
func onNodeSilentFor(d time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Pod.Node, r.Pod.NodeUnheard = "n3", now.Add(-d) }
}

func unanswered(r *facts.Replica) { r.Answer = nil }

func leaderless(r *facts.Replica) {
	r.Answer.Leader, r.Pod.Ready, r.Pod.ReadySince = 0, false, now.Add(-time.Hour)
}

// adrift is a member that lost its leader, and that its kubelet still calls ready.
func adrift(r *facts.Replica) { r.Answer.Leader = 0 }

func betweenCrashes(r *facts.Replica) {
	r.Pod.Running, r.Pod.RunningSince, r.Pod.Waiting, r.Pod.Exit = true, now.Add(-90*time.Second), "",
		&facts.Exit{Reason: etcdutil.ExitBadFlag, Code: 2, At: now.Add(-time.Minute)}
}

func overdue(r *facts.Replica) {
	leaving(r)
	r.Pod.GoneBy = now.Add(-6 * time.Minute)
}

func tied(message string) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Answer, r.Pod.Running, r.Pod.Ready, r.Pod.Phase = nil, false, false, facts.PodPending
		r.Pod.Waiting, r.Pod.Message = "Unschedulable", message
	}
}

// onNode2 is bound to a volume, and its Pod to a node.
func onNode2(r *facts.Replica) { r.Volume.Backing, r.Pod.Node = "pv-1", "node-2" }

// unbound is a replica whose volume was never made, for the StorageClass "a".
func unbound(r *facts.Replica) {
	r.Volume.Phase, r.Volume.Backing, r.Volume.MadeFor, r.Volume.Record = facts.VolumePending, "", "a", record.Member{}
}

// volumeOf gives a replica's volume so many bytes.
func volumeOf(bytes int64) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Bytes = bytes }
}

// unmade is one that cannot start, because "a" is gone.
func unmade(r *facts.Replica) {
	tied("pod has unbound immediate PersistentVolumeClaims")(r)
	unbound(r)
	r.Pod.Started, r.Pod.Flags, r.Pod.Role = false, facts.FlagsBootstrap, ""
	r.Volume.Unmade = `storageclass.storage.k8s.io "a" not found`
}

// ofClass has the spec ask for a StorageClass.
func (o scene) ofClass(class string) scene {
	return desire(o, func(d *facts.Desired) { d.StorageClass = class })
}

func justStarted(r *facts.Replica) { r.Pod.RunningSince = now.Add(-time.Second) }

func volumeLost(r *facts.Replica) { r.Volume.Phase = facts.VolumeLost }

func foreign(r *facts.Replica) { r.Answer.ClusterID, r.Answer.ID = clusterID+1, 99 }

func strandedPod(r *facts.Replica) { r.Pod.NodeGone = "node-2 was deleted" }

func stranded(r *facts.Replica) {
	r.Answer, r.Pod, r.Volume.Stranded = nil, nil, "node-2 was deleted"
}

// Edits of members that run and do not answer.

// neverHeard is a process of which nobody ever heard a word; unheard one that only its kubelet hears.
func neverHeard(r *facts.Replica) {
	r.Answer, r.Pod.Ready, r.Pod.ReadySince, r.Pod.RunningSince = nil, false, now.Add(-11*time.Minute),
		now.Add(-10*time.Minute)
}

func unheard(r *facts.Replica) { r.Answer, r.Pod.RunningSince = nil, now.Add(-10*time.Minute) }

func failsWithOther(r *facts.Replica) { rolled(r); neverHeard(r) }

// servedBefore is a process that was ready in this container, and lacks the others since.
func servedBefore(r *facts.Replica) { neverHeard(r); r.Pod.ReadySince = now.Add(-5 * time.Minute) }

// given is a Pod made from settings that were changed on its volume since.
func given(c facts.Settings) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Settings = c }
}

func startedAgo(d time.Duration) func(*facts.Replica) {
	return func(r *facts.Replica) {
		r.Pod.Created, r.Pod.ReadySince, r.Pod.RunningSince = now.Add(-d), now.Add(-d), now.Add(-d)
	}
}

// Worlds with data of an earlier cluster.

// retaining adds the volumes of three members that an earlier object left; edits are of the last one, and
// where it loses its record the others go.
func retaining(o scene, edits ...func(*facts.Retained)) scene {
	for i := range 3 {
		r := facts.Retained{Kind: "PersistentVolumeClaim", Name: etcdutil.MemberName("demo", i), UID: "old",
			Owner: "u0", Incarnation: facts.IncarnationID("u0", 0), TLS: true,
			Record: record.Member{ClusterID: clusterID, MemberID: etcdutil.ID(i + 1), Version: settings.Version}}
		o.Retained = append(o.Retained, r)
	}
	for _, edit := range edits {
		edit(&o.Retained[2])
	}
	if o.Retained[2].Record.IsZero() {
		o.Retained = o.Retained[2:]
	}
	return o
}

// halfPutBack has a volume that was put back, and one that nothing is recorded of.
func halfPutBack() scene {
	o := retaining(notBootstrapped(3))
	o.Retained = slices.Clone(o.Retained)
	o.Retained[0].Record.VolumeUID, o.Retained[2].Record = "another", record.Member{}
	return o
}

// anonymous leaves one volume of which nobody says who lived there.
func anonymous(r *facts.Retained) {
	*r = facts.Retained{Kind: r.Kind, Name: "demo-0", Owner: "u0", Incarnation: r.Incarnation, TLS: true}
}

// bereft is a volume of an earlier incarnation that was taken over, with nothing else left.
func bereft(r *facts.Replica) {
	r.Member, r.Answer, r.Pod, r.Secret.State, r.Volume.Incarnation = nil, nil, nil, facts.ObjectAbsent,
		facts.IncarnationID("u0", 0)
}

func gone(r *facts.Replica) {
	r.Member, r.Answer, r.Pod, r.Volume, r.Secret.State = nil, nil, nil, nil, facts.ObjectAbsent
}

// unwritten has no bootstrap record, and no answer from etcd.
func (o scene) unwritten() scene {
	o.Current.Bootstrap, o.Current.Membership = record.Bootstrap{}, facts.Membership{Why: "nobody answers"}
	return o
}

// Veto says why a change must not be made in this world, or "": the guard's answer, which no rule is asked for.
func Veto(o facts.Observation, c changes.Change) string {
	v := o.On(o.Current)
	if len(o.Requests) > 0 {
		v = *current(o).View // which knows what is approved
	}
	return changes.VetoOf(v, c).Message
}
