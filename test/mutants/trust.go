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
		Name: "a manifest that the store's key does not vouch for is restored", Peer: "",
		File:    "pkg/backup/manifest.go",
		From:    "m.checkSignature(bucket.ManifestKey())",
		To:      "m.checkSignature(nil)",
		Package: backupPackage, Test: "TestAManifestThatTheKeyDoesNotVouchForIsNoBackup",
	},
	{
		Name: "who leaves the signature out needs none", Peer: "",
		File:    "pkg/backup/signature.go",
		From:    "if err != nil || hmac.Equal(",
		To:      `if err != nil || m.HMAC == "" || hmac.Equal(`,
		Package: backupPackage, Test: "TestAManifestThatTheKeyDoesNotVouchForIsNoBackup",
	},
	{
		Name: "a signature is of less than the whole manifest", Peer: "",
		File:    "pkg/backup/signature.go",
		From:    `m.HMAC, m.Digest = "", ""`,
		To:      `m.HMAC, m.Digest, m.ClusterUID = "", "", ""`,
		Package: backupPackage, Test: "TestNoFieldOfASignedManifestCanBeChanged",
	},
	{
		Name: "one manifest that nothing vouches for keeps the newest backup from being restored", Peer: "",
		File:    "pkg/backup/locate.go",
		From:    "slices.DeleteFunc(slices.Clone(found.unsound), unsound.isUnsigned)",
		To:      "slices.Clone(found.unsound)",
		Package: backupPackage, Test: "TestAManifestThatTheKeyDoesNotVouchForIsNoBackup",
	},
	{
		Name: "manifests are written without the key that is there", Peer: "",
		File:    "pkg/backup/publish.go",
		From:    "manifest.signed(t.Bucket.ManifestKey())",
		To:      "manifest.signed(nil)",
		Package: backupPackage, Test: "TestAManifestIsSignedWithTheKeyOfItsStore",
	},
	{
		Name: "a key that can be guessed vouches for manifests", Peer: "",
		File:    "pkg/backup/store/credentials.go",
		From:    "if len(key) < minManifestKey {",
		To:      "if len(key) < 1 {",
		Package: storePackage, Test: "TestTheKeyOfManifestsIsReadAndAWeakOneIsRefusedByName",
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
