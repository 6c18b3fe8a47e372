package main

// releases are bugs by which a release is another one than its commit, or is not what it says.
var releases = []mutant{
	{
		Name: "an archive lists its files in the order in which it got them",
		From: "	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Target, b.Target) })\n	var archive",
		To:   "	slices.Reverse(files)\n	var archive",
		Test: "TestTheSameFilesInAnotherDirectoryAndOrderGiveTheSameArchive",
	},
	{
		Name: "the image of one architecture stands for all",
		From: "Platform: &v1.Platform{OS: \"linux\", Architecture: i.Arch}",
		To:   "Platform: &v1.Platform{OS: \"linux\", Architecture: images[0].Arch}",
		Test: "TestAnImageForTwoArchitecturesIsALayoutThatOthersCanRead",
	},
	{
		Name: "Helm does not know the chart in a registry for a chart",
		From: "blob{c.content, HelmChart}",
		To:   "blob{c.content, types.OCILayer}",
		Test: "TestHelmInstallsFromARegistryWhatWasPackedAndPushed",
	},
	{
		Name: "Artifact Hub does not find who publishes the chart",
		From: "blob{metadata, hubMetadata}",
		To:   "blob{metadata, hubConfig}",
		Test: "TestArtifactHubPullsWhoPublishesTheChart",
	},
	{
		Name: "a released chart installs the operator of no release",
		From: `{"appVersion", version},`,
		To:   `{"appVersion", "dev"},`,
		Test: "TestAReleasedChartSaysItsVersionAndInstallsIt",
	},
	{
		Name: "a release tells of what came before it as well",
		From: `section, _, _ := strings.Cut(after, "\n## ")`,
		To:   `section, _, _ := strings.Cut(after, "\n# ")`,
		Test: "TestAReleasesChangesAreThoseOfItsSection",
	},
	{
		Name: "an SBOM names the module that was replaced",
		From: "			m = m.Replace\n",
		To:   "			_ = m.Replace\n",
		Test: "TestAModuleThatIsReplacedIsNamedByWhatIsLinked",
	},
	{
		Name: "an SBOM leaves out Go's own library",
		From: `c.modules = []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}`,
		To:   `c.modules = nil`,
		Test: "TestEachModuleOfAProgramIsInItsSPDX",
	},
	{
		Name: "a release has a version that no registry takes",
		From: "semver.Canonical(r.version) != r.version ||",
		To:   "!semver.IsValid(r.version) ||",
		Test: "TestAVersionThatIsNoneIsRefusedAndTheRightFormIsShown",
	},
	{
		Name: "files of an earlier release are published with the next one",
		From: "for _, directory := range []string{r.out, r.work} {\n		if err := os.RemoveAll(directory)",
		To:   "for _, directory := range []string{r.out, r.work} {\n		if err := os.RemoveAll(r.work)",
		Test: "TestWhatAnEarlierReleaseLeftIsNoPartOfTheNext",
	},
	{
		Name: "the bundle for OLM installs another image than the release has",
		From: "got.Name != name || got.Annotations[\"containerImage\"] != image",
		To:   "got.Name != name || got.Annotations[\"containerImage\"] == \"\"",
		Test: "TestABundleOfAnotherVersionOrImageIsRefused",
	},
	{
		Name: "the layouts have no checksums",
		From: "if f.Target == checksums {",
		To:   "if f.Target == checksums || strings.Contains(f.Target, \"/\") {",
		Test: "TestChecksumsCoverEveryFileOfARelease",
	},
}
