// Package plan decides. Decide is a pure function from what was observed to the one safe change to make now. Nothing is
// remembered between two calls, so a crash between any two effects is just another observation.
//
// # Words
//
// A member is an entry in etcd's list, a Pod its process, a volume what holds its data. A replica joins the three under
// one name. Each is judged once, by the table judge.Signs; every rule reads that judgement. The guard does not. A
// record is what a volume's annotations say of the member that lives on it. The bootstrap record is what the peer
// Service says of the cluster. An incarnation is one continuous history of the data: the current one, the next one that
// a restore prepares, former ones. A view is an observation with the incarnation that rules look after; it is called o.
// Due says what is due of members; it is found once for each view, and every rule reads it. A change is one effect on
// the world, a decision what to do now and why. A rule proposes decisions, the guard may veto a change.
//
// What a Pod is made from is called settings in sentences, and Settings in code. A replica IsHealthy when its etcd
// answered just now and knows a leader; its kubelet is not asked. It IsServing when it is also sealed, ready, caught up
// and compared. It isWell when it does that on data that stays. It is doomed when any stop
// destroys its data, since its volume is being deleted.
//
// # Phases
//
// A cluster is in every phase that holds, and each phase is a short list of rules (policy.go):
//
//   - any: always.
//   - not bootstrapped: no bootstrap record was read. So is a cluster that serves, and whose peer Service somebody
//     deleted.
//   - moving: there is a bootstrap record, and the cluster does not sleep. Its rules say nothing where no EtcdRestore
//     is, or was.
//   - sleeping: the bootstrap record says that the cluster sleeps, and spec.size is 0. No phase below holds then.
//   - being bootstrapped: as moving, and no identity is written down, neither in the bootstrap record nor on a volume.
//   - alive: as moving, and one is (facts.Incarnation.IsAlive). Its groups are the safety argument, top to bottom.
//   - following the spec: alive, the spec is not refused, and no restore in place is about to end the current
//     incarnation. Blind where no list of members is known. Only it asks hibernate, expand-volume, shrink, grow,
//     modify-volume, maintenance-window, and the rules from roll-ca to authentication.
//
// No rule overrides the order from inside, and none calls another.
//
// # The order of rules is the safety argument
//
// A rule is named where it is asked first; brackets say that it is asked again.
//
//  1. Any: other-operator, deletion-policy, hands-off. What must be kept is un-owned whatever else holds.
//  2. Not bootstrapped: spec-refused, retained-data, name-taken, ask-issuer, ca-source, restore-source, birth-record.
//     Nothing is made over data, and nothing else is made before that record. One that was deleted is written anew,
//     from the members' records.
//  3. Moving: restore-fence, restore-call-off, restore-go-back, restore-begin, restore-prepare,
//     restore-switch-over. The next incarnation gets its data beside the current one, on volumes and under names of
//     its own. Before anything is stopped nodes have taken Pods with the next members' rules, where their volumes are.
//     Nothing of a former one may serve a write when the next one starts, nor when the cluster goes back.
//  4. Sleeping: (spec-refused, restore-begin,) asleep, quorum-lost. Members are stopped, and then nothing is written.
//  5. Bootstrapping: (spec-refused, name-taken, ask-issuer, ca-source,) (restore-source,) void-birth, bootstrap,
//     restored, settings, pods, first-quorum. What begins with a backup never starts empty.
//  6. Alive, and spec.size is 0: hibernate. It is asked before all that starts a member, and goes by volumes alone.
//  7. Alive, safe while etcd cannot be asked: (spec-refused, name-taken, first-quorum,) scaffold, signing, budget,
//     restore-leftover, seal, compare, check-room, (settings, pods,) label-role, lead-away. Here the first two are
//     told and hold nothing back. The cluster may not answer exactly because one of these was not done. A process that
//     runs is stopped here only if, by the kubelet's word, it never served and no other does, or if nothing is left of
//     any other member. Silent members must be able to do without it: see blind.go.
//  8. Following the spec while no list is known: expand-volume, of full disks. They may be why etcd does not answer.
//  9. Who is a member: awake, (quorum-lost,) membership, corruption. Unknown is not empty: nothing is removed. While
//     copies of the data differ, none of them is given up on one member's word.
//  10. alarms, which keep clients from writing. Then finish what was begun: record-members, cancel-downgrade,
//     abandon-learner, first-pod, peer-url, promote, collect.
//  11. replace, shrink, grow, wake-member, move-leader, pod-metadata. A doomed voter does not count as one of
//     spec.size, so grow also makes its successor.
//  12. fence-member: what a person asks of one member.
//  13. What the spec asks of members that run: (expand-volume,) modify-volume, (ask-issuer, ca-source,) roll-ca,
//     tls-mode, check-minor, resize, roll, enable-downgrade, cover-log, authentication. Then room, where all members
//     serve: compact, defragment; then member-health, maintenance-window, settled.
//
// # When later rules are asked
//
// A rule that returns nil has nothing to say. Two switches say the rest, and the row of a rule in policy.go names those
// that it has. A proposal that yields is reported, and later rules are asked. Any other proposal ends the walk, even
// when it only waits. A rule that gives way lets later ones act in the same pass where its change is refused: by the
// guard, or by Kubernetes or etcd, which the planner hears of when it is asked again.
//
// When all that spoke yielded, the gravest of them is the decision, and of equals the first: what needs a person, then
// what is refused, then what waits. Its Trace has what each rule said that was asked.
//
// A wait for a process or a Pod has a deadline, counted from a time on an object. Past it the verdict is Refuse with
// the same rule, and every later pass looks again. What a person or the garbage collector ends has none.
//
// # Invariants
//
// I1 own actions never take healthy voters below quorum. I2 at most one voluntary disruption at a time. I3 at most one
// membership change in flight, at most one learner. I4 a member ID never starts on an empty or foreign disk, once
// sealed. I5 a volume of a current member is never deleted. I6 the cluster ID of an incarnation never changes. I7
// nothing outside the object's namespace and ownership is touched, and nothing that another install looks after. I8 no
// change when observed equals desired. I9 what the operator says of a world that it saw as it is, is so. I10 a complete
// backup restores. I11 a current member that runs is stopped only for what its spec asks, or for an approved restore.
// I12 no volume of a former incarnation is deleted unless its EtcdRestore says so. I13 never do members of two
// incarnations have a quorum at the same time. I14 one approval leads to one move at most. I15 no etcd starts on data
// that it cannot read. I16 what is restored begins above every revision that the cluster served. I17 no certificate is
// of another CA than members trust. I18 no process that started from another copy of the data than a majority holds is
// called compared. I19 no member that serves is stopped outside of a window of maintenance, but for what never waits.
// I20 members are stopped to sleep only where spec.size is 0 and that is written down, on volumes that they start from
// again, and none is started meanwhile. I21 a member that a person fenced is stopped only while all others serve. It is
// not removed while its data is there, and not started while the others are a quorum. I22 no client whom the shared
// certificate lets in is kept out by authentication that the operator turns on. No user gets rights while it is on, and
// what people turned on stays on. I23 what a member shows, each one that it meets trusts,
// while a CA is replaced as well. I24 no CA comes that the spec does not want, or that cannot be used.
//
// Package world plays the changes in a toy world and checks these after every step.
//
// # Where a rule is
//
//   - ownership.go: other-operator, deletion-policy, hands-off, spec-refused, name-taken
//   - resume.go: retained-data; and restore-go-back, with what tells people of that way
//   - bootstrap.go: birth-record, bootstrap, first-quorum. void.go: void-birth, and what a given-up bootstrap left
//   - restore.go: restore-source and restored, of a bootstrap that begins with a backup
//   - fence.go: restore-fence, and the survivor that a restore reads. inplace.go: restore-call-off, restore-begin
//   - prepare.go: restore-prepare, with the places of the members that it holds, and restore-switch-over
//   - approval.go: how an EtcdRestore stands, which one is carried out, and the evidence that a person approves
//   - sleep.go: hibernate, asleep, awake
//   - pods.go: settings, pods, first-pod
//   - objects.go: scaffold, budget, restore-leftover, collect
//   - blind.go: seal, lead-away, quorum-lost, and what else is so while etcd cannot be asked: parts of membership, and
//     which process settings and pods may stop
//   - membership.go: membership, record-members, label-role, abandon-learner, promote. copies.go: corruption, compare
//   - replace.go: replace, shrink, grow. lead.go: move-leader. fenced.go: fence-member
//   - alarms.go: alarms, check-room, and what adds entries to the log: cover-log, wake-member
//   - rollout.go: pod-metadata, resize, roll, cancel-downgrade, enable-downgrade, check-minor
//   - auth.go: authentication. trust.go: ca-source, roll-ca. issuer.go: ask-issuer, signing
//   - transport.go: peer-url, tls-mode
//   - growth.go: expand-volume, and whose claim is next. attributes.go: modify-volume, the same
//   - upkeep.go: compact, defragment. health.go: member-health. window.go: maintenance-window. decide.go: settled
//   - due.go: no rule, but who is restarted or resized next. succession.go: who is succeeded instead. joining.go: who
//     leaves or joins, and why
//
// # The packages below
//
// Each may import only those after it: plan → changes → facts, and plan → judge → facts. So the compiler holds that
// the guard knows neither a rule nor a judgement.
//
//   - facts: what was observed, and the questions about them that more than one of the others asks
//   - judge: how each member is. judgement.go has the table and its words, seen.go what its rows ask
//   - changes: the closed set of changes, each with its traits, words and vetoes: bootstrap.go, members.go, pods.go,
//     volumes.go, restore.go, next.go, switch.go, trust.go. objects.go has also what leads clients: seals, roles, the
//     budget. etcd.go has also what counts which copies members hold
package plan
