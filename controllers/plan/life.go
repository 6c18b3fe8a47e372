package plan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// A restore in place never writes to a volume that a member lived on. The next incarnation of the cluster is restored beside the one that
// serves, on new volumes under names that were never used; then the birth record moves to it. The incarnation that ends is kept.

// Request is an EtcdRestore that names the cluster.
type Request struct {
	Name         string
	ID           string    // its UID and what its source asks for: an incarnation that came of it says so
	Created      time.Time // the older of two goes first
	Source       record.Source
	WantedBackup WantedBackup // of SourceBackup; its Fault speaks for every source
	Survivor     string       // of SourceSurvivor: the member
	Bump         int64        // by how much revisions are raised
	Approval     string       // the digest of the evidence that it was approved on; empty without an approval
	DeletesOld   bool         // the volumes of former incarnations are given up, once this one serves
}
