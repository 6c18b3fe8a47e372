package main

const (
	backupPackage = "./pkg/backup"
	storePackage  = "./pkg/backup/store"
)

// stores are bugs of what the agent does with a store, none of which needs a server to be noticed.
var stores = []mutant{
	{
		Name: "a backup has its manifest before it is proven", Peer: "",
		File:    "pkg/backup/take.go",
		From:    "err != nil || t.Verify {",
		To:      "err != nil {",
		Package: backupPackage, Test: "TestWhatIsToBeProvenIsNoBackupUntilItIs",
	},
	{
		Name: "the member that a snapshot is of testifies for itself", Peer: "",
		File:    "pkg/backup/hashkv.go",
		From:    "range append(s.witnesses(source), source) {",
		To:      "range []*member{source} {",
		Package: backupPackage, Test: "TestAMemberThatHoldsOtherKeysThanTheOthersIsNoBackup",
	},
	{
		Name: "the alarm CORRUPT of one member keeps all from giving a backup", Peer: "",
		File:    "pkg/etcdutil/alarm.go",
		From:    "(a.Member == 0 || a.Member == member)",
		To:      "true",
		Package: backupPackage, Test: "TestTheAlarmCorruptKeepsOnlyTheMemberThatItAccusesOutOfABackup",
	},
	{
		Name: "an accused member that has not heard of it gives a backup", Peer: "",
		File:    "pkg/backup/source.go",
		From:    "return other.clusterID() == m.clusterID() &&",
		To:      "return other == m &&",
		Package: backupPackage, Test: "TestTheAlarmCorruptKeepsOnlyTheMemberThatItAccusesOutOfABackup",
	},
	{
		Name: "a member's volume is refused for the alarm CORRUPT of another", Peer: "",
		File:    "pkg/backup/belongs.go",
		From:    "lived.isCorrupt = etcdutil.IsCalledCorrupt(alarms, id)",
		To:      "lived.isCorrupt = len(alarms) > 0",
		Package: backupPackage, Test: "TestADatabaseIsOfTheMemberThatLivedOnItAndOfNoOther",
	},
	{
		Name: "a manifest is written for a snapshot that is gone", Peer: "",
		File:    "pkg/backup/publish.go",
		From:    "if err := checkStored(ctx, bucket, manifest.Key, manifest.SizeBytes); err != nil {",
		To:      "if err := error(nil); err != nil {",
		Package: backupPackage, Test: "TestNoManifestIsWrittenForASnapshotThatIsGone",
	},
	{
		Name: "retention counts ages from a clock that may be wrong", Peer: "",
		File:    "pkg/backup/retain.go",
		From:    "newest := newestOf(ordered, now)",
		To:      "newest := now",
		Package: backupPackage, Test: "TestThePolicyKeepsWhatItSays",
	},
	{
		Name: "retention of one schedule removes the backups of another", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "if !p.Whose.owns(m) {",
		To:      "if false {",
		Package: backupPackage, Test: "TestTheRulesOfAScheduleAreAboutItsOwnBackups",
	},
	{
		Name: "a backup whose snapshot was cut off takes a good one's place", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "case snapshot.Size != m.SizeBytes:",
		To:      "case false:",
		Package: backupPackage, Test: "TestAManifestThatCannotBeTrustedIsNamedAndNeitherRemovedNorCounted",
	},
	{
		Name: "a backup that is being made is taken for a leftover", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "return p.Now.Sub(object.ModTime) > leftoverAge",
		To:      "return true",
		Package: backupPackage, Test: "TestOnlyOldObjectsOfNoBackupAreLeftovers/volume",
	},
	{
		Name: "a backup whose manifest a list leaves out is taken for a leftover", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "directories[directory] = append(objects, manifest)",
		To:      "directories[directory] = append(objects, *snapshot)",
		Package: backupPackage, Test: "TestTheStoreIsAskedForAManifestByItsNameBeforeItsSnapshotIsALeftover",
	},
	{
		Name: "a snapshot is removed before the manifest that speaks of it", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "p.remove(ctx, ManifestKey(b.Key), b.Key)",
		To:      "p.remove(ctx, b.Key, ManifestKey(b.Key))",
		Package: backupPackage, Test: "TestTheManifestIsRemovedBeforeTheSnapshotItSpeaksOf",
	},
	{
		Name: "of an empty store all that is asked for is said to be gone", Peer: "",
		File:    "pkg/backup/prune.go",
		From:    "if pruned.Kept > 0 {",
		To:      "if true {",
		Package: backupPackage, Test: "TestWhoAsksIsToldWhichBackupsAreGone/volume",
	},
	{
		Name: "a list whose connection ends is taken for complete", Peer: "",
		File:    "pkg/backup/store/bucket.go",
		From:    "if err == io.EOF {",
		To:      "if errors.Is(err, io.EOF) {",
		Package: storePackage, Test: "TestAListThatIsNotAnsweredIsNotTakenForEmpty",
	},
	{
		Name: "what GCS forbids is taken for removed", Peer: "google/go-cloud gcsblob ErrorCode",
		File:    "pkg/backup/store/errors.go",
		From:    "http.StatusForbidden: ErrDenied, http.StatusNotFound: ErrNotFound,",
		To:      "http.StatusForbidden: ErrNotFound, http.StatusNotFound: ErrNotFound,",
		Package: storePackage, Test: "TestEveryAnswerOfGooglesAndOfAzureIsWhatItSays",
	},
	{
		Name:    "an outage of S3 is a deletion that was done, where the key has a 301 in it",
		Peer:    "google/go-cloud s3blob ErrorCode",
		File:    "pkg/backup/store/errors.go",
		From:    "if errors.As(err, &ofS3) {",
		To:      "if errors.As(err, &ofS3) && false {",
		Package: storePackage, Test: "TestAnErrorOfAKeyOfWhateverNameIsWhatItIs",
	},
	{
		Name: "the cloud's identities are asked with the store's authority alone", Peer: "",
		File:    "pkg/backup/store/http.go",
		From:    "roots, err := x509.SystemCertPool()",
		To:      "roots, err := x509.NewCertPool(), error(nil)",
		Package: storePackage, Test: "TestTheStoresAuthorityDoesNotTakeThePlaceOfTheSystemsForWhoGivesOutIdentities",
	},
	{
		Name: "a backup on a volume is proven by what the node remembers of writing it", Peer: "",
		File:    "pkg/backup/store/volume.go",
		From:    "if file != nil {\n\t\t_ = unix.Fadvise",
		To:      "if false {\n\t\t_ = unix.Fadvise",
		Package: storePackage, Test: "TestWhatIsReadFromAVolumeComesFromTheVolumeAndNotFromTheNodesMemory",
	},
	{
		Name: "the agent remembers every key there is", Peer: "",
		File:    "pkg/backup/census.go",
		From:    "newKeySet(min(d.keysAtOnce, int64(d.size)/entryLeast))",
		To:      "newKeySet(int64(d.size) / entryLeast)",
		Package: backupPackage, Test: "TestMemoryDoesNotGrowWithTheNumberOfKeys",
	},
}
