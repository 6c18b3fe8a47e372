package main

// releases are bugs by which a release is another one than its commit, or is not what it says.
var releases = []mutant{
	{
		Name:    "an archive lists its files in the order in which it got them",
		File:    "test/tools/pack/tar.go",
		From:    "	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Target, b.Target) })\n	var archive",
		To:      "	slices.Reverse(files)\n	var archive",
		Package: "./test/tools/pack", Test: "TestTheSameFilesInAnotherDirectoryAndOrderGiveTheSameArchive",
	},
	{
		Name:    "the image of one architecture stands for all",
		File:    "test/tools/pack/image.go",
		From:    "Platform: &v1.Platform{OS: \"linux\", Architecture: i.Arch}",
		To:      "Platform: &v1.Platform{OS: \"linux\", Architecture: images[0].Arch}",
		Package: "./test/tools/pack", Test: "TestAnImageForTwoArchitecturesIsALayoutThatOthersCanRead",
	},
	{
		Name:    "Helm does not know the chart in a registry for a chart",
		File:    "test/tools/pack/chart.go",
		From:    "blob{c.content, HelmChart}",
		To:      "blob{c.content, types.OCILayer}",
		Package: "./test/tools/chart", Test: "TestHelmInstallsFromARegistryWhatWasPackedAndPushed",
	},
	{
		Name:    "Artifact Hub does not find who publishes the chart",
		File:    "test/tools/pack/hub.go",
		From:    "blob{metadata, hubMetadata}",
		To:      "blob{metadata, hubConfig}",
		Package: "./test/tools/pack", Test: "TestArtifactHubPullsWhoPublishesTheChart",
	},
	{
		Name:    "a released chart installs the operator of no release",
		File:    "test/tools/chart/changes.go",
		From:    `{"appVersion", version},`,
		To:      `{"appVersion", "dev"},`,
		Package: "./test/tools/chart", Test: "TestAReleasedChartSaysItsVersionAndInstallsIt",
	},
	{
		Name:    "a release tells of what came before it as well",
		File:    "test/tools/chart/changes.go",
		From:    `section, _, _ := strings.Cut(after, "\n## ")`,
		To:      `section, _, _ := strings.Cut(after, "\n# ")`,
		Package: "./test/tools/chart", Test: "TestAReleasesChangesAreThoseOfItsSection",
	},
	{
		Name:    "an SBOM names the module that was replaced",
		File:    "test/tools/release/sbom.go",
		From:    "			m = m.Replace\n",
		To:      "			_ = m.Replace\n",
		Package: "./test/tools/release", Test: "TestAModuleThatIsReplacedIsNamedByWhatIsLinked",
	},
	{
		Name:    "an SBOM leaves out Go's own library",
		File:    "test/tools/release/sbom.go",
		From:    `c.modules = []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}`,
		To:      `c.modules = nil`,
		Package: "./test/tools/release", Test: "TestEachModuleOfAProgramIsInItsSPDX",
	},
	{
		Name:    "a release has a version that no registry takes",
		File:    "test/tools/release/main.go",
		From:    "semver.Canonical(r.version) != r.version ||",
		To:      "!semver.IsValid(r.version) ||",
		Package: "./test/tools/release", Test: "TestAVersionThatIsNoneIsRefusedAndTheRightFormIsShown",
	},
	{
		Name:    "files of an earlier release are published with the next one",
		File:    "test/tools/release/programs.go",
		From:    "for _, directory := range []string{r.out, r.work} {\n		if err := os.RemoveAll(directory)",
		To:      "for _, directory := range []string{r.out, r.work} {\n		if err := os.RemoveAll(r.work)",
		Package: "./test/tools/release", Test: "TestWhatAnEarlierReleaseLeftIsNoPartOfTheNext",
	},
	{
		Name:    "the bundle for OLM installs another image than the release has",
		File:    "test/tools/release/finish.go",
		From:    "got.Name != name || got.Annotations[\"containerImage\"] != image",
		To:      "got.Name != name || got.Annotations[\"containerImage\"] == \"\"",
		Package: "./test/tools/release", Test: "TestABundleOfAnotherVersionOrImageIsRefused",
	},
	{
		Name:    "the layouts have no checksums",
		File:    "test/tools/release/finish.go",
		From:    "if f.Target == checksums {",
		To:      "if f.Target == checksums || strings.Contains(f.Target, \"/\") {",
		Package: "./test/tools/release", Test: "TestChecksumsCoverEveryFileOfARelease",
	},
}
