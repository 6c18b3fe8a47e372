package main

// foreign are bugs of beginnings with snapshots that no manifest speaks of.
var foreign = []mutant{
	{
		Name: "a foreign snapshot is believed without its own sum", Peer: "",
		From: "	if err != nil {\n\t\treturn Examined{}, fail(ReasonObjectDamaged,",
		To:   "	if false {\n\t\treturn Examined{}, fail(ReasonObjectDamaged,",
		Test: "TestAForeignFileThatCannotBeRestoredIsRefusedByWhatIsWrongWithIt",
	},
	{
		Name: "a foreign snapshot of a newer minor is begun with", Peer: "",
		From: "return found, found.fitsVersion(o.Version)",
		To:   "return found, nil",
		Test: "TestAForeignFileThatCannotBeRestoredIsRefusedByWhatIsWrongWithIt",
	},
	{
		Name: "a damaged manifest of the operator's own is passed over", Peer: "",
		From: "return !isOwn && (",
		To:   "return (",
		Test: "TestWhichManifestsBesideASnapshotSpeakOfIt",
	},
	{
		Name: "a foreign snapshot is asked for a manifest that it cannot have", Peer: "",
		From: "if path.Base(o.Key) != snapshotObject {\n\t\treturn true, nil",
		To:   "if path.Base(o.Key) != snapshotObject {\n\t\treturn false, nil",
		Test: "TestWhichManifestsBesideASnapshotSpeakOfIt",
	},
	{
		Name: "data on its way down is taken for the lower minor's", Peer: "",
		From: "[]string{f.ClusterVersion, f.StorageVersion}",
		To:   "[]string{f.ClusterVersion}",
		Test: "TestTheMinorOfAForeignSnapshotIsTheHighestThatItNames",
	},
	{
		Name: "a file that another tool named with a time cannot be read", Peer: "",
		From: "()/:+=@,~-]+$`",
		To:   "()/-]+$`",
		Test: "TestAFileThatAnotherToolNamedIsReadWithThatName",
	},
	{
		Name: "retention removes a snapshot without a manifest that is restored", Peer: "",
		From: `slices.Contains(p.Held, directory+"/"+snapshotObject)`,
		To:   `directory == ""`,
		Test: "TestASnapshotWithoutAManifestStaysWhileItIsRestored",
	},
	{
		Name: "a file that is no snapshot is looked at again and again", Peer: "",
		From: `"ObjectDamaged", "NotASnapshot",`,
		To:   `"ObjectDamaged",`,
		Test: row("a file that is no snapshot stays one"),
	},
	{
		Name: "what no manifest spoke of is written down as if one had", Peer: "",
		From: ", Foreign: found.Foreign,",
		To:   ",",
		Test: "TestPreflight",
	},
	{
		Name: "a key may lead out of its store", Peer: "",
		From: `if segment == "" || segment == "." || segment == ".." {`,
		To:   `if segment == "" || segment == "." {`,
		Test: "TestNoKeyLeavesThePrefix",
	},
	{
		Name: "nothing says that a snapshot without a manifest was not compared", Peer: "",
		From: "case origin.Foreign:",
		To:   "case false:",
		Test: "TestWhatIsToBeKnownOfARestoredBackupIsToldWhereverTheRestoreIs",
	},
	{
		Name: "a list calls what has no snapshot a backup", Peer: "",
		From: "case !isThere:\n\t\tl.Why = \"its snapshot is gone\"",
		To:   "case false:\n\t\tl.Why = \"its snapshot is gone\"",
		Test: "TestAListSaysOfEachPlaceWhetherABackupLiesThere",
	},
	{
		Name: "a snapshot is inspected by another manifest than its own", Peer: "",
		From: "if seen.SHA256 != m.SHA256 {",
		To:   "if false {",
		Test: "TestASnapshotThatIsNotItsManifestsIsNotCalledGood",
	},
}
