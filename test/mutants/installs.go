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
}
