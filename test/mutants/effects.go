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
		From:    "\tif s.view.Birth.Begun {",
		To:      "\tif s.view.Birth.Exists {",
		Package: applyPackage, Test: "TestTheBirthRecordSaysOnWhichVolumesTheFirstMembersAreBornBeforeTheirPodsAre",
	},
	{
		Name: "a name that was given is given again", Peer: "coreos/etcd-operator#743",
		File:    "controllers/apply/volumes.go",
		From:    "case ordinal < r.Next ||",
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
}
