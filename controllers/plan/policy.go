package plan

// The policy: which question is asked when. Its words are explained in doc.go. A rule proposes a change, waits, or
// refuses; the guard (package changes) may veto the change. decide.go walks the rules.

// rule is one named question. Rules are asked in order. The first one that makes a change, waits or refuses ends the
// pass, but for what its row says in onward.
type rule struct {
	name   string
	says   string // one sentence, for docs/rules.md
	ask    func(pass) *proposal
	onward onward
}

// onward says when later rules are asked in the same pass although this one spoke.
type onward uint8

const (
	// ends: never.
	ends onward = 0
	// mayYield: after some of what it waits for, or refuses. That is only told; each proposal says so itself.
	mayYield onward = 1
	// givesWay: where its change was refused, by the guard, Kubernetes or etcd.
	givesWay onward = 2
)

// phase is a group of rules for a cluster that has come this far.
type phase struct {
	when  func(pass) bool
	rules []rule
}

// phases in the order in which they are asked. Their rules are in the order of their priority, which is the safety
// argument: see doc.go.
var phases = []phase{
	{isAny, inAnyPhase},
	{isNotBootstrapped, beforeBootstrap},
	{hasRecord, moving},
	{isAsleep, sleep},
	{isBootstrapping, bootstrapping},
	{isFollowing, fallAsleep},
	{isLiving, safeWhileBlind},
	{isFollowingBlind, fullDisks},
	{isLiving, certain},
	{isLiving, finishBegun},
	{isLiving, repair},
	{isFollowing, size},
	{isLiving, harmless},
	{isLiving, onRequest},
	{isFollowing, follow},
	{isLiving, upkeep},
	{isLiving, health},
	{isFollowing, putOff},
}

// Rules that more than one phase asks.
var (
	ruleSpecRefused = rule{"spec-refused",
		"While the spec is refused, members that are there are kept alive, and their number and settings stay.",
		specRefused, mayYield}
	ruleNameTaken = rule{"name-taken", "An object that does not belong to the cluster is never adopted or changed.",
		nameTaken, mayYield}
	ruleRestoreSource = rule{"restore-source",
		"The backup that a cluster begins with is looked at before its bootstrap record is written.",
		restoreSource, ends}
	ruleCASource = rule{"ca-source",
		"A CA of one's own is used only once it is whole and may sign. Until then members keep the one that they " +
			"have, and nothing is made without it.",
		caSource, mayYield}
	ruleAskIssuer = rule{"ask-issuer",
		"An issuer is asked which CA it signs with, by a certificate of each kind that nothing uses. That comes " +
			"before the CA is trusted, and once a day.",
		askIssuer, givesWay}
	ruleRestoreBegin = rule{"restore-begin",
		"An approved EtcdRestore gets new members beside those that serve, once its backup was looked at.",
		restoreBegin, mayYield | givesWay}
	ruleQuorumLost = rule{"quorum-lost",
		"When too many members have certainly lost their data, nothing is rebuilt without a person.",
		quorumLost, ends}
	ruleFirstQuorum = rule{"first-quorum", "The cluster is alive once its members agree on one list.",
		firstQuorum, ends}
	ruleExpandVolume = rule{nameExpand,
		"Volumes grow where they are, one at a time, while members run; what cannot grow is told, and taken back " +
			"with the spec.",
		expandVolume, mayYield | givesWay}
)

// inAnyPhase: what must be kept is un-owned, and what is another's is left alone first.
var inAnyPhase = []rule{
	{"other-operator",
		"A cluster that another install looks after is left alone, until a person asks this one to take it over.",
		otherOperator, mayYield},
	{"deletion-policy",
		"Volumes and CAs that must be kept lose their owner at once, even while the cluster is paused.",
		deletionPolicy, givesWay},
	{"hands-off", "A cluster that is paused, or is being deleted, is looked at and reported, and not touched.",
		handsOff, ends},
}

// beforeBootstrap: nothing is made over data, and nothing else is made before the bootstrap record.
var beforeBootstrap = []rule{
	ruleSpecRefused,
	{"retained-data",
		"Data of an earlier cluster of this name is resumed when all of it is of one. Nothing is created over it.",
		retainedData, ends},
	ruleNameTaken,
	ruleAskIssuer,
	ruleCASource,
	ruleRestoreSource,
	{"birth-record",
		"The bootstrap record is written before anything else is made; a lost one is written anew from the " +
			"members' records, unless they contradict each other.",
		bootstrapRecord, mayYield},
}

