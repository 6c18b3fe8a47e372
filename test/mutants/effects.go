package main

// effects are bugs of the one who writes: what was decided well is carried out badly.
var effects = []mutant{
	{
		Name: "apply does not look again before what can hurt", Peer: "opensearch-project/opensearch-k8s-operator#1471",
		File:    "controllers/apply/apply.go",
		From:    "if plan.MustConfirm(change) {",
		To:      "if plan.MustConfirm(change) && change == nil {",
		Package: applyPackage, Test: "TestWhatCanHurtIsDecidedAgainOnALiveLook",
	},
	{
		Name: "apply adopts an object of somebody else", Peer: "",
		File:    "controllers/apply/create.go",
		From:    "\treturn existing, s.checkOurs(kind, existing)",
		To:      "\treturn existing, nil",
		Package: applyPackage, Test: "TestAnObjectOfSomebodyElseIsNeverTouched",
	},
	{
		Name: "a first Pod is made before the birth record says on which volume", Peer: "",
		File:    "controllers/apply/bootstrap.go",
		From:    "\tif s.view.Current.Birth.Begun {",
		To:      "\tif s.view.Current.Birth.Exists() {",
		Package: applyPackage, Test: "TestTheBirthRecordSaysOnWhichVolumesTheFirstMembersAreBornBeforeTheirPodsAre",
	},
	{
		Name: "a name that was given is given again", Peer: "coreos/etcd-operator#743",
		File:    "controllers/record/edit.go",
		From:    "case ordinal < b.NextOrdinal ||",
		To:      "case",
		Package: applyPackage, Test: "TestANameIsPromisedOnceAndItsPromiseEndsWithTheMember",
	},
	{
		Name: "the seal leaves the list of members on the Pod", Peer: "rancher/k3k#836",
		File:    "controllers/apply/seal.go",
		From:    "\t\t\tpatch.Annotations[key] = &value\n",
		To:      "\t\t\tif key == v1alpha1.AnnotationInitialState {\n\t\t\t\tpatch.Annotations[key] = &value\n\t\t\t}\n",
		Package: applyPackage, Test: "TestEachEffectTriedTwiceSucceedsTwice",
	},
	{
		Name: "a patch hits another Pod of the same name", Peer: "",
		File:    "controllers/apply/change.go",
		From:    "metadata := map[string]any{\"uid\": uid}",
		To:      "metadata := map[string]any{}",
		Package: applyPackage, Test: "TestAPatchOfAPodThatIsAnotherNowIsStale",
	},
	{
		Name: "another volume of that name is taken over", Peer: "",
		File:    "controllers/apply/policy.go",
		From:    ", err == nil && string(object.GetUID()) != uid:",
		To:      ", err == nil && uid == \"\":",
		Package: applyPackage, Test: "TestDataIsTakenOverFromTheOneWhoLeftItAndFromNobodyElse",
	},
	{
		Name: "a volume that is being deleted is taken over", Peer: "",
		File:    "controllers/apply/adopt.go",
		From:    " || live.GetDeletionTimestamp() != nil:",
		To:      ":",
		Package: applyPackage, Test: "TestDataIsTakenOverFromTheOneWhoLeftItAndFromNobodyElse",
	},
	{
		Name: "data that somebody else has taken over is taken from them", Peer: "cozystack/etcd-operator#347",
		File:    "controllers/apply/adopt.go",
		From:    "\tcase item.Owner:\n",
		To:      "\tdefault:\n",
		Package: applyPackage, Test: "TestDataIsTakenOverFromTheOneWhoLeftItAndFromNobodyElse",
	},
	{
		Name: "what a Pod was made from is written on another Pod of its name", Peer: "",
		File:    "controllers/apply/dress.go",
		From:    "podNamed(c.Pod.Name), c.Pod.UID, patch)",
		To:      "podNamed(c.Pod.Name), \"\", patch)",
		Package: applyPackage, Test: "TestAPatchOfAPodThatIsAnotherNowIsStale",
	},
	{
		Name: "a Pod is told that it was made from what the spec asks for now, and is never rolled",
		Peer: "etcd-io/etcd-operator#403",
		File: "controllers/plan/pods.go",
		From: `choices := r.Choices()
	if choices.IsZero() && o.Membership.Known {`,
		To: `choices := o.Desired.Choices
	if choices.IsZero() && o.Membership.Known {`,
		Package: planPackage, Test: "TestAPodIsToldWhatItWasMadeFromAndNotWhatIsWanted",
	},
	{
		Name: "all Pods that lost their settings are told those of the spec", Peer: "",
		File:    "controllers/plan/pods.go",
		From:    "if c := other.Choices(); !c.IsZero() {",
		To:      "if c := other.Choices(); c.IsZero() {",
		Package: planPackage, Test: "TestAPodIsToldWhatItWasMadeFromAndNotWhatIsWanted",
	},
	{
		Name: "a member is stopped for a Pod that fits into the first quota and not into the second", Peer: "",
		File:    "controllers/apply/quota.go",
		From:    "for _, q := range quotas.Items {",
		To:      "for _, q := range quotas.Items[:0] {",
		Package: applyPackage, Test: "TestOfSeveralQuotasEachIsConsideredAndNamed",
	},
}
