package main

// access are bugs of what gives programs their users, their rights and their certificates.
var access = []mutant{
	{
		Name: "a user of people without a role is taken for the operator's own",
		From: "isBegun := len(o.Etcd.User.Roles) == 0 && (o.isRoleUnused() || slices.Contains(o.Etcd.Role.Rights, Making))",
		To:   "isBegun := len(o.Etcd.User.Roles) == 0",
		Test: "TestWhatIsDoneNextForAClient",
	},
	{
		Name: "a wider right stays beside the narrower one",
		From: "if (isTwice || !slices.Contains(o.Client.Wants, right)) &&",
		To:   "if (isTwice && false || !slices.Contains(o.Client.Wants, right)) &&",
		Test: "TestFromEachStateARoleComesToExactlyWhatIsAskedForAndBack",
	},
	{
		Name: "a certificate is handed out where authentication was turned off a moment ago",
		From: "case !isOn:\n\t\treturn apply.ErrStale",
		To:   "case isOn && !isOn:\n\t\treturn apply.ErrStale",
		Test: "TestACertificateIsNotWrittenWhereAuthenticationWentOffSinceTheLook",
	},
	{
		Name: "a user that another one made at the same time gets the role",
		From: "case errors.Is(err, etcd.ErrUserExists):\n\t\treturn takenBack(member.DeleteRole(",
		To:   "case false:\n\t\treturn takenBack(member.DeleteRole(",
		Test: "TestAUserThatIsMadeWhileTheOperatorMakesItIsNotTaken",
	},
	{
		Name: "a user that another one made in the place of a lost one gets the role",
		From: "case errors.Is(err, etcd.ErrUserExists):\n\t\treturn takenBack(member.RevokePermission(",
		To:   "case false:\n\t\treturn takenBack(member.RevokePermission(",
		Test: "TestAUserThatIsMadeWhileTheOperatorMakesItIsNotTaken",
	},
	{
		Name: "a role gets its rights before the user whose making was interrupted has it",
		From: "userTaken, hold, remakeUser, giveRole, makeBoth, grant, revoke, makeUser,",
		To:   "userTaken, hold, remakeUser, grant, giveRole, makeBoth, revoke, makeUser,",
		Test: "TestWhatIsDoneNextForAClient",
	},
	{
		Name: "what was said of a user is believed after users changed",
		From: "last.history == seen.history && last.revision == auth.Revision {",
		To:   "last.history == seen.history {",
		Test: "TestWhatPeopleChangeInEtcdIsPutBack",
	},
	{
		Name: "a namespace that the cluster does not allow gets a user",
		From: "if o.Client.From == \"\" || o.Cluster.Allows {",
		To:   "if o.Client.From == \"\" || o.Cluster.Allows || o.Cluster.Exists {",
		Test: "TestANamespaceThatIsNotAllowedGetsNothingAndLosesWhatItHad",
	},
	{
		Name: "a namespace may have the user of another",
		From: "case o.Client.From != \"\" && !strings.HasPrefix(",
		To:   "case o.Client.From == \"*\" && !strings.HasPrefix(",
		Test: "TestWhatIsDoneNextForAClient",
	},
	{
		Name: "a client that is not allowed keeps others from a user",
		From: "(counts == nil || counts(other)) &&",
		To:   "(counts == nil || other != nil) &&",
		Test: "TestAClientThatIsNotAllowedClaimsNoUser",
	},
	{
		Name: "a range without an end lies below a prefix",
		From: "right.Key < right.End && right.End <= Behind(prefix)",
		To:   "right.End <= Behind(prefix)",
		Test: "TestOnlyRightsBelowAPrefixAreAllowed",
	},
	{
		Name: "a key counts twice for a client that has two rights to it",
		From: "case last < 0 || apart[last].to != \"\" && apart[last].to < one.from:",
		To:   "case last < 0 || apart[last].to != \"\":",
		Test: "TestEachClientHasTheKeysThatItMayWriteOnceAfterAnyHistory",
	},
	{
		Name: "a client is judged by what an earlier one of its name had",
		From: "b == nil || b.Time.Before(o.Quota.Created)",
		To:   "b == nil",
		Test: "TestWhetherAClientIsWithinItsQuotaIsWhatTheNewestBackupSays",
	},
	{
		Name: "a namespace that is not allowed hears of the backups of a cluster",
		From: "seen.cluster == nil || !seen.Cluster.Allows || c.DeletionTimestamp",
		To:   "seen.cluster == nil || c.DeletionTimestamp",
		Test: "TestANamespaceThatIsNotAllowedHearsNothingOfTheBackupsOfACluster",
	},
	{
		Name: "the CAs of a truststore have one alias, and Java trusts one of them",
		From: "hex.EncodeToString(sum[:aliasBytes])",
		To:   "hex.EncodeToString(sum[:aliasBytes-aliasBytes])",
		Test: "TestATrustStoreHasEachCAUnderANameOfItsOwn",
	},
	{
		Name: "a user that is made anew counts as having its former password",
		From: "return right == PasswordMark(\"\") // the next user will have another",
		To:   "return true",
		Test: "TestAUserThatPeopleDeletedOrARestoreBroughtBackGetsThePasswordOfTheSecret",
	},
	{
		Name: "a user that a restore brings back stays where its namespace is not allowed any more",
		From: "if isGone := !o.Cluster.Exists || o.Cluster.Deleting; !isOver || isGone {",
		To:   "if isGone := !o.Cluster.Exists || o.Cluster.Deleting; !isOver || isGone || isOver {",
		Test: "TestANamespaceThatIsNotAllowedGetsNothingAndLosesWhatItHad",
	},
}