// moving: the next incarnation gets its data beside the current one. The rows stand by priority: in time restore-begin
// comes first, and restore-fence last, once the cluster switched over. Nothing of a former incarnation may serve a
// write when the next one starts; the guard holds that as well, also where the fence gives way.
var moving = []rule{
	{"restore-fence",
		"Members of the previous incarnation are stopped before restored members start. Their volumes are kept.",
		restoreFence, givesWay},
	{"restore-call-off", "What was made for an EtcdRestore that was taken back is deleted; the cluster goes on.",
		restoreCallOff, mayYield | givesWay},
	{"restore-go-back",
		"Where restored members never came to serve, an approved EtcdRestore makes the previous incarnation the " +
			"current one again.",
		restoreGoBack, mayYield | givesWay},
	ruleRestoreBegin,
	{"restore-prepare", "The next incarnation's volumes are restored and marked complete.",
		restorePrepare, mayYield | givesWay},
	{"restore-switch-over",
		"The cluster switches over once every volume is restored and nodes take the next members there, and only " +
			"on the evidence that was approved.",
		restoreSwitchOver, mayYield | givesWay},
}

// sleep: nothing is asked but what stops members, and what a person has to be told.
var sleep = []rule{
	ruleSpecRefused, ruleRestoreBegin,
	{"asleep", "While spec.size is 0 no member is started, and of what sleeps nothing is written.", asleep, mayYield},
	ruleQuorumLost,
}

// bootstrapping: what begins with a backup never starts empty.
var bootstrapping = []rule{
	ruleSpecRefused, ruleNameTaken, ruleAskIssuer, ruleCASource, ruleRestoreSource,
	{"void-birth",
		"A bootstrap that cannot succeed is repeated under a new incarnation, where nothing can be lost by that.",
		voidBootstrap, ends},
	{"bootstrap", "Objects, volumes and then Pods of the first members are made, in parallel.",
		bootstrap, ends},
	{"restored", "Restored members start only after every volume is restored and marked complete.",
		restored, ends},
	{"settings", "A member that does not run, or never answers, takes the settings of the spec.",
		keepSettings, ends},
	{"pods", "Each member has the Pod that its volume asks for, started on its own data.", pods, ends},
	ruleFirstQuorum,
}

// fallAsleep comes before all that starts a member: a cluster sleeps on its volumes, whether members answer or not.
var fallAsleep = []rule{
	{"hibernate",
		"A cluster whose spec.size is 0 sleeps once all that its members hold is on volumes that stay.",
		hibernate, mayYield | givesWay},
}

// safeWhileBlind: nothing here needs a quorum. The cluster may not answer exactly because one of these was not done.
var safeWhileBlind = []rule{
	ruleSpecRefused, ruleNameTaken, ruleFirstQuorum,
	{"scaffold", "Services, Secrets and the NetworkPolicy that are missing or drifted are put right.",
		scaffold, mayYield | givesWay},
	{"signing",
		"Certificates that an issuer signs are waited for, and told. What serves goes on with those that it has.",
		signing, mayYield | givesWay},
	{"budget", "The disruption budget never allows less than the voters need.", budget, givesWay},
	{"restore-leftover", "What looked at a backup, or restored a volume, is deleted once the cluster lives.",
		restoreLeftover, givesWay},
	{"seal",
		"A recorded member can no longer start from an empty directory. One that stopped because copies differ " +
			"starts without comparing.", seal, givesWay},
	{"compare",
		"A member that started from its data gets clients once a majority is heard to hold the same copy.",
		compare, givesWay},
	{"check-room",
		"A quota or a memory limit that the data has no room with is refused before the first member: none gets " +
			"it.",
		checkRoom, mayYield | givesWay},
	{"settings", "A member that does not run, or never answers, takes the settings of the spec.",
		keepSettings, givesWay},
	{"pods", "Each member has the Pod that its volume asks for, started on its own data.", pods, givesWay},
	{"label-role",
		"The client Service leads to sealed voters that serve. The disruption budget counts another voter as long as " +
			"its vote is needed.",
		labelRole, givesWay},
	{nameLeadAway,
		"Clients are led to no process with other data than its member's, nor to one that stopped serving " +
			"beside a quorum.",
		leadAway, givesWay},
}

// fullDisks: etcd may not answer exactly because disks are full, and larger volumes need no quorum.
var fullDisks = []rule{ruleExpandVolume}

// certain: unknown is not empty. Nothing below is asked before it is certain who is a member, and whose data is right.
var certain = []rule{
	{"awake", "A cluster that slept is awake once a quorum of its members answers.", awake, givesWay},
	ruleQuorumLost,
	{"membership", "While it is not certain who is a member, no member is added or removed.",
		membership, ends},
	{"corruption",
		"While members hold different data no member that runs is restarted, and none is removed but one whose " +
			"copy stands alone against a majority. Without a majority a person decides.",
		corruption, ends},
}

