package contract

import "slices"

// scenarios is the contract: what the fake and every real etcd must both do.
var scenarios = slices.Concat(birthScenarios, learnerScenarios, removalScenarios, leaderScenarios, identityScenarios, lossScenarios)
