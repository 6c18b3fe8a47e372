package main

// foreign are bugs of beginnings with snapshots that no manifest speaks of.
var foreign = []mutant{
	{
		Name: "a foreign snapshot is believed without its own sum", Peer: "",
		File:    "pkg/backup/foreign.go",
		From:    "	if err != nil {\n\t\treturn Examined{}, fail(ReasonObjectDamaged,",
		To:      "	if false {\n\t\treturn Examined{}, fail(ReasonObjectDamaged,",
		Package: backupPackage, Test: "TestAForeignFileThatCannotBeRestoredIsRefusedByWhatIsWrongWithIt",
	},
	{
		Name: "a foreign snapshot of a newer minor is begun with", Peer: "",
		File:    "pkg/backup/foreign.go",
		From:    "return found, found.fitsVersion(o.Version)",
		To:      "return found, nil",
		Package: backupPackage, Test: "TestAForeignFileThatCannotBeRestoredIsRefusedByWhatIsWrongWithIt",
	},
	{
		Name: "a damaged manifest of the operator's own is passed over", Peer: "",
		File:    "pkg/backup/preflight.go",
		From:    "return !isOwn && (",
		To:      "return (",
		Package: backupPackage, Test: "TestWhichManifestsBesideASnapshotSpeakOfIt",
	},
	{
		Name: "a foreign snapshot is asked for a manifest that it cannot have", Peer: "",
		File:    "pkg/backup/preflight.go",
		From:    "if path.Base(o.Key) != snapshotObject {\n\t\treturn true, nil",
		To:      "if path.Base(o.Key) != snapshotObject {\n\t\treturn false, nil",
		Package: backupPackage, Test: "TestWhichManifestsBesideASnapshotSpeakOfIt",
	},
	{
		Name: "data on its way down is taken for the lower minor's", Peer: "",
		File:    "pkg/backup/inspect.go",
		From:    "[]string{f.ClusterVersion, f.StorageVersion}",
		To:      "[]string{f.ClusterVersion}",
		Package: backupPackage, Test: "TestTheMinorOfAForeignSnapshotIsTheHighestThatItNames",
	},
	{
		Name: "a file that another tool named with a time cannot be read", Peer: "",
		File:    "pkg/backup/store/config.go",
		From:    "()/:+=@,~-]+$`",
		To:      "()/-]+$`",
		Package: storePackage, Test: "TestAFileThatAnotherToolNamedIsReadWithThatName",
	},
	{
		Name: "retention removes a snapshot without a manifest that is restored", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    ` || slices.Contains(p.Held, directory+"/"+snapshotObject)`,
		To:      "",
		Package: backupPackage, Test: "TestASnapshotWithoutAManifestStaysWhileItIsRestored",
	},
	{
		Name: "a file that is no snapshot is looked at again and again", Peer: "",
		File:    "controllers/plan/task.go",
		From:    `"ObjectDamaged", "NotASnapshot",`,
		To:      `"ObjectDamaged",`,
		Package: planPackage, Test: row("a file that is no snapshot stays one"),
	},
	{
		Name: "what no manifest spoke of is written down as if one had", Peer: "",
		File:    "controllers/observe/restore.go",
		From:    ", Foreign: found.Foreign}",
		To:      "}",
		Package: "./controllers/observe", Test: "TestPreflight",
	},
	{
		Name: "a key may lead out of its store", Peer: "",
		File:    "pkg/backup/store/config.go",
		From:    `if segment == "" || segment == "." || segment == ".." {`,
		To:      `if segment == "" || segment == "." {`,
		Package: storePackage, Test: "TestNoKeyLeavesThePrefix",
	},
	{
		Name: "nothing says that a snapshot without a manifest was not compared", Peer: "",
		File:    "controllers/report/status.go",
		From:    "if !origin.Foreign {\n\t\treturn \"\"",
		To:      "if true {\n\t\treturn \"\"",
		Package: "./controllers/report", Test: "TestItIsToldThatASnapshotWithoutAManifestWasNotCompared",
	},
}
