// Package plan decides. Next is a pure function from what was observed to the one safe change to make now; nothing is
// remembered between two calls, so that a crash between any two effects is just another observation.
//
// # Words
//
// A member is an entry in etcd's list, a Pod its process, a volume what holds its data; a replica joins the three under
// one name. A record is what a volume's annotations say of the member that lives on it. A change is one effect on the
// world, a decision what to do now and why; a rule proposes decisions, the guard may veto a change.
//
// # The order of rules is the safety argument
//
//  1. Whose it is: other-operator, deletion-policy, deleting, paused. What must be kept is un-owned whatever else holds.
//  2. Restore in place: restore-fence, restore-call-off, restore-begin, restore-laying, restore-move.
//     The next life is laid beside the one that serves, on volumes and under names of its own, while the rules below go on
//     looking after this one; then the record moves. Nothing of a life that ended may serve a write when the next one starts.
//  3. Birth: spec-refused, resume, retained-data, name-taken, restore-source, birth-record, void-birth, other-life, bootstrap,
//     restored, birth-choices, first-quorum.
//     Nothing is born over data, and nothing else happens before the cluster's identity is written down.
//     What begins with a backup never starts empty: restored members start as if sealed.
//     A life that a restore in place moved to is never given up for another one without a person.
//  4. Scaffold: scaffold, raise-budget.
//  5. Safe while blind: restore-leftover, seal, ended-pod, other-choices, adopt-choices, missing-pod. The cluster may be silent exactly
//     because one of these was not done. A process that runs is stopped here only if by the kubelet's word it never
//     served, nobody else does, and those who are away do not need it as it is: see silence.go.
//  6. Blind: members-disagree, quorum-lost, membership-unknown, strange-member. Unknown is not empty: nobody is removed.
//  7. Finish what was begun: record-members, leftover-pod, abandon-learner, unstarted-pod, promote, label-role, leftover,
//     former-leftover.
//  8. alarms, repair and replace-dead, then size: shrink, grow, lower-budget.
//  9. What the spec asks of members that run: pod-metadata, change-not-supported, roll; then member-health, settled.
//
// A rule that waits for the outside yields: it is reported, and later rules may still act. Every wait has a deadline,
// counted from a time on an object; past it the verdict is Refuse with the same rule, and later passes look all the same.
//
// # Invariants
//
// I1 own actions never take healthy voters below quorum. I2 at most one voluntary disruption at a time. I3 at most one
// membership change in flight, at most one learner. I4 a member ID never starts on an empty or foreign disk, once sealed.
// I5 a volume of a current member is never deleted. I6 the cluster ID of a life never changes. I7 nothing outside the object's
// namespace and ownership is touched. I8 no change when observed equals desired. I11 the operator alone restarts nothing.
// I12 no volume of a life that ended is deleted unless its EtcdRestore says so. I13 never do members of two lives have a quorum at the
// same time. I14 one approval leads to one move at most.
//
// Package world plays the changes in a toy world and checks these after every step.
package plan
