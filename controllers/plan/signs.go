package plan

// signs is the table by which each member is judged, once, for every rule. It is read from the top: whose the data is and whether it
// is there come first, then what the Pod and its node say, then what etcd said when it stopped, then what it answers. What the rows ask
// is in seen.go, and each row has its row in judgement_test.go.
var signs = []sign{
	// Whose data it is.
	seen("its directory holds the data of another cluster", answersAsAnotherCluster).
		means(Lost, CauseIdentity, Replace).certainly().by(ByMember, ByRecord).saying(otherCluster),
	seen("another etcd answers at its address, and no certificate proves whose that is", isDisplaced).
		means(Unresponsive, CauseIdentity, Person).by(ByOperator, ByKubelet),
	seen("its directory holds the data of another member", answersAsAnotherMember).
		means(Unresponsive, CauseIdentity, Person).by(ByMember),

	// Copies that differ: corruption.go decides.
	seen("its copy of the data differs from that of a majority", view.standsAlone).
		means(Behind, CauseCorruption, Replace).by(ByMember, ByPeers),
	seen("it stopped because its copy of the data differs from another member's", stoppedWith(differs...)).
		means(Stopped, CauseCorruption, Compare).by(ByMember),

	// Data that is certainly gone.
	seen("it has not started yet", isNewInMemory).
		means(Absent, NoCause, Restart),
	seen("the Pod that held its data is gone", hasLostPod).
		means(Lost, CausePod, Replace).certainly().by(ByKubelet),
	seen("the node that held its data is gone", hasLostNode).
		means(Lost, CauseNode, Replace).certainly().by(ByNode, ByOperator).saying(lostNode),
	seen("its volume is gone", hasLostClaim).
		means(Lost, CauseVolume, Replace).certainly().by(ByVolume),
	seen("the volume behind its claim is gone", hasLostBacking).
		means(Lost, CauseVolume, Replace).certainly().by(ByVolume, ByOperator),
	seen("the only node that can use its volume is gone", isStranded).
		means(Lost, CauseNode, Replace).certainly().by(ByNode, ByVolume).saying(lostNode),
	seen("another volume has the place of its own", hasCopiedVolume).
		means(Lost, CauseIdentity, Replace).certainly().by(ByVolume, ByRecord),
	seen("its volume is being deleted, and no Pod can start on it again", hasGoingVolume).
		means(Lost, CauseVolume, Replace).certainly().by(ByVolume),
	seen("its volume is being deleted, and it cannot start on it", cannotReturn).
		means(Lost, CauseVolume, Replace).certainly().by(ByVolume, ByKubelet),
	seen("it was never recorded, and how it was to start is no longer known", isForgotten).
		means(Lost, CauseIdentity, Replace).certainly().by(ByRecord),
	seen("its data is gone or cannot be read, by etcd's last words", endedByOwnWord).
		means(Lost, CauseDisk, Replace).certainly().by(ByMember).saying(ownWord),
	seen("its data is gone or cannot be read, and it is started once more", returnsAfterOwnWord).
		means(Lost, CauseDisk, Await).by(ByMember).saying(ownWord),
	seen("any stop of its Pod loses its data", isDoomed).
		means(Doomed, CauseVolume, Replace).by(ByVolume),

	// What its Pod and its node say.
	seen("its Pod was asked to go, and nothing is heard of it", isLeavingUnheard).
		means(Leaving, CauseNode, Replace).from(unheardSince).by(ByOperator, ByKubelet),
	seen("its Pod is terminating", isTerminating).
		means(Leaving, NoCause, Await).by(ByKubelet),
	seen("its Pod ended", hasEnded).
		means(Stopped, NoCause, Restart).by(ByKubelet),
	seen("its Pod is gone", isToStartAgain).
		means(Absent, NoCause, Restart).by(ByVolume),
	seen("its first Pod was not made yet", isToStartFirst).
		means(Absent, NoCause, Restart),
	seen("it has no Pod, and no volume that is recorded as its own", hasNoPod).
		means(Absent, CauseIdentity, Person).by(ByRecord).saying(whyNoPod),
	seen("its node does not answer", hasSilentNode).
		means(Unresponsive, CauseNode, Replace).from(nodeSilence).by(ByOperator, ByNode),
	seen("no node that can use its volume takes its Pod", isTiedToNode).
		means(Stopped, CauseNode, Replace).from(podChangeOf).by(ByOperator, ByKubelet),
	seen("its image cannot be pulled", waitsFor(ReasonImagePull)).
		means(Stopped, CauseImage, Correct).by(ByKubelet),
	seen("its container cannot be made", waitsFor(ReasonContainer)).
		means(Stopped, CauseSettings, Correct).by(ByKubelet),
	seen("no node has room for its Pod", waitsFor(ReasonUnschedulable)).
		means(Stopped, CauseRoom, Correct).by(ByKubelet),

	// Why etcd stopped, by its last words.
	seen("its disk fails", crashesWith(failing...)).
		means(Stopped, CauseDisk, Replace).from(podChangeOf).by(ByMember, ByKubelet),
	seen("the runtime stopped etcd, and others serve with its settings", faultsAlone).
		means(Stopped, CauseDisk, Replace).from(podChangeOf).by(ByKubelet, ByPeers),
	seen("its disk is full", crashesWith(full...)).
		means(Stopped, CauseSpace, Correct).by(ByMember),
	seen("etcd does not start with its settings", crashesWith(misset...)).
		means(Stopped, CauseSettings, Correct).by(ByMember),
	seen("etcd stops, and does not say why", isCrashing).
		means(Stopped, CauseUnknown, Await).by(ByKubelet),

	// Processes that do not answer.
	seen("it never served with the settings of the spec, and no other member does", isUnproven).
		means(Unresponsive, CauseSettings, Correct).by(ByOperator, ByKubelet),
	seen("its kubelet calls it ready, and the operator cannot reach it", isReadyUnseen).
		means(Unresponsive, CauseUnknown, Await).by(ByOperator),
	seen("it is starting", isStartingUp).
		means(Starting, CauseUnknown, Replace).from(lastStartOf).by(ByOperator, ByKubelet),
	seen("it does not answer, and its kubelet does not call it ready", isUnanswered).
		means(Unresponsive, CauseUnknown, Replace).from(lastStartOf).by(ByOperator, ByKubelet),

	// What it answers.
	seen("it answers, and has no part in a quorum", isOutsideQuorum).
		means(Behind, CauseUnknown, Await).by(ByMember),
	seen("it answers, and who it is could not be written down", isUnsealed).
		means(Behind, NoCause, Await).by(ByMember, ByRecord),
	seen("it answers, and is not ready or has not caught up", isNotServing).
		means(Behind, NoCause, Await).by(ByMember),
	seen("it serves", isServingNow).
		means(Serving, NoCause, NoCure).by(ByMember, ByKubelet),
}
