package main

const (
	backupPlan = "./controllers/backup/plan"
	signature  = "controllers/backup/plan/signature.go"
)

// signatures are bugs in what records of backups are believed.
var signatures = []mutant{
	{
		Name: "any signature of a record is good", Peer: "",
		File:    signature,
		From:    "case hmac.Equal(",
		To:      "case len(said) > 0 || hmac.Equal(",
		Package: backupPlan, Test: "TestARecordCountsOnlyWithASignatureOfItsOwnObjectAndCluster",
	},
	{
		Name: "a signed record counts on another store", Peer: "",
		File:    signature,
		From:    "jsonOf(b.Spec.Store),",
		To:      "\"\",",
		Package: backupPlan, Test: "TestARecordCountsOnlyWithASignatureOfItsOwnObjectAndCluster",
	},
	{
		Name: "records are signed with the key of the CA itself", Peer: "",
		File:    signature,
		From:    "return mac(secret, \"records of backups, 1\", namespace, cluster)",
		To:      "return Key(secret)",
		Package: backupPlan, Test: "TestTheKeyIsNotTheSecretThatItComesFrom",
	},
	{
		Name: "what a status says is signed", Peer: "",
		File:    "controllers/backup/apply.go",
		From:    "if change.Signed {",
		To:      "if change.Outcome.Complete {",
		Package: backupWing, Test: "TestARecordThatIsTakenAwayIsPutBackAndTheBackupNeverRunsAgain",
	},
	{
		Name: "the status of a backup believes any record", Peer: "",
		File:    "controllers/backup/plan/next.go",
		From:    "if !outcome.Complete || o.Signature == SignatureGood {",
		To:      "if o.Signature != \"\" || outcome.Complete {",
		Package: backupWing, Test: "TestARecordThatAPersonWroteProvesNothing",
	},
	{
		Name: "a key that was put back is not looked for", Peer: "",
		File:    "controllers/backup/plan/next.go",
		From:    "whileDoubted.Minutes()), whileDoubted\n\tcase SignatureWrong:",
		To:      "whileDoubted.Minutes()), 0\n\tcase SignatureWrong:",
		Package: backupWing, Test: "TestWhileTheKeyIsAwayNothingIsKnownOfARecordAndItCountsWhenItIsBack",
	},
	{
		Name: "a backup that cannot be signed is not recorded", Peer: "",
		File:    "controllers/backup/apply.go",
		From:    "errors.As(err, &rejected) {",
		To:      "err == nil && errors.As(err, &rejected) {",
		Package: backupWing, Test: "TestAQuotaOnSecretsKeepsNoBackupFromBeingComplete",
	},
	{
		Name: "a cluster without a CA has no key for records", Peer: "",
		File:    "controllers/backup/apply.go",
		From:    "cluster == nil || cluster.Spec.IsTLS() {",
		To:      "cluster == nil || cluster != nil {",
		Package: backupWing, Test: "TestTheFirstBackupOfAClusterWithoutACAMakesAKeyAndTheNextUsesIt",
	},
	{
		Name: "a revision that a person wrote counts as served", Peer: "",
		File:    signature,
		From:    "|| k.Check(b) != SignatureGood {",
		To:      "{",
		Package: observePackage, Test: "TestABackupThatThePersonWhoMadeItCallsProvenIsNot",
	},
	{
		Name: "evidence names a backup that a person calls proven", Peer: "",
		File:    "controllers/cluster/look.go",
		From:    "Proven: key.Proven(b) != nil,",
		To:      "Proven: key != nil && !record.Outcome.VerifiedAt.IsZero(),",
		Package: "./controllers/cluster", Test: "TestEvidenceNamesNoBackupThatIsNotSigned",
	},
	{
		Name: "a schedule counts what a person calls complete", Peer: "",
		File:    "controllers/schedule/look.go",
		From:    "plan.RunComplete, key.Complete(b) == nil",
		To:      "plan.RunComplete, key == nil",
		Package: scheduleWing, Test: "TestARunThatAPersonCallsCompleteAndProvenCountsAsNeither",
	},
	{
		Name: "a schedule believes a test restore that a person wrote", Peer: "",
		File:    "controllers/schedule/plan/chore.go",
		From:    "if r.FinishedAt.IsZero() || signature == backup.SignatureGood {",
		To:      "if r.FinishedAt.IsZero() || signature == backup.SignatureGood || hasKey {",
		Package: scheduleWing, Test: "TestATestRestoreThatAPersonWroteProvesNothingAndIsMadeAtOnce",
	},
	{
		Name: "a cluster believes a test restore that a person wrote", Peer: "",
		File:    "controllers/schedule/plan/chore.go",
		From:    "if r.GoodAt.IsZero() || key.CheckTest(s) != backup.SignatureGood {",
		To:      "if r.GoodAt.IsZero() || key.CheckTest(s) == backup.SignatureUnknown {",
		Package: observePackage, Test: "TestOnlyASignedTestRestoreOfAScheduleProvesABackupThatHasNoEtcdBackup",
	},
	{
		Name: "a test restore that cannot be signed is made again and again", Peer: "",
		File:    "controllers/schedule/plan/chore.go",
		From:    "if hasKey {",
		To:      "if hasKey || !hasKey {",
		Package: scheduleWing, Test: "TestATestRestoreThatCannotBeSignedIsNotMadeAgainAndAgain",
	},
	{
		Name: "a test restore that is not signed holds nothing back", Peer: "",
		File:    "controllers/schedule/plan/chore.go",
		From:    "r.Good, r.GoodAt, r.For, r.Reason = false,",
		To:      "r.Good, r.GoodAt, r.For, r.Reason = true,",
		Package: schedulePlan, Test: "TestATestRestoreThatIsNotSignedHoldsItsBackupAndPausesRetention",
	},
	{
		Name: "records without signatures cost the proven backup", Peer: "",
		File:    "controllers/schedule/plan/chores.go",
		From:    "KeepAll: v.isProofMissing() || len(v.calledProven()) > 0}",
		To:      "KeepAll: v.isProofMissing()}",
		Package: schedulePlan, Test: "TestRecordsThatAreNotSignedNeverCauseABackupToBeRemoved",
	},
	{
		Name: "a forged record is held in the place of the proven backup", Peer: "",
		File:    "controllers/schedule/plan/chores.go",
		From:    "return run.SameStore && !run.VerifiedAt.IsZero() })",
		To:      "return run.SameStore && (run.CalledProven || !run.VerifiedAt.IsZero()) })",
		Package: schedulePlan, Test: "TestAForgedRecordTakesNoPlaceOfWhatIsHeld",
	},
}
