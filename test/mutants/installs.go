package main

// installs are bugs of how the operator is begun.
var installs = []mutant{
	{
		Name: "an operator of several namespaces watches the first alone",
		From: "for _, namespace := range namespaces {\n\t\toptions",
		To:   "for _, namespace := range namespaces[:min(1, len(namespaces))] {\n\t\toptions",
		Test: "TestAnOperatorOfSomeNamespacesWatchesNothingOutsideThem",
	},
	{
		Name: "a list of namespaces that holds an empty one means all",
		From: "validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 {",
		To:   "validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 && namespaces[i] != \"\" {",
		Test: "TestANamespaceThatIsNoneIsRefusedByTheNameOfItsFlag",
	},
	{
		Name: "an empty list of namespaces, which OLM gives for all of them, names the namespace default",
		From: "if list == \"\" {\n\t\treturn nil, nil",
		To:   "if list == \"\" {\n\t\treturn []string{\"default\"}, nil",
		Test: "TestAnOperatorOfAllNamespacesWatchesAll",
	},
	{
		Name: "digests of the operator go to images of another repository",
		From: "if own.Repository == \"\" && !namesRepository(c) {",
		To:   "if own.Digest == \"\" {",
		Test: "TestFlagsOfTheOperatorSayWhereImagesComeFromAsFarAsTheSpecDoesNot",
	},
	{
		Name: "other image flags are other settings of a member",
		From: "v1alpha1.AnnotationInputs: s.Inputs.Canonical(), v1alpha1.AnnotationRenderer",
		To:   "v1alpha1.AnnotationInputs: s.Inputs.Canonical() + s.Images.Repository, v1alpha1.AnnotationRenderer",
		Test: "TestFlagsOfTheOperatorAreNoSettingsAndRestartNoMember",
	},
	{
		Name: "a webhook that puts another image into a Pod has it made anew for ever",
		From: "return pod.Annotations[v1alpha1.AnnotationImageDefaults] != d.For(c, in).canonical()",
		To:   "return pod.Spec.Containers[0].Image != d.reference(c, in, etcdutil.Version{})",
		Test: "TestAPodSaysWhichImageDefaultsItWasMadeWith",
	},
	{
		Name: "a backup is made without the credentials of the operator's image",
		From: "	start.PullSecrets = start.Images.AddSecrets(start.PullSecrets)\n",
		To:   "",
		Test: "TestTheJobPullsWithTheSecretsOfTheOperatorBesideThoseOfTheMembers",
	},
	{
		Name: "a Pod that waits for an image stays when the flags are put right",
		From: "case r.Pod.OtherImage:",
		To:   "case r.Pod.OtherImage && r.Pod.Running:",
		Test: row("so is a Pod that waits for an image which the operator would not take now"),
	},
	{
		Name: "a user's word on how often all is compared is not heard",
		From: "if !isSaid && !isSaidOld {",
		To:   "if !isSaid || !isSaidOld {",
		Test: "TestOptionArgs",
	},
	{
		Name: "all is compared by the hour where the checks are off",
		From: "if atStart != \"\" {\n\t\tcompareByTheHour(v, flags)",
		To:   "if atStart != \"\" || atStart == \"\" {\n\t\tcompareByTheHour(v, flags)",
		Test: "TestOptionArgs",
	},
}