// finishBegun: one change of members at a time, so what was begun is ended first, but for what keeps clients from
// writing.
var finishBegun = []rule{
	{"alarms",
		"NOSPACE is disarmed once every member has room, and CORRUPT once all voters hold the same data, unless it " +
			"may have come with a backup. A person is asked about any other alarm. While one stands, a member that " +
			"is well is restarted for the spec only if that raises its quota.",
		alarms, mayYield | givesWay},
	{"record-members", "A member that answered is written down beside its data.", recordMembers, ends},
	{"cancel-downgrade",
		"A downgrade of etcd is cancelled where the spec asks for none, and before a new member joins.",
		cancelDowngrade, givesWay},
	{"abandon-learner", "A learner that is not wanted, or cannot live, is removed.", abandonLearner, ends},
	{"first-pod", "The missing first Pod of a listed member is started.", firstPod, givesWay},
	{"peer-url",
		"The URL that etcd lists for a member gets the scheme that the member will listen with, before it is " +
			"restarted so. All others can dial that by then.", peerURLs, givesWay},
	{"promote", "A sealed learner that has caught up votes once a majority is heard to hold the leader's copy.",
		promote, mayYield},
	{"collect", "What belongs to no wanted member or incarnation is deleted, or kept for a while.",
		collect, mayYield | givesWay},
}

// repair: what fails comes before what is wished for. While the spec is refused, replace waits: nothing could be made
// in place of what it removes.
var repair = []rule{
	{"replace",
		"A member that certainly lost its data is removed; one that two witnesses called dead for " +
			"repair.replaceAfter, or that never got its volume, too. So is a dead one that a person wants replaced. " +
			"Not while the spec is refused, and not before Kubernetes would admit its successor.",
		replace, mayYield | givesWay},
}

// size: a doomed voter, whose volume is being deleted, does not count as one of spec.size. So grow also makes its
// successor.
var size = []rule{
	{"shrink",
		"Unhealthy members first; the leader hands over before it goes. A member whose volume is being deleted makes " +
			"room for its successor, if all others serve and no node took that for five minutes.",
		shrink, ends},
	{"grow", "One learner at a time, under a name that was never used.", grow, mayYield | givesWay},
}

// harmless: what stops no process and changes no list of members. It goes on while the spec is refused.
var harmless = []rule{
	{"wake-member",
		"A member of 3.7 that got its data as a snapshot serves once something is written: the operator adds an " +
			"entry that changes no key.",
		wakeMember, givesWay},
	{"move-leader",
		"Leadership goes to the member that etcdsteward.dev/move-leader names, for 10 minutes from its time, once " +
			"that member serves.",
		moveLeader, mayYield | givesWay},
	{"pod-metadata", "Labels and annotations of the spec follow on running Pods, in place.",
		podMetadata, givesWay},
}

// onRequest: what a person asks of one member.
var onRequest = []rule{
	{"fence-member",
		"The member that etcdsteward.dev/fence names is stopped while all others serve and are a quorum. No Pod " +
			"starts on its volume before its name is taken out, or the others are no quorum.",
		fenceMember, mayYield | givesWay},
}

// follow: what the spec asks of members that run. The last two prepare the next minor once all members are at this one;
// then roll goes there.
var follow = []rule{
	ruleExpandVolume,
	{"modify-volume",
		"Volumes in use get the VolumeAttributesClass of the spec, one at a time. What cannot be had is told, and " +
			"taken back with the spec.",
		modifyVolume, mayYield | givesWay},
	ruleAskIssuer, ruleCASource,
	{"roll-ca",
		"A CA is replaced while members run: all trust both, then the new one signs, then the old one goes. No " +
			"step leaves a member or a client without trust in one that it meets.",
		rollCA, mayYield | givesWay},
	{"tls-mode",
		"Members go from one mode of TLS to another step by step: certificates first, then TLS among members once " +
			"all of them serve, then clients. No step cuts a member off.", tlsMode, mayYield | givesWay},
	{"check-minor",
		"A minor version is left only once nothing has to be put right first: alarms, space, digests, snapshots, " +
			"scheduled backups, learners.",
		checkMinor, mayYield},
	{nameResize,
		"CPU and memory follow the spec on members that run, one at a time, where the kubelet can change them.",
		resize, mayYield | givesWay},
	{"roll", "One member at a time is restarted with the settings of the spec, the leader last.",
		roll, mayYield | givesWay},
	{"enable-downgrade", "A downgrade of etcd is enabled by one minor at a time, once every member serves.",
		enableDowngrade, givesWay},
	{"cover-log",
		"Before 3.7, which cannot read what 3.5 wrote to raft's log, every member writes a snapshot past that. So it " +
			"does before it goes down to 3.6, which cannot read what raised the cluster version.",
		coverLog, givesWay},
	{"authentication",
		"etcd's authentication is turned on once every member serves and the users of operator and clients are " +
			"there. It is turned off only where the spec says false, and it was turned on for the spec.",
		authentication, mayYield | givesWay},
}

