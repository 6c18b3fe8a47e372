package main

// trust are bugs by which a backup is proven, or a restore begun, with what others could have made.
var trust = []mutant{
	{
		Name: "the members' image may write the manifest that its work is judged by", Peer: "",
		File:    "controllers/resources/jobsteps.go",
		From:    "s.PullPolicy, []corev1.VolumeMount{fetched, restored}",
		To:      "s.PullPolicy, []corev1.VolumeMount{{Name: scratchVolume, MountPath: scratchMount}}",
		Package: resourcesPackage,
		Test:    "TestTheImageOfTheMembersSeesTheSnapshotReadOnlyAndWritesNothingButTheRestoredCopy",
	},
	{
		Name: "a link that the members' image left is compared instead of its work", Peer: "",
		File:    "pkg/backup/database.go",
		From:    "if !info.Mode().IsRegular() {",
		To:      "if info.Mode()&fs.ModeNamedPipe != 0 {",
		Package: backupPackage, Test: "TestWhatIsComparedIsAPlainFileOfTheRestoredDirectoryAndNoOther",
	},
	{
		Name: "a copy that lost a user or a lease is called equal", Peer: "",
		File:    "pkg/backup/compare.go",
		From:    "case m.BesideKeys != nil && facts.BesideKeys != *m.BesideKeys:",
		To:      "case false:",
		Package: backupPackage, Test: "TestACopyWithOtherUsersRolesOrLeasesIsNotCalledEqual",
	},
	{
		Name: "a backup of a release that looked at the keys alone cannot be proven any more", Peer: "",
		File:    "pkg/backup/compare.go",
		From:    "case m.BesideKeys != nil && facts.BesideKeys != *m.BesideKeys:",
		To:      "case m.BesideKeys == nil || facts.BesideKeys != *m.BesideKeys:",
		Package: backupPackage, Test: "TestABackupWhoseManifestSaysNothingBesideItsKeysIsProvenByThem",
	},
	{
		Name: "what a restore reads back of a volume may be a link", Peer: "",
		File:    "pkg/backup/place.go",
		From:    "readPlain(volume, p.staged(stagedRecord))",
		To:      "volume.ReadFile(p.staged(stagedRecord))",
		Package: backupPackage,
		Test:    "TestWhatLiesOnAVolumeInsteadOfAPlainFileIsNeitherFollowedNorWaitedFor/a_link_as_the_record",
	},
}
