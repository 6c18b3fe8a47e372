package main

// signatures are bugs in what records of backups are believed.
var signatures = []mutant{
	{
		Name: "any signature of a record is good", Peer: "",
		From: "case hmac.Equal(",
		To:   "case len(said) > 0 || hmac.Equal(",
		Test: "TestARecordCountsOnlyWithASignatureOfItsOwnObjectAndCluster",
	},
	{
		Name: "a signed record counts on another store", Peer: "",
		From: "JSON(b.Spec.Store),",
		To:   "\"\",",
		Test: "TestARecordCountsOnlyWithASignatureOfItsOwnObjectAndCluster",
	},
	{
		Name: "records are signed with the key of the CA itself", Peer: "",
		From: "return mac(secret, \"records of backups, 1\", namespace, cluster)",
		To:   "return Key(secret)",
		Test: "TestTheKeyIsNotTheSecretThatItComesFrom",
	},
	{
		Name: "what a status says is signed", Peer: "",
		From: "if change.Signed {",
		To:   "if change.Outcome.Complete {",
		Test: "TestARecordThatIsTakenAwayIsPutBackAndTheBackupNeverRunsAgain",
	},
	{
		Name: "the status of a backup believes any record", Peer: "",
		From: "if !outcome.Complete || o.Signature == SignatureGood {",
		To:   "if o.Signature != \"\" || outcome.Complete {",
		Test: "TestARecordThatAPersonWroteProvesNothing",
	},
	{
		Name: "a key that was put back is not looked for", Peer: "",
		From: "whileDoubted.Minutes()), whileDoubted\n\tcase SignatureWrong:",
		To:   "whileDoubted.Minutes()), 0\n\tcase SignatureWrong:",
		Test: "TestWhileTheKeyIsAwayNothingIsKnownOfARecordAndItCountsWhenItIsBack",
	},
	{
		Name: "a backup that cannot be signed is not recorded", Peer: "",
		From: "errors.As(err, &rejected) {",
		To:   "err == nil && errors.As(err, &rejected) {",
		Test: "TestAQuotaOnSecretsKeepsNoBackupFromBeingComplete",
	},
	{
		Name: "a cluster without a CA has no key for records", Peer: "",
		From: "cluster == nil || cluster.Spec.IsTLS() {",
		To:   "cluster == nil || cluster != nil {",
		Test: "TestTheFirstBackupOfAClusterWithoutACAMakesAKeyAndTheNextUsesIt",
	},
	{
		Name: "a revision that a person wrote counts as served", Peer: "",
		From: "|| k.Check(b) != SignatureGood {",
		To:   "{",
		Test: "TestABackupThatThePersonWhoMadeItCallsProvenIsNot",
	},
	{
		Name: "evidence names a backup that a person calls proven", Peer: "",
		From: "Proven: key.Proven(b) != nil,",
		To:   "Proven: key != nil && !record.Outcome.VerifiedAt.IsZero(),",
		Test: "TestEvidenceNamesNoBackupThatIsNotSigned",
	},
	{
		Name: "a schedule counts what a person calls complete", Peer: "",
		From: "plan.RunComplete, key.Complete(b) == nil",
		To:   "plan.RunComplete, key == nil",
		Test: "TestARunThatAPersonCallsCompleteAndProvenCountsAsNeither",
	},
	{
		Name: "a schedule believes a test restore that a person wrote", Peer: "",
		From: "if r.FinishedAt.IsZero() || signature == backupplan.SignatureGood {",
		To:   "if r.FinishedAt.IsZero() || signature == backupplan.SignatureGood || hasKey {",
		Test: "TestATestRestoreThatAPersonWroteProvesNothingAndIsMadeAtOnce",
	},
	{
		Name: "a cluster believes a test restore that a person wrote", Peer: "",
		From: "if r.GoodAt.IsZero() || key.CheckTest(s) != backupplan.SignatureGood {",
		To:   "if r.GoodAt.IsZero() || key.CheckTest(s) == backupplan.SignatureUnknown {",
		Test: "TestOnlyASignedTestRestoreOfAScheduleProvesABackupThatHasNoEtcdBackup",
	},
	{
		Name: "a test restore that cannot be signed is made again and again", Peer: "",
		From: "if hasKey {",
		To:   "if hasKey || !hasKey {",
		Test: "TestATestRestoreThatCannotBeSignedIsNotMadeAgainAndAgain",
	},
	{
		Name: "a test restore that is not signed holds nothing back", Peer: "",
		From: "r.Good, r.GoodAt, r.For, r.Reason = false,",
		To:   "r.Good, r.GoodAt, r.For, r.Reason = true,",
		Test: "TestATestRestoreThatIsNotSignedHoldsItsBackupAndPausesRetention",
	},
	{
		Name: "records without signatures cost the proven backup", Peer: "",
		From: "KeepAll: v.isProofMissing() || len(v.calledProven()) > 0}",
		To:   "KeepAll: v.isProofMissing()}",
		Test: "TestRecordsThatAreNotSignedNeverCauseABackupToBeRemoved",
	},
	{
		Name: "a forged record is held in the place of the proven backup", Peer: "",
		From: "return run.SameStore && !run.VerifiedAt.IsZero() })",
		To:   "return run.SameStore && (run.CalledProven || !run.VerifiedAt.IsZero()) })",
		Test: "TestAForgedRecordTakesNoPlaceOfWhatIsHeld",
	},
}
