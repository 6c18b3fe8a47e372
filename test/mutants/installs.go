package main

// installs are bugs of how the operator is begun.
var installs = []mutant{
	{
		Name:    "an operator of several namespaces watches the first alone",
		File:    "cmd/manager/main.go",
		From:    "for _, namespace := range namespaces {\n\t\toptions",
		To:      "for _, namespace := range namespaces[:min(1, len(namespaces))] {\n\t\toptions",
		Package: "./cmd/manager", Test: "TestAnOperatorOfSomeNamespacesWatchesNothingOutsideThem",
	},
	{
		Name:    "a list of namespaces that holds an empty one means all",
		File:    "cmd/manager/options.go",
		From:    "validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 {",
		To:      "validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 && namespaces[i] != \"\" {",
		Package: "./cmd/manager", Test: "TestANamespaceThatIsNoneIsRefusedByTheNameOfItsFlag",
	},
	{
		Name:    "an empty list of namespaces, which OLM gives for all of them, names the namespace default",
		File:    "cmd/manager/options.go",
		From:    "if list == \"\" {\n\t\treturn nil, nil",
		To:      "if list == \"\" {\n\t\treturn []string{\"default\"}, nil",
		Package: "./cmd/manager", Test: "TestAnOperatorOfAllNamespacesWatchesAll",
	},
	{
		Name:    "digests of the operator go to images of another repository",
		File:    "controllers/resources/images.go",
		From:    "if own.Repository == \"\" && !namesRepository(c) {",
		To:      "if own.Digest == \"\" {",
		Package: resourcesPackage, Test: "TestFlagsOfTheOperatorSayWhereImagesComeFromAsFarAsTheSpecDoesNot",
	},
	{
		Name:    "other image flags are other settings of a member",
		File:    "controllers/resources/pod.go",
		From:    "v1alpha1.AnnotationInputs: s.Inputs.Canonical(), ",
		To:      "v1alpha1.AnnotationInputs: s.Inputs.Canonical() + s.Images.Repository, ",
		Package: resourcesPackage, Test: "TestFlagsOfTheOperatorAreNoSettingsAndRestartNoMember",
	},
	{
		Name:    "a webhook that puts another image into a Pod has it made anew for ever",
		File:    "controllers/resources/images.go",
		From:    "return pod.Annotations[v1alpha1.AnnotationImageDefaults] != d.For(c, in).canonical()",
		To:      "return pod.Spec.Containers[0].Image != d.reference(c, in, etcdutil.Version{})",
		Package: resourcesPackage, Test: "TestAPodSaysWhichImageDefaultsItWasMadeWith",
	},
	{
		Name:    "a backup is made without the credentials of the operator's image",
		File:    "controllers/backup/look.go",
		From:    "	seen.start.PullSecrets = r.Images.AddSecrets(seen.start.PullSecrets)\n",
		To:      "",
		Package: "./controllers/backup", Test: "TestTheJobPullsWithTheSecretsOfTheOperatorBesideThoseOfTheMembers",
	},
	{
		Name:    "a Pod that waits for an image stays when the flags are put right",
		File:    "controllers/plan/pods.go",
		From:    "case r.Pod.OtherImage:",
		To:      "case r.Pod.OtherImage && r.Pod.Running:",
		Package: planPackage, Test: row("so is a Pod that waits for an image which the operator would not take now"),
	},
}