// upkeep: room comes after all that a person asked for, and only where all members serve.
var upkeep = []rule{
	{"compact",
		"History of keys is taken away only where space ran out and it fills a member, and never that of the last " +
			"spec.maintenance.keepHistory.",
		compact, givesWay},
	{nameDefragment,
		"One member at a time is defragmented, to reclaim space that it does not use, the leader last. All others " +
			"serve meanwhile, and no backup is read. That it does not answer is no fault before its time is over. " +
			"What no person asked for waits for the window, unless space ran out.",
		defragment, mayYield | givesWay},
}

// health: nothing is called settled while a member is not well.
var health = []rule{
	{"member-health",
		"The cluster is settled only when every member is healthy, and etcd's own versions followed the members'.",
		memberHealth, mayYield},
}

// putOff: the rules above say nothing of what waits for a window. It is told once nothing else is left to tell.
var putOff = []rule{
	{"maintenance-window",
		"What members that serve would be stopped for waits for spec.maintenance.window, and is told when nothing " +
			"else is left to do.",
		maintenanceWindow, mayYield},
}

// rebuild are the rules that carry out a restore in place, which quorum-lost waits for.
var rebuild = []string{"restore-call-off", "restore-begin", "restore-prepare", "restore-switch-over"}

func isAny(pass) bool { return true }

// isNotBootstrapped reports a cluster of which no bootstrap record was read: there never was one, or its peer Service
// was deleted. Then it may serve all the same, and bootstrapRecord writes the record anew.
func isNotBootstrapped(o pass) bool { return !o.Bootstrap.Exists() }

func isAsleep(o pass) bool { return o.IsAsleep() }

// hasRecord reports a cluster with a bootstrap record that does not sleep, whether an EtcdRestore names it or not.
func hasRecord(o pass) bool { return o.Bootstrap.Exists() && !o.IsAsleep() }

// isBootstrapping reports a cluster of which no identity is written down yet, neither in the bootstrap record nor on a
// volume.
func isBootstrapping(o pass) bool { return hasRecord(o) && !o.IsAlive() }

// isLiving reports a cluster whose identity is in its bootstrap record, or on any volume. It gets onto a volume before
// it gets into the record, so first-quorum is asked here as well.
func isLiving(o pass) bool { return hasRecord(o) && o.IsAlive() }

// isFollowing reports a living cluster whose size and members follow the spec: that is not refused, and no restore in
// place is about to end this incarnation.
func isFollowing(o pass) bool { return isLiving(o) && followsSpec(o) }

// isFollowingBlind reports one of which no list is known.
func isFollowingBlind(o pass) bool { return isFollowing(o) && !o.Membership.Known }

func followsSpec(o pass) bool { return o.Desired.Fault == "" && !isEnding(o) }

// rulesFor are the rules of all the phases that a cluster is in.
func rulesFor(o pass) []rule {
	var out []rule
	for _, p := range phases {
		if p.when(o) {
			out = append(out, p.rules...)
		}
	}
	return out
}

// isEnding reports that a restore in place is about to end this incarnation: the next one is being prepared, and the
// approval of its EtcdRestore is of what is there now.
func isEnding(o pass) bool {
	_, isApproved := o.ApprovedNow(o.Bootstrap.Next.Restore)
	return o.IsPreparing() && isApproved
}

const (
	// RuleSettled speaks when no other rule does.
	RuleSettled = "settled"
	// nameLeadAway is that of what a replica does that does not lead: see StandBy.
	nameLeadAway = "lead-away"
	// nameDefragment is that of the Pod for which clients are led away from a member.
	nameDefragment = "defragment"
	// nameExpand is that of volumes that grow.
	nameExpand = "expand-volume"
	// nameResize is that of changes which roll makes by a restart where Kubernetes refuses them.
	nameResize = "resize"
)

// everyRule is each rule once, in the order in which they are asked.
func everyRule() []rule {
	var out []rule
	seen := map[string]bool{}
	for _, p := range phases {
		for _, r := range p.rules {
			if !seen[r.name] {
				out = append(out, r)
			}
			seen[r.name] = true
		}
	}
	return out
}

// RuleNames lists the rules in the order in which they are asked.
func RuleNames() []string {
	var out []string
	for _, r := range everyRule() {
		out = append(out, r.name)
	}
	return append(out, RuleSettled)
}
